//! Digests against those of ProxySQL.

use super::*;

fn digest(sql: &str) -> String {
    let options = DigestOptions { groups_grouping_limit: 1, ..DigestOptions::default() };
    String::from_utf8(Digester::new(options).digest(sql.as_bytes()).0.to_vec()).unwrap()
}

/// Inputs and results as in ProxySQL's own tests of its tokenizer (test/tap/tests/tokenizer_payloads).
#[test]
fn digests_are_those_of_proxysqls_own_tests() {
    for sql in [
        "select /* COMMENT */ 1",
        "select/* COMMENT */ 1",
        "select/* COMMENT */1",
        "/* COMMENT */select 1",
        "/* COMMENT */ select 1 ",
        "select 1/* COMMENT */  ",
        "# random_comment \n   select 1.1",
        "#random_comment\nselect 1.1",
        "-- random_comment \n select 1.1",
        "   --   random_comment\nselect 1.1",
        "# random_comment\n select 1.1 #final_comment\n   ",
        "# random_comment\n select 1.1# final_comment   \n",
        "-- random_comment\n select 1.1   -- final_comment  \n  ",
        "select 1.1e+9",
        "select 1.1E-9",
        "select 0x100",
        "select  + 1",
        "select ''''''''",
        "select '\\''",
        "select '\\\\'",
        "select '''\\\\''\\''''",
        "select \"1+ 1, 1 -1, 1 * 1 , 1/1 , 100 % 3\"",
        "select nUlL",
        "select -\"1\"",
    ] {
        assert_eq!(digest(sql), "select ?", "{sql}");
    }
    for (sql, expected) in [
        ("select 1+ 1, 1 -1, 1 * 1 , 1/1 , 100 % 3", "select ?+?,?-?,?*?,?/?,?%?"),
        ("select   1 + 1    , '1 - 1' , 1 * 1 , '1 '  , 100 % 3      ", "select ?+?,?,?*?,?,?%?"),
        ("select  + 1, - 2", "select ?,?"),
        ("SELECT * FROM t t1, t t2 ,t t3,t t4 LIMIT 0", "SELECT * FROM t t1,t t2,t t3,t t4 LIMIT ?"),
        ("SELECT N'string', _utf8'str\\'i\nng'", "SELECT N?,_utf8?"),
        (
            "create table test.1_null_digests (null_c1 TEXT, c2 TEXT, c3 TEXT)",
            "create table test.1_null_digests (null_c1 TEXT,c2 TEXT,c3 TEXT)",
        ),
        ("select * from 1_value", "select * from 1_value"),
        ("select CONCAT(  -'89'   +  '10' )", "select CONCAT(?+?)"),
        ("select CONCAT(- '89')", "select CONCAT(?)"),
        (
            "SELECT * FROM nulltablenull WHERE null_id IN (NULL  ,2,3, 'NULL' ,5,NulL,null,NULL8,9,10)",
            "SELECT * FROM nulltablenull WHERE null_id IN (?,?,?,...,NULL8,?,?)",
        ),
        ("SELECT * FROM tablename WHERE id IN (1,2,3,4)", "SELECT * FROM tablename WHERE id IN (?,?,?,?)"),
        (
            "SELECT * FROM tablename WHERE id IN (1,2,3,4,5,6,7,8,9,10)",
            "SELECT * FROM tablename WHERE id IN (?,?,?,...)",
        ),
        (
            "SELECT * tablename where id IN (1,2,3,4,5,6,7,8,  AND j in (1,2,3,4,5,6  and k=1",
            "SELECT * tablename where id IN (?,?,?,...,AND j in (?,?,?,...,? and k=?",
        ),
        (
            "INSERT INTO db.table1_25 ( col_121,col2121  ,col12_3, col41203_   ) VALUES ( 'val', -2, 3, 'foo' )",
            "INSERT INTO db.table1_25 (col_121,col2121,col12_3,col41203_) VALUES (?,?,?,?)",
        ),
        (
            "INSERT INTO db.table ( col1, col2 ) VALUES ('val',1, 2,3,'foo', 5 + 10, 6 - 9, 12, 3, 4, 5, 4,5,6)",
            "INSERT INTO db.table (col1,col2) VALUES (?,?,?,...,?+?,?-?,?,?,?,...)",
        ),
        ("insert into t values (1,2,3,4,5),(1,2,3,4,5),(1,2,3,4,5)", "insert into t values (?,?,?,...),..."),
    ] {
        assert_eq!(digest(sql), expected, "{sql}");
    }
}

#[test]
fn oddities_that_rules_match_against() {
    assert_eq!(digest("SELECT a - b FROM t;"), "SELECT a  b FROM t");
    assert_eq!(digest("/*!40101 SET NAMES utf8 */"), "SET NAMES utf8");
    assert_eq!(digest("SELECT /*!40001 SQL_NO_CACHE */ 1"), "SELECT SQL_NO_CACHE ?");
    assert_eq!(digest("--\nSELECT 1\nFROM t"), "FROM t", "the line end counts as the space behind the dashes");
    assert_eq!(digest("-- head --\nSELECT 1\nFROM t"), "FROM t", "the same within a comment");
    assert_eq!(digest("SELECT 'never closed"), "SELECT");
    assert_eq!(digest(""), "");
    assert_eq!(digest("SELECT 12a"), "SELECT ?", "the last character of a text belongs to its number");
}

#[test]
fn the_first_comment_is_kept_for_hints() {
    let mut digester = Digester::default();
    let mut comment = |sql: &str| {
        let (_, comment) = digester.digest(sql.as_bytes());
        comment.map(|comment| String::from_utf8_lossy(comment).into_owned())
    };
    assert_eq!(comment("/* hostgroup=1;x=2 */ SELECT 1 /* hostgroup=2 */").as_deref(), Some(" hostgroup=1;x=2 "));
    assert_eq!(comment("SELECT /*+ a\nb */ 1").as_deref(), Some("+ a b "));
    assert_eq!(comment("SELECT 1 -- hostgroup=1"), None);
    assert_eq!(comment("SELECT '/* hostgroup=1 */'"), None);
}

proptest::proptest! {
    #[test]
    fn any_text_has_a_digest(sql in "(?s)[-a-zN'\"\\\\0-9.,+*/#?!() \n]{0,60}") {
        let mut digester = Digester::default();
        let length = digester.digest(sql.as_bytes()).0.len();
        proptest::prop_assert!(length <= sql.len() + 1);
    }
}
