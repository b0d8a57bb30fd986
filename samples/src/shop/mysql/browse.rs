//! Looking around: reads by key, pages, joins, and transactions that only read.

use mysql_async::Value;

use super::driver::Broken;
use super::{ARTICLE, Session};

type Done = Result<(), Broken>;

/// A read by key through a statement that the connection keeps.
pub async fn article(session: &mut Session) -> Done {
    let sku = session.any_sku();
    session.execute(ARTICLE, (sku,)).await.map(drop)
}

/// The same as text.
pub async fn article_by_text(session: &mut Session) -> Done {
    let sku = session.any_sku();
    session.query(&format!("SELECT name, price FROM stock WHERE sku = {sku}")).await.map(drop)
}

/// A driver that prepares, runs and forgets.
pub async fn person(session: &mut Session) -> Done {
    let id = session.anyone();
    let answer = session.client.execute_once("SELECT id, email FROM users WHERE id = ?", (id,)).await?;
    session.note(answer);
    Ok(())
}

/// Parameters of several types: a decimal, a floating-point number, a date with a time, a string, a NULL.
pub async fn search(session: &mut Session) -> Done {
    let (price, minute) = (f64::from(session.rng.i32(20..60)) + 0.5, session.rng.u8(0..60));
    let filter = (price, Value::Date(2026, 1, 1, 12, minute, 0, 0), "open", Value::NULL);
    session
        .execute(
            "SELECT (SELECT COUNT(*) FROM stock WHERE price < ?), COUNT(*), MIN(id) FROM orders \
             WHERE placed_at < ? AND status = ? AND status <> COALESCE(?, '')",
            filter,
        )
        .await
        .map(drop)
}

/// A page of a user's orders, newest first.
pub async fn order_page(session: &mut Session) -> Done {
    let (user, page) = (session.user(), session.rng.i32(0..3));
    session
        .query(&format!(
            "SELECT id, status, total FROM orders WHERE user_id = {user} ORDER BY id DESC LIMIT 5 OFFSET {}",
            page * 5
        ))
        .await
        .map(drop)
}

/// A page, and how many rows there are without the page's limit: the second statement asks for something that only the
/// connection which ran the first one knows.
pub async fn counted_page(session: &mut Session) -> Done {
    let page = session.rng.i32(0..10);
    session
        .query(&format!("SELECT SQL_CALC_FOUND_ROWS sku, name FROM stock ORDER BY sku LIMIT {}, 10", page * 10))
        .await?;
    session.query("SELECT FOUND_ROWS()").await.map(drop)
}

/// A view, which nothing orders.
pub async fn open_orders(session: &mut Session) -> Done {
    let (user, sku) = (session.user(), session.any_sku());
    session.query(&format!("SELECT id, name FROM open_orders WHERE user_id = {user}")).await?;
    session.execute("SELECT sold FROM sales WHERE sku = ?", (sku,)).await.map(drop)
}

/// Statements with comments before them: one for people, one that a hint for a router looks like, one that the server
/// executes.
pub async fn commented(session: &mut Session) -> Done {
    let id = session.anyone();
    session.query(&format!("/* users#show */ SELECT email FROM users WHERE id = {id}")).await?;
    session.query(&format!("-- users#show\nSELECT email FROM users WHERE id = {id}")).await?;
    session.query(&format!("SELECT /*! STRAIGHT_JOIN */ email FROM users WHERE id = {id}")).await.map(drop)
}

/// A user variable, which lives in one session on one node.
pub async fn variable(session: &mut Session) -> Done {
    let sku = session.any_sku();
    session.query(&format!("SET @sku = {sku}")).await?;
    session.query("SELECT name FROM stock WHERE sku = @sku").await.map(drop)
}

/// A transaction that only reads.
pub async fn coherent(session: &mut Session) -> Done {
    let user = session.user();
    session.query("START TRANSACTION READ ONLY").await?;
    session.query(&format!("SELECT name, credit FROM users WHERE id = {user}")).await?;
    session.think().await;
    session.query(&format!("SELECT COUNT(*), SUM(total) FROM orders WHERE user_id = {user}")).await?;
    session.query("COMMIT").await.map(drop)
}
