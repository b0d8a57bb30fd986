//! The tokens of a text as a list, with the parentheses matched, and a cursor over them.

use super::super::lexer::{Kind, Lexer};
use super::super::{Mode, literal};
use crate::sql::Relation;

/// A token that the parser looks at: comments are not among them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tok {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
    pub named: bool,
    /// The number of the closing parenthesis of an opening one.
    pub close: usize,
}

/// A text with its tokens.
pub(super) struct Source<'a> {
    pub text: &'a str,
    pub mode: Mode,
    pub toks: Vec<Tok>,
}

impl<'a> Source<'a> {
    /// Reads the tokens; an error says what cannot be read, and where.
    pub fn new(text: &'a str, mode: Mode) -> Result<Self, String> {
        let mut toks: Vec<Tok> = Vec::new();
        let mut open = Vec::new();
        for token in Lexer::new(text.as_bytes(), mode) {
            let here = || near(text, token.start);
            match token.kind {
                Kind::Comment => continue,
                Kind::Broken => return Err(format!("not a token, or one without an end, {}", here())),
                Kind::Open => open.push(toks.len()),
                Kind::Close => {
                    let at = open.pop().ok_or_else(|| format!("a parenthesis that was never opened, {}", here()))?;
                    let close = toks.len();
                    if let Some(tok) = toks.get_mut(at) {
                        tok.close = close;
                    }
                }
                _ => {}
            }
            toks.push(Tok { kind: token.kind, start: token.start, end: token.end, named: token.named, close: 0 });
        }
        match open.last().and_then(|&at| toks.get(at)) {
            Some(tok) => Err(format!("a parenthesis that is never closed, {}", near(text, tok.start))),
            None => Ok(Source { text, mode, toks }),
        }
    }

    /// The text of a token.
    pub fn text(&self, at: usize) -> &'a str {
        self.toks.get(at).and_then(|tok| self.text.get(tok.start..tok.end)).unwrap_or_default()
    }

    pub fn kind(&self, at: usize) -> Option<Kind> {
        self.toks.get(at).map(|tok| tok.kind)
    }

    /// True for this keyword.
    pub fn is(&self, at: usize, word: &str) -> bool {
        let tok = self.toks.get(at);
        tok.is_some_and(|tok| tok.kind == Kind::Word && !tok.named) && self.text(at).eq_ignore_ascii_case(word)
    }

    /// True for one of these keywords.
    pub fn is_any(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(at, word))
    }

    /// The name that a token is, quotes taken away.
    pub fn name(&self, at: usize) -> Option<String> {
        let text = self.text(at);
        match self.kind(at)? {
            Kind::Word if text != "\\N" => Some(text.to_owned()),
            Kind::Quoted => Some(String::from_utf8_lossy(&literal::name(text.as_bytes())).into_owned()),
            _ => None,
        }
    }

    /// The user variable that a token is, in lower case.
    pub fn variable(&self, at: usize) -> Option<String> {
        if self.kind(at)? != Kind::Variable {
            return None;
        }
        let name = self.text(at).get(1..).unwrap_or_default();
        let name = match name.as_bytes().first() {
            Some(b'`' | b'\'' | b'"') => String::from_utf8_lossy(&literal::name(name.as_bytes())).into_owned(),
            _ => name.to_owned(),
        };
        Some(name.to_lowercase())
    }

    /// The content of a string token.
    pub fn string(&self, at: usize) -> Option<String> {
        if self.kind(at)? != Kind::Text {
            return None;
        }
        Some(String::from_utf8_lossy(&literal::string_value(self.text(at).as_bytes(), &self.mode)).into_owned())
    }

    /// Where an error is.
    pub fn near(&self, at: usize) -> String {
        match self.toks.get(at) {
            Some(tok) => near(self.text, tok.start),
            None => "at the end of the text".to_owned(),
        }
    }
}

fn near(text: &str, byte: usize) -> String {
    let rest = text.get(byte..).unwrap_or_default();
    let shown: String = rest.chars().take(24).collect();
    format!("at byte {byte}, near `{shown}`")
}

