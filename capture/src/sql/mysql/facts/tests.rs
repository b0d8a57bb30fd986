use super::facts;
use crate::sql::mysql::{Family, Mode, Server};
use crate::sql::{
    Facts, Follows, Isolation, LockWait, RowLock, Scope, Statement, StatementKind as Kind, TransactionMode,
};

mod body;
mod kinds;

fn one_in(sql: &str, mode: &Mode) -> Statement {
    let facts = facts(sql, mode);
    assert_eq!(facts.error, None, "{sql:.200}");
    assert_eq!(facts.statements.len(), 1, "{sql:.200}");
    facts.statements.into_iter().next().expect("one statement")
}

fn one(sql: &str) -> Statement {
    one_in(sql, &Mode::default())
}

fn mysql() -> Mode {
    Mode::of(Server { family: Family::MySql, version: 80_400 })
}

fn names(list: &[impl ToString]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

#[test]
fn tables_are_read_or_written_and_names_of_with_are_neither() {
    for (sql, reads, writes) in [
        ("SELECT * FROM a", vec!["a"], vec![]),
        ("SELECT a.x FROM s.a, `b` AS x LEFT JOIN c USING (i) NATURAL JOIN d", vec!["b", "c", "d", "s.a"], vec![]),
        ("SELECT * FROM (a, b) JOIN (c CROSS JOIN d) ON a.x = d.x, e", vec!["a", "b", "c", "d", "e"], vec![]),
        ("SELECT * FROM a STRAIGHT_JOIN b ON f(a.x, b.x), c WHERE 1", vec!["a", "b", "c"], vec![]),
        ("SELECT * FROM {OJ a LEFT OUTER JOIN b ON a.x = b.x}", vec!["a", "b"], vec![]),
        (
            "SELECT * FROM a PARTITION (p0, p1) AS x USE INDEX FOR ORDER BY (i, j) IGNORE KEY (k), b",
            vec!["a", "b"],
            vec![],
        ),
        ("SELECT * FROM a FORCE INDEX (i) JOIN b FORCE INDEX FOR JOIN (j) ON 1", vec!["a", "b"], vec![]),
        ("SELECT * FROM (SELECT * FROM a) x (i, j), LATERAL (SELECT * FROM b) y", vec!["a", "b"], vec![]),
        ("SELECT * FROM ((SELECT 1 FROM a) UNION (SELECT 1 FROM b)) x", vec!["a", "b"], vec![]),
        (
            "SELECT (SELECT 1 FROM a), EXISTS (SELECT 1 FROM b) FROM DUAL WHERE x IN (SELECT y FROM c)",
            vec!["a", "b", "c"],
            vec![],
        ),
        ("SELECT 1 FROM a UNION ALL SELECT 2 FROM b EXCEPT (SELECT 3 FROM c) ORDER BY 1", vec!["a", "b", "c"], vec![]),
        ("SELECT TRIM(LEADING 'x' FROM y), EXTRACT(DAY FROM z), SUBSTRING(a FROM 2) FROM t", vec!["t"], vec![]),
        ("SELECT * FROM t FOR SYSTEM_TIME FROM '2020-01-01' TO NOW(), u", vec!["t", "u"], vec![]),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2020-01-01' x JOIN u ON 1", vec!["t", "u"], vec![]),
        ("SELECT * FROM JSON_TABLE('[]', '$[*]' COLUMNS (a INT PATH '$.a')) x, t", vec!["t"], vec![]),
        ("TABLE a", vec!["a"], vec![]),
        ("TABLE a UNION TABLE b", vec!["a", "b"], vec![]),
        ("VALUES (1), ((SELECT 1 FROM a))", vec!["a"], vec![]),
        ("SELECT `from`.x FROM `from`, s.select", vec!["from", "s.select"], vec![]),
        ("SELECT * FROM .a", vec!["a"], vec![]),
        ("WITH a AS (SELECT * FROM t) SELECT * FROM a, b", vec!["b", "t"], vec![]),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM T", vec!["t"], vec![]),
        ("WITH a (x) AS (SELECT 1 FROM b), b AS (SELECT * FROM a) SELECT * FROM b", vec!["b"], vec![]),
        (
            "WITH RECURSIVE a AS (SELECT 1 FROM b UNION SELECT * FROM a), b AS (SELECT 1 FROM t) SELECT * FROM a",
            vec!["t"],
            vec![],
        ),
        ("WITH a AS (SELECT 1) SELECT * FROM s.a", vec!["s.a"], vec![]),
        ("SELECT (WITH a AS (SELECT 1) SELECT * FROM a) FROM a", vec!["a"], vec![]),
        ("INSERT INTO a SELECT * FROM b", vec!["b"], vec!["a"]),
        (
            "INSERT INTO a (x, y) VALUES (1, (SELECT 2 FROM b)) ON DUPLICATE KEY UPDATE x = VALUES(x), y = 2",
            vec!["b"],
            vec!["a"],
        ),
        (
            "INSERT INTO a (x) SELECT x FROM b JOIN c ON 1 ON DUPLICATE KEY UPDATE x = b.x, y = c.y",
            vec!["b", "c"],
            vec!["a"],
        ),
        ("INSERT a SET x = (SELECT 1 FROM b), y = 2", vec!["b"], vec!["a"]),
        ("INSERT INTO a PARTITION (p) (SELECT * FROM b)", vec!["b"], vec!["a"]),
        ("INSERT INTO a WITH x AS (SELECT * FROM b) SELECT * FROM x", vec!["b"], vec!["a"]),
        ("INSERT INTO a TABLE b", vec!["b"], vec!["a"]),
        ("INSERT INTO a VALUES (1) AS new(x) ON DUPLICATE KEY UPDATE y = new.x", vec![], vec!["a"]),
        ("REPLACE LOW_PRIORITY INTO s.a VALUES (1)", vec![], vec!["s.a"]),
        (
            "UPDATE a SET x = (SELECT 1 FROM b) WHERE y IN (SELECT 1 FROM c) ORDER BY z LIMIT 1",
            vec!["b", "c"],
            vec!["a"],
        ),
        ("UPDATE a, b SET a.x = b.x", vec!["b"], vec!["a"]),
        ("UPDATE a x JOIN b AS y ON x.i = y.i SET x.c = 1, s.y.d = 2", vec![], vec!["a", "b"]),
        ("UPDATE a JOIN b ON a.i = b.i SET x = 1", vec![], vec!["a", "b"]),
        ("UPDATE a JOIN (SELECT * FROM c) d ON 1 SET a.x = 1", vec!["c"], vec!["a"]),
        ("WITH w AS (SELECT * FROM b) UPDATE a JOIN w ON 1 SET a.x = 1", vec!["b"], vec!["a"]),
        ("DELETE FROM a WHERE x IN (SELECT 1 FROM b)", vec!["b"], vec!["a"]),
        ("DELETE QUICK FROM a AS x PARTITION (p) WHERE 1", vec![], vec!["a"]),
        ("DELETE a, y.* FROM a JOIN b y ON a.i = y.i JOIN c ON 1", vec!["c"], vec!["a", "b"]),
        ("DELETE FROM a, s.b USING a, s.b, c WHERE 1", vec!["c"], vec!["a", "s.b"]),
        ("WITH w AS (SELECT 1 FROM b) DELETE FROM a WHERE x IN (SELECT * FROM w)", vec!["b"], vec!["a"]),
        ("LOAD DATA LOCAL INFILE 'f' REPLACE INTO TABLE a (x, @v) SET y = (SELECT 1 FROM b)", vec!["b"], vec!["a"]),
        ("CREATE TABLE a (x int DEFAULT (f(1)), CHECK (x > 1)) ENGINE=InnoDB", vec![], vec!["a"]),
        ("CREATE TABLE IF NOT EXISTS a LIKE s.b", vec!["s.b"], vec!["a"]),
        ("CREATE TABLE a (LIKE b)", vec!["b"], vec!["a"]),
        ("CREATE TABLE a SELECT * FROM b", vec!["b"], vec!["a"]),
        (
            "CREATE TABLE a (x int) ENGINE=InnoDB PARTITION BY HASH (x) AS WITH c AS (SELECT 1 FROM b) SELECT * FROM c",
            vec!["b"],
            vec!["a"],
        ),
        ("CREATE TABLE a (SELECT 1 FROM b)", vec!["b"], vec!["a"]),
        (
            "CREATE OR REPLACE ALGORITHM=MERGE DEFINER=`r`@`%` SQL SECURITY INVOKER VIEW v (x) AS SELECT 1 FROM b",
            vec!["b"],
            vec!["v"],
        ),
        ("CREATE UNIQUE INDEX i ON a (x)", vec![], vec!["a"]),
        ("DROP INDEX i ON s.a", vec![], vec!["s.a"]),
        ("CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW SET NEW.x = (SELECT 1 FROM b)", vec![], vec!["a"]),
        ("DROP TABLE IF EXISTS a, s.b CASCADE", vec![], vec!["a", "s.b"]),
        ("ALTER ONLINE TABLE a ADD COLUMN x int, RENAME INDEX i TO j", vec![], vec!["a"]),
        ("ALTER TABLE a EXCHANGE PARTITION p WITH TABLE b", vec![], vec!["a", "b"]),
        ("RENAME TABLE a TO b, c TO d", vec![], vec!["a", "c"]),
        ("TRUNCATE a", vec![], vec!["a"]),
        ("LOCK TABLES a READ LOCAL, b AS x WRITE, c LOW_PRIORITY WRITE", vec!["a"], vec!["b", "c"]),
        ("HANDLER s.a OPEN AS x", vec!["s.a"], vec![]),
        ("ANALYZE LOCAL TABLES a, b PERSISTENT FOR ALL", vec![], vec!["a", "b"]),
        ("CHECKSUM TABLE a, b EXTENDED", vec!["a", "b"], vec![]),
        ("SHOW CREATE TABLE s.a", vec!["s.a"], vec![]),
        ("SHOW FULL COLUMNS FROM a FROM s", vec!["s.a"], vec![]),
        ("DESC a 'x%'", vec!["a"], vec![]),
        ("EXPLAIN SELECT * FROM a", vec![], vec![]),
        ("ANALYZE FORMAT=JSON SELECT * FROM a", vec!["a"], vec![]),
        ("EXPLAIN ANALYZE FORMAT=TREE DELETE FROM a", vec![], vec!["a"]),
        ("SET @x = (SELECT 1 FROM a)", vec!["a"], vec![]),
        ("SELECT NEXT VALUE FOR s.q, PREVIOUS VALUE FOR r", vec!["r"], vec!["s.q"]),
        ("SELECT NEXTVAL(q), LASTVAL(r) FROM t", vec!["r", "t"], vec!["q"]),
        ("BEGIN NOT ATOMIC INSERT INTO a SELECT * FROM b; SELECT * FROM c; END", vec!["b", "c"], vec![]),
        ("SET STATEMENT max_statement_time=1 FOR SELECT * FROM a", vec!["a"], vec![]),
        ("SELECT 1 FROM a /*!50701 , b */ /*!40100 , c */", vec!["a", "c"], vec![]),
    ] {
        let statement = one(sql);
        assert_eq!(
            (names(&statement.reads), names(&statement.writes)),
            (reads.into_iter().map(str::to_owned).collect(), writes.into_iter().map(str::to_owned).collect::<Vec<_>>()),
            "{sql}"
        );
    }
    assert_eq!(names(&one_in("SELECT 1 FROM a /*!50701 , b */ /*M! , c */", &mysql()).reads), ["a", "b"]);
}

#[test]
fn functions_are_found_at_any_depth() {
    for sql in [
        "SELECT f(1)",
        "SELECT F (1)",
        "SELECT `f`(1)",
        "SELECT 1 FROM t WHERE f(a)",
        "SELECT 1 FROM t GROUP BY f(1) HAVING f(1) ORDER BY f(1)",
        "SELECT CASE WHEN f(1) THEN 1 END",
        "SELECT a FROM t JOIN u ON f(1)",
        "SELECT 1 FROM t WHERE a IN (1, f(1))",
        "SELECT 1 FROM (SELECT f(1)) x",
        "WITH a AS (SELECT f(1)) SELECT 1 FROM a",
        "INSERT INTO t VALUES (f(1))",
        "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = f(1)",
        "UPDATE t SET a = f(1)",
        "DELETE FROM t WHERE f(1)",
        "SET @a = f(1)",
        "DO f(1)",
        "CALL f(1)",
        "SELECT -f(1) + 1, @x := f(1)",
        "LOAD DATA INFILE 'x' INTO TABLE t SET a = f(1)",
        "SHOW TABLES WHERE f(1)",
        "VALUES (f(1))",
        "IF f(1) THEN SELECT 1; END IF",
    ] {
        assert_eq!(names(&one(sql).functions), ["f()"], "{sql}");
        assert_eq!(one(sql).functions[0].args, 1, "{sql}");
    }
    let statement = one("SELECT s.f(1, (2), g()), COUNT(*), CAST(a AS CHAR(3)), CONVERT(a USING utf8), IF(a, 1, 2), \
                         a IN (1), MATCH (a) AGAINST ('x'), INTERVAL (1) DAY + NOW(), VALUES(a), t.a, EXISTS (SELECT 1) \
                         FROM t AS u (x) WHERE a = ANY (SELECT 1) AND (b) OR NOT (c) GROUP BY (a)");
    let found: Vec<(String, u16)> = statement.functions.iter().map(|call| (call.to_string(), call.args)).collect();
    let expected = [
        ("cast()", 1),
        ("convert()", 1),
        ("count()", 1),
        ("g()", 0),
        ("if()", 3),
        ("interval()", 1),
        ("now()", 0),
        ("s.f()", 3),
    ];
    assert_eq!(found, expected.map(|(name, args)| (name.to_owned(), args)));
    assert_eq!(
        one("SELECT CURRENT_TIMESTAMP, t.current_user, f(CURRENT_USER) FROM t").surroundings,
        ["current_timestamp", "current_user"]
    );
}

#[test]
fn row_locks_are_found_at_any_depth() {
    for (sql, lock, wait) in [
        ("SELECT 1 FROM t FOR UPDATE", RowLock::Update, None),
        ("SELECT 1 FROM t FOR UPDATE NOWAIT", RowLock::Update, Some(LockWait::NoWait)),
        ("SELECT 1 FROM t FOR SHARE OF t, u SKIP LOCKED", RowLock::Share, Some(LockWait::SkipLocked)),
        ("SELECT 1 FROM t LOCK IN SHARE MODE WAIT 5", RowLock::Share, Some(LockWait::Limited)),
        ("SELECT 1 FROM t WHERE a IN (SELECT 1 FROM u FOR UPDATE)", RowLock::Update, None),
        ("SELECT 1 FROM t LIMIT 1 INTO @a FOR UPDATE", RowLock::Update, None),
        ("(SELECT 1 FROM t FOR UPDATE)", RowLock::Update, None),
        ("SELECT 1 FROM t /*!40100 FOR UPDATE */", RowLock::Update, None),
    ] {
        let statement = one(sql);
        assert_eq!((statement.row_lock, statement.state.lock_wait), (Some(lock), wait), "{sql}");
    }
    for sql in ["SELECT 1 FROM t FOR SYSTEM_TIME ALL", "SELECT 'FOR UPDATE'", "SELECT 1 FROM t /*!50701 FOR UPDATE */"]
    {
        assert_eq!(one(sql).row_lock, None, "{sql}");
    }
    assert_eq!(one_in("SELECT 1 FROM t /*!50701 FOR UPDATE */", &mysql()).row_lock, Some(RowLock::Update));
}

#[test]
fn transactions_keep_their_modes() {
    let mode = |read_only, isolation| TransactionMode { read_only, isolation };
    for (sql, kind) in [
        ("BEGIN", Kind::Begin(mode(None, None))),
        ("BEGIN WORK", Kind::Begin(mode(None, None))),
        ("START TRANSACTION READ ONLY", Kind::Begin(mode(Some(true), None))),
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE", Kind::Begin(mode(Some(false), None))),
        ("COMMIT", Kind::Commit { chain: false }),
        ("COMMIT WORK AND CHAIN NO RELEASE", Kind::Commit { chain: true }),
        ("ROLLBACK AND NO CHAIN", Kind::Rollback { chain: false }),
        ("ROLLBACK TO SAVEPOINT a", Kind::RollbackTo { name: "a".into() }),
        ("SAVEPOINT `a b`", Kind::Savepoint { name: "a b".into() }),
        ("RELEASE SAVEPOINT a", Kind::Release { name: "a".into() }),
        ("SET TRANSACTION READ ONLY", Kind::SetTransaction(mode(Some(true), None))),
        (
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
            Kind::SetCharacteristics(mode(Some(false), Some(Isolation::RepeatableRead))),
        ),
    ] {
        assert_eq!(one(sql).kind, kind, "{sql}");
    }
    assert!(one("START TRANSACTION WITH CONSISTENT SNAPSHOT").state.snapshot);
    assert!(one("COMMIT RELEASE").state.release && !one("COMMIT NO RELEASE").state.release);
    assert_eq!(one("SET GLOBAL TRANSACTION READ ONLY").state.assignments[0].scope, Scope::Global);
}

#[test]
fn assignments_have_scope_name_and_value() {
    let assignments = |sql: &str| -> Vec<(Scope, String, Option<String>)> {
        let state = one(sql).state;
        state.assignments.into_iter().map(|found| (found.scope, found.name, found.value)).collect()
    };
    let user = |name: &str| (Scope::User, name.to_owned(), None);
    let set = |scope, name: &str, value: &str| (scope, name.to_owned(), Some(value.to_owned()));
    assert_eq!(assignments("SET AutoCommit = 0"), [set(Scope::Session, "autocommit", "0")]);
    assert_eq!(
        assignments("SET @a = 1, @@sql_mode := 'ANSI', SESSION x = -1, GLOBAL y = ON, z = DEFAULT, @@local.w = 1"),
        [
            user("a"),
            set(Scope::Session, "sql_mode", "ANSI"),
            set(Scope::Session, "x", "-1"),
            set(Scope::Global, "y", "on"),
            set(Scope::Global, "z", "default"),
            set(Scope::Session, "w", "1"),
        ]
    );
    assert_eq!(
        assignments("SET NAMES 'utf8' COLLATE utf8_bin"),
        [set(Scope::Session, "names", "utf8 COLLATE utf8_bin")]
    );
    assert_eq!(assignments("SET CHARACTER SET utf8"), [set(Scope::Session, "character_set", "utf8")]);
    assert_eq!(assignments("SET ROLE 'r'"), [set(Scope::Session, "role", "r")]);
    assert_eq!(assignments("SET PERSIST a.b = 5"), [set(Scope::Persist, "a.b", "5")]);
    assert_eq!(assignments("SET timestamp = 5"), [(Scope::Session, "timestamp".to_owned(), None)]);
    assert_eq!(assignments("SET x = CONCAT(@@x, 'y')"), [(Scope::Session, "x".to_owned(), None)]);
    assert_eq!(assignments("SET STATEMENT a = 1, b = 2 FOR SELECT 1").len(), 2);
    assert_eq!(one("SET x = CONCAT(@@global.x, @y)").state.system_variables, ["x"]);
    for (sql, commits) in
        [("SET autocommit = 1", true), ("SET autocommit = OFF", false), ("SET @autocommit = 1", false)]
    {
        assert_eq!(one(sql).state.implicit_commit, commits, "{sql}");
    }
}

#[test]
fn user_variables_are_read_or_written() {
    for (sql, read, written) in [
        ("SELECT @a, @`B c`, @'d'", vec!["a", "b c", "d"], vec![]),
        ("SELECT @a := @b + 1", vec!["b"], vec!["a"]),
        ("SET @a = @b, @c := 1", vec!["b"], vec!["a", "c"]),
        ("SELECT x INTO @a FROM t WHERE y = @b", vec!["b"], vec!["a"]),
        ("SELECT x, y FROM t INTO @a, @b", vec![], vec!["a", "b"]),
        ("CALL p(@a, 1)", vec!["a"], vec!["a"]),
        ("EXECUTE s USING @a, @b", vec!["a", "b"], vec![]),
        ("PREPARE s FROM @a", vec!["a"], vec![]),
        ("EXECUTE IMMEDIATE CONCAT('x', @a) USING @b", vec!["a", "b"], vec![]),
        ("LOAD DATA INFILE 'x' INTO TABLE t (a, @b) SET c = @b", vec!["b"], vec!["b"]),
        ("GET DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT", vec![], vec!["a"]),
        ("CREATE USER 'a'@'b'", vec![], vec![]),
        ("UPDATE t SET a = @a, b = (@b := b + 1)", vec!["a"], vec!["b"]),
    ] {
        let state = one(sql).state;
        assert_eq!(
            (state.variables_read, state.variables_written),
            (read.into_iter().map(str::to_owned).collect(), written.into_iter().map(str::to_owned).collect::<Vec<_>>(),),
            "{sql}"
        );
    }
}

#[test]
fn statements_that_ask_for_the_one_before_follow_it() {
    for (sql, follows) in [
        ("SELECT LAST_INSERT_ID()", Follows::LastInsertId),
        ("SELECT @@identity", Follows::LastInsertId),
        ("INSERT INTO t VALUES (LAST_INSERT_ID())", Follows::LastInsertId),
        ("SELECT FOUND_ROWS()", Follows::FoundRows),
        ("SELECT row_count()", Follows::RowCount),
        ("SHOW WARNINGS LIMIT 1", Follows::Diagnostics),
        ("SHOW COUNT(*) ERRORS", Follows::Diagnostics),
        ("GET DIAGNOSTICS @a = NUMBER", Follows::Diagnostics),
        ("SELECT @@warning_count", Follows::Diagnostics),
        ("SELECT PREVIOUS VALUE FOR s", Follows::SequenceValue),
        ("SHOW PROFILE FOR QUERY 1", Follows::Profile),
    ] {
        assert_eq!(one(sql).state.follows, [follows], "{sql}");
    }
    assert!(
        one("UPDATE t SET a = LAST_INSERT_ID(a + 1)").state.follows.is_empty(),
        "with an argument it sets the value"
    );
    assert!(one("SELECT SQL_CALC_FOUND_ROWS * FROM t LIMIT 1").state.found_rows);
}

#[test]
fn order_and_limit_say_which_rows_come() {
    for (sql, ordered, arbitrary) in [
        ("SELECT 1 FROM t ORDER BY a", true, false),
        ("SELECT 1 FROM t ORDER BY a LIMIT 1", true, false),
        ("SELECT 1 FROM t LIMIT 1", false, true),
        ("SELECT 1 FROM t OFFSET 1 ROW FETCH FIRST 1 ROWS ONLY", false, true),
        ("SELECT GROUP_CONCAT(a ORDER BY b), SUM(a) OVER (ORDER BY b) FROM t", false, false),
        ("SELECT 1 FROM (SELECT 1 FROM t ORDER BY a LIMIT 1) x", false, false),
        ("SELECT 1 FROM (SELECT 1 FROM t LIMIT 1) x ORDER BY 1", true, true),
        ("(SELECT 1 FROM t ORDER BY a)", true, false),
        ("(SELECT 1 FROM t ORDER BY a LIMIT 1) UNION (SELECT 2 LIMIT 1) ORDER BY 1", true, true),
        ("SELECT 1 UNION SELECT 2 ORDER BY 1", true, false),
        ("UPDATE t SET a = 1 LIMIT 1", false, true),
        ("DELETE FROM t ORDER BY a LIMIT 1", false, false),
    ] {
        let statement = one(sql);
        assert_eq!((statement.ordered, statement.arbitrary_rows), (ordered, arbitrary), "{sql}");
    }
}

#[test]
fn what_goes_elsewhere_is_said() {
    assert!(one("INSERT INTO t VALUES (1) RETURNING a").returning);
    assert!(one("DELETE FROM t WHERE a RETURNING *").returning);
    assert!(one("REPLACE INTO t SELECT 1 FROM u RETURNING a").returning);
    let outfile = one("SELECT * FROM t INTO OUTFILE '/tmp/x'");
    assert!(outfile.into && outfile.state.server_file);
    assert!(one("LOAD DATA INFILE 'x' INTO TABLE t").state.server_file);
    assert!(!one("LOAD DATA LOCAL INFILE 'x' INTO TABLE t").state.server_file);
    assert!(one("SELECT * FROM t FOR SYSTEM_TIME ALL").state.history);
    assert!(one("CREATE TEMPORARY TABLE t (a int)").state.temporary);
    assert!(one("DROP TEMPORARY TABLE t").state.temporary && !one("DROP TABLE t").state.temporary);
}

#[test]
fn texts_of_statements_are_read_where_they_are_literal() {
    let inner = |sql: &str| match one(sql).kind {
        Kind::Prepare { inner, .. } | Kind::ExecuteImmediate { inner } => *inner,
        kind => panic!("{kind:?}"),
    };
    assert_eq!(names(&inner("PREPARE s FROM 'DELETE FROM t WHERE a = \\'x\\''").writes), ["t"]);
    assert_eq!(inner("PREPARE s FROM @a").kind, Kind::Unknown);
    assert_eq!(inner("EXECUTE IMMEDIATE 'SELECT 1'").kind, Kind::Select);
    assert_eq!(inner("EXECUTE IMMEDIATE CONCAT('SELECT', ' 1')").kind, Kind::Unknown);
    assert!(facts("PREPARE s FROM 'SELEC'", &Mode::default()).error.is_some());
}

#[test]
fn several_statements_are_several() {
    let kinds = |sql: &str| -> Vec<Kind> {
        facts(sql, &Mode::default()).statements.into_iter().map(|statement| statement.kind).collect()
    };
    assert_eq!(kinds("SELECT 1; DO 1;; "), [Kind::Select, Kind::Evaluate]);
    assert_eq!(facts("", &Mode::default()), Facts::default());
    assert_eq!(facts("/* nothing */ ;", &Mode::default()), Facts::default());
    let body = "CREATE PROCEDURE p() BEGIN SELECT 1; DELETE FROM t; END; SELECT 2";
    assert_eq!(kinds(body), [Kind::Define { name: "create procedure".into() }, Kind::Select]);
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_place() {
    for (sql, error) in [
        ("SELEC 1", "a statement that is not known, at byte 0, near `SELEC 1`"),
        ("SELECT 'a", "not a token, or one without an end, at byte 7, near `'a`"),
        ("SELECT (1", "a parenthesis that is never closed, at byte 7, near `(1`"),
        ("SELECT 1)", "a parenthesis that was never opened, at byte 8, near `)`"),
        ("UPDATE t", "UPDATE without SET, at byte 7, near `t`"),
        ("INSERT INTO", "a name is missing at the end of the text"),
        ("SET a", "an assignment without a value, at the end of the text"),
        // Error 1064 of a MariaDB 10.11, too, outside sql_mode ORACLE.
        ("CREATE PACKAGE p AS PROCEDURE x(); END", "a statement that is not known, at byte 35, near `END`"),
        ("1", "no statement begins like this, at byte 0, near `1`"),
    ] {
        assert_eq!(facts(sql, &Mode::default()).error.as_deref(), Some(error), "{sql}");
    }
}

#[test]
fn columns_that_are_given_values() {
    for (sql, given) in [
        ("INSERT INTO t (a, `b c`, t.d, s.t.e) VALUES (1, 2, 3, 4)", vec!["a", "b c", "d", "e"]),
        ("REPLACE t (a) SELECT 1", vec!["a"]),
        ("INSERT t SET a = f(1, 2), t.b := 3 ON DUPLICATE KEY UPDATE c = 4", vec!["a", "b"]),
        ("INSERT INTO t (a, b) VALUES (1, DEFAULT)", vec![]),
        ("INSERT INTO t (a, b) VALUES (1, 2) ON DUPLICATE KEY UPDATE b = DEFAULT", vec![]),
        ("INSERT INTO t VALUES (1, 2)", vec![]),
        ("INSERT INTO t () VALUES ()", vec![]),
        ("INSERT INTO t (SELECT a FROM u)", vec![]),
        ("UPDATE t SET a = 1", vec![]),
    ] {
        assert_eq!(one(sql).given, given, "{sql}");
    }
}

#[test]
fn nesting_of_any_depth_is_read() {
    let deep = 20_000;
    let sql = format!("SELECT {}1{} FROM t", "(".repeat(deep), ")".repeat(deep));
    assert_eq!(names(&one(&sql).reads), ["t"]);
    let sql = format!("SELECT {}f(1){}", "(SELECT ".repeat(deep), ")".repeat(deep));
    assert_eq!(names(&one(&sql).functions), ["f()"]);
    facts(&"EXPLAIN ".repeat(deep), &Mode::default());
    facts(&"SET STATEMENT a=1 FOR ".repeat(deep), &Mode::default());
    facts(&"(".repeat(deep), &Mode::default());
}

proptest::proptest! {
    #[test]
    fn any_text_gives_facts(sql in "(?s).{0,80}") {
        facts(&sql, &Mode::default());
    }

    #[test]
    fn any_run_of_tokens_gives_facts(words in proptest::collection::vec(
        proptest::sample::select(vec!["select", "from", "with", "recursive", "as", "(", ")", ",", "1", "'a'", "t", ".", "update",
            "set", "=", "delete", "using", "insert", "into", "values", "@a", "@@", "global", "for", "system_time", "lock",
            "union", "order", "by", "limit", ";", "prepare", "execute", "immediate", "call", "create", "table", "or",
            "replace", "show", "explain", "handler", "open", "rename", "to", "join", "on", "json_table", "next", "value",
            "load", "data", "flush", "tables", "begin", "not", "end", "xa", "commit", "transaction", "xyz"]), 0..30)) {
        facts(&words.join(" "), &Mode::default());
        facts(&words.join(" "), &mysql());
    }
}
