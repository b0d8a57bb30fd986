//! The regular expressions of query rules.
//!
//! `mysql-query_processor_regex` chooses the library: 1 is PCRE, which here is PCRE2; 2 is RE2, in whose place stands the `regex` crate.
//! `docs/models.md` lists how they differ.

use std::cell::Cell;

/// What `mysql-query_processor_regex` names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Library {
    /// 1, the default.
    #[default]
    Pcre,
    /// 2
    Re2,
}

/// A compiled pattern.
pub struct Pattern {
    text: String,
    kind: Kind,
    /// Texts on which the library gave up, which ProxySQL takes for no match.
    gave_up: Cell<u64>,
}

enum Kind {
    Pcre(Box<pcre2::bytes::Regex>),
    Re2(regex::bytes::Regex),
}

impl Pattern {
    /// Compiles a pattern; the error says what is wrong with it, and where.
    pub fn new(text: &str, library: Library, caseless: bool) -> Result<Self, String> {
        let kind = match library {
            Library::Pcre => {
                let built = pcre2::bytes::RegexBuilder::new().caseless(caseless).jit_if_available(true).build(text);
                Kind::Pcre(Box::new(built.map_err(|error| match error.offset() {
                    Some(offset) => format!("{} at character {offset}", strip(&error.to_string())),
                    None => strip(&error.to_string()),
                })?))
            }
            Library::Re2 => {
                let built = regex::bytes::RegexBuilder::new(text).case_insensitive(caseless).unicode(false).build();
                Kind::Re2(built.map_err(|error| last_line(&error.to_string()))?)
            }
        };
        Ok(Pattern { text: text.to_owned(), kind, gave_up: Cell::new(0) })
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// How often the library gave up.
    pub fn gave_up(&self) -> u64 {
        self.gave_up.get()
    }

    /// Whether it matches anywhere in a text.
    pub fn is_match(&self, text: &[u8]) -> bool {
        match &self.kind {
            Kind::Pcre(regex) => regex.is_match(text).unwrap_or_else(|_| {
                self.gave_up.set(self.gave_up.get() + 1);
                false
            }),
            Kind::Re2(regex) => regex.is_match(text),
        }
    }

    /// The text with the first match replaced, or all of them; `\1` stands for what the first parenthesis matched, `\0` for the match.
    /// `None` when nothing matches.
    pub fn replace(&self, text: &[u8], by: &str, all: bool) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let mut from = 0;
        let mut end = 0;
        let mut found = false;
        while from <= text.len() {
            let groups = self.groups_at(text, from)?.filter(|groups| !groups.is_empty());
            let Some(&Some((start, stop))) = groups.as_ref().and_then(|groups| groups.first()) else { break };
            found = true;
            out.extend_from_slice(text.get(end..start).unwrap_or_default());
            fill(&mut out, by, text, &groups.unwrap_or_default());
            end = stop;
            if !all {
                break;
            }
            from = if stop == start { stop + 1 } else { stop };
        }
        out.extend_from_slice(text.get(end..).unwrap_or_default());
        found.then_some(out)
    }

    /// Where the groups of the first match from a place on lie; the outer `None` when the library gave up.
    #[allow(clippy::type_complexity)]
    fn groups_at(&self, text: &[u8], from: usize) -> Option<Option<Vec<Option<(usize, usize)>>>> {
        match &self.kind {
            Kind::Pcre(regex) => {
                let mut places = regex.capture_locations();
                let found = match regex.captures_read_at(&mut places, text, from) {
                    Ok(found) => found,
                    Err(_) => {
                        self.gave_up.set(self.gave_up.get() + 1);
                        return None;
                    }
                };
                Some(found.map(|_| (0..places.len()).map(|group| places.get(group)).collect()))
            }
            Kind::Re2(regex) => {
                let mut places = regex.capture_locations();
                let found = regex.captures_read_at(&mut places, text, from);
                Some(found.map(|_| (0..places.len()).map(|group| places.get(group)).collect()))
            }
        }
    }
}

/// Writes a replacement.
fn fill(out: &mut Vec<u8>, by: &str, text: &[u8], groups: &[Option<(usize, usize)>]) {
    let mut bytes = by.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(digit @ b'0'..=b'9') => {
                let group = groups.get(usize::from(digit - b'0')).copied().flatten();
                out.extend(group.and_then(|(start, end)| text.get(start..end)).unwrap_or_default());
            }
            Some(other) => out.push(other),
            None => out.push(b'\\'),
        }
    }
}

fn strip(message: &str) -> String {
    let message = message.strip_prefix("PCRE2: ").unwrap_or(message);
    let message = message
        .split_once(": ")
        .filter(|(head, _)| head.starts_with("error compiling"))
        .map_or(message, |(_, rest)| rest);
    message.to_owned()
}

/// The `regex` crate draws the place below; the last line says what is wrong.
fn last_line(message: &str) -> String {
    let last = message.lines().last().unwrap_or(message).trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_libraries_match_anywhere_and_ignore_case_when_asked() {
        for library in [Library::Pcre, Library::Re2] {
            let pattern = |text: &str, caseless| Pattern::new(text, library, caseless).unwrap();
            assert!(pattern("^select", true).is_match(b"SELECT 1"));
            assert!(!pattern("^select", false).is_match(b"SELECT 1"));
            assert!(pattern("for update", true).is_match(b"SELECT 1 FOR UPDATE"));
            assert!(!pattern("^SELECT.*FOR UPDATE$", true).is_match(b"SELECT 1\nFOR UPDATE"), "a dot is no line end");
            let replaced = pattern("(t)(\\d)", true).replace(b"t1 t2", "\\2\\1", true).unwrap();
            assert_eq!(replaced, b"1t 2t");
            assert_eq!(pattern("t(\\d)", true).replace(b"t1 t2", "x\\1", false).unwrap(), b"x1 t2");
            assert_eq!(pattern("zz", true).replace(b"t1", "", true), None);
            assert_eq!(pattern("", true).replace(b"ab", "-", true).unwrap(), b"-a-b-");
        }
    }

    #[test]
    fn only_pcre_looks_around() {
        let pattern = Pattern::new("^SELECT(?!.*FOR UPDATE)", Library::Pcre, true).unwrap();
        assert!(pattern.is_match(b"SELECT 1") && !pattern.is_match(b"SELECT 1 FOR UPDATE"));
        let error = Pattern::new("^SELECT(?!.*FOR UPDATE)", Library::Re2, true).err().unwrap();
        assert!(error.contains("look-around"), "{error}");
    }

    #[test]
    fn a_wrong_pattern_says_what_is_wrong() {
        for library in [Library::Pcre, Library::Re2] {
            for text in ["(", "[a", "a**(?<"] {
                let error = Pattern::new(text, library, true).err().unwrap();
                assert!(!error.is_empty() && error.lines().count() == 1, "{error}");
            }
        }
    }

    #[test]
    fn a_match_that_would_never_end_counts_as_none() {
        let pattern = Pattern::new("(a+)+$", Library::Pcre, true).unwrap();
        let text = [vec![b'a'; 64], b"!".to_vec()].concat();
        assert!(!pattern.is_match(&text));
    }
}
