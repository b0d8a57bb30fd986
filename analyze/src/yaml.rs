//! Reading YAML files that people write.

use serde::de::DeserializeOwned;

/// Reads a text. The error is one sentence with the place.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| sentence(&error.to_string()))
}

/// The reader draws the line with a caret below; the place and the reason are enough.
fn sentence(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let placed = first.strip_prefix("line ").and_then(|rest| rest.split_once(" column ")).and_then(|(line, rest)| {
        let (column, reason) = rest.split_once(": ")?;
        Some((line, column, reason))
    });
    let placed = placed.or_else(|| {
        let (reason, place) = first.rsplit_once(" at line ")?;
        let (line, column) = place.split_once(", column ")?;
        Some((line, column, reason))
    });
    match placed {
        Some((line, column, reason)) => format!("line {line}, column {column}: {}", splitproof_capture::plain(reason)),
        None => splitproof_capture::plain(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_one_sentence_with_a_place() {
        let fails = |text: &str| read::<std::collections::BTreeMap<String, u32>>(text).unwrap_err();
        assert_eq!(fails("a: 1\nb: x"), "line 2, column 4: expected a whole number");
        assert_eq!(fails("a: 1\na: 2"), "line 2, column 1: `a` stands here twice: keep one of them");
        assert_eq!(fails("- a"), "line 1, column 1: expected fields, each as `name: value`");
        for text in ["a: [", "\0", "a: \"b"] {
            assert_eq!(fails(text).lines().count(), 1, "{}", fails(text));
        }
    }
}
