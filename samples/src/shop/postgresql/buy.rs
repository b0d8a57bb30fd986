//! Changing things, where it takes words of this engine: logins, orders; in transactions and outside.

use super::Session;
use super::client::Broken;

type Done = Result<(), Broken>;

/// A login: a function that writes, hidden in a SELECT; the session's row; and a read of one's own write.
pub async fn login(session: &mut Session) -> Done {
    let user = session.user();
    session.query(&format!("SELECT audit_login({user})")).await?;
    session.query(&format!("UPDATE sessions SET seen_at = now() WHERE token = 'token-{user}'")).await?;
    session.query(&format!("SELECT count(*) FROM audit WHERE user_id = {user}")).await.map(drop)
}

/// A new user: the identifier from a sequence, as an object mapper does it.
pub async fn sign_up(session: &mut Session) -> Done {
    let answer = session.query("SELECT nextval('user_id_seq')").await?;
    let Some(id) = answer.first else { return Ok(()) };
    let client = &mut session.client;
    client.parse("", "INSERT INTO users (id, name, email) VALUES ($1, $2, $3) RETURNING name", &[])?;
    let (name, email) = (format!("new {id}"), format!("new{id}@shop.example"));
    client.bind("", "", &[Some(&id), Some(&name), Some(&email)])?.execute("", 0)?;
    session.sync().await.map(drop)
}

/// An order: lock the stock, write, read back, commit.
pub async fn order(session: &mut Session) -> Done {
    let (user, sku, id) = (session.user(), session.sku(), session.fresh_id());
    session.query("BEGIN").await?;
    session.query(&format!("SELECT quantity FROM stock WHERE sku = {sku} FOR UPDATE")).await?;
    session.query(&format!("INSERT INTO orders (id, user_id, total) VALUES ({id}, {user}, 10)")).await?;
    session.think().await;
    let client = &mut session.client;
    client.parse("", "INSERT INTO order_lines VALUES ($1, 1, $2, 2)", &[])?;
    client.bind("", "", &[Some(&id.to_string()), Some(&sku.to_string())])?.execute("", 0)?;
    session.sync().await?;
    session.query(&format!("UPDATE stock SET quantity = quantity - 2 WHERE sku = {sku}")).await?;
    session.query(&format!("SELECT quantity FROM stock WHERE sku = {sku}")).await?;
    session.query("COMMIT").await.map(drop)
}

/// Two orders in one batch, then one of them deleted by a WITH that reads like a query, and the other by
/// DELETE.
pub async fn order_twice(session: &mut Session) -> Done {
    let (user, first, second) = (session.user().to_string(), session.fresh_id(), session.fresh_id());
    let client = &mut session.client;
    client.parse("new_order", "INSERT INTO orders (id, user_id) VALUES ($1, $2) RETURNING id, status", &[])?;
    for id in [first, second] {
        client.bind("", "new_order", &[Some(&id.to_string()), Some(&user)])?.execute("", 0)?;
    }
    client.close_statement("new_order")?;
    session.sync().await?;
    session
        .query(&format!("WITH gone AS (DELETE FROM orders WHERE id = {first} RETURNING id) SELECT count(*) FROM gone"))
        .await?;
    session.query(&format!("DELETE FROM orders WHERE id = {second}")).await.map(drop)
}
