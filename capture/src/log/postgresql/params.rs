//! Parameters as a log writes them.

use crate::trace::Param;

/// Reads `parameters: $1 = 'it''s', $2 = NULL`, also with a capital as since version 17. A log has the text form of each value
/// and not its type. `None` where the text is not of that form to its end: it was cut.
pub(super) fn params(detail: &[u8]) -> Option<Vec<Param>> {
    let mut rest = detail.strip_prefix(b"parameters: ").or_else(|| detail.strip_prefix(b"Parameters: "))?;
    let mut params = Vec::new();
    loop {
        let number = format!("${} = ", params.len() + 1);
        rest = rest.strip_prefix(number.as_bytes())?;
        let value;
        (value, rest) = one(rest)?;
        params.push(Param { type_id: 0, binary: false, value });
        match rest {
            [] => return Some(params),
            _ => rest = rest.strip_prefix(b", ")?,
        }
    }
}

type Value = Option<Box<[u8]>>;

/// A value, and what follows it. Of the quotes in it only `'` is doubled.
fn one(text: &[u8]) -> Option<(Value, &[u8])> {
    if let Some(rest) = text.strip_prefix(b"NULL") {
        return Some((None, rest));
    }
    let mut rest = text.strip_prefix(b"'")?;
    let mut value = Vec::new();
    loop {
        let end = memchr::memchr(b'\'', rest)?;
        value.extend_from_slice(rest.get(..end)?);
        rest = rest.get(end + 1..)?;
        match rest.strip_prefix(b"'") {
            Some(after) => {
                value.push(b'\'');
                rest = after;
            }
            None => return Some((Some(value.into()), rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(detail: &str) -> Option<Vec<Option<String>>> {
        let text = |value: Box<[u8]>| String::from_utf8_lossy(&value).into_owned();
        Some(params(detail.as_bytes())?.into_iter().map(|param| param.value.map(text)).collect())
    }

    fn some(values: &[Option<&str>]) -> Option<Vec<Option<String>>> {
        Some(values.iter().map(|value| value.map(str::to_owned)).collect())
    }

    #[test]
    fn values_nulls_and_what_only_looks_like_them() {
        assert_eq!(read("parameters: $1 = 'it''s', $2 = NULL, $3 = ''"), some(&[Some("it's"), None, Some("")]));
        assert_eq!(read("Parameters: $1 = 'NULL'"), some(&[Some("NULL")]));
        assert_eq!(read("parameters: $1 = 'a'', $2 = ''b\n\tc'"), some(&[Some("a', $2 = 'b\n\tc")]));
        assert_eq!(
            read("parameters: $1 = '[\"2020-01-01\",\"2020-02-01\"]'"),
            some(&[Some("[\"2020-01-01\",\"2020-02-01\"]")])
        );
    }

    #[test]
    fn what_is_cut_is_not_guessed() {
        for detail in
            ["parameters: $1 = 'a", "parameters: $1 = 'a', ", "parameters: $2 = 'a'", "prepare: PREPARE a", ""]
        {
            assert_eq!(read(detail), None, "{detail}");
        }
    }
}
