//! The literals of a text.
//!
//! One rule decides what stays: what the shape of the text keeps, stays (see `sql/shape.rs`), because the statement means
//! something else without it. Beside that stay: NULL, TRUE and FALSE; the modifier of a type (`varchar(10)`); the number of a
//! column after ORDER BY and GROUP BY; the character after ESCAPE; how COPY and LOAD DATA lay out their data; the language of
//! a routine. The body of a routine or DO block in SQL or PL/pgSQL is a text by itself. Of comments an order to a router
//! stays, and the keys of sqlcommenter's tags; of optimiser hints all but their numbers and strings.

use super::comment;
use super::key::Key;
use super::token::{self, Form};
use crate::sql::Dialect;
use crate::sql::literals::{Kept, Kind, Piece, Shaper, pieces};

/// Texts in texts: a body in a body, a statement in PREPARE.
const DEEPEST: u32 = 4;

/// The text with other literals; `None` where that cannot be done with certainty, so that the text must not be kept.
pub(super) fn redact(key: &Key, shaper: &mut Shaper, text: &[u8], dialect: Dialect) -> Option<Vec<u8>> {
    let (shape, kept) = shaper.shape(text, dialect);
    let out = Pass { key, dialect, text, pieces: pieces(text, dialect), kept, depth: 0 }.run(shaper)?;
    (shaper.shape(&out, dialect).0 == shape).then_some(out)
}

/// A text inside of another one: of a body nothing is kept, as it is no part of the shape.
fn inner(key: &Key, shaper: &mut Shaper, text: &[u8], dialect: Dialect, depth: u32, body: bool) -> Option<Vec<u8>> {
    let kept = if body { Vec::new() } else { shaper.shape(text, dialect).1 };
    Pass { key, dialect, text, pieces: pieces(text, dialect), kept, depth }.run(shaper)
}

fn has_quote(token: &[u8]) -> bool {
    token.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'`'))
}

struct Pass<'a> {
    key: &'a Key,
    dialect: Dialect,
    text: &'a [u8],
    pieces: Vec<Piece>,
    kept: Vec<(usize, Kept)>,
    depth: u32,
}

/// What was read of the text so far.
#[derive(Default)]
struct Place {
    /// The last two tokens that are no comments, in lower case.
    last: Vec<u8>,
    before: Vec<u8>,
    head: Vec<u8>,
    /// True for a routine or DO block whose body is SQL or PL/pgSQL.
    body: bool,
    parentheses: u32,
    /// Parentheses in which a type's modifier stands.
    modifier: Option<u32>,
    /// Parentheses in which an ORDER BY or GROUP BY stands.
    ordinals: Option<u32>,
}

