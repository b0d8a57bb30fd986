//! Rules on the text of a statement, as ProxySQL's `mysql_query_rules`.
//!
//! Rules are tried in order. A rule that matches sets the destination, if it has one; with `apply`, which is the
//! default, no later rule is tried. Case does not count, and a pattern matches anywhere unless it is anchored.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Deserializer};

use super::config::Place;
use super::text::Text;

/// One rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What it is for; shown in the decision log.
    #[serde(default)]
    pub name: Option<String>,
    /// Which text the pattern is tried on.
    #[serde(default, rename = "match")]
    pub subject: Subject,
    /// The pattern.
    #[serde(deserialize_with = "pattern")]
    pub pattern: Regex,
    /// Matches the texts that the pattern does not match.
    #[serde(default)]
    pub negate: bool,
    /// Where a statement that matches goes.
    #[serde(default)]
    pub destination: Option<Place>,
    /// Whether the rules after it are not tried when it matches.
    #[serde(default = "yes")]
    pub apply: bool,
}

/// Which text a pattern is tried on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// The text without literals, with white space collapsed and comments taken out (ProxySQL's `match_digest`).
    #[default]
    Digest,
    /// The text as it was sent (ProxySQL's `match_pattern`).
    Text,
}

fn yes() -> bool {
    true
}

fn pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Regex, D::Error> {
    let pattern = String::deserialize(deserializer)?;
    RegexBuilder::new(&pattern).case_insensitive(true).build().map_err(serde::de::Error::custom)
}

/// Where the rules send a text, and which rule said so.
pub fn decide(rules: &[Rule], default: Place, text: &Text) -> (Place, String) {
    let mut decided = (default, "no rule matches".to_owned());
    for (index, rule) in rules.iter().enumerate() {
        let subject = match rule.subject {
            Subject::Digest => text.digest(),
            Subject::Text => &text.sql,
        };
        if rule.pattern.is_match(subject) == rule.negate {
            continue;
        }
        if let Some(destination) = rule.destination {
            let name = rule.name.clone().unwrap_or_else(|| rule.pattern.as_str().to_owned());
            decided = (destination, format!("rule {}: {name}", index + 1));
        }
        if rule.apply {
            break;
        }
    }
    decided
}

#[cfg(test)]
mod tests {
    use super::super::node::Engine;
    use super::super::text::Texts;
    use super::*;

    fn place(rules: &str, sql: &str) -> Place {
        let rules: Vec<Rule> = serde_saphyr::from_str(rules).unwrap();
        decide(&rules, Place::Primary, &Texts::new(Engine::Postgresql).get(sql)).0
    }

    #[test]
    fn the_first_rule_that_applies_decides() {
        let right =
            "[{ pattern: '^SELECT.*FOR UPDATE', destination: primary }, { pattern: '^SELECT', destination: replica }]";
        let wrong =
            "[{ pattern: '^SELECT', destination: replica }, { pattern: '^SELECT.*FOR UPDATE', destination: primary }]";
        let sql = "select id\nfrom t for  update";
        assert_eq!((place(right, sql), place(wrong, sql)), (Place::Primary, Place::Replica));
        assert_eq!(place(right, "SELECT 1"), Place::Replica);
        assert_eq!(place(right, "UPDATE t SET a = 1"), Place::Primary);
    }

    #[test]
    fn a_rule_without_apply_lets_later_ones_speak() {
        let rules =
            "[{ pattern: '^SELECT', destination: replica, apply: false }, { pattern: orders, destination: primary }]";
        assert_eq!(place(rules, "SELECT 1 FROM orders"), Place::Primary);
        assert_eq!(place(rules, "SELECT 1 FROM users"), Place::Replica);
    }

    #[test]
    fn negation_and_the_text_as_sent() {
        let rules = "[{ match: text, pattern: '/\\* *report', negate: true, destination: replica }]";
        assert_eq!(place(rules, "/* report */ SELECT 1"), Place::Primary);
        assert_eq!(place(rules, "SELECT 1"), Place::Replica);
    }
}
