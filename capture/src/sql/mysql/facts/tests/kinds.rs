//! Every statement of the two manuals, with what it does.
//!
//! The sections are the chapters "SQL Statements" of MySQL 8.4's manual (15.x) and of MariaDB's ("SQL Statements &
//! Structure"); the reason for an effect is the statement's own page there, for a commit the page "Statements That Cause
//! an Implicit Commit".

use super::*;
use crate::sql::Effect::{self, *};

const COMMITS: bool = true;
const OPEN: bool = false;

fn check(chapter: &str, cases: &[(&str, Effect, bool)]) {
    check_in(&Mode::default(), chapter, cases);
}

fn check_in(mode: &Mode, chapter: &str, cases: &[(&str, Effect, bool)]) {
    for (sql, effect, commits) in cases {
        let facts = facts(sql, mode);
        assert_eq!(facts.error, None, "{chapter}: {sql}");
        assert_eq!(facts.statements.len(), 1, "{chapter}: {sql}");
        let statement = &facts.statements[0];
        assert_eq!((statement.effect, statement.state.implicit_commit), (*effect, *commits), "{chapter}: {sql}");
    }
}

#[test]
fn data_definition() {
    check(
        "15.1 Data Definition Statements",
        &[
            ("ALTER DATABASE d CHARACTER SET utf8mb4", Write, COMMITS),
            ("ALTER SCHEMA d READ ONLY = 1", Write, COMMITS),
            ("ALTER EVENT e DISABLE", Write, COMMITS),
            ("ALTER DEFINER = 'a'@'b' EVENT e RENAME TO f", Write, COMMITS),
            ("ALTER FUNCTION f COMMENT 'x'", Write, COMMITS),
            ("ALTER INSTANCE ROTATE INNODB MASTER KEY", Utility, OPEN),
            ("ALTER LOGFILE GROUP g ADD UNDOFILE 'x' ENGINE NDB", Write, COMMITS),
            ("ALTER PROCEDURE p SQL SECURITY INVOKER", Write, COMMITS),
            ("ALTER SEQUENCE s RESTART 5", Write, COMMITS),
            ("ALTER SERVER s OPTIONS (USER 'x')", Write, COMMITS),
            ("ALTER TABLE t ADD x int", Write, COMMITS),
            ("ALTER IGNORE TABLE t DROP x", Write, COMMITS),
            ("ALTER TABLESPACE s RENAME TO u", Write, COMMITS),
            ("ALTER ALGORITHM=MERGE VIEW v AS SELECT 1", Write, COMMITS),
            ("CREATE DATABASE IF NOT EXISTS d", Write, COMMITS),
            ("CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t", Write, COMMITS),
            ("CREATE FUNCTION f() RETURNS int RETURN 1", Write, COMMITS),
            ("CREATE AGGREGATE FUNCTION f RETURNS INTEGER SONAME 'x.so'", Write, COMMITS),
            ("CREATE INDEX i ON t (x)", Write, COMMITS),
            ("CREATE LOGFILE GROUP g ADD UNDOFILE 'x' ENGINE NDB", Write, COMMITS),
            ("CREATE OR REPLACE PROCEDURE p() SELECT 1", Write, COMMITS),
            ("CREATE SEQUENCE s START WITH 1", Write, COMMITS),
            ("CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'x')", Write, COMMITS),
            ("CREATE SPATIAL REFERENCE SYSTEM 1 NAME 'x' DEFINITION 'y'", Write, COMMITS),
            ("CREATE TABLE t (x int)", Write, COMMITS),
            ("CREATE TEMPORARY TABLE t (x int)", Write, OPEN),
            ("CREATE OR REPLACE TEMPORARY TABLE t SELECT 1", Write, OPEN),
            ("CREATE UNDO TABLESPACE s ADD DATAFILE 'x'", Write, COMMITS),
            ("CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET @a = 1", Write, COMMITS),
            ("CREATE VIEW v AS SELECT 1", Write, COMMITS),
            ("DROP DATABASE d", Write, COMMITS),
            ("DROP EVENT e", Write, COMMITS),
            ("DROP FUNCTION IF EXISTS f", Write, COMMITS),
            ("DROP INDEX i ON t", Write, COMMITS),
            ("DROP LOGFILE GROUP g ENGINE NDB", Write, COMMITS),
            ("DROP PROCEDURE p", Write, COMMITS),
            ("DROP SEQUENCE s", Write, COMMITS),
            ("DROP SERVER s", Write, COMMITS),
            ("DROP SPATIAL REFERENCE SYSTEM 1", Write, COMMITS),
            ("DROP TABLE t", Write, COMMITS),
            ("DROP TEMPORARY TABLE t", Write, OPEN),
            ("DROP TABLESPACE s", Write, COMMITS),
            ("DROP TRIGGER g", Write, COMMITS),
            ("DROP VIEW v", Write, COMMITS),
            ("RENAME TABLE a TO b", Write, COMMITS),
            ("TRUNCATE TABLE t", Write, COMMITS),
            ("DROP PACKAGE BODY p", Write, COMMITS),
        ],
    );
}

