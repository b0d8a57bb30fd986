//! What of a comment stays.

use super::key::Key;
use crate::sql::Dialect;
use crate::sql::literals::{Kind, order, pieces};
use crate::sql::tags::of_comment;

/// A comment without its values: an order to a router stays, and the keys of sqlcommenter's tags (`key='value'`), whose
/// values are exchanged; the hints of `/*+ ... */` go through `hints`. Of any other one only its marks stay.
pub(super) fn redact(
    comment: &[u8],
    dialect: Dialect,
    hints: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    key: &Key,
) -> Vec<u8> {
    let (open, inner, close): (&[u8], _, &[u8]) = match comment {
        [b'/', b'*', inner @ .., b'*', b'/'] => (b"/*", inner, b"*/"),
        [b'/', b'*', ..] => return b"/*".to_vec(),
        [b'-', b'-', inner @ ..] => (b"-- ", inner, b""),
        [b'#', inner @ ..] => (b"#", inner, b""),
        _ => return b"/**/".to_vec(),
    };
    if let Some(order) = order(comment) {
        return [open, order, close].concat();
    }
    let new = match inner {
        [b'+', rest @ ..] if !close.is_empty() && are_hints(rest, dialect) => {
            hints(rest).map(|hints| [b"+".as_slice(), &hints].concat())
        }
        _ => tags(inner, key),
    };
    [open, &new.unwrap_or_default(), close].concat()
}

/// True for hints to the optimiser: names with something in parentheses.
fn are_hints(text: &[u8], dialect: Dialect) -> bool {
    let pieces = pieces(text, dialect);
    let mut depth = 0;
    let mut names = true;
    for (at, piece) in pieces.iter().enumerate() {
        match piece.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth -= 1,
            Kind::Word if depth == 0 => names &= pieces.get(at + 1).is_some_and(|next| next.kind == Kind::Open),
            Kind::Comment | Kind::Broken => return false,
            _ => names &= depth > 0,
        }
    }
    names && depth == 0 && !pieces.is_empty()
}

/// Tags as sqlcommenter writes them, each value percent-encoded.
fn tags(text: &[u8], key: &Key) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for (name, value) in of_comment(text)? {
        if !out.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(name);
        out.extend(b"='");
        for byte in key.text(&value) {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte),
                _ => out.extend(format!("%{byte:02X}").bytes()),
            }
        }
        out.push(b'\'');
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Engine;

    fn redacted(comment: &str) -> String {
        let key = Key::from_bytes([2; 16]);
        let hints = |text: &[u8]| Some(key.runs(text));
        String::from_utf8(redact(comment.as_bytes(), Dialect::of(Engine::Mysql), hints, &key)).expect("UTF-8")
    }

    #[test]
    fn only_orders_keys_and_hints_stay() {
        for (comment, new) in [
            ("/* customer 4711 */", "/**/"),
            ("-- by alice", "-- "),
            ("# by alice", "#"),
            ("/* unfinished", "/*"),
            ("/* for alice: hostgroup=2, x */", "/*hostgroup=2*/"),
            ("-- maxscale route to master", "-- maxscale route to master"),
            ("/*+ alice was here */", "/**/"),
            ("/* a='b' and more */", "/**/"),
            ("/*'*/", "/**/"),
        ] {
            assert_eq!(redacted(comment), new);
        }
        let tags =
            redacted("/*action='find%20alice',traceparent='00-5bd66ef5095369c7b0d1f8f4bd33716a-c532cb4098ac3dd2-01'*/");
        assert!(tags.starts_with("/*action='") && tags.contains("%20") && tags.contains("',traceparent='"), "{tags}");
        assert!(!tags.contains("alice") && !tags.contains("5bd66ef5"), "{tags}");
        let hints = redacted("/*+ MAX_EXECUTION_TIME(4711) */");
        assert!(hints.starts_with("/*+ MAX_EXECUTION_TIME(") && !hints.contains("4711"), "{hints}");
    }
}
