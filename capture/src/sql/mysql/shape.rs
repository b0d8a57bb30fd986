//! A MySQL or MariaDB statement without its literals, and the digest that names it.
//!
//! The rule is the one of PostgreSQL's shapes: a shape separates what routing separates. It does not depend on the
//! server: executed comments stay in the text, whether or not the server at hand would execute them.
//!
//! - Literals and parameters become `?`, with their sign, as do `null`, `true` and `false` where a value stands, and
//!   adjacent strings, which are one value.
//! - White space collapses to the same spacing everywhere, except before `(`, where one space or none stays.
//! - Keywords and built-in functions become lower case; names keep their case, on which tables depend.
//! - `in (1, 2, 3)` becomes `in (?...)`, and equal rows of `values` become one row followed by `...`.
//! - Comments go, but for three: `/*!50701 ... */` and `/*M! ... */` keep their marks around the normalised content,
//!   a comment at the start leaves `/**/`, and a comment that orders a route keeps the order (`/*hostgroup=1*/`).
//! - Literals stay in `SET`. Exceptions, because their values are endless and no router reads them: longer than 64
//!   bytes, a user variable that belongs to no router, a password, and the variables that statement-based replication
//!   sets (`timestamp`, `insert_id`, ...).
//! - The text of `PREPARE ... FROM '...'` and `EXECUTE IMMEDIATE '...'` stays, normalised itself.

use xxhash_rust::xxh3::xxh3_64;

use super::Mode;
use super::keyword::{self, Word};
use super::lexer::{Kind, Lexer, Token};
use super::literal::string_value;
use crate::sql::hint;
use crate::sql::list::Lists;

/// The normalised text of a statement.
pub fn normalize(sql: &str, mode: &Mode) -> String {
    Normalizer::default().run(sql, mode).to_owned()
}

/// The shape id of a statement: xxh3-64 (seed 0) of its normalised text.
pub fn shape_id(sql: &str, mode: &Mode) -> u64 {
    Normalizer::default().id(sql, mode)
}

/// Normalises texts one after another in the same buffer.
#[derive(Debug, Default)]
pub struct Normalizer {
    out: Vec<u8>,
    lists: Lists,
    /// True while the text inside a PREPARE is normalised, which cannot hold another one.
    inner: bool,
    /// Where in the text the literals begin that stay, and whether they stay normalised.
    kept: Vec<(usize, bool)>,
}

impl Normalizer {
    /// The normalised text of a statement.
    pub fn run(&mut self, sql: &str, mode: &Mode) -> &str {
        self.fill(sql.as_bytes(), mode);
        // Only ASCII is changed and cut, so what was UTF-8 still is.
        std::str::from_utf8(&self.out).unwrap_or_default()
    }

    /// The shape id of a statement.
    pub fn id(&mut self, sql: &str, mode: &Mode) -> u64 {
        self.fill(sql.as_bytes(), mode);
        xxh3_64(&self.out)
    }

    /// The normalised bytes of a statement, and where in it the literals begin that stay in them; of the text of another
    /// statement (true), only its shape stays.
    pub(in crate::sql) fn keeping(&mut self, text: &[u8], mode: &Mode) -> (&[u8], &[(usize, bool)]) {
        self.fill(text, mode);
        (&self.out, &self.kept)
    }

    fn fill(&mut self, text: &[u8], mode: &Mode) {
        self.out.clear();
        self.lists.clear();
        self.kept.clear();
        let mut pass = Pass::new(text, *mode, self);
        let mut lexer = Lexer::keeping_executed(text, *mode);
        while let Some(token) = lexer.next() {
            pass.token(token, &lexer);
        }
        pass.finish();
    }
}

/// Which literals of the current statement stay.
#[derive(Clone, Copy, PartialEq)]
enum Keep {
    Nothing,
    /// SET: those of variables whose value counts.
    Setting,
    /// SET STATEMENT: the same, up to FOR.
    Statement,
    /// PREPARE and EXECUTE: the text of another statement.
    Text,
}

/// The word that came last, as far as the next token depends on it.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Plain,
    In,
    Values,
    /// ROW after VALUES.
    Row,
    /// A word after which a table's name may follow.
    Table,
    Set,
}

struct Pass<'a> {
    text: &'a [u8],
    mode: Mode,
    out: &'a mut Vec<u8>,
    lists: &'a mut Lists,
    kept: &'a mut Vec<(usize, bool)>,
    inner: bool,
    previous: Option<Kind>,
    last: Last,
    /// Where the last word stands in the output.
    word: usize,
    depth: u32,
    /// True until the first word of a statement.
    first: bool,
    keep: Keep,
    /// True once an assignment of SET has come to its value.
    value: bool,
    /// True where the variable of an assignment has values that do not stay.
    endless: bool,
    /// True after ON DUPLICATE KEY, where VALUES is a function.
    duplicate: bool,
    /// True right after a string, which another one would continue.
    string: bool,
    /// Where the sign of the next number stands in the text.
    sign: Option<usize>,
}

