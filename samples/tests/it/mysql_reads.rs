//! `--only reads` on a real MariaDB pair: what is proven is sent, and nothing changes.

use splitproof_capture::trace::{Kind, Reader};
use splitproof_samples::sandbox::state::Backends;

use crate::mysql_stage::{Stage, stage};

const SETUP: &str = "
CREATE OR REPLACE TABLE trail (id INT AUTO_INCREMENT PRIMARY KEY, said VARCHAR(40));
CREATE OR REPLACE SEQUENCE trail_ids;
CREATE OR REPLACE VIEW trail_view AS SELECT id FROM trail;
DELIMITER //
CREATE OR REPLACE FUNCTION trail_count() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM trail) //
CREATE OR REPLACE FUNCTION trail_liar() RETURNS INT READS SQL DATA
BEGIN INSERT INTO trail (said) VALUES ('liar'); RETURN 1; END //
CREATE OR REPLACE FUNCTION trail_calls() RETURNS INT READS SQL DATA RETURN trail_liar() //
CREATE OR REPLACE PROCEDURE trail_write() INSERT INTO trail (said) VALUES ('procedure') //
DELIMITER ;
";

/// What a replay could have changed: every table, the sequence, and how much was ever written.
fn state(stage: &Stage) -> String {
    let primary = stage.sandbox.primary();
    let tables = "CHECKSUM TABLE trail, users, stock, order_lines, imports, summary, sales";
    let next = "SELECT next_not_cached_value FROM trail_ids; SELECT @@gtid_binlog_pos";
    format!("{}\n{}", primary.sql("shop", tables).unwrap(), primary.sql("shop", next).unwrap())
}

/// Texts that write in a way that is easily overlooked.
const WRITES: &[&str] = &[
    "SELECT trail_liar()",
    "SELECT trail_calls()",
    "CALL trail_write()",
    "SELECT NEXT VALUE FOR trail_ids",
    "SELECT NEXTVAL(trail_ids)",
    "SELECT * FROM trail_view",
    "SELECT 1; INSERT INTO trail (said) VALUES ('second')",
    "/*! INSERT INTO trail (said) VALUES ('executed comment') */",
    "SELECT 1 /*M!100300 UNION SELECT trail_liar() */",
    "INSERT INTO trail (said) VALUES ('returning') RETURNING id",
    "WITH a AS (SELECT 1) DELETE FROM trail WHERE id IN (SELECT * FROM a)",
    "SELECT id FROM trail FOR UPDATE",
    "SELECT id FROM trail LOCK IN SHARE MODE",
    "PREPARE w FROM 'INSERT INTO trail (said) VALUES (1)'",
    "EXECUTE w",
    "EXECUTE IMMEDIATE 'INSERT INTO trail (said) VALUES (2)'",
    "SET @x = trail_liar()",
    "DO trail_liar()",
    "BEGIN NOT ATOMIC INSERT INTO trail (said) VALUES ('block'); END",
    "ANALYZE INSERT INTO trail (said) VALUES ('analyzed')",
    "SET STATEMENT max_statement_time = 5 FOR INSERT INTO trail (said) VALUES ('set statement')",
    "SET GLOBAL long_query_time = 11",
    "CREATE TABLE trail_new (a INT)",
    "TRUNCATE trail",
    "LOCK TABLES trail WRITE",
];

const READS: &[&str] = &[
    "SELECT trail_count()",
    "SELECT COUNT(*) FROM trail; SELECT 2",
    "SET @n = (SELECT COUNT(*) FROM trail), SESSION group_concat_max_len = 4711",
    "SELECT @n := @n + 1",
    "SELECT MAX(id) INTO @m FROM trail",
    "PREPARE r FROM 'SELECT said FROM trail WHERE id > ?'",
    "EXECUTE r USING @m",
    "DEALLOCATE PREPARE r",
    "START TRANSACTION READ ONLY",
    "SELECT * FROM users WHERE id = 1",
    "COMMIT",
    "SHOW TABLES",
    "EXPLAIN SELECT * FROM trail",
    "SELECT said FROM trail WHERE said = \"a\\\"b\"",
];

#[test]
fn what_is_proven_is_sent_and_nothing_changes() {
    let mut stage = stage();
    stage.fresh("", Backends::Taps);
    stage.sandbox.primary().sql("shop", SETUP).unwrap();
    stage.sandbox.primary().sql("mysql", "GRANT SUPER ON *.* TO shop").unwrap();
    stage.sandbox.wait_caught_up().unwrap();
    let before = state(&stage);
    let statements: Vec<&str> = READS.iter().chain(WRITES).copied().collect();
    let mut rows: Vec<_> = statements.iter().map(|sql| (Kind::Query, "03", Some(*sql), None)).collect();
    for (number, sql) in [("1", "SELECT * FROM trail WHERE id = 1"), ("2", "INSERT INTO trail (said) VALUES ('x')")] {
        rows.push((Kind::Prepare, "16", Some(sql), Some(number)));
        rows.push((Kind::Execute, "17", Some(sql), Some(number)));
        rows.push((Kind::Close, "19", None, Some(number)));
    }
    let trace = stage.session("writes-and-reads", "shop", rows);
    let run = stage.path("reads-run");
    let pair = stage.sandbox.pair_toml();
    let summary = stage.replayed(&pair, &trace, &run, &["--only", "reads"]);
    assert_eq!(state(&stage), before);
    let sent: Vec<_> = Reader::open(&run).unwrap().requests().map(|row| row.unwrap()).collect();
    for sql in READS {
        let row = sent.iter().find(|row| row.sql.as_deref() == Some(sql));
        assert_eq!(row.unwrap_or_else(|| panic!("{sql} was not sent")).error_message, None, "{sql}");
    }
    assert!(sent.iter().any(|row| row.kind == Kind::Execute), "the prepared read");
    assert_eq!(summary["not_sent"]["not_a_read"], WRITES.len() + 3, "{summary}");

    // The texts do write: replayed as a whole, they change everything.
    stage.replayed(&pair, &trace, &run, &[]);
    assert_ne!(state(&stage), before);
    let said = stage.sandbox.primary().sql("shop", "SHOW TABLES LIKE 'trail_new'").unwrap();
    assert_eq!(said, "trail_new");
    stage.sandbox.primary().sql("mysql", "SET GLOBAL long_query_time = 10").unwrap();
}

#[test]
fn the_shops_reads_alone_change_nothing() {
    let mut stage = stage();
    stage.fresh("", Backends::Taps);
    let position = |stage: &Stage| stage.sandbox.primary().sql("shop", "SELECT @@gtid_binlog_pos").unwrap();
    let before = position(&stage);
    let (window, run) = (stage.path("window"), stage.path("shop-reads"));
    let summary = stage.replayed(&stage.sandbox.pair_toml(), &window, &run, &["--only", "reads", "--speed", "4"]);
    assert_eq!(position(&stage), before);
    let number = |name: &str| summary[name].as_u64().unwrap();
    let kept = summary["not_sent"]["not_a_read"].as_u64().unwrap();
    assert_eq!(number("sent") + kept, number("recorded"), "{summary}");
    // Most of the shop's statements are reads.
    assert!(number("sent") > kept, "{summary}");
}
