//! Bodies of PostgreSQL. What a statement of PL/pgSQL holds is told by its manual ("Basic Statements", "Control
//! Structures", "Cursors"), and by its own parser where that can read a body without a database.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::{Body, body, facts};

/// What a body reads, writes and calls, as `reads a b writes c calls f`.
fn summary(body: &Body) -> String {
    fn names<T: ToString>(list: impl Iterator<Item = T>) -> String {
        list.map(|name| name.to_string()).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    }
    let statements = || body.statements.iter();
    let parts = [
        ("reads", names(statements().flat_map(|statement| &statement.reads))),
        ("writes", names(statements().flat_map(|statement| &statement.writes))),
        ("calls", names(statements().flat_map(|statement| &statement.functions).map(|call| call.name.as_str()))),
    ];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    parts.map(|(what, names)| format!("{what} {names}")).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn holds(source: &str, expected: &str) {
    let body = body("plpgsql", source);
    assert_eq!(body.unknown, None, "{source}");
    assert_eq!(summary(&body), expected, "{source}");
}

/// The same for the statements of one block.
#[track_caller]
fn block(statements: &str, expected: &str) {
    holds(&format!("BEGIN\n{statements}\nEND"), expected);
}

#[track_caller]
fn unknown(source: &str, why: &str) {
    let unknown = body("plpgsql", source).unknown.unwrap_or_default();
    assert!(unknown.contains(why), "{source}: {unknown:?}");
}

#[test]
fn statements_of_sql_are_read() {
    block("INSERT INTO audit (user_id) VALUES (login); RETURN login;", "writes audit");
    block("UPDATE a SET x = f(y) FROM b WHERE a.id = b.id;", "reads b writes a calls f");
    block("DELETE FROM s.a USING b; TRUNCATE c; COPY d FROM '/tmp/x';", "reads b writes c d s.a");
    block("MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN DELETE;", "reads b writes a");
    block(
        "WITH gone AS (DELETE FROM a RETURNING id) SELECT count(*) INTO n FROM gone, b;",
        "reads b writes a calls count",
    );
    block("LOCK TABLE a; SELECT 1 FROM b FOR UPDATE; CREATE TEMP TABLE c AS SELECT * FROM d;", "reads b d writes a c");
    block("SET LOCAL work_mem = '1MB'; NOTIFY channel; NULL;", "");
    block("CALL p(f(1)); COMMIT; ROLLBACK AND CHAIN;", "calls f p");
    block("IMPORT FOREIGN SCHEMA a FROM SERVER b INTO c;", "");
}

#[test]
fn variables_that_are_filled_are_no_tables() {
    block("SELECT a, b INTO x, r.y FROM t;", "reads t");
    block("SELECT INTO STRICT x a FROM t;", "reads t");
    block("SELECT a INTO x[f(1)], \"Y\" FROM t WHERE i = 1;", "reads t");
    block("INSERT INTO t VALUES (1) RETURNING id INTO STRICT new_id;", "writes t");
    block("INSERT/* into */ INTO t SELECT 1 FROM u RETURNING id INTO $1;", "reads u writes t");
}

#[test]
fn expressions_are_read() {
    block("x := (SELECT max(id) FROM t) + f(1);", "reads t calls f max");
    block("x = f(1); r.y := g(2); a[h(3)] := 4; a[1].b[2:i(5)] = k(6); $1 := l(7);", "calls f g h i k l");
    block("x := count(*) FROM t WHERE id > y;", "reads t calls count");
    block("PERFORM f(id) FROM t; ASSERT g() > 0, h();", "reads t calls f g h");
    block("RETURN (SELECT 1 FROM t);", "reads t");
    block("RETURN NEXT f(1); RETURN NEXT; RETURN QUERY SELECT * FROM t; RETURN;", "reads t calls f");
    block("RETURN QUERY DELETE FROM t RETURNING *;", "writes t");
    block(
        "RAISE; RAISE NOTICE 'a; b %', f(1); RAISE unique_violation USING MESSAGE = g(2), HINT := h(3);",
        "calls f g h",
    );
    block(
        "RAISE SQLSTATE '22012'; RAISE EXCEPTION 'x %, %', f(1, 2), (SELECT 1 FROM t) USING ERRCODE = '1';",
        "reads t calls f",
    );
    block("GET DIAGNOSTICS n = ROW_COUNT; GET STACKED DIAGNOSTICS m := MESSAGE_TEXT;", "");
}

#[test]
fn control_structures_are_read_through() {
    block(
        "IF EXISTS (SELECT 1 FROM a) THEN DELETE FROM b; ELSIF f() THEN DELETE FROM c; ELSE DELETE FROM d; END IF;",
        "reads a writes b c d calls f",
    );
    block("IF x THEN IF y THEN PERFORM f(); END IF; ELSEIF z THEN NULL; END IF;", "calls f");
    block(
        "CASE f() WHEN 1, g() THEN DELETE FROM a; WHEN 3 THEN NULL; ELSE DELETE FROM b; END CASE;",
        "writes a b calls f g",
    );
    block("CASE WHEN (SELECT true FROM a) THEN x := CASE WHEN y THEN 1 ELSE f() END; END CASE;", "reads a calls f");
    block("<<l>> LOOP EXIT l WHEN f(); CONTINUE WHEN g(); EXIT; END LOOP l;", "calls f g");
    block("WHILE f() LOOP DELETE FROM a; END LOOP;", "writes a calls f");
    block(
        "FOR i IN 1..10 LOOP PERFORM f(i); END LOOP; FOR i IN REVERSE g()..h() BY k() LOOP NULL; END LOOP;",
        "calls f g h k",
    );
    block("FOR i IN a[1]..b.c LOOP NULL; END LOOP; FOR i IN .5 .. 2. LOOP NULL; END LOOP;", "");
    block("FOR r IN SELECT * FROM a WHERE b IN (1, 2) FOR UPDATE LOOP DELETE FROM c; END LOOP;", "reads a writes c");
    block(
        "FOR a, b IN (SELECT 1, 2 FROM t) LOOP NULL; END LOOP; FOR x IN VALUES (f()) LOOP NULL; END LOOP;",
        "reads t calls f",
    );
    block("FOREACH x SLICE 1 IN ARRAY f() LOOP DELETE FROM a; END LOOP;", "writes a calls f");
    block(
        "BEGIN DELETE FROM a; EXCEPTION WHEN unique_violation OR SQLSTATE '22012' THEN DELETE FROM b; \
        WHEN OTHERS THEN RAISE; END;",
        "writes a b",
    );
    holds(
        "<<outer>> DECLARE x int; BEGIN <<inner>> DECLARE y int := f(); BEGIN NULL; END inner; END outer;",
        "calls f",
    );
}

#[test]
fn declarations_are_read() {
    holds(
        "DECLARE a CONSTANT int NOT NULL := f(); b text COLLATE \"C\" DEFAULT g(); c numeric(10, 2) = h(); \
        d t%ROWTYPE; DECLARE e t.id%TYPE; f2 ALIAS FOR $1; g2 s.type[]; BEGIN END",
        "calls f g h",
    );
    // The default of a record is no less a call.
    holds("DECLARE r s.t := f(); BEGIN RETURN r; END;", "calls f");
    holds("#variable_conflict use_column\n#print_strict_params on\nBEGIN DELETE FROM a; END", "writes a");
}

#[test]
fn cursors_are_read_where_their_query_stands() {
    holds(
        "DECLARE c CURSOR FOR SELECT * FROM a; d NO SCROLL CURSOR (i int, j text) IS SELECT f(i) FROM b; e refcursor; \
        BEGIN OPEN c; FETCH c INTO x; MOVE FORWARD 2 FROM c; CLOSE c; OPEN d(g(), j := h()); FETCH NEXT FROM d INTO y; \
        OPEN e NO SCROLL FOR SELECT * FROM k FOR UPDATE; FETCH e INTO z; \
        FOR r IN d(l(), j => 'a') LOOP NULL; END LOOP; FOR r IN c LOOP NULL; END LOOP; END",
        "reads a b k calls f g h l",
    );
    unknown("BEGIN FETCH c INTO x; END", "a cursor whose query stands elsewhere");
    unknown("DECLARE c refcursor; BEGIN OPEN c FOR EXECUTE q; END", "EXECUTE");
    unknown("DECLARE c CURSOR FOR SELECT 1; BEGIN FETCH RELATIVE f() FROM c INTO x; END", "is computed");
}

#[test]
fn texts_that_are_put_together_are_not_known() {
    for statement in [
        "EXECUTE 'DELETE FROM ' || a;",
        "EXECUTE format('DELETE FROM %I', a) INTO x USING 1;",
        "FOR r IN EXECUTE a LOOP NULL; END LOOP;",
        "RETURN QUERY EXECUTE a USING f();",
    ] {
        let source = format!("BEGIN DELETE FROM a; {statement} INSERT INTO b VALUES (1); END");
        unknown(&source, "it runs a text that it puts together (EXECUTE)");
        // What stands beside it is known all the same.
        assert!(summary(&body("plpgsql", &source)).starts_with("writes a b"), "{source}");
    }
    unknown("BEGIN DO $x$ BEGIN END $x$; END", "DO block");
}

#[test]
fn comments_and_texts_hold_no_statements() {
    block("-- DELETE FROM a;\n/* DELETE /* FROM */ b; */ PERFORM 'DELETE FROM c;', $$;END$$, E'\\';' -- ;\n;", "");
    block("SELECT 1 -- INTO x\nINTO x /* FROM b */ FROM a;", "reads a");
    block("PERFORM \"if\", \"a;b\" FROM \"end\";", "reads end");
}

#[test]
fn names_that_are_words_of_the_language_are_variables_where_something_is_assigned() {
    block("open := f(); close = g(); return.x := 1; exit[1] := 2;", "calls f g");
}

#[test]
fn what_is_not_understood_makes_a_body_unknown() {
    for source in [
        "",
        "SELECT 1",
        "BEGIN",
        "BEGIN SELECT 1; ",
        "BEGIN SELECT 1 END",
        "BEGIN END; SELECT 1",
        "BEGIN IF x THEN NULL; END LOOP; END",
        "BEGIN IF x; END IF; END",
        "BEGIN LOOP NULL; END LOOP a b; END",
        "BEGIN FOREACH x IN y LOOP END LOOP; END",
        "BEGIN FOR i IN 1.. LOOP END LOOP; END",
        "BEGIN SELECT 1 INTO a INTO b; END",
        "BEGIN x := ; END",
        "BEGIN RAISE x USING y; END",
        "BEGIN )(; END",
        "BEGIN a := (1; END",
        "BEGIN THEN; END",
        "BEGIN ELSE NULL; END",
        "BEGIN no such statement; END",
        "BEGIN x := 1 +; END",
        "BEGIN CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END; END",
        "DECLARE c CURSOR SELECT 1; BEGIN END",
        "BEGIN 'abc; END",
        "BEGIN <<a; END",
        "#",
    ] {
        assert!(body("plpgsql", source).unknown.is_some(), "{source}");
    }
    unknown(
        "BEGIN\nIF x THEN\nNULL;\nEND LOOP; END",
        "something else should end in line 4 of its body, near `END LOOP; END`",
    );
    unknown("BEGIN PERFORM 1 +; END", "syntax error");
    assert_eq!(body("c", "f").unknown.as_deref(), Some("it is written in c"));
}

#[test]
fn bodies_in_sql_are_read_in_both_forms() {
    let holds = |source: &str, expected: &str| {
        let body = body("sql", source);
        assert_eq!((body.unknown.as_deref(), summary(&body).as_str()), (None, expected), "{source}");
    };
    holds("INSERT INTO a VALUES ($1); SELECT f(x) FROM b", "reads b writes a calls f");
    holds("", "");
    holds("RETURN f($1) + (SELECT 1 FROM a)", "reads a calls f");
    holds(
        "BEGIN ATOMIC\n INSERT INTO a VALUES (1);\n SELECT CASE WHEN true THEN 1 END FROM b;\nEND",
        "reads b writes a",
    );
    holds("/* RETURN */ begin atomic END;", "");
    assert!(body("sql", "SELECT FROM WHERE").unknown.is_some_and(|why| why.contains("syntax error")));
}

/// PL/pgSQL's own parser, as far as it can tell: it knows no types but the system's, and no trigger.
#[test]
fn the_language_s_own_parser_finds_the_same() {
    const BODIES: &[&str] = &[
        "DECLARE n int := f(1); c CURSOR (i int) FOR SELECT * FROM a WHERE id = i; r record; x text; \
         BEGIN FOR r IN SELECT * FROM b LOOP n := n + r.id; UPDATE d SET y = g(n); END LOOP; \
         FOR r IN c(h(2)) LOOP CONTINUE WHEN r.id = k(); END LOOP; \
         IF EXISTS (SELECT 1 FROM e) THEN DELETE FROM f WHERE id = n; ELSIF l() THEN NULL; ELSE x := m(); END IF; \
         CASE n WHEN 1, 2 THEN INSERT INTO g VALUES (n) RETURNING z INTO x; ELSE PERFORM o(x) FROM h; END CASE; \
         SELECT a, b INTO n, x FROM i; WHILE p() LOOP EXIT; END LOOP; OPEN c(q()); FETCH c INTO r; CLOSE c; \
         RAISE NOTICE '%', s(n) USING HINT = t(); ASSERT u(), 'x'; RETURN (SELECT max(id) FROM j); \
         EXCEPTION WHEN OTHERS THEN INSERT INTO errors SELECT v(); RAISE; END",
        "BEGIN FOR i IN REVERSE a()..b() BY c() LOOP PERFORM d(); END LOOP; \
         FOREACH i IN ARRAY e() LOOP CALL f(i); END LOOP; GET DIAGNOSTICS i = ROW_COUNT; COMMIT; END",
    ];
    // It works on the standard error of the whole process.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock();
    for source in BODIES {
        let created = format!("CREATE FUNCTION x(i int) RETURNS int LANGUAGE plpgsql AS $body${source}$body$");
        let tree = pg_query::parse_plpgsql(&created).expect("it is right");
        let mut texts = Vec::new();
        queries(&tree, &mut texts);
        let theirs = facts(&texts.join(";"));
        assert_eq!(theirs.error, None);
        let theirs = Body { statements: theirs.statements, unknown: None };
        holds(source, &summary(&theirs));
    }
}

/// The texts of a tree as statements; `parseMode` says which are expressions or assignments.
fn queries(node: &serde_json::Value, found: &mut Vec<String>) {
    if let (Some(text), Some(mode)) = (node["query"].as_str(), node["parseMode"].as_i64()) {
        found.push(match mode {
            0 => text.to_owned(),
            2 => format!("SELECT {text}"),
            _ => format!("SELECT {}", text.split_once('=').map_or(text, |(_, value)| value)),
        });
    }
    match node {
        serde_json::Value::Array(items) => items.iter().for_each(|item| queries(item, found)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| queries(value, found)),
        _ => {}
    }
}
