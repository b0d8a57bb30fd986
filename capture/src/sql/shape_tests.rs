use super::{normalize, shape_id};

fn check(cases: &[(&str, &str)]) {
    for (sql, shape) in cases {
        assert_eq!(normalize(sql), *shape, "{sql}");
    }
}

#[test]
fn literals_and_parameters_become_marks() {
    check(&[
        ("SELECT id FROM Users WHERE id = 42", "select id from users where id = ?"),
        ("select ID  from USERS\n where id=$1", "select id from users where id = ?"),
        ("SELECT 'a''b', E'\\'', $$x$$, 1e5, 0x1F, B'01'", "select ?, ?, ?, ?, ?, ?"),
        ("SELECT '5'::int, date '2020-01-01', a.b::text[]", "select ?::int, date ?, a.b::text[]"),
        ("SELECT \"Users\".\"Id\" FROM \"Users\"", "select \"Users\".\"Id\" from \"Users\""),
        ("SELECT count(*), t.* FROM t", "select count(*), t.* from t"),
        ("SELECT a[1], b[1:2]", "select a[?], b[?:?]"),
        ("FETCH -1 FROM c", "fetch ? from c"),
    ]);
}

#[test]
fn signs_belong_to_numbers_only_where_a_value_stands() {
    check(&[
        ("SELECT -1, - a, a-1, a - 1, (-1), a=-1", "select ?, - a, a - ?, a - ?, (?), a = ?"),
        ("SELECT x FROM t LIMIT -1", "select x from t limit ?"),
        ("SELECT -.5 + .5", "select ? + ?"),
    ]);
}

#[test]
fn null_and_booleans_go_only_where_they_are_values() {
    check(&[
        ("INSERT INTO t VALUES (1, NULL, true)", "insert into t values (?, ?, ?)"),
        ("UPDATE t SET a = NULL WHERE b IS NOT NULL AND c = FALSE", "update t set a = ? where b is not null and c = ?"),
        ("SELECT a IS NULL FROM t", "select a is null from t"),
    ]);
}

#[test]
fn lists_of_values_collapse() {
    check(&[
        ("SELECT 1 FROM t WHERE a IN (1,2,3)", "select ? from t where a in (?...)"),
        ("SELECT 1 FROM t WHERE a IN ($1)", "select ? from t where a in (?...)"),
        ("SELECT 1 FROM t WHERE a IN (1, b, 2, 3)", "select ? from t where a in (?..., b, ?...)"),
        ("SELECT 1 WHERE (a,b) IN ((1,2),(3,4))", "select ? where (a, b) in ((?, ?)...)"),
        ("SELECT 1 WHERE a = ANY(ARRAY[1,2])", "select ? where a = any(array[?...])"),
        ("INSERT INTO t VALUES (1,'a')", "insert into t values (?, ?)"),
        ("INSERT INTO t VALUES (1,'a'), (2,'b'),(3,'c')", "insert into t values (?, ?)..."),
        (
            "INSERT INTO t(a) VALUES (1),(2) ON CONFLICT DO NOTHING",
            "insert into t(a) values (?)... on conflict do nothing",
        ),
        ("SELECT * FROM (VALUES (1),(2)) v(a)", "select * from (values (?)...) v(a)"),
        ("INSERT INTO t VALUES (1, now()), (2, now())", "insert into t values (?, now())..."),
        ("INSERT INTO t VALUES (1), (DEFAULT)", "insert into t values (?), (default)"),
        ("SELECT f(1, 2), f(1, 2, 3)", "select f(?, ?), f(?, ?, ?)"),
        ("SELECT 1 WHERE a IN (SELECT f(1), f(2), f(3))", "select ? where a in (select f(?), f(?), f(?))"),
        ("SELECT 1 WHERE a IN (VALUES (1),(2))", "select ? where a in (values (?)...)"),
        (
            "SELECT 1 WHERE a IN (1,2) AND b IN (SELECT 1 WHERE c IN (3))",
            "select ? where a in (?...) and b in (select ? where c in (?...))",
        ),
    ]);
}

