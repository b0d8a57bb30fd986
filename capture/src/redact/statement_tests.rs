//! What stays of a text and what goes.

use super::*;
use crate::sql::mysql::Mode;
use crate::trace::Engine;

fn key() -> Key {
    Key::from_bytes([1; 16])
}

fn with(sql: &str, dialect: Dialect) -> Option<String> {
    let new = redact(&key(), &mut Shaper::default(), sql.as_bytes(), dialect)?;
    Some(String::from_utf8(new).expect("UTF-8"))
}

fn postgresql(sql: &str) -> String {
    with(sql, Dialect::Postgresql).unwrap_or_else(|| panic!("left out: {sql}"))
}

fn mysql(sql: &str) -> String {
    with(sql, Dialect::of(Engine::Mysql)).unwrap_or_else(|| panic!("left out: {sql}"))
}

fn text(text: &str) -> String {
    String::from_utf8(key().text(text.as_bytes())).expect("UTF-8")
}

#[test]
fn a_string_is_the_same_value_in_every_notation() {
    let alice = text("alice's");
    let quoted = alice.replace('\'', "''");
    for (sql, new) in [
        ("SELECT 'alice''s'", format!("SELECT '{quoted}'")),
        ("SELECT E'alice\\'s'", format!("SELECT E'{quoted}'")),
        ("SELECT E'\\x61lice\\u0027\\163'", format!("SELECT E'{quoted}'")),
        ("SELECT U&'\\0061lice''s'", format!("SELECT U&'{quoted}'")),
        ("SELECT U&'!0061lice''s' UESCAPE '!'", format!("SELECT U&'{quoted}' UESCAPE '!'")),
        ("SELECT N'alice''s'", format!("SELECT N'{quoted}'")),
        ("SELECT $$alice's$$", format!("SELECT $${alice}$$")),
        ("SELECT $a$alice's$a$", format!("SELECT $a${alice}$a$")),
        ("SELECT 'ali'\n  'ce''s'", format!("SELECT '{quoted}'")),
    ] {
        assert_eq!(postgresql(sql), new);
    }
    for (sql, new) in [
        ("SELECT 'alice''s'", format!("SELECT '{quoted}'")),
        ("SELECT \"alice's\"", format!("SELECT \"{alice}\"")),
        ("SELECT 'alice\\'s'", format!("SELECT '{quoted}'")),
        ("SELECT _utf8mb4'alice''s'", format!("SELECT _utf8mb4'{quoted}'")),
        ("SELECT 'ali' 'ce\\'s', 2", format!("SELECT '{quoted}', {}", text("2"))),
    ] {
        assert_eq!(mysql(sql), new);
    }
}

#[test]
fn other_literals_keep_their_notation() {
    assert_eq!(
        postgresql("SELECT 0x1267, 4711, -4711"),
        format!("SELECT 0x{:X}, {}, -{1}", key().whole(4711), text("4711"))
    );
    for sql in ["SELECT B'1011001'", "SELECT X'1FF0'", "SELECT 1_000.5e7", "SELECT 0b1011", "SELECT 0o17"] {
        let new = postgresql(sql);
        assert_ne!(new, sql);
        assert_eq!(new[..7], sql[..7]);
    }
    for sql in ["SELECT x'1FF0'", "SELECT 0x1ff0", "SELECT b'1011001'", "SELECT 0b1011001"] {
        let new = mysql(sql);
        assert_eq!((new.len(), new != sql, &new[..9]), (sql.len(), true, &sql[..9]));
    }
    assert_eq!(
        postgresql("SELECT DATE '2024-02-29', INTERVAL '3 days'"),
        format!("SELECT DATE '{}', INTERVAL '{}'", text("2024-02-29"), text("3 days"))
    );
}

