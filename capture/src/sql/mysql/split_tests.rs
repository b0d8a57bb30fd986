use super::*;

fn check(sql: &str, pieces: &[&str]) {
    assert_eq!(split(sql, &Mode::default()), pieces, "{sql}");
}

#[test]
fn statements_end_at_semicolons_that_are_tokens() {
    check("", &[]);
    check(" ;; ", &[]);
    check("SELECT 1", &["SELECT 1"]);
    check("SELECT 1; SELECT 2;", &["SELECT 1", "SELECT 2"]);
    check("SELECT ';', \";\", `;` /* ; */ -- ;\n; SELECT 2 # ;", &["SELECT ';', \";\", `;`", "SELECT 2"]);
    check("/* a */ SELECT 1 /* b */; /* c */", &["SELECT 1"]);
    check("BEGIN; SELECT 1; COMMIT", &["BEGIN", "SELECT 1", "COMMIT"]);
    check("SELECT CASE WHEN 1 THEN IF(1,2,3) END; SELECT 2", &["SELECT CASE WHEN 1 THEN IF(1,2,3) END", "SELECT 2"]);
    check("XA START 'a'; XA END 'a'; XA BEGIN 'b'", &["XA START 'a'", "XA END 'a'", "XA BEGIN 'b'"]);
    check("CREATE TABLE event (a int); SELECT 1", &["CREATE TABLE event (a int)", "SELECT 1"]);
    check("SELECT 'a;", &["SELECT 'a;"]);
}

#[test]
fn executed_comments_stay_with_their_statement() {
    check(
        "/*!40101 SET NAMES utf8 */; /*!50701 SELECT 1; */ /*!50003 SELECT 2 */;",
        &["/*!40101 SET NAMES utf8 */", "/*!50003 SELECT 2 */"],
    );
}

#[test]
fn bodies_keep_their_semicolons() {
    for body in [
        "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END",
        "CREATE OR REPLACE DEFINER=`a`@`b` PROCEDURE IF NOT EXISTS p() SQL SECURITY INVOKER BEGIN SELECT 1; END",
        "CREATE FUNCTION f() RETURNS int DETERMINISTIC RETURN CASE 1 WHEN 1 THEN 2 ELSE IF(1,2,3) END",
        "CREATE FUNCTION f() RETURNS int RETURN REPEAT('a', 3)",
        "CREATE TRIGGER t BEFORE INSERT ON u FOR EACH ROW IF NEW.a THEN SET @a = 1; END IF",
        "CREATE TRIGGER t BEFORE INSERT ON u FOR EACH ROW SET NEW.a = IF(NEW.b, 1, 2)",
        "CREATE EVENT IF NOT EXISTS e ON SCHEDULE EVERY 1 DAY DO BEGIN DELETE FROM t; END",
        "CREATE PROCEDURE p() BEGIN IF a THEN SELECT 1; ELSEIF b THEN SELECT 2; ELSE SELECT IF(1,2,3); END IF; END",
        "CREATE PROCEDURE p() BEGIN CASE a WHEN 1 THEN IF b THEN SELECT 1; END IF; ELSE SELECT 2; END CASE; END",
        "CREATE PROCEDURE p() BEGIN l: LOOP LEAVE l; END LOOP l; REPEAT SET a=1; UNTIL a END REPEAT; END",
        "CREATE PROCEDURE p() BEGIN WHILE a DO SELECT 1; END WHILE; FOR i IN 1..3 DO SELECT i; END FOR; END",
        "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; END; DROP TABLE IF EXISTS t; END",
        "CREATE PROCEDURE p() BEGIN XA START 'a'; XA END 'a'; SELECT CASE WHEN 1 THEN 2 END; END",
        "CREATE PROCEDURE p() IF a THEN SELECT 1; END IF",
        "BEGIN NOT ATOMIC DECLARE x int; SET x = 1; END",
        "IF @a THEN SELECT 1; ELSE SELECT 2; END IF",
        "l: LOOP SELECT 1; LEAVE l; END LOOP",
        "WHILE @a DO SELECT 1; END WHILE",
        "ALTER EVENT e DO BEGIN SELECT 1; END",
        "/*!50003 CREATE PROCEDURE p() BEGIN SELECT 1; END */",
    ] {
        check(&format!("SELECT 0; {body}; SELECT 9"), &["SELECT 0", body, "SELECT 9"]);
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_split(sql in "(?s).{0,80}") {
        split(&sql, &Mode::default());
    }

    #[test]
    fn pieces_are_parts_of_the_text_in_order(words in proptest::collection::vec(
        proptest::sample::select(vec!["BEGIN", "END", "NOT", "ATOMIC", "CREATE", "PROCEDURE", "IF", "CASE", ";", "(", ")",
            "'", "a", ":", "/*!", "*/", "LOOP", "THEN", "XA"]), 0..40)) {
        let sql = words.join(" ");
        let mut at = 0;
        for piece in split(&sql, &Mode::default()) {
            let start = piece.as_ptr() as usize - sql.as_ptr() as usize;
            proptest::prop_assert!(start >= at && !piece.is_empty());
            at = start + piece.len();
        }
    }
}