impl Pass<'_> {
    fn run(&self, shaper: &mut Shaper) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(self.text.len() + 16);
        let mut place = Place::default();
        let mut at = 0;
        let mut index = 0;
        while let Some(&piece) = self.pieces.get(index) {
            let gap = self.text.get(at..piece.start)?;
            if !gap.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0x0b) {
                return None;
            }
            out.extend_from_slice(gap);
            let token = self.token(piece);
            let mut last = index;
            match piece.kind {
                Kind::Comment => out.extend(comment::redact(
                    token,
                    self.dialect,
                    |hints| {
                        inner(self.key, shaper, hints, self.dialect, self.depth + 1, true)
                            .filter(|_| self.depth < DEEPEST)
                    },
                    self.key,
                )),
                Kind::Text | Kind::Number => {
                    self.certain(piece, index)?;
                    last = self.literal(index, &place, shaper, &mut out)?;
                }
                // Where a string does not end, a backslash may have been read in the wrong way.
                Kind::Broken if has_quote(token) && self.text.contains(&b'\\') => return None,
                Kind::Broken => out.extend(self.broken(token)),
                _ => out.extend_from_slice(token),
            }
            if piece.kind != Kind::Comment {
                self.go_on(&mut place, piece, token, index);
            }
            at = self.pieces.get(last)?.end;
            index = last + 1;
        }
        let rest = self.text.get(at..)?;
        rest.iter().all(|byte| byte.is_ascii_whitespace() || matches!(byte, 0 | 0x0b)).then(|| {
            out.extend_from_slice(rest);
            out
        })
    }

    fn token(&self, piece: Piece) -> &[u8] {
        self.text.get(piece.start..piece.end).unwrap_or_default()
    }

    /// `None` where a word touches the end of a string: then the quotes were probably read in the wrong way, as when the
    /// session reads backslashes differently, and what looks like a word may be data.
    fn certain(&self, piece: Piece, index: usize) -> Option<()> {
        let next = self.pieces.get(index + 1);
        let touches = next.is_some_and(|next| {
            next.start == piece.end && matches!(next.kind, Kind::Word | Kind::Number | Kind::Broken)
        });
        (piece.kind != Kind::Text || !touches).then_some(())
    }

    /// A string or a number; returns the last token that belongs to it.
    fn literal(&self, index: usize, place: &Place, shaper: &mut Shaper, out: &mut Vec<u8>) -> Option<usize> {
        let piece = *self.pieces.get(index)?;
        let token = self.token(piece);
        let kept = self.kept.iter().find(|(at, _)| *at == piece.start).map(|&(_, kept)| kept);
        if kept == Some(Kept::Whole) || self.stays(index, token, place) {
            out.extend_from_slice(token);
            return Some(index);
        }
        if piece.kind == Kind::Number {
            out.extend(token::number(self.key, token, self.dialect));
            return Some(index);
        }
        let form = Form::of(token, self.dialect, self.escape_after(index));
        let Some(mut content) = form.content(token) else {
            if self.text.contains(&b'\\') {
                return None;
            }
            out.extend(form.unfinished(self.key, token));
            return Some(index);
        };
        let text = kept == Some(Kept::Shape)
            || place.body && place.last != b"language" && (place.last == b"as" || place.head == b"do");
        if text && self.depth < DEEPEST && form.is_string() {
            let new = inner(self.key, shaper, &content, self.dialect, self.depth + 1, kept.is_none())?;
            out.extend(form.write(&new)?);
            return Some(index);
        }
        // MySQL takes strings that follow each other for one.
        let mut last = index;
        if matches!(self.dialect, Dialect::Mysql(_)) && form.is_string() {
            while let Some(next) = self.pieces.get(last + 1).filter(|next| next.kind == Kind::Text) {
                let token = self.token(*next);
                let other = Form::of(token, self.dialect, None);
                if !other.is_string() {
                    break;
                }
                content.extend(other.content(token)?);
                last += 1;
            }
        }
        out.extend(form.redact(self.key, &content)?);
        Some(last)
    }

    /// The character that UESCAPE names after this token.
    fn escape_after(&self, index: usize) -> Option<u8> {
        let word = self.token(*self.pieces.get(index + 1)?);
        let [b'\'', escape, b'\''] = self.token(*self.pieces.get(index + 2)?) else { return None };
        word.eq_ignore_ascii_case(b"uescape").then_some(*escape)
    }

    /// A string or number without an end, or with something in it that does not belong there.
    fn broken(&self, token: &[u8]) -> Vec<u8> {
        let quote = token.iter().position(|byte| matches!(byte, b'\'' | b'"' | b'`')).map_or(0, |at| at + 1);
        let (start, rest) = token.split_at(quote);
        match token {
            // A comment without an end.
            [b'/', b'*', ..] => b"/*".to_vec(),
            _ if quote > 0 => [start, &self.key.pattern(rest)].concat(),
            [_] => token.to_vec(),
            _ if token.first().is_some_and(|first| first.is_ascii_digit() || *first == b'.') => self.key.runs(token),
            _ => self.key.pattern(token),
        }
    }

    fn stays(&self, index: usize, token: &[u8], place: &Place) -> bool {
        let is_digits = token.iter().all(u8::is_ascii_digit);
        let next = self.pieces.get(index + 1);
        let next_word = next.map(|next| self.token(*next).to_ascii_lowercase()).unwrap_or_default();
        match place.last.as_slice() {
            b"escape" | b"uescape" if token.len() <= 4 => return true,
            b"language" => return true,
            b"delimiter" | b"delimiters" | b"null" | b"quote" | b"escape" | b"encoding" | b"format" => {
                return place.head == b"copy" && token.len() <= 12;
            }
            b"as" if place.head == b"copy" => return token.len() <= 4,
            b"by" if matches!(place.before.as_slice(), b"terminated" | b"enclosed" | b"escaped" | b"starting") => {
                return token.len() <= 12;
            }
            b"ignore" if matches!(next_word.as_slice(), b"lines" | b"rows") => return true,
            _ => {}
        }
        if place.modifier == Some(place.parentheses) && is_digits && token.len() <= 5 {
            return true;
        }
        let ends = next.is_none_or(|next| match next.kind {
            Kind::Comma | Kind::Close | Kind::Semicolon | Kind::Comment => true,
            Kind::Word => {
                !matches!(next_word.as_slice(), b"div" | b"mod" | b"and" | b"or" | b"is" | b"in" | b"between" | b"like")
            }
            _ => false,
        });
        let begins = matches!(place.last.as_slice(), b"by" | b",");
        place.ordinals == Some(place.parentheses) && begins && ends && is_digits && token.len() <= 3
    }

    fn go_on(&self, place: &mut Place, piece: Piece, token: &[u8], index: usize) {
        let word = if piece.kind == Kind::Word {
            token.to_ascii_lowercase()
        } else {
            token.get(..token.len().min(16)).unwrap_or_default().to_vec()
        };
        if place.head.is_empty() && piece.kind == Kind::Word {
            place.head.clone_from(&word);
            place.body = matches!(self.dialect, Dialect::Postgresql) && self.has_body(index);
        }
        match piece.kind {
            Kind::Open => {
                place.parentheses += 1;
                if self.is_type(place) {
                    place.modifier = Some(place.parentheses);
                }
            }
            Kind::Close => {
                if place.modifier == Some(place.parentheses) {
                    place.modifier = None;
                }
                place.parentheses = place.parentheses.saturating_sub(1);
                if place.ordinals.is_some_and(|depth| depth > place.parentheses) {
                    place.ordinals = None;
                }
            }
            Kind::Semicolon if place.parentheses == 0 => *place = Place::default(),
            Kind::Word => match word.as_slice() {
                b"by" if matches!(place.last.as_slice(), b"order" | b"group") => {
                    place.ordinals = Some(place.parentheses)
                }
                b"limit" | b"offset" | b"fetch" | b"having" | b"for" | b"into" | b"union" | b"procedure"
                | b"window"
                    if place.ordinals == Some(place.parentheses) =>
                {
                    place.ordinals = None;
                }
                _ => {}
            },
            _ => {}
        }
        place.before = std::mem::replace(&mut place.last, word);
    }

    /// True where a parenthesis that follows holds the modifier of a type.
    fn is_type(&self, place: &Place) -> bool {
        const TYPES: &[&[u8]] = &[
            b"char",
            b"character",
            b"varchar",
            b"varying",
            b"nchar",
            b"nvarchar",
            b"varchar2",
            b"bpchar",
            b"binary",
            b"varbinary",
            b"bit",
            b"varbit",
            b"numeric",
            b"decimal",
            b"dec",
            b"number",
            b"fixed",
            b"float",
            b"double",
            b"precision",
            b"real",
            b"tinyint",
            b"smallint",
            b"mediumint",
            b"int",
            b"integer",
            b"bigint",
            b"int1",
            b"int2",
            b"int3",
            b"int4",
            b"int8",
            b"time",
            b"timestamp",
            b"timestamptz",
            b"timetz",
            b"datetime",
            b"interval",
            b"second",
            b"year",
            b"text",
            b"tinytext",
            b"mediumtext",
            b"longtext",
            b"blob",
            b"tinyblob",
            b"mediumblob",
            b"longblob",
            b"vector",
        ];
        let defines = matches!(place.head.as_slice(), b"create" | b"alter" | b"prepare" | b"declare");
        let named =
            place.before.first().is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'"' | b'`'));
        let in_expression = matches!(
            place.before.as_slice(),
            b"default"
                | b"check"
                | b"select"
                | b"when"
                | b"then"
                | b"else"
                | b"and"
                | b"or"
                | b"where"
                | b"return"
                | b"in"
                | b"like"
                | b"between"
                | b"not"
                | b"set"
                | b"on"
        );
        let postgresql = matches!(self.dialect, Dialect::Postgresql) && matches!(place.before.as_slice(), b"(" | b",");
        TYPES.contains(&place.last.as_slice())
            && (matches!(place.before.as_slice(), b"as" | b"::" | b"character" | b"bit" | b"double" | b"to")
                || defines && (named && !in_expression || postgresql))
    }

    /// True for a statement that holds a body in SQL or PL/pgSQL as a string.
    fn has_body(&self, index: usize) -> bool {
        let words = || {
            let rest = self.pieces.get(index..).unwrap_or_default().iter();
            rest.take_while(|piece| piece.kind != Kind::Semicolon).filter(|piece| piece.kind != Kind::Comment)
        };
        let is = |piece: &Piece, words: &[&str]| {
            words.iter().any(|word| self.token(*piece).eq_ignore_ascii_case(word.as_bytes()))
        };
        let language = words().skip_while(|piece| !is(piece, &["language"])).nth(1);
        let known = |piece: &Piece| is(piece, &["sql", "plpgsql", "'sql'", "'plpgsql'"]);
        match words().next() {
            Some(first) if is(first, &["do"]) => language.is_none_or(known),
            Some(first) if is(first, &["create"]) => {
                words().take(5).any(|piece| is(piece, &["function", "procedure"])) && language.is_some_and(known)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
#[path = "statement_tests.rs"]
mod tests;
