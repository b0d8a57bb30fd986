-- The sample shop for MariaDB: schema and seed data. Everything is derived from row numbers, so that each sandbox holds
-- the same rows.
--
-- What the routines and the view do, they do with the caller's rights: on a replica that is read only, a caller without
-- special rights cannot write through them either.

CREATE TABLE users (
    id      INT PRIMARY KEY,
    name    VARCHAR(80) NOT NULL,
    email   VARCHAR(80) NOT NULL UNIQUE,
    credit  DECIMAL(10, 2) NOT NULL DEFAULT 0
);

CREATE TABLE stock (
    sku       INT PRIMARY KEY,
    name      VARCHAR(80) NOT NULL,
    price     DECIMAL(10, 2) NOT NULL,
    quantity  INT NOT NULL,
    CONSTRAINT stock_quantity_check CHECK (quantity >= 0)
);

CREATE TABLE orders (
    id         INT PRIMARY KEY,
    user_id    INT NOT NULL,
    status     VARCHAR(10) NOT NULL DEFAULT 'open',
    total      DECIMAL(10, 2) NOT NULL DEFAULT 0,
    placed_at  DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT orders_user FOREIGN KEY (user_id) REFERENCES users (id)
);

CREATE TABLE order_lines (
    order_id  INT NOT NULL,
    line      INT NOT NULL,
    sku       INT NOT NULL,
    quantity  INT NOT NULL,
    PRIMARY KEY (order_id, line),
    CONSTRAINT order_lines_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
    CONSTRAINT order_lines_sku FOREIGN KEY (sku) REFERENCES stock (sku)
);

CREATE TABLE sessions (
    token    VARCHAR(40) PRIMARY KEY,
    user_id  INT NOT NULL,
    basket   VARCHAR(80) NOT NULL DEFAULT '',
    seen_at  DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE audit (
    id       BIGINT AUTO_INCREMENT PRIMARY KEY,
    user_id  INT NOT NULL,
    what     VARCHAR(40) NOT NULL,
    at       DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    KEY audit_user (user_id)
);

CREATE TABLE imports (
    id    INT PRIMARY KEY,
    note  VARCHAR(80)
);

CREATE TABLE summary (
    status  VARCHAR(10) PRIMARY KEY,
    orders  BIGINT NOT NULL,
    total   DECIMAL(12, 2) NOT NULL
);

-- Above every identifier that the seed and the workload choose themselves.
CREATE SEQUENCE user_id_seq START WITH 1000000;

DELIMITER //

-- Looks like a read to anyone who only reads the statement: SELECT audit_login(7).
CREATE FUNCTION audit_login(login INT) RETURNS INT MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    INSERT INTO audit (user_id, what) VALUES (login, 'login');
    RETURN login;
END //

CREATE FUNCTION order_total(wanted INT) RETURNS DECIMAL(12, 2) READS SQL DATA SQL SECURITY INVOKER
    RETURN (SELECT COALESCE(SUM(l.quantity * s.price), 0)
            FROM order_lines l JOIN stock s USING (sku) WHERE l.order_id = wanted) //

-- Summarises the closed months, and shows the result.
CREATE PROCEDURE rebuild_summary() MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    -- Else the SELECT would lock orders that others are placing.
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    INSERT INTO summary (status, orders, total)
        SELECT status, COUNT(*), SUM(total) FROM orders WHERE placed_at < '2026-02-01' GROUP BY status ORDER BY status
        ON DUPLICATE KEY UPDATE orders = VALUES(orders), total = VALUES(total);
    SELECT status, orders, total FROM summary ORDER BY status;
END //

DELIMITER ;

CREATE SQL SECURITY INVOKER VIEW open_orders AS
    SELECT o.id, o.user_id, u.name, o.total FROM orders o JOIN users u ON u.id = o.user_id WHERE o.status = 'open';

INSERT INTO users
    SELECT seq, CONCAT('user ', seq), CONCAT('user', seq, '@shop.example'), seq * 37 % 500 FROM seq_1_to_500;
INSERT INTO stock
    SELECT seq, CONCAT('article ', seq), 1 + seq * 17 % 90 + 0.99, 100000 FROM seq_1_to_200;
INSERT INTO orders (id, user_id, status, total, placed_at)
    SELECT seq, 1 + seq * 7 % 500, ELT(1 + seq % 3, 'open', 'paid', 'sent'), seq * 13 % 400,
           '2026-01-01 00:00:00' + INTERVAL seq MINUTE
    FROM seq_1_to_1500;
INSERT INTO order_lines
    SELECT o.seq, l.seq, 1 + (o.seq * 3 + l.seq * 11) % 200, 1 + l.seq FROM seq_1_to_1500 o, seq_1_to_3 l;
INSERT INTO sessions (token, user_id, seen_at)
    SELECT CONCAT('token-', seq), seq, '2026-01-01 00:00:00' FROM seq_1_to_500;

CREATE TABLE sales (
    sku   INT PRIMARY KEY,
    sold  INT NOT NULL
) SELECT sku, SUM(quantity) AS sold FROM order_lines GROUP BY sku ORDER BY sku;

CALL rebuild_summary();

-- A tenth of a table sampled, and plans may differ between two replays: count everything, once.
ANALYZE TABLE users, stock, orders, order_lines, sessions, sales PERSISTENT FOR ALL;