#[test]
fn data_manipulation() {
    check(
        "15.2 Data Manipulation Statements",
        &[
            ("CALL p(1)", Write, OPEN),
            ("DELETE FROM t", Write, OPEN),
            ("DO SLEEP(1)", Read, OPEN),
            ("SELECT 1 EXCEPT SELECT 2", Read, OPEN),
            ("SELECT 1 INTERSECT SELECT 2", Read, OPEN),
            ("HANDLER t OPEN", Session, OPEN),
            ("HANDLER t READ i = (1) WHERE a LIMIT 1", Session, OPEN),
            ("HANDLER t READ NEXT", Session, OPEN),
            ("HANDLER t CLOSE", Session, OPEN),
            ("IMPORT TABLE FROM 'x.sdi'", Utility, COMMITS),
            ("INSERT INTO t VALUES (1)", Write, OPEN),
            ("INSERT DELAYED t SET a = 1", Write, OPEN),
            ("LOAD DATA INFILE 'x' INTO TABLE t", Write, OPEN),
            ("LOAD XML LOCAL INFILE 'x' INTO TABLE t ROWS IDENTIFIED BY '<r>'", Write, OPEN),
            ("REPLACE t VALUES (1)", Write, OPEN),
            ("SELECT 1", Read, OPEN),
            ("SELECT 1 FROM t FOR UPDATE", Lock, OPEN),
            ("SELECT 1 FROM t LOCK IN SHARE MODE", Lock, OPEN),
            ("SELECT 1 INTO OUTFILE '/x'", Utility, OPEN),
            ("SELECT 1 INTO DUMPFILE '/x'", Utility, OPEN),
            ("SELECT 1 INTO @a", Read, OPEN),
            ("SELECT NEXTVAL(s)", Write, OPEN),
            ("SELECT LASTVAL(s)", Read, OPEN),
            ("TABLE t", Read, OPEN),
            ("UPDATE t SET a = 1", Write, OPEN),
            ("VALUES (1), (2)", Read, OPEN),
            ("WITH a AS (SELECT 1) SELECT * FROM a", Read, OPEN),
            ("WITH a AS (SELECT 1) DELETE FROM t USING t JOIN a", Write, OPEN),
        ],
    );
}

#[test]
fn transactions_and_locks() {
    check(
        "15.3 Transactional and Locking Statements",
        &[
            ("START TRANSACTION", Transaction, COMMITS),
            ("BEGIN", Transaction, COMMITS),
            ("COMMIT", Transaction, OPEN),
            ("ROLLBACK", Transaction, OPEN),
            ("SAVEPOINT a", Transaction, OPEN),
            ("ROLLBACK WORK TO a", Transaction, OPEN),
            ("RELEASE SAVEPOINT a", Transaction, OPEN),
            ("LOCK INSTANCE FOR BACKUP", Lock, OPEN),
            ("UNLOCK INSTANCE", Lock, OPEN),
            ("LOCK TABLES t READ", Lock, COMMITS),
            ("LOCK TABLE t WRITE", Lock, COMMITS),
            ("UNLOCK TABLES", Lock, COMMITS),
            ("SET TRANSACTION READ ONLY", Transaction, OPEN),
            ("SET SESSION TRANSACTION READ ONLY", Session, OPEN),
            ("SET GLOBAL TRANSACTION READ ONLY", Utility, OPEN),
            ("XA START 'x'", Transaction, OPEN),
            ("XA BEGIN 'x', 'y', 1 JOIN", Transaction, OPEN),
            ("XA END 'x' SUSPEND FOR MIGRATE", Transaction, OPEN),
            ("XA PREPARE 'x'", Transaction, OPEN),
            ("XA COMMIT 'x' ONE PHASE", Transaction, OPEN),
            ("XA ROLLBACK 'x'", Transaction, OPEN),
            ("XA RECOVER CONVERT XID", Read, OPEN),
        ],
    );
}

