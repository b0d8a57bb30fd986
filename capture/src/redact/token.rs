//! One literal: what it says, and the same notation with something else in it.

use super::key::Key;
use crate::sql::Dialect;
use crate::sql::literals::mysql_string;
use crate::sql::mysql::Mode;

/// In which notation a string is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `'a'`, `N'a'`: the prefix with the quote.
    Plain(Vec<u8>),
    /// `E'a'`
    Escaped(Vec<u8>),
    /// `U&'a'`, with the character that escapes.
    Unicode(Vec<u8>, u8),
    /// `$tag$a$tag$`
    Dollar(Vec<u8>),
    /// `B'01'`
    Bits(Vec<u8>),
    /// `X'1F'`
    Hex(Vec<u8>),
    /// A string of MySQL: its prefix with its quote, and how it is read.
    Mysql(Vec<u8>, Mode),
}

impl Form {
    /// The notation of a token, with what UESCAPE says after it.
    pub fn of(token: &[u8], dialect: Dialect, escape: Option<u8>) -> Self {
        let quote = token.iter().position(|byte| matches!(byte, b'\'' | b'"')).map_or(0, |at| at + 1);
        let prefix = token.get(..quote).unwrap_or_default().to_vec();
        let first = token.first().map_or(0, u8::to_ascii_lowercase);
        match (first, dialect) {
            (b'x', _) => Form::Hex(prefix),
            (_, Dialect::Mysql(mode)) => Form::Mysql(prefix, mode),
            (b'e', _) => Form::Escaped(prefix),
            (b'b', _) => Form::Bits(prefix),
            (b'u', _) => Form::Unicode(prefix, escape.unwrap_or(b'\\')),
            (b'$', _) => {
                let end = token.iter().skip(1).position(|&byte| byte == b'$').map_or(token.len(), |at| at + 2);
                Form::Dollar(token.get(..end).unwrap_or_default().to_vec())
            }
            _ => Form::Plain(prefix),
        }
    }

    /// True for a notation of text, not of bits or bytes.
    pub fn is_string(&self) -> bool {
        !matches!(self, Form::Bits(_) | Form::Hex(_))
    }

    fn prefix(&self) -> &[u8] {
        match self {
            Form::Plain(prefix)
            | Form::Escaped(prefix)
            | Form::Unicode(prefix, _)
            | Form::Dollar(prefix)
            | Form::Bits(prefix)
            | Form::Hex(prefix)
            | Form::Mysql(prefix, _) => prefix,
        }
    }

    /// What the string says; `None` where it does not end.
    pub fn content(&self, token: &[u8]) -> Option<Vec<u8>> {
        let rest = token.get(self.prefix().len()..)?;
        match self {
            Form::Dollar(tag) => rest.strip_suffix(tag.as_slice()).map(<[u8]>::to_vec),
            Form::Mysql(_, mode) => Some(mysql_string(token, mode)),
            Form::Unicode(_, escape) => quoted(rest, false).map(|text| without_escapes(&text, *escape)),
            _ => quoted(rest, matches!(self, Form::Escaped(_))),
        }
    }

    /// The token with other content of the same form.
    pub fn redact(&self, key: &Key, content: &[u8]) -> Option<Vec<u8>> {
        match self {
            Form::Bits(_) => self.write(&key.bits(content)),
            Form::Hex(_) => self.write(&nibbles(key, content)),
            _ => self.write(&key.text(content)),
        }
    }

    /// The token with this content; `None` where the notation cannot hold it.
    pub fn write(&self, content: &[u8]) -> Option<Vec<u8>> {
        let prefix = self.prefix();
        let quote = prefix.last().copied().unwrap_or(b'\'');
        let escape = match self {
            Form::Dollar(tag) => {
                let whole = [content, tag].concat();
                // The tag must not end the string early.
                return (memchr::memmem::find(&whole, tag) == Some(content.len()))
                    .then(|| [tag.as_slice(), &whole].concat());
            }
            Form::Escaped(_) => Some(b'\\'),
            Form::Unicode(_, escape) => Some(*escape),
            Form::Mysql(_, mode) => (!mode.no_backslash_escapes).then_some(b'\\'),
            Form::Plain(_) | Form::Bits(_) | Form::Hex(_) => None,
        };
        let mut out = prefix.to_vec();
        for &byte in content {
            if byte == quote || Some(byte) == escape {
                out.push(byte);
            }
            out.push(byte);
        }
        out.push(quote);
        Some(out)
    }

    /// A string that does not end, with other letters.
    pub fn unfinished(&self, key: &Key, token: &[u8]) -> Vec<u8> {
        let (prefix, rest) = token.split_at(self.prefix().len().min(token.len()));
        [prefix, &key.pattern(rest)].concat()
    }
}

