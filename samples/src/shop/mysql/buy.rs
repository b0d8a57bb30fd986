//! Changing things, where it takes words of this engine: logins, orders; in transactions and outside.

use super::Session;
use super::driver::Broken;

type Done = Result<(), Broken>;

/// A login: a function that writes, hidden in a SELECT; the session's row; and a read of one's own write.
pub async fn login(session: &mut Session) -> Done {
    let user = session.user();
    session.query(&format!("SELECT audit_login({user})")).await?;
    session.query(&format!("UPDATE sessions SET seen_at = NOW() WHERE token = 'token-{user}'")).await?;
    session.query(&format!("SELECT COUNT(*) FROM audit WHERE user_id = {user}")).await.map(drop)
}

/// A new user: the identifier from a sequence, as an object mapper does it, and a row that comes back from its INSERT.
pub async fn sign_up(session: &mut Session) -> Done {
    let answer = session.query("SELECT NEXTVAL(user_id_seq)").await?;
    let Some(id) = answer.first.and_then(|id| id.parse::<i64>().ok()) else { return Ok(()) };
    let row = (id, format!("new {id}"), format!("new{id}@shop.example"));
    session.execute("INSERT INTO users (id, name, email) VALUES (?, ?, ?) RETURNING name", row).await.map(drop)
}

/// A row with an identifier that the server gives, asked for and used on the same connection.
pub async fn audit(session: &mut Session) -> Done {
    let user = session.user();
    session.query(&format!("INSERT INTO audit (user_id, what) VALUES ({user}, 'call')")).await?;
    session.query("SELECT LAST_INSERT_ID()").await?;
    session.query("UPDATE audit SET what = 'call back' WHERE id = LAST_INSERT_ID()").await.map(drop)
}

/// An order: lock the stock, write, read back, commit.
pub async fn order(session: &mut Session) -> Done {
    let (user, sku, id) = (session.user(), session.sku(), session.fresh_id());
    session.query("START TRANSACTION").await?;
    session.query(&format!("SELECT quantity FROM stock WHERE sku = {sku} FOR UPDATE")).await?;
    session.query(&format!("INSERT INTO orders (id, user_id, total) VALUES ({id}, {user}, 10)")).await?;
    session.think().await;
    session.execute("INSERT INTO order_lines VALUES (?, 1, ?, 2)", (id, sku)).await?;
    session.query(&format!("UPDATE stock SET quantity = quantity - 2 WHERE sku = {sku}")).await?;
    session.query(&format!("SELECT quantity FROM stock WHERE sku = {sku}")).await?;
    session.query("COMMIT").await.map(drop)
}

/// Two orders with one statement, a change that may be an INSERT or an UPDATE, and both orders deleted again, the
/// second one with its row as the answer.
pub async fn order_twice(session: &mut Session) -> Done {
    let (user, first, second) = (session.user(), session.fresh_id(), session.fresh_id());
    for id in [first, second] {
        session.execute("INSERT INTO orders (id, user_id) VALUES (?, ?)", (id, user)).await?;
    }
    session
        .query(&format!(
            "INSERT INTO orders (id, user_id) VALUES ({first}, {user}) ON DUPLICATE KEY UPDATE total = total + 1"
        ))
        .await?;
    session.query(&format!("DELETE FROM orders WHERE id = {first}")).await?;
    session.query(&format!("DELETE FROM orders WHERE id = {second} RETURNING id, status")).await.map(drop)
}

/// A client that switches autocommit off: its transaction begins with the first statement, without a word that says so.
pub async fn by_hand(session: &mut Session) -> Done {
    let user = session.user();
    session.query("SET autocommit = 0").await?;
    session.query(&format!("SELECT credit FROM users WHERE id = {user}")).await?;
    session.query(&format!("UPDATE users SET credit = credit + 2 WHERE id = {user}")).await?;
    session.think().await;
    session.query(&format!("SELECT credit FROM users WHERE id = {user}")).await?;
    session.query("COMMIT").await?;
    session.query("SET autocommit = 1").await.map(drop)
}
