//! The tokens of a body, and what stands where among them.

use super::Reader;
use crate::sql::lexer::Kind;

impl Reader<'_> {
    pub(super) fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    pub(super) fn text(&self, at: usize) -> &str {
        self.tokens.get(at).and_then(|token| self.source.get(token.start..token.end)).unwrap_or_default()
    }

    /// A word in lower case; empty for any other token.
    pub(super) fn word(&self, at: usize) -> String {
        if self.kind(at) == Some(Kind::Word) { self.text(at).to_lowercase() } else { String::new() }
    }

    /// A name as it is looked up.
    pub(super) fn name(&self, at: usize) -> String {
        match self.kind(at) {
            Some(Kind::Quoted) => self.text(at).trim_matches('"').replace("\"\"", "\""),
            _ => self.word(at),
        }
    }

    pub(super) fn is(&self, at: usize, word: &str) -> bool {
        self.kind(at) == Some(Kind::Word) && self.text(at).eq_ignore_ascii_case(word)
    }

    /// True for `:=` and `=`.
    pub(super) fn assigns(&self, at: usize) -> bool {
        self.kind(at) == Some(Kind::Operator) && matches!(self.text(at), ":=" | "=")
    }

    /// The bracket that closes this one.
    pub(super) fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0;
        (open..self.tokens.len()).find(|&at| {
            match self.kind(at) {
                Some(Kind::Open | Kind::OpenBracket) => depth += 1,
                Some(Kind::Close | Kind::CloseBracket) => depth -= 1,
                _ => {}
            }
            depth == 0
        })
    }

    /// The tokens of a span that stand outside of all brackets.
    pub(super) fn outside(&self, from: usize, end: usize) -> impl Iterator<Item = usize> {
        let mut at = from;
        std::iter::from_fn(move || {
            while matches!(self.kind(at), Some(Kind::Open | Kind::OpenBracket)) {
                at = self.closing(at)? + 1;
            }
            let found = at;
            at += 1;
            (found < end).then_some(found)
        })
    }

    /// The semicolon that ends the statement.
    pub(super) fn semicolon(&self) -> Result<usize, String> {
        let mut outside = self.outside(self.at, self.tokens.len());
        outside.find(|&at| self.kind(at) == Some(Kind::Semicolon)).ok_or_else(|| self.lost("a statement does not end"))
    }

    /// The next keyword of this statement, behind the one that begins it.
    pub(super) fn find(&self, word: &str) -> Result<usize, String> {
        let outside = self.outside(self.at + 1, self.tokens.len());
        let mut outside = outside.take_while(|&at| self.kind(at) != Some(Kind::Semicolon));
        outside.find(|&at| self.is(at, word)).ok_or_else(|| self.lost(&format!("{} is missing", word.to_uppercase())))
    }

    /// The text of a span; an empty one is not understood.
    pub(super) fn span(&self, from: usize, end: usize) -> Result<&str, String> {
        let tokens = self.tokens.get(from..end).and_then(|span| Some((span.first()?.start, span.last()?.end)));
        tokens.and_then(|(from, to)| self.source.get(from..to)).ok_or_else(|| self.lost("something is missing"))
    }

    /// What is not understood, and where.
    pub(super) fn lost(&self, what: &str) -> String {
        let start = self.tokens.get(self.at).map_or(self.source.len(), |token| token.start);
        let line = self.source.get(..start).unwrap_or_default().matches('\n').count() + 1;
        let near: String = self.source.get(start..).unwrap_or_default().chars().take(24).collect();
        format!("{what} in line {line} of its body, near `{near}`")
    }
}