#[test]
fn replication() {
    check(
        "15.4 Replication Statements",
        &[
            ("PURGE BINARY LOGS TO 'x'", Utility, OPEN),
            ("RESET BINARY LOGS AND GTIDS", Utility, COMMITS),
            ("RESET MASTER", Utility, COMMITS),
            ("SET sql_log_bin = 0", Session, OPEN),
            ("RESET REPLICA ALL", Utility, COMMITS),
            ("RESET SLAVE", Utility, COMMITS),
            ("BINLOG 'x'", Write, OPEN),
        ],
    );
}

/// These commit in MySQL. MariaDB 10.11 runs them with the transaction still open, or refuses them inside one.
#[test]
fn commits_of_mysql_only() {
    let mysql_only = [
        "CHANGE MASTER TO MASTER_HOST='x'",
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST='x'",
        "CHANGE REPLICATION FILTER REPLICATE_DO_DB = (d)",
        "START REPLICA",
        "START SLAVE SQL_THREAD",
        "START ALL SLAVES",
        "STOP REPLICA",
        "STOP SLAVE 'x'",
        "START GROUP_REPLICATION",
        "STOP GROUP_REPLICATION",
        "CACHE INDEX t IN c",
        "LOAD INDEX INTO CACHE t",
    ];
    for sql in mysql_only {
        check("15.4 Replication Statements, 15.7.8 Other Administrative Statements", &[(sql, Utility, OPEN)]);
        check_in(&mysql(), "15.3.3 Statements That Cause an Implicit Commit", &[(sql, Utility, COMMITS)]);
    }
}

#[test]
fn prepared_statements() {
    check(
        "15.5 Prepared Statements",
        &[
            ("PREPARE s FROM 'DELETE FROM t'", Session, OPEN),
            ("EXECUTE s USING @a", Session, OPEN),
            ("EXECUTE IMMEDIATE 'DELETE FROM t'", Write, OPEN),
            ("EXECUTE IMMEDIATE 'SELECT 1'", Read, OPEN),
            ("EXECUTE IMMEDIATE @a", Write, OPEN),
            ("DEALLOCATE PREPARE s", Session, OPEN),
            ("DROP PREPARE s", Session, OPEN),
        ],
    );
}

#[test]
fn compound_statements() {
    check(
        "15.6 Compound Statement Syntax",
        &[
            ("BEGIN NOT ATOMIC SELECT 1; END", Write, OPEN),
            ("IF 1 THEN SELECT 1; END IF", Write, OPEN),
            ("CASE 1 WHEN 1 THEN SELECT 1; END CASE", Write, OPEN),
            ("LOOP SELECT 1; END LOOP", Write, OPEN),
            ("x: WHILE 1 DO LEAVE x; END WHILE", Write, OPEN),
            ("FOR i IN 1..3 DO SELECT i; END FOR", Write, OPEN),
            ("REPEAT SELECT 1; UNTIL 1 END REPEAT", Write, OPEN),
            ("GET CURRENT DIAGNOSTICS @a = NUMBER", Session, OPEN),
            ("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'x'", Session, OPEN),
            ("RESIGNAL", Session, OPEN),
        ],
    );
}

#[test]
fn accounts() {
    check(
        "15.7.1 Account Management Statements",
        &[
            ("ALTER USER a IDENTIFIED BY 'x'", Write, COMMITS),
            ("CREATE ROLE r", Write, COMMITS),
            ("CREATE USER IF NOT EXISTS a@b", Write, COMMITS),
            ("DROP ROLE r", Write, COMMITS),
            ("DROP USER a", Write, COMMITS),
            ("GRANT SELECT ON t TO a", Write, COMMITS),
            ("RENAME USER a TO b", Write, COMMITS),
            ("REVOKE ALL PRIVILEGES, GRANT OPTION FROM a", Write, COMMITS),
            ("SET DEFAULT ROLE r FOR a", Write, COMMITS),
            ("SET PASSWORD FOR a = PASSWORD('x')", Write, COMMITS),
            ("SET ROLE r", Session, OPEN),
        ],
    );
}

