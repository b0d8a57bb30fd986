//! Bodies of stored programs. What a statement holds is told by the manuals ("Compound Statement Syntax", "Cursors",
//! "Condition Handling"; MariaDB: "Programmatic & Compound Statements").

use std::collections::BTreeSet;

use super::super::body;
use crate::sql::mysql::Mode;
use crate::sql::{Body, StatementKind as Kind};

/// The body of a procedure with these statements in its block, or of one statement.
fn of(source: &str) -> Body {
    body(&format!("CREATE DEFINER=`root`@`%` PROCEDURE `p`(IN a INT, OUT `b;` TEXT)\n{source}"), &Mode::default())
}

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
    let body = of(source);
    assert_eq!(body.unknown, None, "{source}");
    assert_eq!(summary(&body), expected, "{source}");
}

#[track_caller]
fn block(statements: &str, expected: &str) {
    holds(&format!("BEGIN {statements} END"), expected);
}

#[test]
fn statements_of_sql_are_read() {
    holds("INSERT INTO audit (user_id) VALUES (a)", "writes audit");
    holds("RETURN (SELECT max(id) FROM t WHERE x = f(1))", "reads t calls f max");
    block(
        "UPDATE a JOIN b USING (id) SET a.x = f(b.y); DELETE FROM c; REPLACE d SELECT * FROM e;",
        "reads b e writes a c d calls f",
    );
    block("TRUNCATE t; LOAD DATA INFILE 'x' INTO TABLE u; CALL q(f(1)); DO g(2);", "writes t u calls f g q");
    block("SELECT 1 FROM a FOR UPDATE; SELECT x INTO b FROM c; SHOW WARNINGS;", "reads a c");
    block("CREATE TEMPORARY TABLE t (x INT); START TRANSACTION; COMMIT; ROLLBACK;", "writes t");
    block("SELECT NEXT VALUE FOR s INTO a;", "writes s calls nextval");
}

#[test]
fn control_structures_are_read_through() {
    block(
        "IF EXISTS (SELECT 1 FROM a) THEN DELETE FROM b; ELSEIF f() THEN DELETE FROM c; ELSE DELETE FROM d; END IF;",
        "reads a writes b c d calls f",
    );
    block(
        "IF CASE a WHEN 1 THEN f() END THEN DELETE FROM b; END IF; IF (a) THEN SET a = 1; END IF;",
        "writes b calls f",
    );
    block(
        "CASE f() WHEN CASE WHEN a THEN 1 END THEN DELETE FROM a; WHEN g() THEN BEGIN END; ELSE DELETE FROM b; END CASE;",
        "writes a b calls f g",
    );
    block("CASE WHEN a THEN SELECT CASE WHEN f() THEN 1 END; END CASE;", "calls f");
    block("l: LOOP IF a THEN LEAVE l; END IF; ITERATE l; END LOOP l; m: BEGIN END m;", "");
    block("REPEAT DELETE FROM a; UNTIL f() > CASE WHEN b THEN 1 END END REPEAT;", "writes a calls f");
    block("w: WHILE a < (SELECT count(*) FROM b) DO SET a = f(a); END WHILE w;", "reads b calls count f");
    block("FOR i IN 1..10 DO CALL q(i); END FOR; FOR i IN REVERSE f()..g() DO SET a = i; END FOR;", "calls f g q");
    block("FOR r IN (SELECT * FROM a) DO DELETE FROM b WHERE id = r.id; END FOR;", "reads a writes b");
    holds("IF a THEN RETURN f(); ELSE RETURN 1; END IF", "calls f");
    block("BEGIN NOT ATOMIC DELETE FROM a; END;", "writes a");
}

#[test]
fn declarations_are_read() {
    block(
        "DECLARE x, y INT DEFAULT (SELECT max(id) FROM a); DECLARE z ENUM('a;', 'default') DEFAULT f(); SET x = g();",
        "reads a calls f g max",
    );
    block(
        "DECLARE dup CONDITION FOR 1062; DECLARE CONTINUE HANDLER FOR NOT FOUND, SQLSTATE VALUE '02001', dup, 1205 \
        SET x = f(); DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN INSERT INTO errors VALUES (1); RESIGNAL; END; \
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'x'; GET DIAGNOSTICS CONDITION 1 x = MESSAGE_TEXT;",
        "writes errors calls f",
    );
    block(
        "DECLARE c CURSOR FOR SELECT x FROM a; DECLARE d CURSOR (k INT) FOR SELECT f(k) FROM b; OPEN c; \
        FETCH NEXT FROM c INTO x; CLOSE c; OPEN d(g()); FETCH d INTO x; FOR r IN d(h()) DO SET x = r.x; END FOR; \
        FOR r IN c DO SET x = 1; END FOR;",
        "reads a b calls f g h",
    );
}