impl<'a> Pass<'a> {
    fn new(text: &'a [u8], mode: Mode, buffers: &'a mut Normalizer) -> Self {
        Pass {
            text,
            mode,
            inner: buffers.inner,
            out: &mut buffers.out,
            lists: &mut buffers.lists,
            kept: &mut buffers.kept,
            previous: None,
            last: Last::Plain,
            word: 0,
            depth: 0,
            first: true,
            keep: Keep::Nothing,
            value: false,
            endless: false,
            duplicate: false,
            string: false,
            sign: None,
        }
    }

    #[inline]
    fn token(&mut self, token: Token, lexer: &Lexer<'_>) {
        let text = self.text.get(token.start..token.end).unwrap_or_default();
        self.end_rows(token.kind);
        let continues = std::mem::replace(&mut self.string, token.kind == Kind::Text);
        match token.kind {
            Kind::Word => self.word(text, token, lexer),
            Kind::Text if continues => {}
            Kind::Text | Kind::Number | Kind::Hex | Kind::Param | Kind::Broken => {
                let start = self.sign.take().unwrap_or(token.start);
                let text = self.text.get(start..token.end).unwrap_or_default();
                self.space(Kind::Number, token.spaced);
                self.literal(text, token);
                self.previous = Some(Kind::Number);
            }
            Kind::Comment => self.comment(text),
            Kind::Operator if self.is_sign(text, lexer) => self.sign = Some(token.start),
            Kind::Open => self.open(token),
            Kind::Close => self.close(),
            Kind::Comma => self.comma(),
            Kind::Semicolon => {
                self.push(token, text);
                if self.depth == 0 {
                    self.begin();
                }
            }
            Kind::Variable => self.variable(token, text),
            Kind::Operator => {
                self.value |= matches!(text, b"=" | b":=");
                self.push(token, text);
            }
            Kind::Dot | Kind::Quoted | Kind::System | Kind::Enter | Kind::Leave => self.push(token, text),
        }
    }

    /// At the start of a statement.
    fn begin(&mut self) {
        self.first = true;
        self.keep = Keep::Nothing;
        self.value = false;
        self.endless = false;
        self.duplicate = false;
    }

    fn finish(&mut self) {
        self.lists.finish(self.out);
    }

    /// Writes the space that belongs before a token of this kind.
    #[inline]
    fn space(&mut self, kind: Kind, spaced: bool) {
        let Some(previous) = self.previous else { return };
        let tight = match kind {
            Kind::Close | Kind::Comma | Kind::Semicolon | Kind::Dot => true,
            Kind::Open => !spaced && matches!(previous, Kind::Word | Kind::Quoted),
            // The host of an account.
            Kind::Variable => !spaced && matches!(previous, Kind::Word | Kind::Quoted | Kind::Number),
            _ => false,
        };
        if !tight && !matches!(previous, Kind::Open | Kind::Dot | Kind::System) {
            self.out.push(b' ');
        }
    }

    #[inline]
    fn push(&mut self, token: Token, text: &[u8]) {
        self.space(token.kind, token.spaced);
        self.out.extend_from_slice(text);
        self.previous = Some(token.kind);
        self.last = Last::Plain;
    }

    #[inline]
    fn word(&mut self, text: &[u8], token: Token, lexer: &Lexer<'_>) {
        self.space(Kind::Word, token.spaced);
        let start = self.out.len();
        let lower = match keyword::of(text) {
            _ if matches!(self.keep, Keep::Setting | Keep::Statement) && !self.value => true,
            _ if token.named => false,
            Some(Word::Reserved) => true,
            Some(Word::Keyword) => self.last != Last::Table,
            Some(Word::Function) => lexer.following(0) == b'(',
            None => false,
        };
        if !lower && text != b"\\N" {
            self.out.extend_from_slice(text);
            self.after_word(start, Last::Plain);
            return;
        }
        self.out.extend(text.iter().map(u8::to_ascii_lowercase));
        let word = self.out.get(start..).unwrap_or_default();
        let last = match word {
            b"null" | b"true" | b"false" | b"\\n"
                if matches!(self.previous, Some(Kind::Open | Kind::Comma | Kind::Operator)) =>
            {
                self.out.truncate(start);
                self.literal(text, token);
                self.previous = Some(Kind::Number);
                self.last = Last::Plain;
                return;
            }
            b"in" => Last::In,
            b"values" | b"value" if !self.duplicate => Last::Values,
            b"row" if self.last == Last::Values || self.previous == Some(Kind::Comma) => Last::Row,
            b"from" | b"join" | b"into" | b"update" | b"table" | b"truncate" | b"use" => Last::Table,
            b"set" if self.first => Last::Set,
            b"duplicate" => {
                self.duplicate = true;
                Last::Plain
            }
            _ => Last::Plain,
        };
        if self.first {
            self.keep = match word {
                b"set" => Keep::Setting,
                b"prepare" | b"execute" if !self.inner => Keep::Text,
                _ => Keep::Nothing,
            };
        } else if self.keep == Keep::Setting && self.last == Last::Set && word == b"statement" {
            self.keep = Keep::Statement;
        } else if self.keep == Keep::Statement && self.depth == 0 && word == b"for" {
            self.begin();
            self.after_word(start, Last::Plain);
            self.first = true;
            return;
        }
        if self.keep != Keep::Nothing && !self.value {
            self.endless |= endless(self.out.get(start..).unwrap_or_default());
        }
        self.after_word(start, last);
    }