#[test]
fn resource_groups_tables_and_components() {
    check(
        "15.7.2 to 15.7.4 Resource Groups, Table Maintenance, Components and Plugins",
        &[
            ("ALTER RESOURCE GROUP g VCPU = 1", Write, COMMITS),
            ("CREATE RESOURCE GROUP g TYPE = USER", Write, COMMITS),
            ("DROP RESOURCE GROUP g", Write, COMMITS),
            ("SET RESOURCE GROUP g", Session, OPEN),
            ("ANALYZE NO_WRITE_TO_BINLOG TABLE t", Utility, COMMITS),
            ("CHECK TABLE t QUICK", Utility, COMMITS),
            ("CHECK VIEW v", Utility, COMMITS),
            ("CHECKSUM TABLE t", Read, OPEN),
            ("OPTIMIZE TABLE t", Utility, COMMITS),
            ("REPAIR LOCAL TABLE t EXTENDED", Utility, COMMITS),
            ("CREATE FUNCTION f RETURNS STRING SONAME 'x.so'", Write, COMMITS),
            ("INSTALL COMPONENT 'file://x'", Utility, COMMITS),
            ("INSTALL PLUGIN p SONAME 'x'", Utility, COMMITS),
            ("INSTALL SONAME 'x'", Utility, COMMITS),
            ("UNINSTALL COMPONENT 'file://x'", Utility, COMMITS),
            ("UNINSTALL PLUGIN p", Utility, COMMITS),
            ("UNINSTALL SONAME 'x'", Utility, COMMITS),
            ("CLONE LOCAL DATA DIRECTORY = '/x'", Utility, COMMITS),
        ],
    );
}

#[test]
fn settings() {
    check(
        "15.7.6 SET Statements",
        &[
            ("SET x = 1", Session, OPEN),
            ("SET @a = 1", Session, OPEN),
            ("SET GLOBAL x = 1", Utility, OPEN),
            ("SET @@persist.x = 1", Utility, OPEN),
            ("SET PERSIST_ONLY x = 1", Utility, OPEN),
            ("SET CHARACTER SET utf8", Session, OPEN),
            ("SET NAMES utf8", Session, OPEN),
            ("SET STATEMENT x = 1 FOR DELETE FROM t", Write, OPEN),
            ("SET STATEMENT x = 1 FOR SELECT 1", Read, OPEN),
        ],
    );
}

#[test]
fn show() {
    let plain = [
        "ALL SLAVES STATUS",
        "ANALYZE FORMAT=JSON FOR 5",
        "AUTHORS",
        "BINARY LOG STATUS",
        "BINARY LOGS",
        "BINLOG EVENTS IN 'x'",
        "BINLOG STATUS",
        "CHARACTER SET LIKE 'x'",
        "CLIENT_STATISTICS",
        "COLLATION",
        "COLUMNS FROM t",
        "CONTRIBUTORS",
        "CREATE DATABASE d",
        "CREATE EVENT e",
        "CREATE FUNCTION f",
        "CREATE PACKAGE p",
        "CREATE PROCEDURE p",
        "CREATE SEQUENCE s",
        "CREATE TABLE t",
        "CREATE TRIGGER g",
        "CREATE USER a",
        "CREATE VIEW v",
        "DATABASES",
        "ENGINE INNODB STATUS",
        "ENGINES",
        "ERRORS",
        "EVENTS",
        "EXPLAIN FOR 5",
        "FUNCTION CODE f",
        "FUNCTION STATUS",
        "GRANTS FOR a",
        "INDEX FROM t",
        "INDEX_STATISTICS",
        "LOCALES",
        "MASTER STATUS",
        "OPEN TABLES",
        "PACKAGE STATUS",
        "PARSE_TREE SELECT 1",
        "PLUGINS",
        "PLUGINS SONAME 'x'",
        "PRIVILEGES",
        "PROCEDURE CODE p",
        "PROCEDURE STATUS LIKE 'x'",
        "FULL PROCESSLIST",
        "PROFILE",
        "PROFILES",
        "RELAYLOG EVENTS",
        "REPLICA HOSTS",
        "REPLICA STATUS",
        "REPLICAS",
        "SLAVE HOSTS",
        "SLAVE 'x' STATUS",
        "GLOBAL STATUS",
        "TABLE STATUS",
        "FULL TABLES",
        "TABLE_STATISTICS",
        "TRIGGERS",
        "USER_STATISTICS",
        "SESSION VARIABLES WHERE 1",
        "WARNINGS",
        "WSREP_MEMBERSHIP",
    ];
    for what in plain {
        let sql = format!("SHOW {what}");
        check("15.7.7 SHOW Statements", &[(&sql, Read, OPEN)]);
        assert!(matches!(one(&sql).kind, Kind::Show { .. }), "{sql}");
    }
    for (sql, name) in [
        ("SHOW FULL TABLES FROM d", "tables"),
        ("SHOW GLOBAL VARIABLES LIKE 'x'", "variables"),
        ("SHOW KEYS IN t", "index"),
        ("SHOW SLAVE STATUS", "slave status"),
        ("SHOW CREATE TABLE t", "create table"),
        ("SHOW TABLE STATUS", "table status"),
        ("SHOW FIELDS FROM t", "columns"),
        ("SHOW COUNT(*) WARNINGS", "warnings"),
    ] {
        assert_eq!(one(sql).kind, Kind::Show { name: name.to_owned() }, "{sql}");
    }
}

