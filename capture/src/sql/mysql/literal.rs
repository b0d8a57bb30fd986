//! What a literal or a quoted name says.

use super::Mode;

/// The content of a string token: quotes and `N` taken away, escapes undone.
pub(in crate::sql) fn string_value(token: &[u8], mode: &Mode) -> Vec<u8> {
    let token = match token {
        [b'N' | b'n', rest @ ..] => rest,
        token => token,
    };
    let Some((&quote, rest)) = token.split_first() else { return Vec::new() };
    let inner = rest.strip_suffix(&[quote]).unwrap_or(rest);
    let mut value = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && !mode.no_backslash_escapes {
            match bytes.next() {
                Some(b'n') => value.push(b'\n'),
                Some(b't') => value.push(b'\t'),
                Some(b'r') => value.push(b'\r'),
                Some(b'0') => value.push(0),
                Some(b'b') => value.push(8),
                Some(b'Z') => value.push(0x1a),
                // These two keep their backslash, for LIKE.
                Some(wildcard @ (b'%' | b'_')) => value.extend([b'\\', wildcard]),
                Some(other) => value.push(other),
                None => value.push(byte),
            }
        } else {
            if byte == quote {
                bytes.next();
            }
            value.push(byte);
        }
    }
    value
}

/// The name of a quoted identifier: quotes taken away, doubled quotes undone.
pub(super) fn name(token: &[u8]) -> Vec<u8> {
    let Some((&quote, rest)) = token.split_first() else { return Vec::new() };
    let inner = rest.strip_suffix(&[quote]).unwrap_or(rest);
    let mut value = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == quote {
            bytes.next();
        }
        value.push(byte);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read_by_their_mode() {
        let mode = Mode::default();
        assert_eq!(string_value(b"'a''b\\'c\\n\\%'", &mode), b"a'b'c\n\\%");
        assert_eq!(string_value(b"\"a'b\"\"\"", &mode), b"a'b\"");
        assert_eq!(string_value(b"N'a'", &mode), b"a");
        assert_eq!(string_value(b"'a\\", &mode), b"a\\");
        let plain = Mode { no_backslash_escapes: true, ..mode };
        assert_eq!(string_value(b"'a\\n'", &plain), b"a\\n");
        assert_eq!(string_value(b"", &mode), b"");
    }

    #[test]
    fn names_lose_their_quotes() {
        assert_eq!(name(b"`a``b`"), b"a`b");
        assert_eq!(name(b"\"a\""), b"a");
        assert_eq!(name(b"`"), b"");
    }
}
