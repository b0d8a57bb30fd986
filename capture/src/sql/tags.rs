//! What an application says of a statement in a comment, as sqlcommenter writes it: `/*key='value',key='value'*/`.

use super::dialect::Dialect;
use super::literals::{Kind, pieces};

/// The tags of a text's comments, values decoded. A text without any is given up after one scan.
pub fn tags(sql: &str, dialect: Dialect) -> Vec<(String, String)> {
    let text = sql.as_bytes();
    if memchr::memmem::find(text, b"='").is_none() || memchr::memmem::find(text, b"/*").is_none() {
        return Vec::new();
    }
    let comments = pieces(text, dialect).into_iter().filter(|piece| piece.kind == Kind::Comment);
    let inner = comments.filter_map(|piece| text.get(piece.start..piece.end)?.strip_prefix(b"/*")?.strip_suffix(b"*/"));
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    inner.filter_map(of_comment).flatten().map(|(key, value)| (shown(key), shown(&value))).collect()
}

/// The tags in the inner of a comment: all of it are tags, or none.
pub(crate) fn of_comment(inner: &[u8]) -> Option<Vec<(&[u8], Vec<u8>)>> {
    let tags = inner.trim_ascii().split(|&byte| byte == b',').map(|tag| {
        let tag = tag.trim_ascii();
        let equals = tag.iter().position(|&byte| byte == b'=')?;
        let (key, value) = (tag.get(..equals)?, tag.get(equals + 1..)?);
        let value = value.strip_prefix(b"'")?.strip_suffix(b"'")?;
        let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let form = !key.is_empty() && key.len() <= 40 && key.iter().all(is_key) && !value.contains(&b'\'');
        form.then(|| (key, decoded(value)))
    });
    tags.collect()
}

/// Percent-encoding undone.
fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|&byte| char::from(byte).to_digit(16));
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        match (byte, digit(after.first()), digit(after.get(1))) {
            (b'%', Some(high), Some(low)) => {
                out.push((high << 4 | low) as u8);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(byte);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_from_comments_that_hold_nothing_else() {
        let of = |sql: &str| tags(sql, Dialect::Postgresql);
        let tag = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            of("SELECT 1 /*controller='orders',route='%2Fv1%2Forders'*/"),
            [tag("controller", "orders"), tag("route", "/v1/orders")]
        );
        assert_eq!(of("/* a='b' */ SELECT 'c=''d'"), [tag("a", "b")]);
        for sql in
            ["SELECT '/*a=''b''*/'", "SELECT 1 /* a='b' and more */", "SELECT a='b' /**/", "/*='b'*/", "SELECT 1"]
        {
            assert_eq!(of(sql), [], "{sql}");
        }
    }
}