#[test]
fn other_administration_and_utilities() {
    check(
        "15.7.8 Other Administrative Statements, 15.8 Utility Statements",
        &[
            ("FLUSH PRIVILEGES", Utility, COMMITS),
            ("FLUSH LOCAL TABLES t, u", Utility, COMMITS),
            ("FLUSH TABLES WITH READ LOCK", Lock, COMMITS),
            ("FLUSH TABLES t FOR EXPORT", Lock, COMMITS),
            ("KILL 5", Utility, OPEN),
            ("KILL SOFT QUERY 5", Utility, OPEN),
            ("RESET QUERY CACHE", Utility, COMMITS),
            ("RESET PERSIST", Utility, OPEN),
            ("RESTART", Utility, OPEN),
            ("SHUTDOWN WAIT FOR ALL SLAVES", Utility, OPEN),
            ("BACKUP STAGE START", Utility, COMMITS),
            ("BACKUP LOCK t", Utility, COMMITS),
            ("BACKUP UNLOCK", Utility, COMMITS),
            ("DESCRIBE t x", Read, OPEN),
            ("EXPLAIN t", Read, OPEN),
            ("EXPLAIN EXTENDED DELETE FROM t", Utility, OPEN),
            ("EXPLAIN FORMAT=JSON UPDATE t SET a = 1", Utility, OPEN),
            ("EXPLAIN FOR CONNECTION 5", Read, OPEN),
            ("EXPLAIN ANALYZE SELECT 1", Read, OPEN),
            ("ANALYZE UPDATE t SET a = 1", Write, OPEN),
            ("HELP 'x'", Read, OPEN),
            ("USE d", Session, OPEN),
        ],
    );
}

#[test]
fn kinds_carry_what_the_session_depends_on() {
    use crate::sql::{HandlerVerb, XaVerb};
    for (sql, kind) in [
        ("USE `d`", Kind::Use { database: "d".into() }),
        ("REPLACE t VALUES (1)", Kind::Replace),
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", Kind::LoadData { local: true }),
        ("KILL CONNECTION 5", Kind::Kill { query: false }),
        ("KILL QUERY ID 5", Kind::Kill { query: true }),
        ("HANDLER s.t OPEN AS h", Kind::Handler { table: "h".into(), verb: HandlerVerb::Open }),
        ("HANDLER h READ FIRST", Kind::Handler { table: "h".into(), verb: HandlerVerb::Read }),
        ("XA BEGIN 'a'", Kind::Xa { verb: XaVerb::Start }),
        ("XA COMMIT 'a'", Kind::Xa { verb: XaVerb::Commit }),
        ("XA COMMIT 'a' ONE PHASE", Kind::Xa { verb: XaVerb::CommitOnePhase }),
        ("LOCK TABLES t READ", Kind::LockTables),
        ("UNLOCK TABLES", Kind::UnlockTables),
        ("DO RELEASE_LOCK('a')", Kind::Evaluate),
        ("EXECUTE s", Kind::Execute { name: "s".into() }),
        ("DEALLOCATE PREPARE s", Kind::Deallocate { name: Some("s".into()) }),
        ("CREATE TEMPORARY TABLE t (a int)", Kind::Create { temporary: true, on_commit_drop: false }),
        ("ALTER TABLE t RENAME TO u", Kind::Rename { to: "u".into() }),
        ("RENAME TABLE t TO s.u", Kind::Rename { to: "u".into() }),
        ("ANALYZE TABLE t", Kind::Maintain { name: "analyze table".into() }),
        ("FLUSH BINARY LOGS", Kind::Maintain { name: "flush binary logs".into() }),
        ("CHANGE MASTER TO MASTER_USER='x'", Kind::Maintain { name: "change master".into() }),
        ("GRANT ALL ON *.* TO a", Kind::Define { name: "grant".into() }),
    ] {
        assert_eq!(one(sql).kind, kind, "{sql}");
    }
}
