//! What needs a session of its own or a server's special care: temporary tables, locks, settings, files, SQL's PREPARE,
//! warnings, procedures, a pool's habits.

use super::driver::Broken;
use super::{ARTICLE, Session};

type Done = Result<(), Broken>;

/// A temporary table, which lives in one session on one node.
pub async fn basket(session: &mut Session) -> Done {
    let sku = session.sku();
    session.query("CREATE TEMPORARY TABLE basket (sku INT, quantity INT)").await?;
    session.query(&format!("INSERT INTO basket VALUES ({sku}, 2), ({}, 1)", sku + 1)).await?;
    session.query("SELECT sku, quantity FROM basket ORDER BY sku").await?;
    session.query("DROP TEMPORARY TABLE basket").await.map(drop)
}

/// A lock by this client's own name, and a row locked against changes.
pub async fn exclusive(session: &mut Session) -> Done {
    let (lock, user) = (session.number, session.user());
    session.query(&format!("SELECT GET_LOCK('client {lock}', 5)")).await?;
    session.query(&format!("SELECT name FROM users WHERE id = {user} LOCK IN SHARE MODE")).await?;
    session.query(&format!("SELECT RELEASE_LOCK('client {lock}')")).await.map(drop)
}

/// Session settings, which every backend of the session must see.
pub async fn settings(session: &mut Session) -> Done {
    session.query("SET SESSION group_concat_max_len = 2048").await?;
    session.query("SELECT @@group_concat_max_len").await?;
    session.query("SET SESSION group_concat_max_len = DEFAULT").await.map(drop)
}

/// A file of the client's, with NULL and an empty string.
pub async fn import(session: &mut Session) -> Done {
    let (first, second) = (session.fresh_id(), session.fresh_id());
    let data = format!("{first}\tnote of {first}\n{second}\t\\N\n");
    let answer =
        session.client.load("LOAD DATA LOCAL INFILE 'imports.tsv' INTO TABLE imports (id, note)", data).await?;
    session.note(answer);
    session.query(&format!("SELECT id, note FROM imports WHERE id IN ({first}, {second})")).await.map(drop)
}

/// Several rows with one execution, and one of them replaced.
pub async fn import_in_bulk(session: &mut Session) -> Done {
    let (first, second) = (session.fresh_id(), session.fresh_id());
    let rows = [first, second].map(|id| (id, format!("bulk {id}")).into());
    let answer = session.client.execute_for("INSERT INTO imports (id, note) VALUES (?, ?)", rows.into()).await?;
    session.note(answer);
    session.query(&format!("REPLACE INTO imports (id, note) VALUES ({first}, 'again')")).await.map(drop)
}

/// PREPARE and EXECUTE as statements of SQL.
pub async fn prepared(session: &mut Session) -> Done {
    let id = session.anyone();
    session.query("PREPARE who FROM 'SELECT email FROM users WHERE id = ?'").await?;
    session.query(&format!("SET @id = {id}")).await?;
    session.query("EXECUTE who USING @id").await?;
    session.query("DEALLOCATE PREPARE who").await.map(drop)
}

/// Warnings, which only the connection knows that ran the statement before.
pub async fn warnings(session: &mut Session) -> Done {
    let (sku, user) = (session.any_sku(), session.user());
    session.query(&format!("SELECT CAST('{sku} pieces' AS INT)")).await?;
    session.query("SHOW WARNINGS").await?;
    session.query(&format!("INSERT IGNORE INTO users VALUES ({user}, 'again', 'again', 0)")).await?;
    session.query("SHOW WARNINGS").await.map(drop)
}

/// A plan.
pub async fn explain(session: &mut Session) -> Done {
    session.query("EXPLAIN SELECT name FROM users WHERE id = 7").await.map(drop)
}

/// Several statements in one text, with and without a write.
pub async fn several(session: &mut Session) -> Done {
    let (user, sku) = (session.user(), session.any_sku());
    session.query(&format!("SELECT price FROM stock WHERE sku = {sku}; SELECT COUNT(*) FROM stock")).await?;
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
    session.query("SELECT status, orders, total FROM summary").await.map(drop)
}

/// Tables locked against changes.
pub async fn locked(session: &mut Session) -> Done {
    session.query("LOCK TABLES summary READ").await?;
    session.query("SELECT SUM(orders) FROM summary").await?;
    session.query("UNLOCK TABLES").await.map(drop)
}

/// What no two runs answer alike.
pub async fn clock(session: &mut Session) -> Done {
    session.query("SELECT NOW(6)").await.map(drop)
}

/// A connection that goes back to its pool and is lent again.
pub async fn recycle(session: &mut Session) -> Done {
    session.client.recycle().await?;
    let sku = session.any_sku();
    session.execute(ARTICLE, (sku,)).await.map(drop)
}
