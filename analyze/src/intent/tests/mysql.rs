//! Sessions of MySQL and MariaDB. The expectations come from the manuals; each test names the chapters.

use std::sync::Arc;

use splitproof_capture::sql::{self, Dialect};
use splitproof_capture::trace::{Engine, Kind, Outcome, TransactionStatus};
use splitproof_replay::catalog::{Catalog, VaryingDefault, Volatility};

use super::super::{Call, Control, Functions, Intent, Judge, Pin, Reason, RequestView, Session, Variation};
use super::{function, session_of};

fn catalog() -> Catalog {
    let default = |column: &str, expression: &str| VaryingDefault {
        schema: "shop".to_owned(),
        table: "audit".to_owned(),
        column: column.to_owned(),
        expression: expression.to_owned(),
    };
    Catalog {
        functions: vec![
            function("shop", "Audit_Login", Volatility::Volatile, "sql"),
            function("shop", "order_total", Volatility::Stable, "sql"),
            function("shop", "concat", Volatility::Volatile, "sql"),
        ],
        varying_defaults: vec![default("id", "auto_increment"), default("at", "on update current_timestamp()")],
        ..Catalog::default()
    }
}

fn judge() -> Judge {
    Judge::new(Dialect::of(Engine::Mysql), Some(Arc::new(catalog())))
}

fn session(lines: &str) {
    session_of(&mut judge(), lines);
}

fn alone(sql: &str) -> super::Verdict {
    Session::new().judge(&mut judge(), &RequestView::query(sql))
}

/// MySQL: "SQL Statements"; MariaDB: "SQL Statements & Structure".
#[test]
fn outside_transactions() {
    session(
        "SELECT id FROM users => replica
         SELECT order_total(1) => replica
         SELECT RAND() => replica either
         SELECT @@server_id => replica either
         SHOW TABLES => replica either
         SELECT 1 FROM information_schema.tables => replica either
         EXPLAIN UPDATE users SET a = 1 => primary
         SELECT 1 FROM users FOR UPDATE => primary
         SELECT 1 FROM users LOCK IN SHARE MODE => primary
         SELECT audit_login(1) => primary
         SELECT shop.audit_login(1) => primary
         SELECT no_such(1) => primary
         SELECT GET_LOCK('a', 1) => primary
         DO RELEASE_LOCK('a') => primary
         SELECT LOAD_FILE('/tmp/a') => primary
         SELECT 1 INTO OUTFILE '/tmp/a' => primary
         SELECT NEXT VALUE FOR s => primary
         INSERT INTO users VALUES (1) => primary
         REPLACE INTO users VALUES (1) => primary
         LOAD DATA LOCAL INFILE 'a' INTO TABLE users => primary
         CALL f() => primary
         BEGIN NOT ATOMIC SELECT 1; END => primary
         SET GLOBAL sort_buffer_size = 1 => primary
         FLUSH TABLES => primary
         KILL 1 => primary
         ANALYZE TABLE users => primary
         SET sort_buffer_size = 1 => all
         SET NAMES utf8mb4 => all
         USE shop => all
         XA RECOVER => primary",
    );
}

/// MySQL: "START TRANSACTION, COMMIT, and ROLLBACK Statements", "Statements That Cause an Implicit Commit".
#[test]
fn transactions_open_and_end_without_a_word() {
    session(
        "SET autocommit = 0 => all
         SELECT 1 => replica
         SELECT 1 FROM users => same
         UPDATE users SET a = 1 => primary
         SELECT 1 FROM users => same primary
         COMMIT => same primary
         SELECT 1 FROM users => same
         ALTER TABLE users ADD b INT => primary
         SELECT 1 FROM users => same
         SET autocommit = 1 => all
         SELECT 1 FROM users => replica
         BEGIN => same
         UPDATE users SET a = 1 => primary
         BEGIN => same
         SELECT 1 FROM users => same
         CREATE TEMPORARY TABLE t (a INT) => same
         SELECT 1 FROM users => same
         CREATE TABLE u (a INT) => primary
         SELECT 1 FROM users => replica",
    );
}

/// MySQL: "SET TRANSACTION Statement", "Transaction Isolation Levels".
#[test]
fn modes_of_transactions() {
    session(
        "SET TRANSACTION READ ONLY => same
         BEGIN => same
         SELECT 1 FROM users => replica
         COMMIT => same
         BEGIN => same
         SELECT 1 FROM users => same
         COMMIT => same
         SET TRANSACTION READ ONLY => same
         SELECT 1 FROM users => replica
         BEGIN => same
         SELECT 1 FROM users => same
         COMMIT => same
         SET SESSION transaction_isolation = 'SERIALIZABLE' => all
         SELECT 1 FROM users => replica
         BEGIN => primary
         SELECT 1 FROM users => primary
         COMMIT => same primary",
    );
}

