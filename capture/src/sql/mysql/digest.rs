//! The text under which performance_schema counts a statement, as MariaDB computes it.
//!
//! A digest text has every keyword in upper case, every name in backquotes, every value as `?`, lists of values as
//! `?, ...` and rows of them as `(...)`, and one space between tokens. What a census of production holds
//! (`events_statements_summary_by_digest.DIGEST_TEXT`) can so be matched with the statements of a trace.
//!
//! The hash beside it, `DIGEST`, is not computed here: it is an MD5 over the numbers that the server's grammar gives
//! its tokens, which change with every keyword that a release adds. MySQL's text differs too: it knows other keywords
//! and reduces more. So the texts here are MariaDB's, whatever the mode's server; that decides only which executed
//! comments are code.
//!
//! How the server cuts long texts (`max_digest_length`, `performance_schema_max_digest_length`) is its setting, and not
//! done here.

use super::Mode;
use super::keyword::{self, Word};
use super::lexer::{Kind, Lexer, Token};

/// The digest text of one statement, with the space at its end that MariaDB leaves there. Of a text with several
/// statements, split them first: MariaDB counts each on its own, with the semicolon at its end where another one follows.
pub fn digest_text(sql: &str, mode: &Mode) -> String {
    let mut digest = Digest { text: sql.as_bytes(), mode: *mode, pieces: Vec::new(), null: Null::default() };
    let mut lexer = Lexer::new(sql.as_bytes(), *mode);
    while let Some(token) = lexer.next() {
        digest.token(token, &lexer);
    }
    // Semicolons at the end of the text are cut off before it is parsed.
    while digest.pieces.last().is_some_and(|piece| *piece == Piece::Token(";")) {
        digest.pieces.pop();
    }
    digest.print()
}

/// What stands in the digest.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    /// A keyword or operator, as printed.
    Token(&'static str),
    /// A keyword that prints as itself in upper case.
    Keyword(String),
    /// Any other single character.
    Character(char),
    Name(String),
    /// `?`
    Value,
    /// `?, ...`
    Values,
    /// `(?)`
    Row,
    /// `(?) /* , ... */`
    Rows,
    /// `(...)`
    LongRow,
    /// `(...) /* , ... */`
    LongRows,
}

/// How NULL is read: it is a value, except as a part of `IS NULL` and in the definition of a column.
#[derive(Default)]
struct Null {
    /// True in CREATE TABLE and ALTER TABLE, where `NOT NULL` and `NULL` are attributes.
    columns: bool,
    words: u32,
}

struct Digest<'a> {
    text: &'a [u8],
    mode: Mode,
    pieces: Vec<Piece>,
    null: Null,
}