#[test]
fn what_stays_in_the_session_is_told_from_variables_of_the_program() {
    let assigned = |source: &str| {
        let body = of(source);
        assert_eq!(body.unknown, None, "{source}");
        let sets = body.statements.into_iter().filter(|statement| statement.kind == Kind::SetVariables);
        let assigned = sets.flat_map(|statement| statement.state.assignments);
        assigned.map(|assignment| assignment.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        assigned("BEGIN DECLARE X INT; SET x = 1, @y = 2, sql_mode = ''; SET GLOBAL x = 3; END"),
        "y sql_mode x"
    );
    assert_eq!(assigned("BEGIN FOR r IN (SELECT 1) DO SET r.a = 1; END FOR; END"), "");
}

#[test]
fn the_head_of_a_program_is_passed_over() {
    let holds = |source: &str, expected: &str| {
        let body = body(source, &Mode::default());
        assert_eq!((body.unknown.as_deref(), summary(&body).as_str()), (None, expected), "{source}");
    };
    holds(
        "CREATE DEFINER=`function`@`%` FUNCTION `s`.`f`(x ENUM('a', 'b)')) RETURNS decimal(10,2) unsigned\n READS SQL DATA\n \
        DETERMINISTIC SQL SECURITY INVOKER\n COMMENT 'DELETE FROM x' RETURN g()",
        "calls g",
    );
    holds(
        "CREATE FUNCTION f() RETURNS varchar(10) CHARSET utf8mb4 COLLATE utf8mb4_bin NOT DETERMINISTIC NO SQL BEGIN RETURN g(); END",
        "calls g",
    );
    holds(
        "CREATE OR REPLACE AGGREGATE FUNCTION IF NOT EXISTS f(x INT) RETURNS text CHARACTER SET latin1 MODIFIES SQL DATA DELETE FROM a",
        "writes a",
    );
    holds("CREATE DEFINER=CURRENT_USER PROCEDURE p() LANGUAGE SQL CONTAINS SQL DELETE FROM a", "writes a");
    holds("CREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW FOLLOWS u SET NEW.a = f(NEW.b)", "calls f");
    holds("CREATE TRIGGER t AFTER DELETE ON x FOR EACH ROW BEGIN INSERT INTO a VALUES (OLD.b); END", "writes a");
}

#[test]
fn texts_and_comments_hold_no_statements() {
    block(
        "-- DELETE FROM a;\n# DELETE FROM b;\n/* DELETE FROM c; */ SELECT 'it\\'s; DELETE FROM d; ', \"END\", `a;b`;",
        "",
    );
    block("/*! DELETE FROM a; */ /*!99999 DELETE FROM b; */ SELECT 1;", "writes a");
    // The server's own view of this body has lost the backslashes, and would hold a DELETE.
    holds("RETURN 'a\\'; DELETE FROM b; \\''", "");
}

#[test]
fn texts_that_are_put_together_are_not_known() {
    for statement in ["PREPARE s FROM @x;", "EXECUTE s USING @a;", "EXECUTE IMMEDIATE CONCAT('DELETE FROM ', a);"] {
        let body = of(&format!("BEGIN DELETE FROM a; {statement} INSERT INTO b VALUES (1); END"));
        assert_eq!(body.unknown.as_deref(), Some("it runs a text that it puts together (PREPARE)"), "{statement}");
        assert_eq!(summary(&body), "writes a b");
    }
}

#[test]
fn what_is_not_understood_makes_a_body_unknown() {
    for source in [
        "",
        "BEGIN",
        "BEGIN SELECT 1; ",
        "BEGIN END; END",
        "BEGIN IF a THEN SELECT 1; END LOOP; END",
        "BEGIN IF a; END IF; END",
        "BEGIN ELSE SELECT 1; END",
        "BEGIN END a b",
        "BEGIN FETCH c INTO x; END",
        "BEGIN OPEN c; END",
        "BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c FOR SELECT 2; END",
        "BEGIN FOR i OF 1..2 DO SELECT 1; END FOR; END",
        "BEGIN DECLARE EXIT HANDLER FOR ; END",
        "BEGIN SELECT 'abc; END",
        "BEGIN SELECT (1; END",
        "BEGIN no such statement; END",
        "LANGUAGE JAVASCRIPT AS $$ return 1 $$",
    ] {
        assert!(of(source).unknown.is_some(), "{source}");
    }
    for source in [
        "",
        "SELECT 1",
        "BEGIN END",
        "CREATE TABLE t (a INT)",
        "CREATE FUNCTION f RETURN 1",
        "CREATE FUNCTION f() RETURN 1",
    ] {
        assert!(body(source, &Mode::default()).unknown.is_some(), "{source}");
    }
    let lost = of("BEGIN IF a THEN SELECT 1; END LOOP; END").unknown.unwrap_or_default();
    assert!(lost.starts_with("something else should end, at byte"), "{lost}");
}