    fn after_word(&mut self, start: usize, last: Last) {
        self.word = start;
        self.last = last;
        self.first = false;
        self.previous = Some(Kind::Word);
        self.lists.word(start, self.out.get(start..).unwrap_or_default());
    }

    fn variable(&mut self, token: Token, text: &[u8]) {
        if !self.value {
            let name = text.get(1..).unwrap_or_default();
            let name = name.strip_prefix(b"`").or(name.strip_prefix(b"'")).unwrap_or(name);
            self.endless = !router_variable(name);
        }
        self.push(token, text);
    }

    /// A literal, with its sign.
    fn literal(&mut self, text: &[u8], Token { kind, start, .. }: Token) {
        match self.keep {
            Keep::Setting | Keep::Statement if !self.endless && text.len() <= 64 && kind != Kind::Param => {
                self.kept.push((start, false));
                self.out.extend_from_slice(text);
            }
            Keep::Text if kind == Kind::Text => {
                self.kept.push((start, true));
                let mut inner = Normalizer { inner: true, ..Normalizer::default() };
                inner.fill(&string_value(text, &self.mode), &self.mode);
                self.out.push(b'\'');
                self.out.extend_from_slice(&inner.out);
                self.out.push(b'\'');
            }
            _ => self.out.push(b'?'),
        }
        self.last = Last::Plain;
    }

    fn comment(&mut self, text: &[u8]) {
        let Some(kept) = hint::kept(text, self.out.is_empty()) else { return };
        self.space(Kind::Comment, true);
        for part in [b"/*".as_slice(), kept, b"*/"] {
            self.out.extend_from_slice(part);
        }
        self.previous = Some(Kind::Comment);
    }

    /// True for a minus or plus that belongs to the number after it.
    #[inline]
    fn is_sign(&self, text: &[u8], lexer: &Lexer<'_>) -> bool {
        matches!(text, b"-" | b"+")
            && lexer.number_follows()
            && match self.previous {
                None | Some(Kind::Open | Kind::Comma | Kind::Operator | Kind::Comment) => true,
                Some(Kind::Word) => {
                    let word = self.out.get(self.word..).unwrap_or_default();
                    !matches!(word, b"end" | b"null" | b"true" | b"false")
                        && keyword::of(word) == Some(Word::Reserved)
                        && word.iter().all(|byte| !byte.is_ascii_uppercase())
                }
                _ => false,
            }
    }

    fn open(&mut self, token: Token) {
        let last = self.last;
        if matches!(last, Last::Values | Last::Row) && !self.lists.among_rows(self.depth) {
            let start = if last == Last::Row { self.word } else { self.out.len() };
            self.lists.begin_rows(self.depth, start);
        }
        self.push(token, b"(");
        self.depth += 1;
        if last == Last::In {
            self.lists.begin(self.depth, self.out.len());
        }
    }

    fn close(&mut self) {
        self.lists.close(self.depth, self.out);
        self.depth = self.depth.saturating_sub(1);
        self.out.push(b')');
        self.previous = Some(Kind::Close);
        self.last = Last::Plain;
    }

    #[inline]
    fn comma(&mut self) {
        self.lists.comma(self.depth, self.out);
        if self.depth == 0 && matches!(self.keep, Keep::Setting | Keep::Statement) {
            self.value = false;
            self.endless = false;
        }
        self.out.push(b',');
        self.previous = Some(Kind::Comma);
        self.last = Last::Plain;
    }

    /// Rows after VALUES end before anything but a comma or another row.
    #[inline]
    fn end_rows(&mut self, next: Kind) {
        if self.previous == Some(Kind::Close) && !matches!(next, Kind::Comma | Kind::Open | Kind::Comment) {
            self.lists.end_rows(self.depth, self.out);
        }
    }
}

/// True for the name of a user variable that a router reads.
pub(super) fn router_variable(name: &[u8]) -> bool {
    let begins =
        |router: &str| name.get(..router.len()).is_some_and(|name| name.eq_ignore_ascii_case(router.as_bytes()));
    ["maxscale", "proxysql"].into_iter().any(begins)
}

/// True for the words before a value that never stays: passwords, and what a replica or a backup sets anew every time.
pub(super) fn endless(word: &[u8]) -> bool {
    matches!(
        word,
        b"password"
            | b"timestamp"
            | b"insert_id"
            | b"last_insert_id"
            | b"identity"
            | b"rand_seed1"
            | b"rand_seed2"
            | b"pseudo_thread_id"
            | b"gtid_next"
            | b"gtid_seq_no"
    )
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
