//! What the shop does in words that both engines read alike.

use super::session::{Client, Session};

type Done<C> = Result<(), <C as Client>::Broken>;

/// A join, and a function that only reads.
pub async fn order_lines<C: Client>(session: &mut Session<C>) -> Done<C> {
    let order = session.old_order();
    session
        .ask(&format!(
            "SELECT l.line, s.name, l.quantity FROM order_lines l JOIN stock s USING (sku) \
             WHERE l.order_id = {order} ORDER BY l.line"
        ))
        .await?;
    session.ask(&format!("SELECT order_total({order})")).await
}

/// A statement with the tag that sqlcommenter puts behind it.
pub async fn tagged<C: Client>(session: &mut Session<C>) -> Done<C> {
    let id = session.anyone();
    session.ask(&format!("SELECT email FROM users WHERE id = {id} /*action='show',controller='users'*/")).await
}

/// A change, and right after it the page that shows it: the read must see the session's own write.
pub async fn profile<C: Client>(session: &mut Session<C>) -> Done<C> {
    let (user, id) = (session.user(), session.fresh_id());
    session.ask(&format!("UPDATE users SET name = 'user {user} now {id}' WHERE id = {user}")).await?;
    session.think().await;
    session.ask(&format!("SELECT name FROM users WHERE id = {user}")).await
}

/// A payment. Inside the transaction its own writes must be visible.
pub async fn pay<C: Client>(session: &mut Session<C>) -> Done<C> {
    let user = session.user();
    session.ask("BEGIN").await?;
    session.ask(&format!("UPDATE users SET credit = credit + 5 WHERE id = {user}")).await?;
    session.ask(&format!("SELECT credit FROM users WHERE id = {user}")).await?;
    session.think().await;
    session.ask(&format!("UPDATE sessions SET basket = 'paid' WHERE token = 'token-{user}'")).await?;
    session.ask(&format!("SELECT basket FROM sessions WHERE token = 'token-{user}'")).await?;
    session.ask("COMMIT").await
}

/// A transaction whose first statement is a read.
pub async fn look_then_buy<C: Client>(session: &mut Session<C>) -> Done<C> {
    let sku = session.sku();
    session.ask("BEGIN").await?;
    session.ask(&format!("SELECT price FROM stock WHERE sku = {sku}")).await?;
    session.think().await;
    session.ask(&format!("UPDATE stock SET quantity = quantity - 1 WHERE sku = {sku}")).await?;
    session.ask(&format!("SELECT quantity FROM stock WHERE sku = {sku}")).await?;
    session.ask("COMMIT").await
}

/// A savepoint, a change that a constraint refuses, and the way back.
pub async fn change_of_mind<C: Client>(session: &mut Session<C>) -> Done<C> {
    let (user, sku) = (session.user(), session.sku());
    session.ask("BEGIN").await?;
    session.ask(&format!("UPDATE users SET credit = credit + 1 WHERE id = {user}")).await?;
    session.ask("SAVEPOINT before_stock").await?;
    session.ask(&format!("UPDATE stock SET quantity = -1 WHERE sku = {sku}")).await?;
    session.ask("ROLLBACK TO SAVEPOINT before_stock").await?;
    session.ask(&format!("SELECT credit FROM users WHERE id = {user}")).await?;
    session.ask("COMMIT").await
}

/// An insert that meets a row with its key.
pub async fn duplicate<C: Client>(session: &mut Session<C>) -> Done<C> {
    let user = session.user();
    session
        .ask(&format!("INSERT INTO users (id, name, email) VALUES ({user}, 'again', 'again{user}@shop.example')"))
        .await
}
