//! Reports over the closed months, whose orders no longer change.

use super::Session;
use super::client::Broken;

type Done = Result<(), Broken>;

/// A named statement with an aggregate.
pub async fn prepare(session: &mut Session) -> Done {
    let sql = "SELECT count(*), sum(total), max(total) FROM orders WHERE id <= 1500 AND user_id = $1";
    session.client.parse("totals", sql, &[])?;
    session.sync().await.map(drop)
}

/// Revenue by status.
pub async fn revenue(session: &mut Session) -> Done {
    session
        .query(
            "SELECT status, count(*), sum(total) FROM orders WHERE placed_at < '2026-02-01' \
             GROUP BY status ORDER BY status",
        )
        .await?;
    session.query("SELECT status, orders, total FROM summary").await.map(drop)
}

/// The articles that sold most: a join with an aggregate, its order fixed to the last row.
pub async fn top_articles(session: &mut Session) -> Done {
    session
        .query(
            "SELECT s.sku, s.name, sum(l.quantity) AS sold FROM order_lines l JOIN stock s USING (sku) \
             WHERE l.order_id <= 1500 GROUP BY s.sku, s.name ORDER BY sold DESC, s.sku LIMIT 10",
        )
        .await
        .map(drop)
}

/// One user's totals, through the named statement.
pub async fn totals(session: &mut Session) -> Done {
    let user = session.anyone().to_string();
    session.client.bind("", "totals", &[Some(&user)])?.execute("", 0)?;
    session.sync().await?;
    session.query("SELECT count(*), avg(price), min(price), max(price) FROM stock").await.map(drop)
}

/// Several reads of one snapshot.
pub async fn snapshot(session: &mut Session) -> Done {
    session.query("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    session.query("SELECT count(*) FROM stock").await?;
    session.think().await;
    session.query("SELECT sum(sold) FROM sales").await?;
    session.query("COMMIT").await.map(drop)
}

/// A table as COPY data.
pub async fn dump(session: &mut Session) -> Done {
    session.query("COPY summary TO STDOUT").await.map(drop)
}

/// A plan and a setting.
pub async fn plan(session: &mut Session) -> Done {
    session.query("EXPLAIN (COSTS OFF) SELECT count(*) FROM stock").await?;
    session.query("SHOW server_version").await.map(drop)
}
