use super::*;
use crate::sql::mysql::Server;

const MYSQL: Mode = Mode {
    ansi_quotes: false,
    no_backslash_escapes: false,
    pipes_as_concat: false,
    high_not_precedence: false,
    ignore_space: false,
    server: Server { family: Family::MySql, version: 80_036 },
};

fn tokens(sql: &str) -> Vec<(Kind, &str)> {
    tokens_in(sql, Mode::default())
}

fn tokens_in(sql: &str, mode: Mode) -> Vec<(Kind, &str)> {
    Lexer::new(sql.as_bytes(), mode).map(|token| (token.kind, &sql[token.start..token.end])).collect()
}

fn texts(sql: &str) -> Vec<&str> {
    tokens(sql).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn strings_of_every_notation_are_one_token() {
    for text in ["'a''b'", "'a\\'b'", "\"a\"\"b\"", "\"it's\"", "N'a'", "n'\\\\'", "'é'", "''"] {
        assert_eq!(tokens(text), [(Kind::Text, text)]);
    }
    assert_eq!(tokens("'a' 'b'").len(), 2);
    assert_eq!(tokens("_utf8mb4'a'"), [(Kind::Word, "_utf8mb4"), (Kind::Text, "'a'")]);
}

#[test]
fn modes_change_what_quotes_and_backslashes_mean() {
    let ansi = Mode { ansi_quotes: true, ..Mode::default() };
    assert_eq!(tokens_in("\"a\"", ansi), [(Kind::Quoted, "\"a\"")]);
    assert_eq!(tokens_in("@\"a\"", ansi), [(Kind::Variable, "@\"a\"")]);
    let plain = Mode { no_backslash_escapes: true, ..Mode::default() };
    assert_eq!(tokens_in("'\\' or 1", plain)[0], (Kind::Text, "'\\'"));
    assert_eq!(tokens("'\\' or 1'"), [(Kind::Text, "'\\' or 1'")]);
}

#[test]
fn numbers_of_every_notation_are_one_token() {
    for text in ["1", "1.5", ".5", "1.", "1e5", "1.5E-10", "1.e5", "0x1F", "0b01", "b'01'", "B''"] {
        assert_eq!(tokens(text), [(Kind::Number, text)]);
    }
    assert_eq!(tokens("x'1F'"), [(Kind::Hex, "x'1F'")]);
    assert_eq!(tokens("x'1'"), [(Kind::Broken, "x'1'")], "an odd number of digits");
}

#[test]
fn names_may_begin_with_digits_and_follow_a_dot() {
    for text in ["1a", "0xfg", "0b12", "1_000", "1e", "0X1F", "a$b", "é"] {
        assert_eq!(tokens(text), [(Kind::Word, text)]);
    }
    assert_eq!(tokens("a.1"), [(Kind::Word, "a"), (Kind::Dot, "."), (Kind::Word, "1")]);
    assert_eq!(tokens("`a`.1"), [(Kind::Quoted, "`a`"), (Kind::Number, ".1")]);
    assert_eq!(tokens("1.a"), [(Kind::Number, "1."), (Kind::Word, "a")]);
    assert_eq!(tokens("`a``b`"), [(Kind::Quoted, "`a``b`")]);
    let named: Vec<bool> =
        Lexer::new(b"select.from from @@global.x", Mode::default()).map(|token| token.named).collect();
    assert_eq!(named, [true, false, true, false, false, false, false, true]);
}

#[test]
fn operators_end_where_the_server_ends_them() {
    assert_eq!(texts("a<=>b<>c!=d>=e<<f>>g"), ["a", "<=>", "b", "<>", "c", "!=", "d", ">=", "e", "<<", "f", ">>", "g"]);
    assert_eq!(texts("a||b&&c:=!d"), ["a", "||", "b", "&&", "c", ":=", "!", "d"]);
    assert_eq!(texts("a->b"), ["a", "-", ">", "b"]);
    assert_eq!(tokens_in("a->'$'", MYSQL)[1], (Kind::Operator, "->"));
    assert_eq!(tokens_in("a->>'$'", MYSQL)[1], (Kind::Operator, "->>"));
    assert_eq!(texts("a=-1"), ["a", "=", "-", "1"]);
}

#[test]
fn variables_are_one_token_and_system_variables_several() {
    for text in ["@a", "@a.b$c", "@'a b'", "@`a`", "@\"a\"", "@"] {
        assert_eq!(tokens(text), [(Kind::Variable, text)]);
    }
    assert_eq!(tokens("@@x"), [(Kind::System, "@@"), (Kind::Word, "x")]);
    assert_eq!(tokens("'u'@'h'"), [(Kind::Text, "'u'"), (Kind::Variable, "@'h'")]);
    assert_eq!(tokens("?"), [(Kind::Param, "?")]);
}

#[test]
fn comments_follow_the_rules_of_their_notation() {
    assert_eq!(tokens("-- a\nx"), [(Kind::Comment, "-- a"), (Kind::Word, "x")]);
    assert_eq!(tokens("--"), [(Kind::Comment, "--")]);
    assert_eq!(texts("1--1"), ["1", "-", "-", "1"]);
    assert_eq!(tokens("# a\nx"), [(Kind::Comment, "# a"), (Kind::Word, "x")]);
    assert_eq!(texts("/* a /* b */ x"), ["/* a /* b */", "x"], "they do not nest");
    assert_eq!(tokens("/* a"), [(Kind::Broken, "/* a")]);
}

#[test]
fn executed_comments_are_code_where_the_server_says_so() {
    assert_eq!(texts("a /*! b */ c"), ["a", "b", "c"]);
    assert_eq!(texts("a /*!50701 b */ c"), ["a", "/*!50701 b */", "c"]);
    assert_eq!(texts("a /*M!50701 b */ c"), ["a", "b", "c"]);
    assert_eq!(texts("/*!40101 SET x='*/'*/"), ["SET", "x", "=", "'*/'"]);
    assert_eq!(texts("/*!999999 a /* b */ c */ d"), ["/*!999999 a /* b */ c */", "d"]);
    let mysql = |sql| tokens_in(sql, MYSQL).into_iter().map(|(_, text)| text).collect::<Vec<&str>>();
    assert_eq!(mysql("/*!50701 b */"), ["b"]);
    assert_eq!(mysql("/*M! b */"), ["/*M! b */"]);
    assert_eq!(texts("a */ b"), ["a", "*", "/", "b"]);
}

#[test]
fn kept_executed_comments_are_marked_whatever_the_server() {
    let kept = |sql: &'static str| {
        let tokens = Lexer::keeping_executed(sql.as_bytes(), Mode::default());
        tokens.map(|token| &sql[token.start..token.end]).collect::<Vec<_>>()
    };
    assert_eq!(kept("a /*! b */ c"), ["a", "/*!", "b", "*/", "c"]);
    assert_eq!(kept("a /*!99999 b */ c"), ["a", "/*!99999", "b", "*/", "c"]);
    assert_eq!(kept("/*!99999 it's */ c"), ["/*!99999", "it", "'s ", "*/", "c"]);
    assert_eq!(kept("/*!99999 a"), ["/*!99999", "a", ""]);
}

#[test]
fn text_that_ends_early_gives_a_last_token() {
    for text in ["'abc", "'a\\", "\"abc", "`a", "x'1", "n'", "@'", "@`a", "/*!", "/*M!", "/*!5", "\0", "\\", "é'"] {
        tokens(text);
        Lexer::keeping_executed(text.as_bytes(), Mode::default()).count();
    }
    assert_eq!(tokens("'abc"), [(Kind::Broken, "'abc")]);
    assert_eq!(tokens("`abc"), [(Kind::Broken, "`abc")]);
}