/// A place among the tokens of one statement.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'s, 'a> {
    pub source: &'s Source<'a>,
    pub at: usize,
    pub end: usize,
}

impl<'s, 'a> Cursor<'s, 'a> {
    pub fn done(&self) -> bool {
        self.at >= self.end
    }

    pub fn is(&self, word: &str) -> bool {
        !self.done() && self.source.is(self.at, word)
    }

    pub fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// True for these keywords in a row.
    pub fn are(&self, words: &[&str]) -> bool {
        words
            .iter()
            .enumerate()
            .all(|(ahead, word)| self.at + ahead < self.end && self.source.is(self.at + ahead, word))
    }

    pub fn kind(&self) -> Option<Kind> {
        if self.done() { None } else { self.source.kind(self.at) }
    }

    pub fn symbol(&self, text: &str) -> bool {
        !self.done() && self.source.text(self.at) == text && self.kind() != Some(Kind::Text)
    }

    /// Steps over a keyword if it is this one.
    pub fn eat(&mut self, word: &str) -> bool {
        let found = self.is(word);
        self.at += usize::from(found);
        found
    }

    /// Steps over any number of these keywords; true if there was one.
    pub fn eat_any(&mut self, words: &[&str]) -> bool {
        let start = self.at;
        while self.is_any(words) {
            self.at += 1;
        }
        self.at > start
    }

    /// Steps over these keywords if they stand here in a row.
    pub fn eat_all(&mut self, words: &[&str]) -> bool {
        let found = self.are(words);
        self.at += if found { words.len() } else { 0 };
        found
    }

    pub fn eat_symbol(&mut self, text: &str) -> bool {
        let found = self.symbol(text);
        self.at += usize::from(found);
        found
    }

    /// Steps over IF EXISTS, IF NOT EXISTS.
    pub fn eat_if_exists(&mut self) {
        if !self.eat_all(&["if", "not", "exists"]) {
            self.eat_all(&["if", "exists"]);
        }
    }

    /// Steps over a parenthesis and all that it holds.
    pub fn skip_parenthesis(&mut self) -> bool {
        if self.kind() != Some(Kind::Open) {
            return false;
        }
        self.at = self.source.toks.get(self.at).map_or(self.end, |tok| tok.close + 1);
        true
    }

    /// A name.
    pub fn name(&mut self) -> Result<String, String> {
        let name = if self.done() { None } else { self.source.name(self.at) };
        let name = name.ok_or_else(|| format!("a name is missing {}", self.here()))?;
        self.at += 1;
        Ok(name)
    }

    /// A table, with its schema where it is named.
    pub fn relation(&mut self) -> Result<Relation, String> {
        // A dot before the table means the current schema, for ODBC.
        let bare = self.kind() == Some(Kind::Dot);
        self.at += usize::from(bare);
        let first = self.name()?;
        if bare || self.kind() != Some(Kind::Dot) {
            return Ok(Relation { schema: None, name: first });
        }
        self.at += 1;
        Ok(Relation { schema: Some(first), name: self.name()? })
    }

    /// Tables separated by commas.
    pub fn relations(&mut self) -> Result<Vec<Relation>, String> {
        let mut relations = vec![self.relation()?];
        while self.eat_symbol(",") {
            relations.push(self.relation()?);
        }
        Ok(relations)
    }

    /// The first place from here, outside of parentheses, where `found` is true; the end if there is none.
    pub fn find(&self, found: impl Fn(usize) -> bool) -> usize {
        let mut at = self.at;
        while at < self.end && !found(at) {
            at = match self.source.toks.get(at) {
                Some(tok) if tok.kind == Kind::Open => tok.close + 1,
                _ => at + 1,
            };
        }
        at.min(self.end)
    }

    /// The rest of the statement from another place on.
    pub fn from(&self, at: usize) -> Self {
        Cursor { at: at.min(self.end), ..*self }
    }

    pub fn here(&self) -> String {
        self.source.near(if self.done() { usize::MAX } else { self.at })
    }
}
