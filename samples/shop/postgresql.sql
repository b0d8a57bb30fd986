-- The sample shop: schema and seed data. Everything is derived from row numbers, so that each sandbox holds
-- the same rows.

SET ROLE shop;

CREATE TABLE users (
    id      int PRIMARY KEY,
    name    text NOT NULL,
    email   text NOT NULL UNIQUE,
    credit  numeric(10, 2) NOT NULL DEFAULT 0
);

CREATE TABLE stock (
    sku       int PRIMARY KEY,
    name      text NOT NULL,
    price     numeric(10, 2) NOT NULL,
    quantity  int NOT NULL CHECK (quantity >= 0)
);

CREATE TABLE orders (
    id         int PRIMARY KEY,
    user_id    int NOT NULL REFERENCES users,
    status     text NOT NULL DEFAULT 'open',
    total      numeric(10, 2) NOT NULL DEFAULT 0,
    placed_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX orders_user ON orders (user_id);

CREATE TABLE order_lines (
    order_id  int NOT NULL REFERENCES orders ON DELETE CASCADE,
    line      int NOT NULL,
    sku       int NOT NULL REFERENCES stock,
    quantity  int NOT NULL,
    PRIMARY KEY (order_id, line)
);

CREATE TABLE sessions (
    token    text PRIMARY KEY,
    user_id  int NOT NULL,
    basket   text NOT NULL DEFAULT '',
    seen_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE audit (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id  int NOT NULL,
    what     text NOT NULL,
    at       timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE imports (
    id    int PRIMARY KEY,
    note  text
);

CREATE TABLE summary (
    status  text PRIMARY KEY,
    orders  bigint NOT NULL,
    total   numeric NOT NULL
);

-- Above every identifier that the seed and the workload choose themselves.
CREATE SEQUENCE user_id_seq START 1000000;

-- Looks like a read to anyone who only reads the statement: SELECT audit_login(7).
CREATE FUNCTION audit_login(login int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO audit (user_id, what) VALUES (login, 'login');
    RETURN login;
END $$;

CREATE FUNCTION order_total(wanted int) RETURNS numeric LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(l.quantity * s.price), 0) FROM order_lines l JOIN stock s USING (sku) WHERE l.order_id = wanted
$$;

-- Summarises the closed months.
CREATE PROCEDURE rebuild_summary() LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO summary (status, orders, total)
        SELECT status, count(*), sum(total) FROM orders WHERE placed_at < '2026-02-01' GROUP BY status
        ON CONFLICT (status) DO UPDATE SET orders = excluded.orders, total = excluded.total;
END $$;

CREATE VIEW open_orders AS
    SELECT o.id, o.user_id, u.name, o.total FROM orders o JOIN users u ON u.id = o.user_id WHERE o.status = 'open';

INSERT INTO users
    SELECT n, 'user ' || n, 'user' || n || '@shop.example', (n * 37 % 500) FROM generate_series(1, 500) n;
INSERT INTO stock
    SELECT n, 'article ' || n, 1 + n * 17 % 90 + 0.99, 100000 FROM generate_series(1, 200) n;
INSERT INTO orders (id, user_id, status, total, placed_at)
    SELECT n, 1 + n * 7 % 500, (ARRAY['open', 'paid', 'sent'])[1 + n % 3], n * 13 % 400,
           timestamptz '2026-01-01 00:00:00+00' + n * interval '1 minute'
    FROM generate_series(1, 1500) n;
INSERT INTO order_lines
    SELECT o, l, 1 + (o * 3 + l * 11) % 200, 1 + l FROM generate_series(1, 1500) o, generate_series(1, 3) l;
INSERT INTO sessions (token, user_id, seen_at)
    SELECT 'token-' || n, n, timestamptz '2026-01-01 00:00:00+00' FROM generate_series(1, 500) n;

CREATE MATERIALIZED VIEW sales AS
    SELECT sku, sum(quantity) AS sold FROM order_lines GROUP BY sku;

CALL rebuild_summary();

RESET ROLE;
ANALYZE;
