//! Reports over the closed months, whose orders no longer change.

use splitproof_capture::mysql::Kind;

use super::Reports;
use super::wire::Broken;

type Done = Result<(), Broken>;

/// Columns: a count, a sum and a maximum.
const TOTALS: [Kind; 3] = [Kind::LONGLONG, Kind::NEWDECIMAL, Kind::NEWDECIMAL];

/// Revenue by status.
pub async fn revenue(session: &mut Reports) -> Done {
    session
        .query(
            "SELECT status, COUNT(*), SUM(total) FROM orders WHERE placed_at < '2026-02-01' \
             GROUP BY status ORDER BY status",
        )
        .await?;
    session.query("SELECT status, orders, total FROM summary").await
}

/// The articles that sold most, through a common table expression, its order fixed to the last row.
pub async fn top_articles(session: &mut Reports) -> Done {
    session
        .query(
            "WITH sold AS (SELECT sku, SUM(quantity) AS pieces FROM order_lines WHERE order_id <= 1500 GROUP BY sku) \
             SELECT s.sku, s.name, sold.pieces FROM sold JOIN stock s USING (sku) \
             ORDER BY sold.pieces DESC, s.sku LIMIT 10",
        )
        .await
}

/// One user's totals, through a prepared statement.
pub async fn totals(session: &mut Reports) -> Done {
    let user = session.anyone();
    let totals = session
        .client
        .prepare("SELECT COUNT(*), SUM(total), MAX(total) FROM orders WHERE id <= 1500 AND user_id = ?")
        .await?;
    let answer = session.client.execute(totals, user, &TOTALS).await?;
    session.note(answer);
    session.client.close(totals).await?;
    session.query("SELECT COUNT(*), AVG(price), MIN(price), MAX(price) FROM stock").await
}

/// A list through a cursor, ten rows at a time.
pub async fn list(session: &mut Reports) -> Done {
    let last = session.rng.i32(20..40);
    let list = session.client.prepare("SELECT sku, name FROM stock WHERE sku <= ? ORDER BY sku").await?;
    let answer = session.client.scroll(list, last, 10, &[Kind::LONG, Kind::VAR_STRING]).await?;
    session.note(answer);
    session.client.close(list).await
}

/// A search for a text that is sent ahead of the execution.
pub async fn search(session: &mut Reports) -> Done {
    let pattern = format!("user{}%", session.rng.i32(1..50));
    let search = session.client.prepare("SELECT COUNT(*) FROM users WHERE email LIKE ? AND id <= 500").await?;
    let answer = session.client.execute_long(search, &pattern, &[Kind::LONGLONG]).await?;
    session.note(answer);
    session.client.close(search).await
}

/// Several reads of one snapshot.
pub async fn snapshot(session: &mut Reports) -> Done {
    session.query("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").await?;
    session.query("SELECT COUNT(*) FROM stock").await?;
    session.think().await;
    session.query("SELECT SUM(sold) FROM sales").await?;
    session.query("COMMIT").await
}

/// The current database by its own command, a plan, and a setting.
pub async fn plan(session: &mut Reports) -> Done {
    let answer = session.client.init_db(crate::sandbox::DATABASE).await?;
    session.note(answer);
    session.query("EXPLAIN SELECT name FROM stock WHERE sku = 7").await?;
    session.query("SHOW VARIABLES LIKE 'version'").await
}
