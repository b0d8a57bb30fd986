//! PostgreSQL's tokens, found in one pass over the bytes, without allocation.
//!
//! The rules are those of section 4.1 of PostgreSQL's manual with `standard_conforming_strings` on. Text that
//! ends inside a string or comment gives one last token up to its end: the lexer never fails.

/// What a token is. Only as fine as the normaliser needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An unquoted identifier or keyword.
    Word,
    /// A quoted identifier, with its quotes.
    Quoted,
    /// A string in any of its notations, bit strings included.
    Text,
    Number,
    /// `$1`
    Param,
    Operator,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    Comma,
    Semicolon,
    Dot,
    /// `:` or `::`
    Colon,
    /// A comment of either notation, with its marks.
    Comment,
}

/// A token and where it stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
    /// True when white space stands before it.
    pub spaced: bool,
}

const SPACE: u8 = 0;
const WORD: u8 = 1;
const DIGIT: u8 = 2;
const OPERATOR: u8 = 3;
const OTHER: u8 = 4;

/// The class of every byte; bytes above ASCII are letters, as in PostgreSQL.
const CLASS: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => SPACE,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80..=0xff => WORD,
            b'0'..=b'9' => DIGIT,
            b'+' | b'-' | b'*' | b'/' | b'<' | b'>' | b'=' | b'~' | b'!' | b'@' | b'#' | b'%' | b'^' | b'&' | b'|'
            | b'`' | b'?' => OPERATOR,
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