#[test]
fn what_the_meaning_of_a_statement_needs_stays() {
    for sql in [
        "SET search_path = 'shop', public",
        "SET default_transaction_read_only = 'on'",
        "SET LOCAL work_mem TO '64MB'",
        "BEGIN ISOLATION LEVEL SERIALIZABLE",
        "SAVEPOINT alice",
        "SELECT set_config('search_path', 'shop', false)",
        "EXPLAIN (analyze 'on') SELECT NULL, TRUE, false",
        "SELECT a, b FROM t GROUP BY 1, 2 ORDER BY 2 DESC, 1",
        "SELECT a::varchar(10), CAST(b AS numeric(10,2)) FROM t",
        "CREATE TABLE t (a varchar(20) NOT NULL, b numeric(10, 2), c timestamp(3))",
        "SELECT a FROM t WHERE b LIKE c ESCAPE '!'",
        "COPY t FROM STDIN WITH (FORMAT csv, DELIMITER ';', NULL 'NULL')",
        "EXECUTE by_name",
        "SELECT 'now'::timestamptz",
        "/*NO LOAD BALANCE*/ SELECT a FROM t",
        "SELECT \"a 'quoted' name\", $1 FROM t WHERE x = 1 AND y = 0",
    ] {
        assert_eq!(postgresql(sql), sql);
    }
    for sql in [
        "SET autocommit = 0, sql_mode = 'ANSI_QUOTES'",
        "SET NAMES 'utf8mb4'",
        "SET @maxscale_route = 'master'",
        "SELECT `it's`, @v, @`w'` FROM t ORDER BY 1",
        "CREATE TABLE t (a char(10), b decimal(10,2), c datetime(6), d enum)",
        "LOAD DATA LOCAL INFILE '/' INTO TABLE t FIELDS TERMINATED BY '|' ESCAPED BY '\\\\' IGNORE 3 LINES",
        "/* hostgroup=5 */ SELECT a FROM t",
    ] {
        assert_eq!(mysql(sql).replace("/* ", "/*").replace(" */", "*/"), sql.replace("/* ", "/*").replace(" */", "*/"));
    }
}

#[test]
fn what_looks_alike_and_is_data_goes() {
    for (sql, gone) in [
        ("SET app.customer = 'alice'", "alice"),
        ("SELECT set_config('app.customer', 'alice', true)", "alice"),
        ("SET search_path = 'a name that is longer than any path of schemas that somebody writes by hand'", "somebody"),
        ("SELECT a FROM t ORDER BY b + 4711", "4711"),
        ("SELECT a FROM t WHERE b = 4711 ORDER BY 1", "4711"),
        ("SELECT numeric(4711)", "4711"),
        ("SELECT a FROM t LIMIT 4711", "4711"),
        ("SELECT a FROM t WHERE b LIKE '%alice%'", "alice"),
        ("NOTIFY c, 'alice'", "alice"),
        ("SELECT 1 -- for alice", "alice"),
        ("SELECT /* alice /* and */ bob */ 1", "alice"),
        ("CREATE TABLE t (a varchar(20) DEFAULT 'alice' CHECK (a <> 'alice'))", "alice"),
        ("PREPARE TRANSACTION 'alice'", "alice"),
        ("COPY (SELECT a FROM t WHERE b = 'alice') TO STDOUT", "alice"),
        ("COPY t FROM '/home/alice/file'", "alice"),
    ] {
        let new = postgresql(sql);
        assert!(!new.contains(gone), "{new}");
    }
    for (sql, gone) in [
        ("SET @customer = 'alice'", "alice"),
        ("SELECT @a := 'alice', CHAR(4711)", "4711"),
        ("SELECT GET_LOCK('alice', 10)", "alice"),
        ("SELECT 'x' 'alice'", "alice"),
        ("SELECT 1 # alice", "alice"),
        ("SELECT a FROM t LIMIT 4711, 4712", "4712"),
        ("INSERT INTO t VALUES (1, 'alice'), (2, \"alice\")", "alice"),
        ("CREATE TABLE t (a enum('alice','bob') COMMENT 'alice')", "alice"),
        ("/*!50000 SELECT 'alice' */ /*M!100100 + 4711 */", "alice"),
        ("SELECT /*+ MAX_EXECUTION_TIME(4711) */ a FROM t", "4711"),
        ("XA START 'alice'", "alice"),
    ] {
        let new = mysql(sql);
        assert!(!new.contains(gone), "{new}");
    }
}