/// MySQL: "LOCK TABLES and UNLOCK TABLES Statements".
#[test]
fn table_locks_hold_the_session() {
    session(
        "LOCK TABLES users READ => primary
         SELECT 1 FROM users => same primary
         SHOW TABLES => same primary
         UNLOCK TABLES => same primary
         SELECT 1 FROM users => replica
         UNLOCK TABLES => same
         BEGIN => same
         LOCK TABLES users WRITE => primary
         SELECT 1 FROM users => same primary
         BEGIN => same
         SELECT 1 FROM users => same
         ROLLBACK => same",
    );
}

/// MySQL: "CREATE TEMPORARY TABLE Statement", and `read_only` in "Server System Variables".
#[test]
fn temporary_tables_live_where_they_were_made() {
    session(
        "CREATE TEMPORARY TABLE t (a INT) => replica either
         INSERT INTO t VALUES (1) => same
         SELECT a FROM t => same
         INSERT INTO users SELECT a FROM t => primary
         BEGIN => same
         UPDATE users SET a = 1 => primary
         CREATE TEMPORARY TABLE u AS SELECT 1 FROM users => same primary
         ROLLBACK => same primary
         SELECT 1 FROM u => same primary
         DROP TEMPORARY TABLE u => same primary
         SELECT 1 FROM u => replica
         CREATE TEMPORARY TABLE v AS SELECT audit_login(1) => primary
         SELECT 1 FROM v => same primary",
    );
}

/// MySQL: "User-Defined Variables", "Information Functions", "SHOW WARNINGS Statement".
#[test]
fn what_a_statement_leaves_is_where_it_ran() {
    session(
        "SET @a = 1 => all
         SELECT @a => replica
         SELECT id INTO @b FROM users => replica either
         SELECT @b => same
         SET @b = 2 => all
         SELECT @b => replica
         SET @r = RAND() => replica either
         SELECT @r => same
         INSERT INTO users VALUES (1) => primary
         SELECT 1 FROM users => replica
         SELECT LAST_INSERT_ID() => same primary
         SHOW WARNINGS => same primary
         SET @id = LAST_INSERT_ID() => same primary
         SELECT @id => same primary
         UPDATE users SET a = @id => primary
         SELECT ROW_COUNT() => same primary
         SHOW WARNINGS => same primary
         SHOW ERRORS => same primary
         CALL f(@out) => primary
         SELECT @out => same primary",
    );
}

/// MySQL: "Prepared Statements", "HANDLER Statement"; MariaDB: "EXECUTE IMMEDIATE", "SET STATEMENT".
#[test]
fn statements_in_statements() {
    session(
        "PREPARE r FROM 'SELECT 1 FROM users' => same
         EXECUTE r => same
         PREPARE w FROM 'UPDATE users SET a = 1' => primary
         EXECUTE w => primary
         PREPARE x FROM @x => primary
         EXECUTE x => primary
         EXECUTE IMMEDIATE 'SELECT 1 FROM users' => replica
         EXECUTE IMMEDIATE 'SET autocommit = 0' => all
         SELECT 1 FROM users => same
         EXECUTE IMMEDIATE 'COMMIT' => same
         SET STATEMENT max_statement_time = 1 FOR UPDATE users SET a = 1 => primary
         ROLLBACK => same primary
         SET autocommit = 1 => all
         HANDLER users OPEN => replica either
         HANDLER users READ FIRST => same
         HANDLER users CLOSE => same",
    );
    assert!(alone("PREPARE x FROM @x").is_unknown());
}

/// MySQL: "XA Transactions".
#[test]
fn xa_transactions_are_the_primarys() {
    session(
        "XA START 'a' => primary
         SELECT 1 FROM users => same primary
         XA END 'a' => primary
         XA PREPARE 'a' => primary
         XA COMMIT 'a' => primary
         SELECT 1 FROM users => replica",
    );
    let (mut judge, mut session) = (judge(), Session::new());
    let mut told = |sql: &str| {
        let verdict = session.judge(&mut judge, &RequestView::query(sql));
        (verdict.transaction, verdict.control)
    };
    assert_eq!(told("XA START 'a'"), (Some(1), Some(Control::Begin)));
    assert_eq!(told("XA END 'a'"), (Some(1), Some(Control::Inside)));
    assert_eq!(told("XA ROLLBACK 'a'"), (Some(1), Some(Control::Rollback)));
    assert_eq!(told("XA COMMIT 'b'"), (None, Some(Control::Commit)));
}

