use super::facts;
use crate::sql::{Discard, Effect, Isolation, RowLock, Statement, StatementKind as Kind, TransactionMode};

fn one(sql: &str) -> Statement {
    let facts = facts(sql);
    assert_eq!(facts.error, None, "{sql:.200}");
    assert_eq!(facts.statements.len(), 1, "{sql:.200}");
    facts.statements.into_iter().next().expect("one statement")
}

fn names(list: &[impl ToString]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

#[test]
fn effects() {
    for (sql, effect) in [
        ("SELECT id FROM users WHERE id = 1", Effect::Read),
        ("TABLE users", Effect::Read),
        ("VALUES (1), (2)", Effect::Read),
        ("SHOW server_version", Effect::Read),
        ("COPY users TO STDOUT", Effect::Read),
        ("COPY (SELECT 1) TO STDOUT", Effect::Read),
        ("COPY (DELETE FROM q RETURNING *) TO STDOUT", Effect::Write),
        ("COPY users TO '/tmp/x'", Effect::Utility),
        ("COPY users TO PROGRAM 'cat'", Effect::Utility),
        ("COPY users FROM STDIN", Effect::Write),
        ("SELECT 1 FROM t FOR UPDATE", Effect::Lock),
        ("SELECT 1 FROM (SELECT 1 FROM t FOR SHARE) x", Effect::Lock),
        ("SELECT 1 WHERE EXISTS (SELECT 1 FROM t FOR KEY SHARE)", Effect::Lock),
        ("WITH d AS (DELETE FROM q RETURNING *) SELECT * FROM d", Effect::Write),
        ("SELECT * INTO x FROM t", Effect::Write),
        ("SELECT 1 AS a INTO x UNION SELECT 2", Effect::Write),
        ("CREATE TABLE x AS SELECT 1", Effect::Write),
        ("INSERT INTO t VALUES (1)", Effect::Write),
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", Effect::Write),
        ("EXPLAIN UPDATE t SET a = 1", Effect::Read),
        ("EXPLAIN ANALYZE UPDATE t SET a = 1", Effect::Write),
        ("EXPLAIN (ANALYZE off) UPDATE t SET a = 1", Effect::Read),
        ("EXPLAIN (ANALYZE, VERBOSE) SELECT 1", Effect::Read),
        ("LOCK TABLE t IN SHARE MODE", Effect::Lock),
        ("CALL f()", Effect::Write),
        ("DO $$ BEGIN END $$", Effect::Write),
        ("NOTIFY c, 'x'", Effect::Write),
        ("LISTEN c", Effect::Session),
        ("SET x = 1", Effect::Session),
        ("PREPARE p AS DELETE FROM t", Effect::Session),
        ("DECLARE c CURSOR FOR SELECT 1", Effect::Session),
        ("BEGIN", Effect::Transaction),
        ("SET CONSTRAINTS ALL DEFERRED", Effect::Transaction),
        ("VACUUM t", Effect::Utility),
        ("ANALYZE", Effect::Utility),
        ("CHECKPOINT", Effect::Utility),
        ("REFRESH MATERIALIZED VIEW m", Effect::Write),
        ("CREATE INDEX ON t (a)", Effect::Write),
        ("GRANT SELECT ON t TO bob", Effect::Write),
    ] {
        assert_eq!(one(sql).effect, effect, "{sql}");
    }
}

#[test]
fn tables_are_read_or_written_and_names_of_with_are_neither() {
    for (sql, reads, writes) in [
        ("SELECT * FROM a JOIN s.b ON true, LATERAL (SELECT 1 FROM c) x", vec!["a", "c", "s.b"], vec![]),
        ("WITH a AS (SELECT * FROM t) SELECT * FROM a, b", vec!["b", "t"], vec![]),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM t", vec!["t"], vec![]),
        ("WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT * FROM t", vec![], vec![]),
        ("WITH a AS (SELECT 1) SELECT * FROM s.a", vec!["s.a"], vec![]),
        ("SELECT (WITH a AS (SELECT 1) SELECT * FROM a) FROM a", vec!["a"], vec![]),
        ("INSERT INTO a SELECT * FROM b", vec!["b"], vec!["a"]),
        ("INSERT INTO a SELECT * FROM a", vec!["a"], vec!["a"]),
        ("WITH x AS (SELECT 1) INSERT INTO a SELECT * FROM x", vec![], vec!["a"]),
        ("UPDATE a SET x = (SELECT 1 FROM b) FROM c WHERE a.i = c.i", vec!["b", "c"], vec!["a"]),
        ("DELETE FROM a USING b WHERE a.i = b.i", vec!["b"], vec!["a"]),
        ("MERGE INTO a USING b ON true WHEN MATCHED THEN DELETE", vec!["b"], vec!["a"]),
        ("SELECT 1 FROM a x FOR UPDATE OF x", vec!["a"], vec![]),
        ("COPY a FROM STDIN", vec![], vec!["a"]),
        ("COPY a TO STDOUT", vec!["a"], vec![]),
        ("SELECT 1 INTO x FROM a", vec!["a"], vec!["x"]),
        ("CREATE TABLE x AS SELECT * FROM a", vec!["a"], vec!["x"]),
        ("TRUNCATE a, s.b", vec![], vec!["a", "s.b"]),
        ("LOCK TABLE a", vec![], vec!["a"]),
        ("DROP TABLE IF EXISTS a, s.b", vec![], vec!["a", "s.b"]),
        ("ALTER TABLE a ADD COLUMN x int", vec![], vec!["a"]),
        ("EXPLAIN SELECT * FROM a", vec![], vec![]),
        ("REFRESH MATERIALIZED VIEW m", vec![], vec!["m"]),
    ] {
        let statement = one(sql);
        assert_eq!(
            (names(&statement.reads), names(&statement.writes)),
            (reads.into_iter().map(str::to_owned).collect(), writes.into_iter().map(str::to_owned).collect::<Vec<_>>()),
            "{sql}"
        );
    }
}

#[test]
fn functions_are_found_at_any_depth() {
    for sql in [
        "SELECT f(1)",
        "SELECT 1 FROM t WHERE f(a)",
        "SELECT 1 FROM f(2) x",
        "SELECT 1 FROM ROWS FROM (f(2)) x",
        "SELECT 1 GROUP BY f(1)",
        "SELECT 1 HAVING f(1)",
        "SELECT 1 ORDER BY f(1)",
        "SELECT 1 LIMIT f(1)",
        "SELECT 1 OFFSET f(1)",
        "SELECT CASE WHEN f(1) THEN 1 END",
        "SELECT coalesce(f(1), 2)",
        "SELECT ARRAY[f(1)]",
        "SELECT (ROW(f(1))).x",
        "SELECT a[f(1)] FROM t",
        "SELECT sum(a) FILTER (WHERE f(1)) FROM t",
        "SELECT sum(a) OVER (ORDER BY f(1)) FROM t",
        "SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY f(1))",
        "SELECT 1 FROM t JOIN u ON f(1)",
        "SELECT DISTINCT ON (f(1)) a FROM t",
        "VALUES (f(1))",
        "SELECT 1 UNION SELECT f(1)",
        "WITH a AS (SELECT f(1)) SELECT 1",
        "SELECT xmlelement(name a, f(1))",
        "SELECT x FROM xmltable('/a' PASSING f(1) COLUMNS x int)",
        "SELECT f(1)::int",
        "SELECT f(1) IS NULL",
        "SELECT 1 IN (f(1))",
        "SELECT json_object('a': f(1))",
        "SELECT 1 FROM t TABLESAMPLE bernoulli (f(1))",
        "INSERT INTO t VALUES (1) RETURNING f(1)",
        "INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = f(1)",
        "MERGE INTO t USING s ON true WHEN MATCHED THEN UPDATE SET a = f(1)",
        "CALL f(1)",
        "COPY (SELECT f(1)) TO STDOUT",
        "EXPLAIN ANALYZE SELECT f(1)",
    ] {
        assert!(one(sql).functions.iter().any(|function| function.name == "f" && function.args == 1), "{sql}");
    }
    assert_eq!(names(&one("SELECT s.f(1, 2), now(), count(*)").functions), ["count()", "now()", "s.f()"]);
    assert!(one("EXPLAIN SELECT f(1)").functions.is_empty());
    assert!(one("PREPARE p AS SELECT f(1)").functions.is_empty());
}

#[test]
fn details() {
    assert_eq!(one("SELECT 1 FROM a FOR SHARE FOR UPDATE").row_lock, Some(RowLock::Update));
    assert_eq!(one("SELECT 1 FROM a WHERE x LIKE '%FOR UPDATE%'").row_lock, None);
    assert!(one("SELECT * FROM a ORDER BY 1").ordered);
    assert!(one("SELECT 1 UNION SELECT 2 ORDER BY 1").ordered);
    assert!(one("COPY (SELECT 1 ORDER BY 1) TO STDOUT").ordered);
    assert!(!one("SELECT * FROM (SELECT 1 ORDER BY 1) x").ordered);
    assert!(one("SELECT * FROM a LIMIT 1").arbitrary_rows);
    assert!(one("SELECT DISTINCT ON (x) x FROM a").arbitrary_rows);
    assert!(!one("SELECT DISTINCT x FROM a").arbitrary_rows);
    assert!(!one("SELECT * FROM a ORDER BY 1 LIMIT 1").arbitrary_rows);
    assert!(!one("SELECT * FROM a LIMIT ALL").arbitrary_rows);
    assert!(one("INSERT INTO a VALUES (1) RETURNING id").returning);
    assert!(one("WITH d AS (DELETE FROM a RETURNING 1) SELECT * FROM d").returning);
    assert!(!one("INSERT INTO a VALUES (1)").returning);
    assert_eq!(
        one("SELECT current_timestamp, 'now'::timestamp, date 'today', user FROM t TABLESAMPLE system (1)")
            .surroundings,
        ["'now'", "'today'", "current_timestamp", "current_user", "tablesample"]
    );
    assert!(one("SELECT 'now'::text FROM t TABLESAMPLE system (1) REPEATABLE (2)").surroundings.is_empty());
}

#[test]
fn columns_that_are_given_values() {
    for (sql, given) in [
        ("INSERT INTO t (a, \"B\") VALUES ($1, 2)", vec!["a", "B"]),
        ("INSERT INTO t (a) SELECT 1 RETURNING b", vec!["a"]),
        ("INSERT INTO t (a) OVERRIDING SYSTEM VALUE VALUES (1)", vec!["a"]),
        ("INSERT INTO t (a) OVERRIDING USER VALUE VALUES (1)", vec![]),
        ("INSERT INTO t (a, b) VALUES (1, DEFAULT)", vec![]),
        ("INSERT INTO t VALUES (1, 2)", vec![]),
        ("INSERT INTO t DEFAULT VALUES", vec![]),
        ("WITH x AS (INSERT INTO u (a) VALUES (1) RETURNING a) SELECT a FROM x", vec![]),
        ("UPDATE t SET a = 1", vec![]),
    ] {
        assert_eq!(one(sql).given, given, "{sql}");
    }
}

#[test]
fn session_and_transaction_statements() {
    let mode = |read_only, isolation| TransactionMode { read_only, isolation };
    let text = |text: &str| Some(text.to_owned());
    for (sql, kind) in [
        ("BEGIN", Kind::Begin(mode(None, None))),
        ("START TRANSACTION READ ONLY", Kind::Begin(mode(Some(true), None))),
        (
            "BEGIN READ WRITE, ISOLATION LEVEL SERIALIZABLE",
            Kind::Begin(mode(Some(false), Some(Isolation::Serializable))),
        ),
        ("COMMIT AND CHAIN", Kind::Commit { chain: true }),
        ("END", Kind::Commit { chain: false }),
        ("ABORT", Kind::Rollback { chain: false }),
        ("SAVEPOINT a", Kind::Savepoint { name: "a".into() }),
        ("ROLLBACK TO a", Kind::RollbackTo { name: "a".into() }),
        ("RELEASE a", Kind::Release { name: "a".into() }),
        ("PREPARE TRANSACTION 'x'", Kind::PrepareTransaction),
        ("SET TRANSACTION READ ONLY", Kind::SetTransaction(mode(Some(true), None))),
        (
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            Kind::SetCharacteristics(mode(None, Some(Isolation::RepeatableRead))),
        ),
        ("SET TRANSACTION SNAPSHOT 'x'", Kind::SetTransaction(mode(None, None))),
        ("SET Search_Path = a, b", Kind::Set { name: "search_path".into(), value: text("a, b"), local: false }),
        ("SET LOCAL x TO off", Kind::Set { name: "x".into(), value: text("off"), local: true }),
        ("SET app.tenant = 'x'", Kind::Set { name: "app.tenant".into(), value: None, local: false }),
        ("SET x TO DEFAULT", Kind::Set { name: "x".into(), value: None, local: false }),
        ("SET ROLE bob", Kind::Set { name: "role".into(), value: text("bob"), local: false }),
        ("SET TIME ZONE 'UTC'", Kind::Set { name: "timezone".into(), value: text("UTC"), local: false }),
        ("RESET x", Kind::Reset { name: text("x") }),
        ("RESET ALL", Kind::Reset { name: None }),
        ("SHOW ALL", Kind::Show { name: "all".into() }),
        ("DISCARD ALL", Kind::Discard { what: Discard::All }),
        ("DISCARD TEMP", Kind::Discard { what: Discard::Temp }),
        ("EXECUTE p(1)", Kind::Execute { name: "p".into() }),
        ("DEALLOCATE ALL", Kind::Deallocate { name: None }),
        ("FETCH 1 FROM c", Kind::Fetch { name: "c".into() }),
        ("MOVE c", Kind::Fetch { name: "c".into() }),
        ("CLOSE ALL", Kind::CloseCursor { name: None }),
        ("UNLISTEN *", Kind::Unlisten { channel: None }),
        ("CREATE TEMP TABLE x (a int) ON COMMIT DROP", Kind::Create { temporary: true, on_commit_drop: true }),
        ("CREATE TEMP TABLE x AS SELECT 1", Kind::Create { temporary: true, on_commit_drop: false }),
        ("SELECT 1 INTO TEMP x", Kind::Create { temporary: true, on_commit_drop: false }),
        ("CREATE TABLE pg_temp.x (a int)", Kind::Create { temporary: true, on_commit_drop: false }),
        ("CREATE TEMP VIEW v AS SELECT 1", Kind::Create { temporary: true, on_commit_drop: false }),
        ("CREATE TEMP SEQUENCE s", Kind::Create { temporary: true, on_commit_drop: false }),
        ("DROP TABLE x", Kind::Drop),
        ("ALTER TABLE x RENAME TO y", Kind::Rename { to: "y".into() }),
        ("ALTER TABLE x RENAME a TO b", Kind::Define { name: "RenameStmt".into() }),
        (
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'select 1'",
            Kind::Define { name: "CreateFunctionStmt".into() },
        ),
    ] {
        assert_eq!(one(sql).kind, kind, "{sql}");
    }
    let Kind::Declare { name, hold, inner } = one("DECLARE c CURSOR WITH HOLD FOR SELECT f() FROM t FOR UPDATE").kind
    else {
        panic!("not a cursor")
    };
    assert_eq!((name.as_str(), hold, inner.effect, inner.functions.len()), ("c", true, Effect::Lock, 1));
    let Kind::Prepare { inner, .. } = one("PREPARE p AS UPDATE t SET a = $1").kind else { panic!("not prepared") };
    assert_eq!((inner.kind, inner.effect), (Kind::Update, Effect::Write));
    let setting = one("SELECT set_config('x', 'on', false), set_config('app.x', 'y', $1)").settings;
    assert_eq!(setting.len(), 2);
    assert_eq!((setting[0].value.as_deref(), setting[0].local), (Some("on"), Some(false)));
    assert_eq!((setting[1].value.as_deref(), setting[1].local), (None, None));
}

#[test]
fn texts_of_several_statements_and_of_none() {
    let several = facts("SELECT 1; UPDATE t SET a = 1; ;");
    assert_eq!(several.statements.iter().map(|s| s.effect).collect::<Vec<_>>(), [Effect::Read, Effect::Write]);
    for empty in ["", ";", "-- only a comment", "/* a */"] {
        assert_eq!(facts(empty), Default::default(), "{empty}");
    }
}

#[test]
fn what_cannot_be_parsed_is_an_error_and_no_panic() {
    for sql in ["SELEC 1", "SELECT 'a", "SELECT 1\0", "\0", "SELECT * FROM WHERE", "SELECT $1 ? ?", "((((", "é"] {
        let facts = facts(sql);
        assert!(facts.error.is_some() && facts.statements.is_empty(), "{sql:?}");
    }
}

#[test]
fn deep_and_large_texts_keep_their_tables_and_functions() {
    let deep = format!("SELECT f({}) FROM a WHERE x = 1", vec!["b"; 1000].join(" || "));
    let statement = one(&deep);
    assert!(statement.partial);
    assert_eq!((statement.effect, names(&statement.reads)), (Effect::Read, vec!["a".to_owned()]));
    assert!(statement.functions.iter().any(|function| function.name == "f"));
    let locking = one(&format!("{} FOR UPDATE", deep));
    assert_eq!((locking.effect, locking.row_lock), (Effect::Lock, Some(RowLock::Update)));
    let union = one(&vec!["SELECT a FROM t"; 500].join(" UNION ALL "));
    assert_eq!((union.effect, names(&union.reads)), (Effect::Read, vec!["t".to_owned()]));
    let large = one(&format!("INSERT INTO t VALUES {}", vec!["(1, 'some text')"; 100_000].join(",")));
    assert_eq!((large.effect, names(&large.writes)), (Effect::Write, vec!["t".to_owned()]));
    // Too deep for the parser itself: an error, no crash.
    for deepest in [
        format!("SELECT {}1", "- ".repeat(200_000)),
        format!("SELECT {}1{}", "(".repeat(200_000), ")".repeat(200_000)),
        format!("SELECT {}", vec!["1"; 200_000].join("+")),
    ] {
        let facts = facts(&deepest);
        assert!(facts.error.is_some() || facts.statements.iter().all(|statement| statement.partial));
    }
}

#[test]
fn facts_survive_their_stored_form() {
    for sql in ["BEGIN READ ONLY", "PREPARE p AS SELECT f(1) FROM t FOR UPDATE", "SELECT 1; SET x = 1", "SELEC"] {
        let before = facts(sql);
        let stored = serde_json::to_string(&before).expect("serialises");
        assert_eq!(serde_json::from_str::<crate::sql::Facts>(&stored).expect("reads back"), before, "{stored}");
    }
}
