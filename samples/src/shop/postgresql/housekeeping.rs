//! What needs a session of its own or a server's special care: temporary tables, locks, settings, cursors,
//! COPY, SQL's PREPARE, notifications, procedures.

use super::Session;
use super::client::Broken;

type Done = Result<(), Broken>;

/// A temporary table, which lives in one session on one node.
pub async fn basket(session: &mut Session) -> Done {
    let sku = session.sku();
    session.query("CREATE TEMP TABLE basket (sku int, quantity int)").await?;
    session.query(&format!("INSERT INTO basket VALUES ({sku}, 2), ({}, 1)", sku + 1)).await?;
    session.query("SELECT sku, quantity FROM basket ORDER BY sku").await?;
    session.query("DROP TABLE basket").await.map(drop)
}

/// An advisory lock of this client's own number, and rows locked against changes.
pub async fn exclusive(session: &mut Session) -> Done {
    let (lock, user) = (session.number, session.user());
    session.query(&format!("SELECT pg_advisory_lock({lock})")).await?;
    session.query(&format!("SELECT name FROM users WHERE id = {user} FOR SHARE")).await?;
    session.query(&format!("SELECT pg_advisory_unlock({lock})")).await.map(drop)
}

/// Session settings, which every backend of the session must see.
pub async fn settings(session: &mut Session) -> Done {
    session.query("SET statement_timeout = '7s'").await?;
    session.query("SHOW statement_timeout").await?;
    session.query("RESET statement_timeout").await.map(drop)
}

/// A cursor.
pub async fn cursor(session: &mut Session) -> Done {
    session.query("BEGIN").await?;
    session.query("DECLARE articles CURSOR FOR SELECT sku, name FROM stock ORDER BY sku").await?;
    session.query("FETCH 10 FROM articles").await?;
    session.query("FETCH 10 FROM articles").await?;
    session.query("CLOSE articles").await?;
    session.query("COMMIT").await.map(drop)
}

/// COPY into the server, with NULL and an empty string.
pub async fn import(session: &mut Session) -> Done {
    let (first, second) = (session.fresh_id(), session.fresh_id());
    let rows = [format!("{first}\tnote of {first}\n"), format!("{second}\t\\N\n")];
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let answer = session.client.copy_in("COPY imports (id, note) FROM STDIN", &rows).await?;
    session.note(answer);
    session.query(&format!("SELECT id, note FROM imports WHERE id IN ({first}, {second})")).await.map(drop)
}

/// COPY out of the server.
pub async fn export(session: &mut Session) -> Done {
    session.query("COPY (SELECT sku, name, price FROM stock WHERE sku <= 20) TO STDOUT").await.map(drop)
}

/// PREPARE and EXECUTE as statements of SQL.
pub async fn prepared(session: &mut Session) -> Done {
    let id = session.anyone();
    session.query("PREPARE who (int) AS SELECT email FROM users WHERE id = $1").await?;
    session.query(&format!("EXECUTE who({id})")).await?;
    session.query("DEALLOCATE who").await.map(drop)
}

/// A notification to oneself.
pub async fn notify(session: &mut Session) -> Done {
    let channel = format!("client_{}", session.number);
    session.query(&format!("LISTEN {channel}")).await?;
    session.query(&format!("NOTIFY {channel}, 'stock'")).await?;
    session.query(&format!("UNLISTEN {channel}")).await.map(drop)
}

/// A plan.
pub async fn explain(session: &mut Session) -> Done {
    session.query("EXPLAIN (COSTS OFF) SELECT name FROM users WHERE id = 7").await.map(drop)
}

/// Several statements in one text, with and without a write.
pub async fn several(session: &mut Session) -> Done {
    let (user, sku) = (session.user(), session.rng.i32(1..=200));
    session.query(&format!("SELECT price FROM stock WHERE sku = {sku}; SELECT count(*) FROM stock")).await?;
    session
        .query(&format!(
            "UPDATE users SET credit = credit + 1 WHERE id = {user}; SELECT credit FROM users WHERE id = {user}"
        ))
        .await
        .map(drop)
}

/// A procedure, and the table that it fills.
pub async fn rebuild(session: &mut Session) -> Done {
    session.query("CALL rebuild_summary()").await?;
    session.query("TABLE summary").await.map(drop)
}

/// What no two runs answer alike.
pub async fn clock(session: &mut Session) -> Done {
    session.query("SELECT now()").await.map(drop)
}
