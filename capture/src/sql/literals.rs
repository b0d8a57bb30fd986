//! The tokens of a text in either dialect, as one who replaces its literals needs them.

use super::dialect::Dialect;
use super::mysql::{self, Mode, lexer as maria};
use super::{hint, lexer};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An unquoted name or keyword.
    Word,
    /// A quoted name, or a variable.
    Name,
    /// A string in any notation.
    Text,
    Number,
    /// A string or a number that does not end, or a byte that begins no token.
    Broken,
    Comment,
    Open,
    Close,
    Comma,
    Semicolon,
    /// Anything else that is no value: operators, placeholders, marks of executed comments.
    Other,
}

/// A token and where it stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// The tokens of a text; only white space stands between them. The content of executed comments is read, whoever executes
/// it.
pub(crate) fn pieces(text: &[u8], dialect: Dialect) -> Vec<Piece> {
    match dialect {
        Dialect::Postgresql => lexer::Lexer::new(text)
            .map(|token| Piece { kind: postgresql(token.kind), start: token.start, end: token.end })
            .collect(),
        Dialect::Mysql(mode) => maria::Lexer::keeping_executed(text, mode)
            .map(|token| Piece { kind: mysql(token.kind), start: token.start, end: token.end })
            .collect(),
    }
}

fn postgresql(kind: lexer::Kind) -> Kind {
    match kind {
        lexer::Kind::Word => Kind::Word,
        lexer::Kind::Quoted => Kind::Name,
        lexer::Kind::Text => Kind::Text,
        lexer::Kind::Number => Kind::Number,
        lexer::Kind::Comment => Kind::Comment,
        lexer::Kind::Open => Kind::Open,
        lexer::Kind::Close => Kind::Close,
        lexer::Kind::Comma => Kind::Comma,
        lexer::Kind::Semicolon => Kind::Semicolon,
        lexer::Kind::Param
        | lexer::Kind::Operator
        | lexer::Kind::OpenBracket
        | lexer::Kind::CloseBracket
        | lexer::Kind::Dot
        | lexer::Kind::Colon => Kind::Other,
    }
}

fn mysql(kind: maria::Kind) -> Kind {
    match kind {
        maria::Kind::Word => Kind::Word,
        maria::Kind::Quoted | maria::Kind::Variable => Kind::Name,
        maria::Kind::Text | maria::Kind::Hex => Kind::Text,
        maria::Kind::Number => Kind::Number,
        maria::Kind::Broken => Kind::Broken,
        maria::Kind::Comment => Kind::Comment,
        maria::Kind::Open => Kind::Open,
        maria::Kind::Close => Kind::Close,
        maria::Kind::Comma => Kind::Comma,
        maria::Kind::Semicolon => Kind::Semicolon,
        maria::Kind::Param
        | maria::Kind::System
        | maria::Kind::Operator
        | maria::Kind::Dot
        | maria::Kind::Enter
        | maria::Kind::Leave => Kind::Other,
    }
}

/// What of a literal stays in the shape of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// All of it.
    Whole,
    /// It is the text of another statement, of which the shape stays.
    Shape,
}

/// Finds shapes of texts that need not be UTF-8, and what they keep.
#[derive(Debug, Default)]
pub(crate) struct Shaper {
    postgresql: super::Normalizer,
    mysql: mysql::Normalizer,
}

impl Shaper {
    /// The normalised bytes of a text, and where in it the literals begin of which something stays.
    pub fn shape(&mut self, text: &[u8], dialect: Dialect) -> (Vec<u8>, Vec<(usize, Kept)>) {
        match dialect {
            Dialect::Postgresql => {
                let (shape, kept) = self.postgresql.keeping(text);
                (shape.to_vec(), kept.iter().map(|&at| (at, Kept::Whole)).collect())
            }
            Dialect::Mysql(mode) => {
                let (shape, kept) = self.mysql.keeping(text, &mode);
                let kept = kept.iter().map(|&(at, inner)| (at, if inner { Kept::Shape } else { Kept::Whole }));
                (shape.to_vec(), kept.collect())
            }
        }
    }
}

/// The content of a string token of MySQL, escapes undone.
pub(crate) fn mysql_string(token: &[u8], mode: &Mode) -> Vec<u8> {
    mysql::literal::string_value(token, mode)
}

/// The order to a router that a comment holds.
pub(crate) fn order(comment: &[u8]) -> Option<&[u8]> {
    hint::kept(comment, false)
}