#[test]
fn what_sets_state_keeps_its_values() {
    check(&[
        ("SET statement_timeout = '5s'", "set statement_timeout = '5s'"),
        ("SET x TO 0", "set x to 0"),
        ("SET x = -1", "set x = -1"),
        ("SET LOCAL app.tenant = 'bob'", "set local app.tenant = ?"),
        ("SET app.flag = 'on'", "set app.flag = 'on'"),
        ("SET pgdog.role = 'replica'", "set pgdog.role = 'replica'"),
        ("SELECT set_config('a', 'b', false)", "select set_config('a', 'b', false)"),
        ("SELECT set_config('app.tenant', 'x', true), 'y'", "select set_config('app.tenant', ?, true), ?"),
        ("SELECT pg_catalog.set_config($1, $2, $3)", "select pg_catalog.set_config(?, ?, ?)"),
        ("SET TRANSACTION SNAPSHOT '00000003-1'", "set transaction snapshot ?"),
        ("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", "begin isolation level serializable read only"),
        ("EXPLAIN (ANALYZE 0) SELECT 1", "explain (analyze 0) select ?"),
        ("EXPLAIN (ANALYZE true) SELECT f(1)", "explain (analyze true) select f(?)"),
        ("EXPLAIN SELECT (1)", "explain select (?)"),
        ("SELECT 1; SET a = 1; SELECT 2;", "select ?; set a = 1; select ?;"),
        ("UPDATE t SET a = 1", "update t set a = ?"),
    ]);
    for (one, other) in [
        ("SET x = on", "SET x = off"),
        ("SET x = 0", "SET x = 1"),
        ("BEGIN READ ONLY", "BEGIN READ WRITE"),
        ("SELECT set_config('a','on',false)", "SELECT set_config('a','off',false)"),
        ("EXPLAIN (ANALYZE 0) DELETE FROM t", "EXPLAIN (ANALYZE 1) DELETE FROM t"),
        ("SELECT 1", "/* c */ SELECT 1"),
        ("SELECT f(1)", "SELECT f(1, 2)"),
    ] {
        assert_ne!(shape_id(one), shape_id(other), "{one} / {other}");
    }
}

#[test]
fn comments_leave_only_what_routers_see() {
    check(&[
        ("/* app:web */ SELECT 1", "/**/ select ?"),
        ("-- note\nSELECT 1", "/**/ select ?"),
        ("  /* a */ /* b */ SELECT 1", "/**/ select ?"),
        ("SELECT /* x */ 1 -- y", "select ?"),
        ("SELECT a/**/FROM t", "select a from t"),
        ("/*NO LOAD BALANCE*/ SELECT 1", "/*NO LOAD BALANCE*/ select ?"),
        ("SELECT 1 -- maxscale route to master", "select ? /*maxscale route to master*/"),
        ("SELECT /*master*/ 1", "select /*master*/ ?"),
        ("/* a */ SET x = 1", "/**/ set x = 1"),
    ]);
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
        ("]) , in ( ]", "]), in (]"),
        ("SELECT ümlaut FROM \"é\"", "select ümlaut from \"é\""),
        ("a\0b", "a \0 b"),
    ]);
}

/// The id is stored in traces, so a change here is a change of the trace format.
#[test]
fn ids_are_stable() {
    assert_eq!(shape_id("SELECT id FROM users WHERE id = 1"), 6288930917689117504);
    assert_eq!(xxhash_rust::xxh3::xxh3_64(b"select id from users where id = ?"), 6288930917689117504);
}

proptest::proptest! {
    #[test]
    fn any_text_gives_a_shape(sql in "(?s).{0,80}") {
        normalize(&sql);
    }

    #[test]
    fn any_run_of_tokens_gives_a_shape(words in proptest::collection::vec(
        proptest::sample::select(vec!["in", "values", "(", ")", ",", "1", "'a'", "[", "]", "array", "set", "set_config",
            ";", "-", "/*", "*/", "--\n", "$$", "select", "null", ".", "explain"]), 0..40)) {
        let sql = words.join(" ");
        let text = normalize(&sql);
        proptest::prop_assert!(!text.starts_with(' '));
        proptest::prop_assert_eq!(normalize(&sql), text);
    }
}
