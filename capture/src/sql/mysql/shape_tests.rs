use super::*;

fn check(cases: &[(&str, &str)]) {
    for (sql, shape) in cases {
        assert_eq!(normalize(sql, &Mode::default()), *shape, "{sql}");
    }
}

fn apart(pairs: &[(&str, &str)]) {
    for (one, other) in pairs {
        let mode = Mode::default();
        assert_ne!(shape_id(one, &mode), shape_id(other, &mode), "{one} / {other}");
    }
}

#[test]
fn literals_and_parameters_become_marks() {
    check(&[
        ("SELECT id FROM Users WHERE Id = 42", "select id from Users where id = ?"),
        ("select ID  from Users\n where ID=?", "select id from Users where id = ?"),
        ("SELECT 'a''b', \"\\\"\", N'x', 1e5, 0x1F, x'1F', b'01', \\N", "select ?, ?, ?, ?, ?, ?, ?, ?"),
        ("SELECT 'a' 'b', _utf8mb4'x', date '2020-01-01'", "select ?, _utf8mb4 ?, date ?"),
        ("SELECT `Users`.`Id`, t.Select FROM `Users`", "select `Users`.`Id`, t.Select from `Users`"),
        ("SELECT COUNT(*), t.*, My_Func(1) FROM t", "select count(*), t.*, My_Func(?) from t"),
        ("SELECT * FROM a.Data, Data WHERE x.Data = 1", "select * from a.Data, data where x.Data = ?"),
        ("SELECT @a, @`b`, @@x, @@global . y, @a:=1", "select @a, @`b`, @@x, @@global.y, @a := ?"),
        ("LIMIT 1, 2", "limit ?, ?"),
    ]);
}

#[test]
fn signs_belong_to_numbers_only_where_a_value_stands() {
    check(&[
        ("SELECT -1, - a, a-1, a - 1, (-1), a=-1", "select ?, - a, a - ?, a - ?, (?), a = ?"),
        ("SELECT -.5 + .5, null -1, CASE WHEN 1 THEN -1 END - 1", "select ? + ?, ? - ?, case when ? then ? end - ?"),
    ]);
}

#[test]
fn null_and_booleans_go_only_where_they_are_values() {
    check(&[
        ("INSERT INTO t VALUES (1, NULL, true)", "insert into t values (?, ?, ?)"),
        ("UPDATE t SET a = NULL WHERE b IS NOT NULL AND c = FALSE", "update t set a = ? where b is not null and c = ?"),
    ]);
}

#[test]
fn lists_of_values_collapse() {
    check(&[
        ("SELECT 1 FROM t WHERE a IN (1,2,3)", "select ? from t where a in (?...)"),
        ("SELECT 1 FROM t WHERE a IN (?)", "select ? from t where a in (?...)"),
        ("SELECT 1 WHERE (a,b) IN ((1,2),(3,4))", "select ? where (a, b) in ((?, ?)...)"),
        ("INSERT INTO t VALUES (1,'a')", "insert into t values (?, ?)"),
        ("INSERT INTO t VALUE (1,'a'), (2,'b'),(3,'c')", "insert into t value (?, ?)..."),
        ("VALUES ROW(1,2), ROW(3,4)", "values row(?, ?)..."),
        ("VALUES ROW(1,2)", "values row(?, ?)"),
        (
            "INSERT INTO t (a, b) VALUES (1,2),(3,4) ON DUPLICATE KEY UPDATE a = VALUES(a), b = VALUES(b)",
            "insert into t (a, b) values (?, ?)... on duplicate key update a = values(a), b = values(b)",
        ),
        ("INSERT INTO t VALUES (1), (DEFAULT)", "insert into t values (?), (default)"),
        ("SELECT 1 WHERE a IN (SELECT f(1), f(2))", "select ? where a in (select f(?), f(?))"),
    ]);
}

#[test]
fn what_sets_state_keeps_its_values() {
    check(&[
        ("SET AutoCommit = 0", "set autocommit = 0"),
        ("SET @@SESSION.sql_mode = 'ANSI', x=ON", "set @@session.sql_mode = 'ANSI', x = on"),
        ("SET NAMES 'utf8mb4' COLLATE utf8mb4_bin", "set names 'utf8mb4' collate utf8mb4_bin"),
        ("SET @a = 5, autocommit = 1, @b := 'x'", "set @a = ?, autocommit = 1, @b := ?"),
        ("SET @maxscale_x = 'on'", "set @maxscale_x = 'on'"),
        ("SET timestamp=1700000000, insert_id=5", "set timestamp = ?, insert_id = ?"),
        ("SET PASSWORD FOR 'u'@'h' = 'x'", "set password for ?@'h' = ?"),
        (
            "SET STATEMENT max_statement_time=1 FOR SELECT * FROM t WHERE id=5",
            "set statement max_statement_time = 1 for select * from t where id = ?",
        ),
        ("SET x = ?", "set x = ?"),
        ("SELECT 1; SET a = 1; SELECT 2;", "select ?; set a = 1; select ?;"),
        ("UPDATE t SET a = 1", "update t set a = ?"),
        ("PREPARE s FROM 'SELECT 1 FROM t WHERE a=\\'x\\''", "prepare s from 'select ? from t where a = ?'"),
        ("EXECUTE IMMEDIATE 'PREPARE x FROM \"SELECT 1\"'", "execute immediate 'prepare x from ?'"),
    ]);
    apart(&[
        ("SET autocommit=0", "SET autocommit=1"),
        ("SET x = on", "SET x = off"),
        ("START TRANSACTION READ ONLY", "START TRANSACTION READ WRITE"),
        ("START TRANSACTION", "START TRANSACTION WITH CONSISTENT SNAPSHOT"),
        ("PREPARE s FROM 'SELECT 1'", "PREPARE s FROM 'DELETE FROM t'"),
        ("COMMIT", "COMMIT AND CHAIN"),
        ("SELECT 1", "/* c */ SELECT 1"),
        ("SELECT f(1)", "SELECT f(1, 2)"),
        ("SELECT * FROM t", "SELECT * FROM T"),
    ]);
}