/// MySQL: "COM_RESET_CONNECTION", "COM_CHANGE_USER" and "OK_Packet" of the protocol; "InnoDB Error Handling".
#[test]
fn what_the_protocol_tells() {
    use TransactionStatus::{Idle, Open};
    let (mut judge, mut session) = (judge(), Session::new());
    let mut intent = |request: RequestView<'_>| session.judge(&mut judge, &request).intent;
    let read = "SELECT 1 FROM users";
    let told = |sql, transaction, autocommit| RequestView {
        transaction: Some(transaction),
        autocommit: Some(autocommit),
        ..RequestView::query(sql)
    };
    // The login switched autocommit off, as the first answer tells.
    assert_eq!(intent(told("SELECT 1", Idle, false)), Intent::Replica);
    assert_eq!(intent(told(read, Open, false)), Intent::Same);
    assert_eq!(intent(told("COMMIT", Idle, false)), Intent::Same);
    let reset = RequestView { kind: Kind::Reset, sql: None, ..told("", Idle, true) };
    assert_eq!(intent(reset), Intent::All);
    assert_eq!(intent(told(read, Idle, true)), Intent::Replica);
    // An error leaves the transaction alone, and a deadlock ends it.
    let failed = |sql, code| RequestView { outcome: Outcome::Error, error_code: Some(code), ..RequestView::query(sql) };
    assert_eq!(intent(told("BEGIN", Open, true)), Intent::Same);
    assert_eq!(intent(failed("INSERT INTO users VALUES (1)", "1062")), Intent::Primary);
    assert_eq!(intent(RequestView::query(read)), Intent::Same);
    assert_eq!(intent(failed("UPDATE users SET a = 1", "1213")), Intent::Primary);
    assert_eq!(intent(RequestView::query(read)), Intent::Replica);
    let fetch = RequestView { kind: Kind::Fetch, sql: None, portal: Some("3"), ..RequestView::query("") };
    assert_eq!(intent(fetch), Intent::Same);
}

/// MySQL: "Function Name Parsing and Resolution": a built-in function comes before a stored one, which then needs its
/// schema.
#[test]
fn built_in_functions_come_first() {
    let functions = Functions::new(Engine::Mysql, Some(&catalog()));
    let call = |schema: Option<&str>, name: &str| {
        functions.call(&sql::Function { schema: schema.map(str::to_owned), name: name.to_owned(), args: 0 })
    };
    assert_eq!(call(None, "concat"), Call::Pure);
    assert_eq!(call(Some("shop"), "concat"), Call::Volatile("concat".into()));
    assert_eq!(call(None, "audit_login"), Call::Volatile("audit_login".into()));
    assert_eq!(call(Some("other"), "audit_login"), Call::Unknown("audit_login".into()));
    assert_eq!(call(None, "order_total"), Call::Pure);
}

/// MySQL: "Determination of Safe and Unsafe Statements in Binary Logging", "Using AUTO_INCREMENT".
#[test]
fn answers_that_differ_each_time_are_named() {
    let varies = |sql: &str| alone(sql).profile.and_then(|profile| profile.answer_varies().cloned());
    let writes_vary = |sql: &str| alone(sql).profile.and_then(|profile| profile.written_varies().cloned());
    assert_eq!(varies("SELECT NOW()"), Some(Variation::Time));
    assert_eq!(varies("SELECT UNIX_TIMESTAMP('2020-01-01')"), None);
    assert_eq!(varies("SELECT RAND()"), Some(Variation::Random));
    assert_eq!(varies("SELECT RAND(3)"), None);
    assert_eq!(varies("SELECT UUID()"), Some(Variation::Random));
    assert_eq!(varies("SELECT LAST_INSERT_ID()"), Some(Variation::GeneratedKey));
    assert_eq!(varies("SELECT CONNECTION_ID()"), Some(Variation::Session));
    assert_eq!(varies("SELECT @@hostname"), Some(Variation::Server));
    assert_eq!(varies("SHOW PROCESSLIST"), Some(Variation::Server));
    assert_eq!(varies("SHOW TABLES"), None);
    assert_eq!(varies("SELECT * FROM users LIMIT 1"), Some(Variation::ArbitraryRows));
    assert_eq!(writes_vary("INSERT INTO audit (what) VALUES ('x')"), Some(Variation::Default("audit.id".into())));
    let asked = Some(Variation::AskedKey("audit.id".into()));
    assert_eq!(writes_vary("INSERT INTO audit (ID, at) VALUES (NULL, '2020-01-01')"), asked, "NULL asks for a key");
    assert_eq!(writes_vary("INSERT INTO audit (id) VALUES (7)"), Some(Variation::Default("audit.at".into())));
    assert_eq!(writes_vary("UPDATE audit SET what = 'x'"), Some(Variation::Default("audit.at".into())));
    assert_eq!(writes_vary("DELETE FROM audit"), None);
}

#[test]
fn pins_name_what_they_tie_to() {
    assert_eq!(alone("SELECT LAST_INSERT_ID()").pin, Some(Pin::InsertId));
    assert_eq!(alone("SELECT LAST_INSERT_ID()").reason, Reason::Follows("the last insert id"));
    assert_eq!(alone("LOCK TABLES users READ").pin, Some(Pin::TableLocks));
    assert_eq!(alone("SELECT 1 INTO @a").pin, Some(Pin::Variable("a".into())));
}