/// The content of a PostgreSQL string after its opening quote, with those that continue it; `None` where it does not end.
fn quoted(text: &[u8], escapes: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    loop {
        let byte = *text.get(at)?;
        at += 1;
        match byte {
            b'\'' if text.get(at) == Some(&b'\'') => {
                out.push(byte);
                at += 1;
            }
            b'\'' => {
                let rest = text.get(at..).unwrap_or_default();
                match rest.iter().position(|&byte| byte == b'\'') {
                    Some(next) => at += next + 1,
                    None => return Some(out),
                }
            }
            b'\\' if escapes => at = escaped(text, at, &mut out)?,
            _ => out.push(byte),
        }
    }
}

/// What a backslash stands for; returns where it goes on.
fn escaped(text: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    let digits = |from: usize, most: usize, radix: u32| {
        let rest = text.get(from..).unwrap_or_default();
        let length = rest.iter().take(most).take_while(|&&byte| char::from(byte).is_digit(radix)).count();
        let number = rest
            .iter()
            .take(length)
            .fold(0_u32, |number, &byte| number * radix + char::from(byte).to_digit(radix).unwrap_or(0));
        (number, from + length)
    };
    let byte = *text.get(at)?;
    let (number, end) = match byte {
        b'n' => (10, at + 1),
        b't' => (9, at + 1),
        b'r' => (13, at + 1),
        b'b' => (8, at + 1),
        b'f' => (12, at + 1),
        b'0'..=b'7' => digits(at, 3, 8),
        b'x' => digits(at + 1, 2, 16),
        b'u' | b'U' => {
            let (number, end) = digits(at + 1, if byte == b'u' { 4 } else { 8 }, 16);
            let letter = char::from_u32(number).unwrap_or('?');
            out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            return Some(end);
        }
        other => (other.into(), at + 1),
    };
    out.push(number as u8);
    Some(end)
}

/// The content of a `U&''` string: `\0061` and `\+000061` are letters.
fn without_escapes(text: &[u8], escape: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != escape {
            out.push(byte);
            continue;
        }
        let (skip, length) = if after.first() == Some(&b'+') { (1, 6) } else { (0, 4) };
        let code = after.get(skip..skip + length).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(code) => {
                let letter = char::from_u32(code).unwrap_or('?');
                out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                rest = after.get(skip + length..).unwrap_or_default();
            }
            None => {
                if after.first() == Some(&escape) {
                    rest = after.get(1..).unwrap_or_default();
                }
                out.push(escape);
            }
        }
    }
    out
}

/// As many hexadecimal digits.
fn nibbles(key: &Key, digits: &[u8]) -> Vec<u8> {
    let bits: String =
        digits.iter().map(|&digit| format!("{:04b}", char::from(digit).to_digit(16).unwrap_or(0))).collect();
    let new = key.bits(bits.as_bytes());
    let digit = |bits: &[u8]| bits.iter().fold(0, |number, &bit| number << 1 | usize::from(bit - b'0'));
    new.chunks(4).map(|bits| b"0123456789ABCDEF".get(digit(bits)).copied().unwrap_or(b'0')).collect()
}

/// A number in any notation.
pub(super) fn number(key: &Key, token: &[u8], dialect: Dialect) -> Vec<u8> {
    let mysql = matches!(dialect, Dialect::Mysql(_));
    let digits: Vec<u8> =
        token.get(2..).unwrap_or_default().iter().copied().filter(|&byte| !matches!(byte, b'_' | b'\'')).collect();
    let (prefix, _) = token.split_at(token.len().min(2));
    let radix = match prefix {
        [b'b' | b'B', b'\''] => return [prefix, &key.bits(&digits), b"'"].concat(),
        [b'0', b'x' | b'X'] => 16,
        [b'0', b'o' | b'O'] => 8,
        [b'0', b'b' | b'B'] => 2,
        _ => return key.number(token).unwrap_or_else(|| key.runs(token)),
    };
    if mysql && radix == 2 {
        return [prefix, &key.bits(&digits)].concat();
    }
    let number = digits.iter().try_fold(0_u128, |number, &digit| {
        number.checked_mul(radix.into())?.checked_add(char::from(digit).to_digit(radix)?.into())
    });
    match number.filter(|number| !mysql && *number < 1 << 100) {
        Some(number) => {
            let number = key.whole(number);
            let text = match radix {
                16 => format!("{number:X}"),
                8 => format!("{number:o}"),
                _ => format!("{number:b}"),
            };
            [prefix, text.as_bytes()].concat()
        }
        None => [prefix, &nibbles(key, &digits)].concat(),
    }
}
