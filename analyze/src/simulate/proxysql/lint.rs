//! What is remarkable about a rule set by itself.

use std::fmt;

use super::config::Config;
use super::digest::Digester;
use super::rule::Rule;
use super::spooky;

/// Something remarkable about rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// No rule leaves the flag that it waits for.
    Unreachable {
        /// The rule.
        rule: u32,
        /// Its flagIN.
        flag: u32,
    },
    /// An earlier rule takes everything that it would match.
    Shadowed {
        /// The rule.
        rule: u32,
        /// The earlier one.
        by: u32,
    },
    /// Both match a statement and send it to different places: their order decides.
    Order {
        /// The earlier rule, which decides.
        first: u32,
        /// The later one.
        second: u32,
        /// A statement that both match.
        statement: String,
    },
    /// It does nothing.
    Idle {
        /// The rule.
        rule: u32,
    },
}

impl Finding {
    /// True for what is right as long as it is meant so: in every rule set the order of some rules decides.
    pub fn is_remark(&self) -> bool {
        matches!(self, Finding::Order { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Unreachable { rule, flag } => {
                write!(f, "rule {rule} can never match: no rule leaves flag {flag}, which it waits for")
            }
            Finding::Shadowed { rule, by } => {
                write!(f, "rule {rule} can never match: rule {by} before it takes everything that it would")
            }
            Finding::Order { first, second, statement } => {
                write!(f, "the order of rules {first} and {second} decides: both match `{statement}`, and {first} wins")
            }
            Finding::Idle { rule } => write!(f, "rule {rule} does nothing: it names no hostgroup, no flag, nothing"),
        }
    }
}

/// Statements on which splitters are known to go wrong, to find pairs of rules whose order decides.
const SAMPLES: &[&str] = &[
    "SELECT a FROM t WHERE id = 1",
    "SELECT a FROM t WHERE id = 1 FOR UPDATE",
    "SELECT a FROM t WHERE id = 1 LOCK IN SHARE MODE",
    "SELECT a FROM t WHERE id = 1 FOR SHARE",
    "SELECT a FROM t INTO OUTFILE '/tmp/x'",
    "SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1",
    "SELECT FOUND_ROWS()",
    "SELECT LAST_INSERT_ID()",
    "SELECT GET_LOCK('a', 1)",
    "SELECT NEXTVAL(s)",
    "SELECT @a := 1",
    "/* c */ SELECT a FROM t",
    "(SELECT a FROM t) UNION (SELECT b FROM u)",
    "WITH q AS (SELECT 1) SELECT * FROM q",
    "INSERT INTO t (a) VALUES (1)",
    "INSERT INTO t SELECT a FROM u",
    "UPDATE t SET a = 1 WHERE id = 2",
    "DELETE FROM t WHERE id IN (SELECT id FROM u)",
    "REPLACE INTO t (a) VALUES (1)",
    "CALL p(1)",
    "SHOW TABLES",
    "SET NAMES utf8",
    "SET @a = 1",
    "BEGIN",
    "START TRANSACTION READ ONLY",
    "COMMIT",
    "CREATE TABLE t (a INT)",
    "LOCK TABLES t READ",
    "TRUNCATE TABLE t",
];

/// Everything remarkable about the active rules, in their order.
pub fn findings(config: &Config) -> Vec<Finding> {
    let active: Vec<&Rule> = config.rules.iter().filter(|rule| rule.active).collect();
    let mut findings = Vec::new();
    for (at, rule) in active.iter().enumerate() {
        let (before, iterates) = (active.get(..at).unwrap_or_default(), config.variables.iterations > 0);
        // A flag for the session's next statement counts from the first rule on.
        let leaves = |other: &&&Rule| {
            other.flag_out == Some(rule.flag_in) || other.flag_outs.iter().any(|&(flag, _)| flag == rule.flag_in)
        };
        let left = rule.flag_in == 0
            || (if iterates { &active[..] } else { before }).iter().any(|other| leaves(&other))
            || active.iter().any(|other| other.next_query_flag_in == Some(rule.flag_in));
        if !left {
            findings.push(Finding::Unreachable { rule: rule.id, flag: rule.flag_in });
            continue;
        }
        if let Some(by) = before.iter().find(|other| takes_all(other, rule)) {
            findings.push(Finding::Shadowed { rule: rule.id, by: by.id });
            continue;
        }
        if is_idle(rule) {
            findings.push(Finding::Idle { rule: rule.id });
        }
    }
    findings.extend(order(config, &active));
    findings
}

fn is_idle(rule: &Rule) -> bool {
    let acts = rule.destination.is_some()
        || rule.flag_out.is_some()
        || !rule.flag_outs.is_empty()
        || rule.replace_pattern.is_some()
        || rule.cache_ttl.is_some()
        || rule.next_query_flag_in.is_some()
        || rule.mirror.is_some()
        || rule.error_msg.is_some()
        || rule.ok_msg.is_some()
        || rule.multiplex.is_some()
        || rule.gtid_from.is_some();
    // One that only applies ends the search, which keeps later rules away.
    !acts && !rule.apply
}

/// Whether everything that `rule` would match matches `other`, which lets nothing through to it.
fn takes_all(other: &Rule, rule: &Rule) -> bool {
    let stops = other.apply || other.flag_out.is_some_and(|flag| flag != rule.flag_in);
    let wider = |wide: &Option<String>, narrow: &Option<String>| wide.is_none() || wide == narrow;
    stops
        && other.flag_in == rule.flag_in
        && wider(&other.username, &rule.username)
        && wider(&other.schemaname, &rule.schemaname)
        && covers_address(other.client_addr.as_deref(), rule.client_addr.as_deref())
        && wider(&other.proxy_addr, &rule.proxy_addr)
        && (other.proxy_port.is_none() || other.proxy_port == rule.proxy_port)
        && (other.digest.is_none() || other.digest == rule.digest)
        && covers(other, rule, |rule| rule.match_digest.as_ref().map(|pattern| pattern.as_str()))
        && covers(other, rule, |rule| rule.match_pattern.as_ref().map(|pattern| pattern.as_str()))
}

fn covers_address(wide: Option<&str>, narrow: Option<&str>) -> bool {
    match (wide, narrow) {
        (None, _) => true,
        (Some(wide), Some(narrow)) => match wide.find('%') {
            Some(end) => narrow.as_bytes().starts_with(&wide.as_bytes()[..end]),
            None => wide == narrow,
        },
        (Some(wide), None) => wide.starts_with('%'),
    }
}

/// Whether a pattern matches everything that another matches, as far as that shows: the same pattern, or `^text` and a pattern that begins
/// with `^text...`.
fn covers<'a>(other: &'a Rule, rule: &'a Rule, pattern: impl Fn(&'a Rule) -> Option<&'a str>) -> bool {
    let (Some(wide), narrow) = (pattern(other), pattern(rule)) else { return true };
    let Some(narrow) = narrow else { return false };
    let as_careful = other.caseless || !rule.caseless;
    if wide == narrow {
        return other.negate == rule.negate && as_careful;
    }
    if other.negate || rule.negate || !as_careful {
        return false;
    }
    let (Some((start, true)), Some((beginning, _))) = (literal_start(wide), literal_start(narrow)) else {
        return false;
    };
    let (start, beginning) = match other.caseless {
        true => (start.to_ascii_lowercase(), beginning.to_ascii_lowercase()),
        false => (start, beginning),
    };
    beginning.starts_with(&start)
}