impl Digest<'_> {
    fn token(&mut self, token: Token, lexer: &Lexer<'_>) {
        let text = self.text.get(token.start..token.end).unwrap_or_default();
        match token.kind {
            Kind::Comment | Kind::Enter | Kind::Leave => {}
            Kind::Word => self.word(text, token, lexer),
            Kind::Quoted => self.name(text.get(1..text.len().saturating_sub(1)).unwrap_or_default()),
            Kind::Number => {
                self.unsign();
                self.value();
            }
            Kind::Text | Kind::Param => self.value(),
            // The server has no name for this token.
            Kind::Hex => self.pieces.push(Piece::Token("(unknown)")),
            Kind::Variable => {
                self.pieces.push(Piece::Token("@"));
                match text.get(1) {
                    Some(b'`') => self.name(text.get(2..text.len().saturating_sub(1)).unwrap_or_default()),
                    Some(b'"') if self.mode.ansi_quotes => {
                        self.name(text.get(2..text.len().saturating_sub(1)).unwrap_or_default());
                    }
                    _ => self.value(),
                }
            }
            Kind::System => self.pieces.extend([Piece::Token("@"), Piece::Token("@")]),
            Kind::Open => self.pieces.push(Piece::Token("(")),
            Kind::Close => self.close(),
            Kind::Comma => self.pieces.push(Piece::Token(",")),
            Kind::Semicolon => self.pieces.push(Piece::Token(";")),
            Kind::Dot => self.pieces.push(Piece::Token(".")),
            Kind::Operator | Kind::Broken => self.operator(text),
        }
    }

    fn name(&mut self, name: &[u8]) {
        self.pieces.push(Piece::Name(String::from_utf8_lossy(name).into_owned()));
    }

    fn word(&mut self, text: &[u8], token: Token, lexer: &Lexer<'_>) {
        if text == b"\\N" {
            return self.null();
        }
        let upper = String::from_utf8_lossy(text).to_uppercase();
        self.null.words += 1;
        if token.named || !self.is_keyword(text, &upper, lexer) {
            if text.first() == Some(&b'_') && CHARSETS.contains(&upper.get(1..).unwrap_or_default()) {
                self.pieces.push(Piece::Token("(_charset)"));
            } else {
                self.name(text);
            }
            return;
        }
        match upper.as_str() {
            "NULL" => return self.null(),
            "TABLE" if self.null.words <= 6 => {
                let verb = self.pieces.iter().find(|piece| matches!(piece, Piece::Keyword(_)));
                let is = |word: &str| verb == Some(&Piece::Keyword(word.to_owned()));
                self.null.columns |= is("CREATE") || is("ALTER");
            }
            "SELECT" => self.null.columns = false,
            _ => {}
        }
        let printed = PRINTED.iter().find(|(word, _)| *word == upper).map_or(upper.as_str(), |(_, printed)| printed);
        if printed == "NOT" && self.mode.high_not_precedence {
            return self.pieces.push(Piece::Token("!"));
        }
        self.pieces.push(Piece::Keyword(printed.to_owned()));
    }

    fn is_keyword(&self, text: &[u8], upper: &str, lexer: &Lexer<'_>) -> bool {
        if FUNCTIONS.contains(&upper) {
            let mut ahead = 0;
            while self.mode.ignore_space && lexer.following(ahead).is_ascii_whitespace() {
                ahead += 1;
            }
            return lexer.following(ahead) == b'(';
        }
        matches!(keyword::of(text), Some(Word::Reserved | Word::Keyword)) && !keyword::only_in_mysql(text)
    }

    /// NULL: a value where a literal may stand.
    fn null(&mut self) {
        let attribute = match self.pieces.last() {
            Some(Piece::Keyword(word)) if word == "IS" => true,
            Some(Piece::Keyword(word)) if word == "NOT" => {
                let before = self.pieces.len().checked_sub(2).and_then(|at| self.pieces.get(at));
                self.null.columns || before == Some(&Piece::Keyword("IS".to_owned()))
            }
            // ON DELETE SET NULL
            Some(Piece::Keyword(word)) if word == "SET" => true,
            // DEFAULT NULL and expressions in a definition hold a value.
            Some(Piece::Keyword(word)) if word == "DEFAULT" => false,
            Some(Piece::Keyword(_) | Piece::Name(_) | Piece::Row | Piece::LongRow | Piece::Value) => self.null.columns,
            Some(Piece::Token(")")) => self.null.columns,
            _ => false,
        };
        if attribute {
            self.pieces.push(Piece::Keyword("NULL".to_owned()));
        } else {
            self.value();
        }
    }

    /// Drops the signs before a number that follow the beginning of an expression.
    fn unsign(&mut self) {
        while matches!(self.pieces.last(), Some(Piece::Token("-" | "+"))) {
            let before = self.pieces.len().checked_sub(2).and_then(|at| self.pieces.get(at));
            let starts = match before {
                Some(Piece::Token(token)) => STARTS.contains(token),
                Some(Piece::Keyword(word)) => STARTS.contains(&word.as_str()),
                _ => false,
            };
            if !starts {
                return;
            }
            self.pieces.pop();
        }
    }

    fn value(&mut self) {
        let piece = match self.before_comma() {
            Some(Piece::Value | Piece::Values) => {
                self.pieces.truncate(self.pieces.len().saturating_sub(2));
                Piece::Values
            }
            _ => Piece::Value,
        };
        self.pieces.push(piece);
    }

    /// What stands before the comma at the end.
    fn before_comma(&self) -> Option<&Piece> {
        match self.pieces.last() {
            Some(Piece::Token(",")) => self.pieces.get(self.pieces.len().checked_sub(2)?),
            _ => None,
        }
    }

    fn close(&mut self) {
        let before = self.pieces.len().checked_sub(2).and_then(|at| self.pieces.get(at));
        let (row, rows) = match (before, self.pieces.last()) {
            (Some(Piece::Token("(")), Some(Piece::Value)) => (Piece::Row, Piece::Rows),
            (Some(Piece::Token("(")), Some(Piece::Values)) => (Piece::LongRow, Piece::LongRows),
            _ => return self.pieces.push(Piece::Token(")")),
        };
        self.pieces.truncate(self.pieces.len().saturating_sub(2));
        let again = self.before_comma().is_some_and(|before| *before == row || *before == rows);
        if again {
            self.pieces.truncate(self.pieces.len().saturating_sub(2));
        }
        self.pieces.push(if again { rows } else { row });
    }

    fn operator(&mut self, text: &[u8]) {
        let printed = match text {
            b"<>" => "!=",
            // The server has no name for the token that joins strings.
            b"||" if self.mode.pipes_as_concat => "(unknown)",
            _ => OPERATORS.iter().find(|known| known.as_bytes() == text).copied().unwrap_or_default(),
        };
        if printed.is_empty() {
            let characters = String::from_utf8_lossy(text);
            self.pieces.extend(characters.chars().map(Piece::Character));
        } else {
            self.pieces.push(Piece::Token(printed));
        }
    }

    fn print(&self) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Token("@") => {
                    out.push('@');
                    continue;
                }
                Piece::Token(token) => out.push_str(token),
                Piece::Keyword(word) => out.push_str(word),
                Piece::Character(character) => out.push(*character),
                Piece::Name(name) if name.is_empty() => continue,
                Piece::Name(name) => {
                    out.push('`');
                    out.push_str(name);
                    out.push('`');
                }
                Piece::Value => out.push('?'),
                Piece::Values => out.push_str("?, ..."),
                Piece::Row => out.push_str("(?)"),
                Piece::Rows => out.push_str("(?) /* , ... */"),
                Piece::LongRow => out.push_str("(...)"),
                Piece::LongRows => out.push_str("(...) /* , ... */"),
            }
            out.push(' ');
        }
        out
    }
}

