//! What the readers of TOML, YAML and JSON say, in words for the one who wrote the file.

/// The sentence of a reader, without the words of the program's inside (variants, structs, mappings) and with what to do.
pub fn plain(message: &str) -> String {
    let message = message.trim();
    if let Some((found, known)) = message.split_once(", expected ") {
        for (theirs, ours) in [("unknown field", "unknown field"), ("unknown variant", "unknown value")] {
            if let Some(name) = found.strip_prefix(theirs) {
                return format!("{ours}{name}: use {known}");
            }
        }
        let found = found.strip_prefix("invalid type: ").or_else(|| found.strip_prefix("invalid value: "));
        if let Some(found) = found {
            return format!("expected {}, found {found}", wanted(known));
        }
    }
    if message.starts_with("missing field ") {
        return format!("{message}: add it");
    }
    if let Some(rest) = message.strip_prefix("duplicate mapping key: ") {
        let key = rest.split(", set ").next().unwrap_or(rest);
        return format!("`{key}` stands here twice: keep one of them");
    }
    if let Some(rest) = message.strip_prefix("non-finite float ") {
        let number = rest.split(" rejected").next().unwrap_or(rest);
        return format!("{number} is too large for a number");
    }
    if message.starts_with("data did not match any variant") {
        return "this value has a form that is not known here".to_owned();
    }
    match message {
        "expected mapping start" => "expected fields, each as `name: value`".to_owned(),
        "expected sequence start" => "expected a list".to_owned(),
        "unexpected end of input" | "unexpected end of file" => "the text ends where a value is expected".to_owned(),
        "string values must be quoted, expected literal string" => {
            "a value is missing, or text is not in quotes".to_owned()
        }
        _ => match message.strip_prefix("invalid ").filter(|word| is_number(word)) {
            Some(_) => "expected a whole number".to_owned(),
            None => message.to_owned(),
        },
    }
}

fn wanted(known: &str) -> &str {
    match known {
        known if known.starts_with("struct ") || known == "a map" => "fields and their values",
        "a sequence" => "a list",
        known if is_number(known) => "a whole number",
        known => known,
    }
}

/// The name of a type of whole numbers.
fn is_number(word: &str) -> bool {
    word.strip_prefix(['u', 'i']).is_some_and(|bits| matches!(bits, "8" | "16" | "32" | "64" | "128" | "size"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_say_what_to_do_and_not_how_the_program_is_built() {
        for (theirs, ours) in [
            ("unknown field `save`, expected one of `sql`, `safe`", "unknown field `save`: use one of `sql`, `safe`"),
            (
                "unknown variant `slave`, expected `primary` or `replica`",
                "unknown value `slave`: use `primary` or `replica`",
            ),
            ("missing field `role`", "missing field `role`: add it"),
            ("invalid type: integer `5`, expected a string", "expected a string, found integer `5`"),
            ("invalid type: integer `5`, expected struct Case", "expected fields and their values, found integer `5`"),
            ("invalid u32", "expected a whole number"),
            ("expected mapping start", "expected fields, each as `name: value`"),
            ("duplicate mapping key: a, set DuplicateKeyPolicy in Options", "`a` stands here twice: keep one of them"),
            ("something else", "something else"),
        ] {
            assert_eq!(plain(theirs), ours);
        }
    }
}