#[test]
fn texts_in_texts_are_texts() {
    let body = "BEGIN UPDATE t SET a = 'alice' WHERE b = 4711; -- for bob\nEND";
    let new = postgresql(&format!("DO $$ {body} $$"));
    assert!(new.contains("BEGIN UPDATE t SET a = '") && !new.contains("alice") && !new.contains("bob"), "{new}");
    let new = postgresql(&format!(
        "CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE 'plpgsql' AS '{}'",
        body.replace('\'', "''")
    ));
    assert!(
        new.contains("UPDATE t SET a = ''") && new.contains("LANGUAGE 'plpgsql'") && !new.contains("4711"),
        "{new}"
    );
    let new = postgresql("CREATE FUNCTION f() RETURNS text LANGUAGE plpython3u AS $$ return 'alice' + bob $$");
    assert!(!new.contains("alice") && !new.contains("bob"), "another language may have other strings: {new}");
    let new = mysql("PREPARE s FROM 'SELECT a FROM t WHERE b = \\'alice\\' AND c = 4711'");
    assert!(new.starts_with("PREPARE s FROM 'SELECT a FROM t WHERE b = ''") && !new.contains("alice"), "{new}");
}

#[test]
fn a_text_whose_quotes_may_be_read_in_two_ways_is_left_out() {
    for sql in ["SELECT 'it\\'s', 'alice' FROM t", "SELECT 'a\\', 'alice's", "SELECT 'it\\'s alice"] {
        assert_eq!(with(sql, Dialect::Postgresql), None, "{sql}");
    }
    assert_eq!(with("SELECT 'C:\\', 'alice' FROM t", Dialect::of(Engine::Mysql)), None);
    let plain = Mode { no_backslash_escapes: true, ..Mode::default() };
    let new = with("SELECT 'C:\\', 'alice' FROM t", Dialect::Mysql(plain)).expect("one way");
    assert!(!new.contains("alice") && new.contains(":\\'"), "{new}");
    let ansi = Mode { ansi_quotes: true, ..Mode::default() };
    let new = with("SELECT \"name\", 'alice' FROM t", Dialect::Mysql(ansi)).expect("one way");
    assert!(!new.contains("alice") && new.contains("\"name\""), "{new}");
}

#[test]
fn text_that_ends_early_keeps_nothing() {
    let sql = "SELECT 'alice', E'bo\\'b', $q$carol$q$, U&'d\\0061ve' /* erin */ FROM t -- frank";
    for (end, _) in sql.char_indices() {
        for dialect in [Dialect::Postgresql, Dialect::of(Engine::Mysql)] {
            let Some(new) = with(&sql[..end], dialect) else { continue };
            // To MySQL, $q$carol$q$ is a name.
            let values = if dialect == Dialect::Postgresql { "alic caro erin fran dave" } else { "alic erin fran" };
            for value in values.split(' ') {
                assert!(!new.contains(value), "{new}");
            }
        }
    }
}

proptest::proptest! {
    /// Nothing panics, whatever the text is; and what comes back has the same shape and holds no marker.
    #[test]
    fn any_text_is_redacted_or_left_out(parts in proptest::collection::vec("[ -~\\n]{0,6}|'|\"|\\$q\\$|/\\*|\\*/|--|E'|U&'|x'|0x|@|;|ORDER BY|SET |qzqzqz", 0..30)) {
        let sql = parts.concat();
        for dialect in [Dialect::Postgresql, Dialect::of(Engine::Mysql)] {
            if let Some(new) = with(&sql, dialect) {
                proptest::prop_assert_eq!(dialect.normalize(&new), dialect.normalize(&sql));
            }
        }
    }

    /// A value of any form becomes one of as many bytes, and the same every time.
    #[test]
    fn any_value_keeps_its_length(value in "\\PC{0,40}", bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..40), oid in 0_u32..4000) {
        proptest::prop_assert_eq!(key().text(value.as_bytes()), key().text(value.as_bytes()));
        proptest::prop_assert_eq!(key().bytes(&bytes).len(), bytes.len());
        key().binary(oid, &bytes);
    }
}