/// Walks over the tokens of a text.
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Lexer { text, at: 0 }
    }

    #[inline]
    fn peek(&self, at: usize) -> u8 {
        // A NUL cannot be part of any token, so it stands for the end as well.
        self.text.get(at).copied().unwrap_or(0)
    }

    /// The byte that follows the token last returned; 0 at the end.
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

    /// The end of a quoted run that starts after its opening quote at `from`; a doubled quote stays inside.
    fn quoted(&self, mut from: usize, quote: u8) -> usize {
        loop {
            let rest = self.text.get(from..).unwrap_or_default();
            let Some(found) = memchr::memchr(quote, rest) else { return self.text.len() };
            from += found + 1;
            if self.peek(from) != quote {
                return from;
            }
            from += 1;
        }
    }

    /// The end of an `E''` string, where a backslash takes the next byte with it.
    fn escaped(&self, mut from: usize) -> usize {
        loop {
            let rest = self.text.get(from..).unwrap_or_default();
            let Some(found) = memchr::memchr2(b'\'', b'\\', rest) else { return self.text.len() };
            from += found + 1;
            if rest.get(found) == Some(&b'\\') {
                from = (from + 1).min(self.text.len());
            } else if self.peek(from) == b'\'' {
                from += 1;
            } else {
                return from;
            }
        }
    }

    /// The end of a string and of those that continue it: quotes that only white space with a line break parts.
    fn string(&self, from: usize, escapes: bool) -> usize {
        let mut end = if escapes { self.escaped(from) } else { self.quoted(from, b'\'') };
        while class(self.peek(end)) == SPACE {
            let next = self.run(end, |byte| class(byte) == SPACE);
            let gap = self.text.get(end..next).unwrap_or_default();
            if self.peek(next) != b'\'' || !gap.iter().any(|&byte| byte == b'\n' || byte == b'\r') {
                break;
            }
            end = if escapes { self.escaped(next + 1) } else { self.quoted(next + 1, b'\'') };
        }
        end
    }

    /// A word, or the string or quoted identifier that a one-letter prefix announces.
    #[inline]
    fn word(&self, start: usize) -> (Kind, usize) {
        let end = self.run(start, |byte| matches!(class(byte), WORD | DIGIT) || byte == b'$');
        if end - start == 1 {
            let next = self.peek(end);
            match (self.peek(start) | 0x20, next) {
                (b'e', b'\'') => return (Kind::Text, self.string(end + 1, true)),
                (b'b' | b'x' | b'n', b'\'') => return (Kind::Text, self.string(end + 1, false)),
                (b'u', b'&') if self.peek(end + 1) == b'\'' => return (Kind::Text, self.string(end + 2, false)),
                (b'u', b'&') if self.peek(end + 1) == b'"' => return (Kind::Quoted, self.quoted(end + 2, b'"')),
                _ => {}
            }
        }
        (Kind::Word, end)
    }

    fn number(&self, start: usize) -> usize {
        let digits = |byte: u8| byte.is_ascii_digit() || byte == b'_';
        if self.peek(start) == b'0' && matches!(self.peek(start + 1) | 0x20, b'x' | b'o' | b'b') {
            let end = self.run(start + 2, |byte| byte.is_ascii_hexdigit() || byte == b'_');
            if end > start + 2 {
                return end;
            }
        }
        let mut end = self.run(start, digits);
        if self.peek(end) == b'.' && self.peek(end + 1) != b'.' {
            end = self.run(end + 1, digits);
        }
        if self.peek(end) | 0x20 == b'e' {
            let sign = usize::from(matches!(self.peek(end + 1), b'+' | b'-'));
            if self.peek(end + 1 + sign).is_ascii_digit() {
                end = self.run(end + 1 + sign, digits);
            }
        }
        end
    }

    /// `$1`, or a dollar-quoted string; a lone `$` passes as an operator.
    fn dollar(&self, start: usize) -> (Kind, usize) {
        if self.peek(start + 1).is_ascii_digit() {
            return (Kind::Param, self.run(start + 1, |byte| byte.is_ascii_digit()));
        }
        let tag_end = self.run(start + 1, |byte| matches!(class(byte), WORD | DIGIT));
        if self.peek(tag_end) != b'$' {
            return (Kind::Operator, start + 1);
        }
        let body = tag_end + 1;
        let tag = self.text.get(start..body).unwrap_or_default();
        let rest = self.text.get(body..).unwrap_or_default();
        let end = memchr::memmem::find(rest, tag).map_or(self.text.len(), |found| body + found + tag.len());
        (Kind::Text, end)
    }

    /// The end of a block comment; they nest.
    fn block_comment(&self, start: usize) -> usize {
        let mut depth = 1;
        let mut at = start + 2;
        while let Some(found) = memchr::memchr2(b'/', b'*', self.text.get(at..).unwrap_or_default()) {
            at += found;
            match (self.peek(at), self.peek(at + 1)) {
                (b'/', b'*') => {
                    depth += 1;
                    at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    at += 2;
                    if depth == 0 {
                        return at;
                    }
                }
                _ => at += 1,
            }
        }
        self.text.len()
    }

    #[inline]
    fn operator(&self, start: usize) -> usize {
        let mut end = start + 1;
        while class(self.peek(end)) == OPERATOR {
            // A comment ends an operator.
            if matches!((self.peek(end), self.peek(end + 1)), (b'-', b'-') | (b'/', b'*')) {
                break;
            }
            end += 1;
        }
        // An operator of several bytes may end in + or - only if it holds one of these: `a=-1` is `=` and `-`.
        while end - start > 1 && matches!(self.peek(end - 1), b'+' | b'-') {
            let bytes = self.text.get(start..end - 1).unwrap_or_default();
            if bytes.iter().any(|byte| b"~!@#%^&|`?".contains(byte)) {
                break;
            }
            end -= 1;
        }
        end
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    #[inline]
    fn next(&mut self) -> Option<Token> {
        let from = self.at;
        let start = self.run(from, |byte| class(byte) == SPACE);
        let first = *self.text.get(start)?;
        let (kind, end) = match class(first) {
            WORD => self.word(start),
            DIGIT => (Kind::Number, self.number(start)),
            OPERATOR => match (first, self.peek(start + 1)) {
                (b'-', b'-') => (Kind::Comment, self.run(start, |byte| byte != b'\n' && byte != b'\r')),
                (b'/', b'*') => (Kind::Comment, self.block_comment(start)),
                _ => (Kind::Operator, self.operator(start)),
            },
            _ => match first {
                b'\'' => (Kind::Text, self.string(start + 1, false)),
                b'"' => (Kind::Quoted, self.quoted(start + 1, b'"')),
                b'$' => self.dollar(start),
                b'.' if self.peek(start + 1).is_ascii_digit() => (Kind::Number, self.number(start)),
                b'(' => (Kind::Open, start + 1),
                b')' => (Kind::Close, start + 1),
                b'[' => (Kind::OpenBracket, start + 1),
                b']' => (Kind::CloseBracket, start + 1),
                b',' => (Kind::Comma, start + 1),
                b';' => (Kind::Semicolon, start + 1),
                b'.' => (Kind::Dot, start + 1),
                b':' if self.peek(start + 1) == b'=' => (Kind::Operator, start + 2),
                b':' => (Kind::Colon, start + 1 + usize::from(self.peek(start + 1) == b':')),
                _ => (Kind::Operator, start + 1),
            },
        };
        self.at = end;
        Some(Token { kind, start, end, spaced: start > from })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(sql: &str) -> Vec<(Kind, &str)> {
        Lexer::new(sql.as_bytes()).map(|token| (token.kind, &sql[token.start..token.end])).collect()
    }

    #[test]
    fn strings_of_every_notation_are_one_token() {
        for text in [
            "'a''b'",
            "E'a\\'b'",
            "e'\\\\'",
            "U&'d\\0061t'",
            "B'01'",
            "x'1F'",
            "N'a'",
            "$$ a'b $$",
            "$tag$ $$ $tag$",
            "'a'\n 'b'",
        ] {
            assert_eq!(tokens(text), [(Kind::Text, text)]);
        }
        assert_eq!(tokens("'a' 'b'").len(), 2);
        assert_eq!(tokens("U&\"a\"\"b\""), [(Kind::Quoted, "U&\"a\"\"b\"")]);
    }

    #[test]
    fn numbers_of_every_notation_are_one_token() {
        for text in ["1", "1.5", ".5", "1.", "1e5", "1.5E-10", "0x1F", "0b01", "0o17", "1_000_000"] {
            assert_eq!(tokens(text), [(Kind::Number, text)]);
        }
        assert_eq!(tokens("$12"), [(Kind::Param, "$12")]);
    }

    #[test]
    fn operators_end_where_postgresql_ends_them() {
        assert_eq!(
            tokens("a=-1"),
            [(Kind::Word, "a"), (Kind::Operator, "="), (Kind::Operator, "-"), (Kind::Number, "1")]
        );
        assert_eq!(tokens("@-"), [(Kind::Operator, "@-")]);
        assert_eq!(tokens("a*/*c*/b")[1], (Kind::Operator, "*"));
        assert_eq!(tokens("a<--c")[1], (Kind::Operator, "<"));
        assert_eq!(tokens("a::b:=c")[1], (Kind::Colon, "::"));
    }

    #[test]
    fn comments_nest() {
        assert_eq!(tokens("/* a /* b */ c */ x"), [(Kind::Comment, "/* a /* b */ c */"), (Kind::Word, "x")]);
        assert_eq!(tokens("-- a\nx"), [(Kind::Comment, "-- a"), (Kind::Word, "x")]);
    }

    #[test]
    fn text_that_ends_early_gives_a_last_token() {
        for text in ["'abc", "E'a\\", "\"abc", "$t$ abc $t", "/* /* */", "$", "$a", "U&'", "--", "\0", "é'"] {
            let last = tokens(text).last().map(|(_, text)| text.len());
            assert!(last.is_some(), "{text:?}");
        }
    }
}