/// The plain text with which everything begins that a pattern matches, and whether the pattern asks for nothing more.
fn literal_start(pattern: &str) -> Option<(String, bool)> {
    let rest = pattern.strip_prefix('^')?;
    // An alternative outside of parentheses would begin otherwise.
    let mut depth = 0;
    let mut escaped = false;
    for c in rest.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '|' if depth == 0 => return None,
            _ => {}
        }
    }
    let mut text = String::new();
    for (at, c) in rest.char_indices() {
        if "\\.[](){}*+?|^$".contains(c) {
            // What may repeat or be left out is not certain to be there.
            if matches!(c, '*' | '?' | '{') {
                text.pop();
            }
            let rest = rest.get(at..).unwrap_or_default();
            return Some((text, rest == ".*"));
        }
        text.push(c);
    }
    Some((text, true))
}

/// Pairs of rules that both match a sample and send it to different places.
fn order(config: &Config, active: &[&Rule]) -> Vec<Finding> {
    let mut digester = Digester::new(config.variables.digest);
    let mut findings: Vec<Finding> = Vec::new();
    for sample in SAMPLES {
        let digest = digester.digest(sample.as_bytes()).0.to_vec();
        let mut matching = active.iter().filter(|rule| matches(rule, sample.as_bytes(), &digest));
        // The first that sends it somewhere and ends the search; others with the same flag and session would send it elsewhere.
        let Some(first) = matching.find(|rule| rule.apply && rule.destination.is_some()) else { continue };
        for second in matching.filter(|second| second.destination.is_some_and(|group| Some(group) != first.destination))
        {
            let meet = |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
            let together = first.flag_in == second.flag_in
                && meet(&first.username, &second.username)
                && meet(&first.schemaname, &second.schemaname)
                && meet(&first.client_addr, &second.client_addr);
            let known = findings.iter().any(|finding| {
                matches!(finding, Finding::Order { first: a, second: b, .. } if (*a, *b) == (first.id, second.id))
            });
            if together && !known && !takes_all(first, second) {
                findings.push(Finding::Order { first: first.id, second: second.id, statement: (*sample).to_owned() });
            }
        }
    }
    findings
}

/// Whether a rule's patterns match, its session aside.
fn matches(rule: &Rule, sql: &[u8], digest: &[u8]) -> bool {
    let matched = |pattern: &Option<super::pattern::Pattern>, text: &[u8]| {
        pattern.as_ref().is_none_or(|pattern| pattern.is_match(text) != rule.negate)
    };
    rule.digest.is_none_or(|wanted| wanted == spooky::hash64(digest))
        && matched(&rule.match_digest, digest)
        && matched(&rule.match_pattern, sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_pattern() {
        for (pattern, expected) in [
            ("^SELECT", Some(("SELECT", true))),
            ("^SELECT.*FOR UPDATE$", Some(("SELECT", false))),
            ("^SELECT.*", Some(("SELECT", true))),
            ("^SELECTs? ", Some(("SELECT", false))),
            ("^(SELECT|SHOW)", Some(("", false))),
            ("^SELECT|^SHOW", None),
            ("SELECT", None),
        ] {
            let found = literal_start(pattern);
            assert_eq!(found.as_ref().map(|(text, all)| (text.as_str(), *all)), expected, "{pattern}");
        }
    }
}