const OPERATORS: &[&str] = &[
    "<=>", "<=", ">=", "!=", "<<", ">>", "&&", "||", ":=", "=", "<", ">", "!", "+", "-", "*", "/", "%", "^", "&", "|",
    "~", ":", "{", "}",
];

/// Tokens after which an expression begins, so that a sign there belongs to the number.
const STARTS: &[&str] = &[
    "(",
    ",",
    "|",
    "&",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "||",
    "&&",
    "<<",
    ">>",
    "EVERY",
    "AT",
    "STARTS",
    "ENDS",
    "DEFAULT",
    "RETURN",
    "IF",
    "ELSEIF",
    "CASE",
    "WHEN",
    "WHILE",
    "UNTIL",
    "SELECT",
    "OR",
    "XOR",
    "AND",
    "NOT",
    "BETWEEN",
    "LIKE",
    "RLIKE",
    "SQL_TSI_INTERVAL",
    "INTERVAL",
    "DIV",
    "MOD",
];

/// Words that are keywords only right before a parenthesis.
const FUNCTIONS: &[&str] = &[
    "ADDDATE",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "CAST",
    "COUNT",
    "CUME_DIST",
    "CURDATE",
    "CURTIME",
    "DATE_ADD",
    "DATE_SUB",
    "DENSE_RANK",
    "EXTRACT",
    "FIRST_VALUE",
    "GROUP_CONCAT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "JSON_TABLE",
    "LAG",
    "LEAD",
    "MAX",
    "MEDIAN",
    "MID",
    "MIN",
    "NOW",
    "NTH_VALUE",
    "NTILE",
    "PERCENTILE_CONT",
    "PERCENTILE_DISC",
    "PERCENT_RANK",
    "POSITION",
    "RANK",
    "ROW_NUMBER",
    "SESSION_USER",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "SUBDATE",
    "SUBSTR",
    "SUBSTRING",
    "SUM",
    "SYSDATE",
    "SYSTEM_USER",
    "TRIM",
    "TRIM_ORACLE",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
];

