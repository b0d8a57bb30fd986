//! The tokens of MySQL and MariaDB, found in one pass over the bytes, without allocation.
//!
//! The rules are those of the manuals' chapters on language structure, checked against a real server through its
//! statement digests. The lexer never fails: text that ends inside a string gives one last token up to its end.
//! The text is taken as UTF-8 or any other character set in which no byte of a letter looks like ASCII.

use super::{Family, Mode};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An unquoted identifier or keyword; also `\N`.
    Word,
    /// An identifier in backquotes, or in double quotes with ANSI_QUOTES; with its quotes.
    Quoted,
    /// A string with its quotes, `N'...'` included.
    Text,
    /// A number in any notation but `x'...'`.
    Number,
    /// `x'...'`, which the server's digest treats differently from `0x...`.
    Hex,
    /// `?`
    Param,
    /// `@name`, `@'name'`, `` @`name` ``: a user variable, or the host of an account.
    Variable,
    /// `@@`, before the name of a system variable.
    System,
    Operator,
    /// `(`
    Open,
    /// `)`
    Close,
    Comma,
    Semicolon,
    Dot,
    /// A comment of any notation, with its marks; also an executed comment that this server does not execute.
    Comment,
    /// The beginning of an executed comment, up to its version: only where the lexer keeps them.
    Enter,
    /// `*/` at the end of an executed comment: only where the lexer keeps them.
    Leave,
    /// A byte that begins no token, or a string that does not end.
    Broken,
}

/// A token and where it stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
    /// True when white space or a comment stands before it.
    pub spaced: bool,
    /// True for a word that cannot be a keyword, because a dot ties it to another name.
    pub named: bool,
}

const SPACE: u8 = 0;
const WORD: u8 = 1;
const DIGIT: u8 = 2;
const OTHER: u8 = 3;

/// The class of every byte; bytes above ASCII are letters.
const CLASS: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => SPACE,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80..=0xff => WORD,
            b'0'..=b'9' => DIGIT,
            _ => OTHER,
        };
        byte += 1;
    }
    table
};

#[inline]
fn class(byte: u8) -> u8 {
    CLASS[byte as usize]
}

#[inline]
fn in_name(byte: u8) -> bool {
    matches!(class(byte), WORD | DIGIT)
}

/// What becomes of executed comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Executed {
    /// The server decides: they are code, or a comment.
    Decided,
    /// The same, with the marks of those that are code as tokens.
    Marked,
    /// Their marks are tokens, and their content is always read.
    Kept,
}

/// Walks over the tokens of a text.
pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    mode: Mode,
    executed: Executed,
    /// True inside an executed comment.
    inside: bool,
    /// The text's real end, while it is cut at the end of a comment that the server does not execute.
    whole: Option<&'a [u8]>,
    /// True when the next token is a name because a dot came right before it.
    name_next: bool,
    /// True after `@@`.
    system: bool,
}

impl<'a> Lexer<'a> {
    /// The tokens that the server of `mode` sees.
    pub fn new(text: &'a [u8], mode: Mode) -> Self {
        Lexer {
            text,
            at: 0,
            mode,
            executed: Executed::Decided,
            inside: false,
            whole: None,
            name_next: false,
            system: false,
        }
    }

    /// The same, with the code of executed comments between `Enter` and `Leave`.
    pub fn marking_executed(text: &'a [u8], mode: Mode) -> Self {
        Lexer { executed: Executed::Marked, ..Lexer::new(text, mode) }
    }

    /// The same, with the content of every executed comment between `Enter` and `Leave`.
    pub fn keeping_executed(text: &'a [u8], mode: Mode) -> Self {
        Lexer { executed: Executed::Kept, ..Lexer::new(text, mode) }
    }