#[test]
fn executed_comments_keep_their_version_whatever_the_server() {
    check(&[
        ("SELECT 1 FROM t /*!50701 FOR UPDATE */", "select ? from t /*!50701 for update */"),
        ("/*!40101 SET NAMES 'utf8' */;", "/*!40101 set names 'utf8' */;"),
        ("SELECT /*M!100500 a, */ 1", "select /*M!100500 a, */ ?"),
    ]);
    let mysql = Mode::of(crate::sql::mysql::Server { family: crate::sql::mysql::Family::MySql, version: 80_036 });
    for sql in ["SELECT 1 /*!50701 + 1 */", "SELECT /*M!100500 2, */ 1", "SELECT /*!99999 it's */ 1"] {
        assert_eq!(shape_id(sql, &mysql), shape_id(sql, &Mode::default()), "{sql}");
    }
    apart(&[
        ("SELECT 1 FROM t /*!50701 FOR UPDATE*/", "SELECT 1 FROM t"),
        ("SELECT 1 FROM t /*!50701 FOR UPDATE*/", "SELECT 1 FROM t /*!99999 FOR UPDATE*/"),
        ("SELECT 1 FROM t /*!99999 FOR UPDATE*/", "SELECT 1 FROM t /*!99999 FOR SHARE*/"),
    ]);
}

#[test]
fn comments_leave_only_what_routers_see() {
    check(&[
        ("/* app:web */ SELECT 1", "/**/ select ?"),
        ("-- note\nSELECT 1", "/**/ select ?"),
        ("# note\nSELECT 1 # x", "/**/ select ?"),
        ("SELECT /* x */ 1 -- y", "select ?"),
        ("/* hostgroup=1;max_lag_ms=5 */ SELECT 1", "/*hostgroup=1*/ select ?"),
        ("SELECT 1 -- maxscale route to master", "select ? /*maxscale route to master*/"),
        ("SELECT /*+ MAX_EXECUTION_TIME(1) */ 1", "select ?"),
    ]);
}

#[test]
fn modes_change_the_shape() {
    let ansi = Mode { ansi_quotes: true, ..Mode::default() };
    assert_eq!(normalize("SELECT \"a\"", &ansi), "select \"a\"");
    let plain = Mode { no_backslash_escapes: true, ..Mode::default() };
    assert_eq!(normalize("SELECT '\\', a, '\\'", &plain), "select ?, a, ?");
}

#[test]
fn odd_text_is_normalised_too() {
    check(&[
        ("", ""),
        (";", ";"),
        (")))(((,", "))) (((,"),
        ("SELECT 'abc", "select ?"),
        ("in (1", "in (?"),
        ("values (1", "values (?"),
        ("SELECT ümlaut FROM `é`", "select ümlaut from `é`"),
        ("a@b", "a@b"),
        ("prepare 'prepare ''x", "prepare ?"),
    ]);
}

/// The id is stored in traces, so a change here is a change of the trace format.
#[test]
fn ids_are_stable() {
    assert_eq!(xxh3_64(b"select id from users where id = ?"), 6288930917689117504);
    assert_eq!(shape_id("SELECT id FROM users WHERE id = 1", &Mode::default()), 6288930917689117504);
}

proptest::proptest! {
    #[test]
    fn any_text_gives_a_shape(sql in "(?s).{0,80}") {
        normalize(&sql, &Mode::default());
        crate::sql::mysql::mask_password(&sql, &Mode::default());
    }

    #[test]
    fn any_run_of_tokens_gives_a_shape(words in proptest::collection::vec(
        proptest::sample::select(vec!["in", "values", "(", ")", ",", "1", "'a'", "`", "\"", "row", "set", "statement",
            ";", "-", "/*", "*/", "/*!50701", "/*M!", "--\n", "#", "\\", "select", "null", ".", "@", "@@", "for",
            "prepare", "from", "identified by", "password"]), 0..40)) {
        let sql = words.join(" ");
        let text = normalize(&sql, &Mode::default());
        proptest::prop_assert!(!text.starts_with(' '));
        proptest::prop_assert_eq!(normalize(&sql, &Mode::default()), text);
        crate::sql::mysql::mask_password(&sql, &Mode::default());
    }
}
