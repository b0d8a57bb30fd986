//! Two states of a configuration: at runtime, on disk, in the configuration file.

use std::collections::BTreeSet;

use super::config::Config;

/// What differs, one line each: what `first` has and `second` has not, or has otherwise.
pub fn differences(first: (&str, &Config), second: (&str, &Config)) -> Vec<String> {
    let (a_name, a) = first;
    let (b_name, b) = second;
    let mut lines = Vec::new();
    let ids: BTreeSet<u32> = a.rules.iter().chain(&b.rules).map(|rule| rule.id).collect();
    for id in ids {
        let rule = |config: &Config| config.rules.iter().find(|rule| rule.id == id).map(super::rule::Rule::text);
        match (rule(a), rule(b)) {
            (Some(text), None) => lines.push(format!("rule {id} is only in {a_name}: {text}")),
            (None, Some(text)) => lines.push(format!("rule {id} is only in {b_name}: {text}")),
            (Some(one), Some(other)) if one != other => {
                lines.push(format!("rule {id} differs: {one} in {a_name}, and {other} in {b_name}"));
            }
            _ => {}
        }
    }
    let has = |config: &Config, table: &str| config.tables.iter().any(|known| known == table);
    if has(a, "mysql_users") && has(b, "mysql_users") {
        let names: BTreeSet<&String> = a.users.keys().chain(b.users.keys()).collect();
        for name in names {
            if a.users.get(name) != b.users.get(name) {
                lines.push(format!("user {name} differs between {a_name} and {b_name}"));
            }
        }
    }
    if has(a, "mysql_query_rules_fast_routing") && has(b, "mysql_query_rules_fast_routing") && a.fast != b.fast {
        lines.push(format!("mysql_query_rules_fast_routing differs between {a_name} and {b_name}"));
    }
    if has(a, "global_variables") && has(b, "global_variables") && a.variables != b.variables {
        lines.push(format!("variables that decide how rules are read differ between {a_name} and {b_name}"));
    }
    lines
}