/// Words of one meaning print as one of them.
const PRINTED: &[(&str, &str)] = &[
    ("ANY", "SOME"),
    ("BIGINT", "INT8"),
    ("CHAR", "CHARACTER"),
    ("COLUMNS", "FIELDS"),
    ("CURRENT_DATE", "CURDATE"),
    ("CURRENT_TIME", "CURTIME"),
    ("CURRENT_TIMESTAMP", "NOW"),
    ("DATABASE", "SCHEMA"),
    ("DATABASES", "SCHEMAS"),
    ("DAY", "SQL_TSI_DAY"),
    ("DEC", "DECIMAL"),
    ("DESCRIBE", "EXPLAIN"),
    ("DISTINCT", "DISTINCTROW"),
    ("DOUBLE", "FLOAT8"),
    ("FLOAT", "FLOAT4"),
    ("HOUR", "SQL_TSI_HOUR"),
    ("INT", "INTEGER"),
    ("INT1", "TINYINT"),
    ("INT2", "SMALLINT"),
    ("INT3", "MIDDLEINT"),
    ("INT4", "INTEGER"),
    ("IO_THREAD", "RELAY_THREAD"),
    ("LOCALTIME", "NOW"),
    ("LOCALTIMESTAMP", "NOW"),
    ("MEDIUMINT", "MIDDLEINT"),
    ("MID", "SUBSTRING"),
    ("MINUTE", "SQL_TSI_MINUTE"),
    ("MONTH", "SQL_TSI_MONTH"),
    ("QUARTER", "SQL_TSI_QUARTER"),
    ("REGEXP", "RLIKE"),
    ("SECOND", "SQL_TSI_SECOND"),
    ("SESSION_USER", "SYSTEM_USER"),
    ("SQL_TSI_WEEK", "WEEK"),
    ("SQL_TSI_YEAR", "YEAR"),
    ("STD", "STDDEV_POP"),
    ("STDDEV", "STDDEV_POP"),
    ("SUBSTR", "SUBSTRING"),
    ("USER", "SYSTEM_USER"),
    ("VARCHAR", "VARCHARACTER"),
    ("VARIANCE", "VAR_POP"),
];

/// Character sets that may introduce a literal.
const CHARSETS: &[&str] = &[
    "ARMSCII8", "ASCII", "BIG5", "BINARY", "CP1250", "CP1251", "CP1256", "CP1257", "CP850", "CP852", "CP866", "CP932",
    "DEC8", "EUCJPMS", "EUCKR", "GB2312", "GBK", "GEOSTD8", "GREEK", "HEBREW", "HP8", "KEYBCS2", "KOI8R", "KOI8U",
    "LATIN1", "LATIN2", "LATIN5", "LATIN7", "MACCE", "MACROMAN", "SJIS", "SWE7", "TIS620", "UCS2", "UJIS", "UTF16",
    "UTF16LE", "UTF32", "UTF8", "UTF8MB3", "UTF8MB4",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// As a MariaDB 10.11 printed them.
    #[test]
    fn digests_are_those_of_the_server() {
        for (sql, digest) in [
            ("select 1, -1, null, a.b, `x y` from t", "SELECT ?, ... , `a` . `b` , `x y` FROM `t` "),
            ("insert into t values (1,null),(2,3)", "INSERT INTO `t` VALUES (...) /* , ... */ "),
            ("select mid('a',1), now(), current_timestamp", "SELECT SUBSTRING (...) , NOW ( ) , NOW "),
            ("select _utf8'x', x'41', 0x41, !1, 1 || 2", "SELECT (_charset) ? , (unknown) , ? , ! ?, ... || ? "),
            ("SELECT ~1, @a:=1", "SELECT ~ ? , @? := ? "),
            ("select 18446744073709551616, 1_000, 1a from t", "SELECT ? , `1_000` , `1a` FROM `t` "),
            ("create user a@b, 'c'@'d' identified by 'x'", "CREATE SYSTEM_USER `a` @?, ... @? IDENTIFIED BY ? "),
            ("select -1, - 1, 1 - 1, a = -1, (-1), a-1", "SELECT ?, ... - ? , `a` = - ? , (?) , `a` - ? "),
            ("select NULL, (null), (1,null), (null,null)", "SELECT ? , (?) , (...) /* , ... */ "),
            ("set @@global.x=100, session sql_mode=''", "SET @@GLOBAL . `x` = ? , SESSION `sql_mode` = ? "),
            ("select 1; ", "SELECT ? "),
            ("/* a */ select /* b */ 1 # c", "SELECT ? "),
            ("values (1),(2)", "VALUES (?) /* , ... */ "),
            ("select a.`b`.c, a.1, 1.a from a", "SELECT `a` . `b` . `c` , `a` . `1` , ? `a` FROM `a` "),
            ("select /*! 1, */ /*!99999 3, */ /*!50701 4,*/ /*M!50701 5,*/ 2", "SELECT ?, ... "),
            ("select 'a' 'b', 3 as 'c'", "SELECT ? ?, ... AS ? "),
            ("select `a``b`, é", "SELECT `a``b` , `é` "),
        ] {
            assert_eq!(digest_text(sql, &Mode::default()), digest, "{sql}");
        }
        let mode = Mode { pipes_as_concat: true, ansi_quotes: true, high_not_precedence: true, ..Mode::default() };
        assert_eq!(digest_text("select \"a\" || not b", &mode), "SELECT `a` (unknown) ! `b` ");
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_digest(sql in "(?s).{0,80}") {
            digest_text(&sql, &Mode::default());
        }
    }
}
