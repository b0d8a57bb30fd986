//! Looking around: reads by key, pages, joins, and a transaction that only reads.

use super::Session;
use super::client::{BINARY, Broken};

/// The type `integer` in the protocol.
const INT4: u32 = 23;

type Done = Result<(), Broken>;

/// A named statement, as a pool prepares it on a new connection.
pub async fn prepare(session: &mut Session) -> Done {
    let client = &mut session.client;
    client.parse("article", "SELECT name, price FROM stock WHERE sku = $1", &[INT4])?.describe_statement("article")?;
    session.sync().await.map(drop)
}

/// A read by key through a named statement.
pub async fn article(session: &mut Session) -> Done {
    let sku = session.rng.i32(1..=200).to_string();
    session.client.bind("", "article", &[Some(&sku)])?.execute("", 0)?;
    session.sync().await.map(drop)
}

/// The same as text.
pub async fn article_by_text(session: &mut Session) -> Done {
    let sku = session.rng.i32(1..=200);
    session.query(&format!("SELECT name, price FROM stock WHERE sku = {sku}")).await.map(drop)
}

/// As asyncpg does it: prepare and describe with a Flush, then bind and run with everything in binary format.
pub async fn person_in_binary(session: &mut Session) -> Done {
    let id = session.anyone().to_be_bytes();
    session.client.parse("asked", "SELECT id, email FROM users WHERE id = $1", &[])?.describe_statement("asked")?;
    let described = session.client.flush().await?;
    if session.note(described).error.is_none() {
        session.client.bind_as("", "asked", &[BINARY], vec![Some(&id)], &[BINARY])?.execute("", 1)?;
    }
    session.client.close_statement("asked")?;
    session.sync().await.map(drop)
}

/// A driver that prepares, binds and runs in one go with the unnamed statement.
pub async fn person(session: &mut Session) -> Done {
    let id = session.anyone().to_string();
    let client = &mut session.client;
    client.parse("", "SELECT id, email FROM users WHERE id = $1", &[])?;
    client.bind("", "", &[Some(&id)])?.execute("", 0)?;
    session.sync().await.map(drop)
}

/// A page of a user's orders, newest first.
pub async fn order_page(session: &mut Session) -> Done {
    let (user, page) = (session.user(), session.rng.i32(0..3));
    let sql = format!(
        "SELECT id, status, total FROM orders WHERE user_id = {user} ORDER BY id DESC LIMIT 5 OFFSET {}",
        page * 5
    );
    session.query(&sql).await.map(drop)
}

/// A view and a materialized view, which nothing orders.
pub async fn open_orders(session: &mut Session) -> Done {
    let (user, sku) = (session.user(), session.rng.i32(1..=200).to_string());
    session.query(&format!("SELECT id, name FROM open_orders WHERE user_id = {user}")).await?;
    session.client.parse("", "SELECT sold FROM sales WHERE sku = $1", &[])?;
    session.client.bind("", "", &[Some(&sku)])?.execute("", 0)?;
    session.sync().await.map(drop)
}

/// A statement with a comment before it, which keeps pgpool from balancing it.
pub async fn commented(session: &mut Session) -> Done {
    let id = session.anyone();
    session.query(&format!("/* users#show */ SELECT email FROM users WHERE id = {id}")).await.map(drop)
}

/// Three reads in one pipeline, one Sync.
pub async fn batch(session: &mut Session) -> Done {
    for _ in 0..3 {
        let sku = session.rng.i32(1..=200).to_string();
        session.client.bind("", "article", &[Some(&sku)])?.execute("", 0)?;
    }
    session.sync().await.map(drop)
}

/// A read-only transaction.
pub async fn coherent(session: &mut Session) -> Done {
    let user = session.user();
    session.query("BEGIN READ ONLY").await?;
    session.query(&format!("SELECT name, credit FROM users WHERE id = {user}")).await?;
    session.think().await;
    session.query(&format!("SELECT count(*), sum(total) FROM orders WHERE user_id = {user}")).await?;
    session.query("COMMIT").await.map(drop)
}

/// A portal read in pieces, as JDBC does it with a fetch size: a row limit and a Sync, inside a transaction,
/// which keeps the portal.
pub async fn pages(session: &mut Session) -> Done {
    session.query("BEGIN READ ONLY").await?;
    let client = &mut session.client;
    client.parse("", "SELECT sku, name FROM stock WHERE sku <= $1 ORDER BY sku", &[])?;
    client.bind("pages", "", &[Some("30")])?.execute("pages", 20)?;
    while session.sync().await?.suspended {
        session.client.execute("pages", 20)?;
    }
    session.client.close_portal("pages")?;
    session.sync().await?;
    session.query("COMMIT").await.map(drop)
}
