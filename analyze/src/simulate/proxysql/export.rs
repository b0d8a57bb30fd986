//! The rules as a script for ProxySQL's admin interface, in the order in which they are tried.

use std::fmt::Write;

use super::config::Config;
use super::rule::Rule;

/// The script. It replaces every rule, loads them, and saves them, so that runtime and disk agree.
pub fn script(config: &Config) -> String {
    let mut out = String::new();
    let active = config.rules.iter().filter(|rule| rule.active).count();
    let _ =
        writeln!(out, "-- {} rules, {active} of them active, in the order in which they are tried", config.rules.len());
    for rule in &config.rules {
        let _ = writeln!(out, "--   {}: {}", rule.id, rule.text().replace(['\n', '\r'], " "));
    }
    out.push_str("DELETE FROM mysql_query_rules;\n");
    for rule in &config.rules {
        let cells = cells(rule);
        let columns: Vec<&str> = cells.iter().map(|(column, _)| *column).collect();
        let values: Vec<&str> = cells.iter().map(|(_, value)| value.as_str()).collect();
        let _ = writeln!(out, "INSERT INTO mysql_query_rules ({}) VALUES ({});", columns.join(","), values.join(","));
    }
    out.push_str("LOAD MYSQL QUERY RULES TO RUNTIME;\nSAVE MYSQL QUERY RULES TO DISK;\n");
    out
}

fn cells(rule: &Rule) -> Vec<(&str, String)> {
    let mut cells = vec![("rule_id", rule.id.to_string()), ("active", u8::from(rule.active).to_string())];
    let mut text = |column: &'static str, value: Option<&str>| {
        cells.extend(value.map(|value| (column, format!("'{}'", value.replace('\'', "''")))));
    };
    text("username", rule.username.as_deref());
    text("schemaname", rule.schemaname.as_deref());
    text("client_addr", rule.client_addr.as_deref());
    text("proxy_addr", rule.proxy_addr.as_deref());
    text("match_digest", rule.match_digest.as_ref().map(|pattern| pattern.as_str()));
    text("match_pattern", rule.match_pattern.as_ref().map(|pattern| pattern.as_str()));
    text("replace_pattern", rule.replace_pattern.as_deref());
    text("error_msg", rule.error_msg.as_deref());
    text("OK_msg", rule.ok_msg.as_deref());
    text("comment", rule.comment.as_deref());
    let digest = rule.digest.map(|digest| format!("0x{digest:016X}"));
    text("digest", digest.as_deref());
    let modifiers = match (rule.caseless, rule.global) {
        (true, true) => "CASELESS,GLOBAL",
        (true, false) => "CASELESS",
        (false, true) => "GLOBAL",
        (false, false) => "",
    };
    text("re_modifiers", Some(modifiers));
    if !rule.flag_outs.is_empty() {
        let list: Vec<_> =
            rule.flag_outs.iter().map(|(id, weight)| serde_json::json!({ "id": id, "weight": weight })).collect();
        text("attributes", Some(&serde_json::json!({ "flagOUTs": list }).to_string()));
    }
    for (column, value) in &rule.rest {
        cells.push((column, format!("'{}'", value.replace('\'', "''"))));
    }
    let mut number =
        |column: &'static str, value: Option<u64>| cells.extend(value.map(|value| (column, value.to_string())));
    number("flagIN", Some(rule.flag_in.into()));
    number("proxy_port", rule.proxy_port.map(u64::from));
    number("negate_match_pattern", Some(rule.negate.into()));
    number("flagOUT", rule.flag_out.map(u64::from));
    number("destination_hostgroup", rule.destination.map(u64::from));
    number("cache_ttl", rule.cache_ttl);
    number("next_query_flagIN", rule.next_query_flag_in.map(u64::from));
    number("mirror_hostgroup", rule.mirror.map(u64::from));
    number("multiplex", rule.multiplex.map(u64::from));
    number("gtid_from_hostgroup", rule.gtid_from.map(u64::from));
    number("apply", Some(rule.apply.into()));
    cells
}