    #[inline]
    fn peek(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    /// The byte `ahead` bytes after the token last returned; 0 at the end.
    #[inline]
    pub fn following(&self, ahead: usize) -> u8 {
        self.peek(self.at + ahead)
    }

    /// True where a number begins right after the token last returned.
    #[inline]
    pub fn number_follows(&self) -> bool {
        self.following(usize::from(self.following(0) == b'.')).is_ascii_digit()
    }

    /// The end of a run of bytes of which `belongs` is true.
    #[inline]
    fn run(&self, from: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        from + rest.iter().position(|&byte| !belongs(byte)).unwrap_or(rest.len())
    }

    /// The end of a quoted run that starts after its opening quote at `from`, and whether its closing quote was found.
    fn quoted(&self, mut from: usize, quote: u8, escapes: bool) -> (usize, bool) {
        loop {
            let rest = self.text.get(from..).unwrap_or_default();
            let found = if escapes { memchr::memchr2(quote, b'\\', rest) } else { memchr::memchr(quote, rest) };
            let Some(found) = found else { return (self.text.len(), false) };
            from += found + 1;
            if rest.get(found) != Some(&quote) {
                // The backslash takes the next byte with it.
                from = (from + 1).min(self.text.len());
            } else if self.peek(from) == quote {
                from += 1;
            } else {
                return (from, true);
            }
        }
    }

    fn string(&self, from: usize, quote: u8) -> (Kind, usize) {
        let (end, closed) = self.quoted(from, quote, !self.mode.no_backslash_escapes);
        (if closed { Kind::Text } else { Kind::Broken }, end)
    }

    fn name(&self, from: usize, quote: u8) -> (Kind, usize) {
        let (end, closed) = self.quoted(from, quote, false);
        (if closed { Kind::Quoted } else { Kind::Broken }, end)
    }

    /// `x'...'` or `b'...'`; anything but digits inside makes it broken.
    fn digits(&self, from: usize, kind: Kind, belongs: impl Fn(u8) -> bool) -> (Kind, usize) {
        let end = self.run(from, belongs);
        match self.peek(end) {
            b'\'' if kind != Kind::Hex || (end - from).is_multiple_of(2) => (kind, end + 1),
            b'\'' => (Kind::Broken, end + 1),
            _ => (Kind::Broken, end),
        }
    }

    #[inline]
    fn word(&self, start: usize) -> (Kind, usize) {
        if self.peek(start + 1) == b'\'' && !self.system {
            match self.peek(start) | 0x20 {
                b'n' => return self.string(start + 2, b'\''),
                b'x' => return self.digits(start + 2, Kind::Hex, |byte| byte.is_ascii_hexdigit()),
                b'b' => return self.digits(start + 2, Kind::Number, |byte| matches!(byte, b'0' | b'1')),
                _ => {}
            }
        }
        (Kind::Word, self.run(start, in_name))
    }

    /// What begins with a digit: a number, or a name such as `1a`.
    fn number(&self, start: usize) -> (Kind, usize) {
        if self.peek(start) == b'0' && matches!(self.peek(start + 1), b'x' | b'b') {
            let end = match self.peek(start + 1) {
                b'x' => self.run(start + 2, |byte| byte.is_ascii_hexdigit()),
                _ => self.run(start + 2, |byte| matches!(byte, b'0' | b'1')),
            };
            return if end > start + 2 && !in_name(self.peek(end)) {
                (Kind::Number, end)
            } else {
                (Kind::Word, self.run(start, in_name))
            };
        }
        let end = self.run(start, |byte| byte.is_ascii_digit());
        match self.peek(end) {
            b'e' | b'E' => {
                let sign = usize::from(matches!(self.peek(end + 1), b'+' | b'-'));
                if self.peek(end + 1 + sign).is_ascii_digit() {
                    return (Kind::Number, self.run(end + 1 + sign, |byte| byte.is_ascii_digit()));
                }
                (Kind::Word, self.run(start, in_name))
            }
            b'.' if self.peek(end + 1) != b'.' => self.fraction(end + 1),
            byte if in_name(byte) => (Kind::Word, self.run(start, in_name)),
            _ => (Kind::Number, end),
        }
    }

    /// The rest of a number after its point.
    fn fraction(&self, from: usize) -> (Kind, usize) {
        let end = self.run(from, |byte| byte.is_ascii_digit());
        if self.peek(end) | 0x20 != b'e' {
            return (Kind::Number, end);
        }
        let sign = usize::from(matches!(self.peek(end + 1), b'+' | b'-'));
        match self.peek(end + 1 + sign).is_ascii_digit() {
            true => (Kind::Number, self.run(end + 1 + sign, |byte| byte.is_ascii_digit())),
            false => (Kind::Broken, end + 1 + sign),
        }
    }

    fn variable(&self, start: usize) -> (Kind, usize) {
        match self.peek(start + 1) {
            b'@' => (Kind::System, start + 2),
            quote @ (b'\'' | b'"') if quote == b'\'' || !self.mode.ansi_quotes => match self.string(start + 2, quote) {
                (Kind::Text, end) => (Kind::Variable, end),
                broken => broken,
            },
            quote @ (b'`' | b'"') => match self.name(start + 2, quote) {
                (Kind::Quoted, end) => (Kind::Variable, end),
                broken => broken,
            },
            _ => (Kind::Variable, self.run(start + 1, |byte| in_name(byte) || byte == b'.')),
        }
    }

    /// The end of a comment whose content starts at `from`, with up to `nested` comments in it.
    fn comment_end(&self, mut at: usize, mut nested: u32) -> (usize, bool) {
        let mut depth = 0;
        while let Some(found) = memchr::memchr2(b'/', b'*', self.text.get(at..).unwrap_or_default()) {
            at += found;
            match (self.peek(at), self.peek(at + 1)) {
                (b'/', b'*') if nested > 0 => {
                    nested -= 1;
                    depth += 1;
                    at += 2;
                }
                (b'*', b'/') => {
                    at += 2;
                    if depth == 0 {
                        return (at, true);
                    }
                    depth -= 1;
                    nested += 1;
                }
                _ => at += 1,
            }
        }
        (self.text.len(), false)
    }

    /// A comment that starts with `/*`; `None` where it is code of which only the mark is passed over.
    fn comment(&mut self, start: usize) -> Option<(Kind, usize)> {
        let maria = self.peek(start + 2) == b'M' && self.peek(start + 3) == b'!';
        if !maria && self.peek(start + 2) != b'!' {
            return Some(closed(self.comment_end(start + 2, 0)));
        }
        let mut from = start + if maria { 4 } else { 3 };
        let digits = (self.run(from, |byte| byte.is_ascii_digit()) - from).min(6);
        let mut version = None;
        if digits >= 5 {
            let number = self.text.get(from..from + digits).and_then(|digits| std::str::from_utf8(digits).ok());
            version = number.and_then(|digits| digits.parse().ok());
            from += digits;
        }
        let executed = self.mode.server.executes(version, maria);
        match self.executed {
            Executed::Decided if executed => {
                self.inside = true;
                self.at = from;
                None
            }
            Executed::Decided | Executed::Marked if !executed => Some(closed(self.comment_end(from, 1))),
            _ => {
                if !executed && self.whole.is_none() {
                    // What this server passes over may hold half a string: it must not run on past the comment.
                    let (end, closed) = self.comment_end(from, 1);
                    let end = if closed { end - 2 } else { end };
                    self.whole = Some(self.text);
                    self.text = self.text.get(..end).unwrap_or(self.text);
                } else {
                    self.inside = true;
                }
                Some((Kind::Enter, from))
            }
        }
    }

    #[inline]
    fn operator(&self, start: usize) -> usize {
        let bytes = [self.peek(start), self.peek(start + 1), self.peek(start + 2)];
        let length = match bytes {
            [b'<', b'=', b'>'] => 3,
            [b'-', b'>', b'>'] if self.mode.server.family == Family::MySql => 3,
            [b'-', b'>', _] if self.mode.server.family == Family::MySql => 2,
            [b'<', b'=' | b'>' | b'<', _] | [b'>', b'=' | b'>', _] | [b'!', b'=', _] => 2,
            [b'&', b'&', _] | [b'|', b'|', _] | [b':', b'=', _] => 2,
            _ => 1,
        };
        start + length
    }

    /// The end of the text, or of the comment at which it was cut.
    fn end(&mut self, from: usize) -> Option<Token> {
        let whole = self.whole.take()?;
        let start = self.text.len();
        self.text = whole;
        self.at = (start + 2).min(whole.len());
        Some(Token { kind: Kind::Leave, start, end: self.at, spaced: start > from, named: false })
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    #[inline]
    fn next(&mut self) -> Option<Token> {
        let from = self.at;
        loop {
            let start = self.run(self.at, |byte| class(byte) == SPACE);
            let Some(&first) = self.text.get(start) else { return self.end(from) };
            let mut named = std::mem::take(&mut self.name_next);
            let (kind, end) = match class(first) {
                WORD | DIGIT if named && start == from => (Kind::Word, self.run(start, in_name)),
                WORD => self.word(start),
                DIGIT => self.number(start),
                _ => match first {
                    b'\'' => self.string(start + 1, first),
                    b'"' if !self.mode.ansi_quotes => self.string(start + 1, first),
                    b'"' | b'`' => self.name(start + 1, first),
                    b'(' => (Kind::Open, start + 1),
                    b')' => (Kind::Close, start + 1),
                    b',' => (Kind::Comma, start + 1),
                    b';' => (Kind::Semicolon, start + 1),
                    b'?' => (Kind::Param, start + 1),
                    b'@' => self.variable(start),
                    b'.' if self.peek(start + 1).is_ascii_digit() && !named => self.fraction(start + 1),
                    b'.' => (Kind::Dot, start + 1),
                    b'#' => (Kind::Comment, self.run(start, |byte| byte != b'\n')),
                    b'-' if self.peek(start + 1) == b'-' && dashes(self.peek(start + 2)) => {
                        (Kind::Comment, self.run(start, |byte| byte != b'\n'))
                    }
                    b'/' if self.peek(start + 1) == b'*' => match self.comment(start) {
                        Some(comment) => comment,
                        None => continue,
                    },
                    b'*' if self.inside && self.peek(start + 1) == b'/' => {
                        self.inside = false;
                        if self.executed == Executed::Decided {
                            self.at = start + 2;
                            continue;
                        }
                        (Kind::Leave, start + 2)
                    }
                    b'\\' if self.peek(start + 1) == b'N' => (Kind::Word, start + 2),
                    b'\\' | 0..=0x1f | 0x7f => (Kind::Broken, start + 1),
                    _ => (Kind::Operator, self.operator(start)),
                },
            };
            let tied = self.peek(end) == b'.' && in_name(self.peek(end + 1));
            match kind {
                // Tells the dot that it is no decimal point, and that what follows is a name.
                Kind::Word => {
                    named |= tied && !self.system;
                    self.name_next = tied;
                }
                Kind::Dot => {
                    self.name_next = in_name(self.peek(end));
                    named = false;
                }
                _ => named = false,
            }
            self.system = kind == Kind::System;
            self.at = end;
            return Some(Token { kind, start, end, spaced: start > from, named });
        }
    }
}

/// A comment without an end is an error to the server, not a comment.
fn closed((end, closed): (usize, bool)) -> (Kind, usize) {
    (if closed { Kind::Comment } else { Kind::Broken }, end)
}

/// True for a byte after `--` that makes it a comment; the end of the text does so too.
fn dashes(byte: u8) -> bool {
    class(byte) == SPACE || byte.is_ascii_control()
}

#[cfg(test)]
#[path = "lexer_tests.rs"]
mod tests;
