//! Lists in `pgpool.conf`.

use regex::{Regex, RegexBuilder};

/// A list of patterns, each of which has to match the whole text, in any case.
#[derive(Debug, Default)]
pub struct Patterns(Vec<(String, Regex)>);

impl Patterns {
    /// Patterns between separators; a separator behind a backslash belongs to its pattern.
    pub fn read(text: &str, separator: char) -> Result<Self, String> {
        let mut patterns = Vec::new();
        for pattern in split(text, separator) {
            let whole = format!("^(?:{})$", pattern.trim_start_matches('^').trim_end_matches('$'));
            let regex = RegexBuilder::new(&whole).case_insensitive(true).dot_matches_new_line(true).build();
            let problem = |error: regex::Error| {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or(&text).trim();
                format!("`{pattern}`: {}", last.strip_prefix("error: ").unwrap_or(last))
            };
            patterns.push((pattern.clone(), regex.map_err(problem)?));
        }
        Ok(Patterns(patterns))
    }

    /// True when there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one matches.
    pub fn has(&self, text: &str) -> bool {
        self.find(text).is_some()
    }

    /// The first that matches.
    pub fn find(&self, text: &str) -> Option<&str> {
        self.0.iter().find(|(_, regex)| regex.is_match(text)).map(|(pattern, _)| pattern.as_str())
    }
}

fn split(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let Some(part) = parts.last_mut() else { break };
        if character == '\\' && characters.peek() == Some(&separator) {
            part.extend(characters.next());
        } else if character == separator {
            parts.push(String::new());
        } else {
            part.push(character);
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// Whom a preference list sends somewhere.
#[derive(Debug)]
pub struct Preference {
    /// As it was written.
    pub text: String,
    /// Users, databases or applications.
    pub who: Patterns,
    /// Where to.
    pub node: Preferred,
    /// The share of sessions, from 0 to 1.
    pub ratio: f64,
}

/// Where a preference list sends sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preferred {
    /// The primary.
    Primary,
    /// Any standby.
    Standby,
    /// A backend by its number.
    Number(usize),
}

/// Reads `name:node(ratio),...`.
pub fn preferences(text: &str) -> Result<Vec<Preference>, String> {
    split(text, ',').into_iter().map(|entry| preference(&entry)).collect()
}

fn preference(entry: &str) -> Result<Preference, String> {
    let wrong =
        || format!("`{entry}`: write `name:node` or `name:node(ratio)`, where node is primary, standby or a number");
    let (name, rest) = entry.rsplit_once(':').ok_or_else(wrong)?;
    let (node, ratio) = match rest.split_once('(') {
        Some((node, ratio)) => {
            let ratio: f64 = ratio.strip_suffix(')').and_then(|ratio| ratio.trim().parse().ok()).ok_or_else(wrong)?;
            (node, ratio)
        }
        None => (rest, 1.0),
    };
    if !(0.0..=1.0).contains(&ratio) {
        return Err(format!("`{entry}`: the ratio is from 0 to 1"));
    }
    let node = match node.trim() {
        "primary" => Preferred::Primary,
        "standby" => Preferred::Standby,
        number => Preferred::Number(number.parse().map_err(|_| wrong())?),
    };
    Ok(Preference { text: entry.to_owned(), who: Patterns::read(name, '\0')?, node, ratio })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_the_whole_text_in_any_case() {
        let list = Patterns::read("get_.*, count ,public\\.f", ',').unwrap();
        assert!(list.has("GET_user") && list.has("count") && list.has("public.f"));
        assert!(!list.has("counts") && !list.has("my_get_x"));
        let queries = Patterns::read("select 1;.*x\\;y.*", ';').unwrap();
        assert!(queries.has("SELECT 1") && queries.has("a x;y b"));
        assert!(Patterns::read("(", ',').unwrap_err().contains("`(`"));
    }

    #[test]
    fn preferences_name_node_and_share() {
        let list = preferences("postgres:primary, test.*:standby(0.5),x:2").unwrap();
        assert_eq!(
            list.iter().map(|entry| entry.node).collect::<Vec<_>>(),
            [Preferred::Primary, Preferred::Standby, Preferred::Number(2)]
        );
        assert_eq!(list[1].ratio, 0.5);
        assert!(list[1].who.has("test1"));
        for text in ["x", "x:y", "x:1(2)", "x:1(a"] {
            assert!(preferences(text).is_err(), "{text}");
        }
    }
}
