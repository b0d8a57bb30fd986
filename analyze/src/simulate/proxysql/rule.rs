//! One query rule.

use super::pattern::{Library, Pattern};
use super::row::Row;
use crate::simulate::Error;

/// A row of `mysql_query_rules`.
pub struct Rule {
    /// `rule_id`; rules are tried in its order.
    pub id: u32,
    /// Whether it is tried at all.
    pub active: bool,
    /// What the session must be like.
    pub username: Option<String>,
    /// The current database.
    pub schemaname: Option<String>,
    /// The flag that the earlier rules must have left.
    pub flag_in: u32,
    /// The client's address; with `%`, its beginning.
    pub client_addr: Option<String>,
    /// ProxySQL's own address.
    pub proxy_addr: Option<String>,
    /// ProxySQL's own port.
    pub proxy_port: Option<u16>,
    /// The digest's hash.
    pub digest: Option<u64>,
    /// What the digest must match.
    pub match_digest: Option<Pattern>,
    /// What the text must match.
    pub match_pattern: Option<Pattern>,
    /// Inverts both.
    pub negate: bool,
    /// `re_modifiers` has GLOBAL.
    pub global: bool,
    /// `re_modifiers` has CASELESS.
    pub caseless: bool,
    /// The flag that it leaves.
    pub flag_out: Option<u32>,
    /// Flags that it leaves by lot, with their weights (`attributes`).
    pub flag_outs: Vec<(u32, u32)>,
    /// What replaces the match of `match_pattern`.
    pub replace_pattern: Option<String>,
    /// Where the statement goes.
    pub destination: Option<u32>,
    /// How long its answer is kept.
    pub cache_ttl: Option<u64>,
    /// The flag with which the session's next statement begins.
    pub next_query_flag_in: Option<u32>,
    /// A copy of the statement goes there.
    pub mirror: Option<u32>,
    /// The client gets this error instead.
    pub error_msg: Option<String>,
    /// The client gets this answer instead.
    pub ok_msg: Option<String>,
    /// 0 keeps the connection for the session, 1 gives it back, 2 ignores `@` in this statement.
    pub multiplex: Option<u32>,
    /// A replica must have this hostgroup's last transaction of the session.
    pub gtid_from: Option<u32>,
    /// Whether no later rule is tried.
    pub apply: bool,
    /// What it is for.
    pub comment: Option<String>,
    /// Other columns, which say nothing about where a statement goes.
    pub rest: Vec<(String, String)>,
    /// Where it stands in its file.
    pub line: usize,
}

/// Columns that change nothing about where a statement goes.
const WITHOUT_EFFECT: &[&str] = &[
    "cache_empty_result",
    "cache_timeout",
    "reconnect",
    "timeout",
    "retries",
    "delay",
    "mirror_flagout",
    "sticky_conn",
    "log",
    "hits",
    "regex",
];

impl Rule {
    /// Reads a row. Columns that are not known are added to `unknown`.
    pub fn read(row: &Row, library: Library, unknown: &mut Vec<String>) -> Result<Self, Error> {
        let id = row.number("rule_id")?.ok_or_else(|| row.wrong("it has no rule_id: number it"))?;
        let name = format!("rule {id}");
        let row = &row.named(&name);
        let modifiers = row.raw("re_modifiers").unwrap_or("CASELESS").to_ascii_uppercase();
        for word in modifiers.split([',', ' ']).filter(|word| !word.is_empty()) {
            if !matches!(word, "CASELESS" | "GLOBAL") {
                return Err(row
                    .wrong(format!("re_modifiers: `{word}` is not known; use CASELESS, GLOBAL or both with a comma")));
            }
        }
        let caseless = modifiers.contains("CASELESS");
        let pattern = |column: &str| match row.text(column) {
            Some(text) => {
                let built = Pattern::new(text, library, caseless);
                built.map(Some).map_err(|problem| row.wrong(format!("{column} `{text}`: {problem}")))
            }
            None => Ok(None),
        };
        let flag = |column: &str| row.flag(column);
        let mut rule = Rule {
            id,
            active: flag("active")?.unwrap_or(false),
            username: row.owned("username"),
            schemaname: row.owned("schemaname"),
            flag_in: row.number("flagin")?.unwrap_or(0),
            client_addr: row.owned("client_addr"),
            proxy_addr: row.owned("proxy_addr"),
            proxy_port: row.number("proxy_port")?,
            digest: digest(row)?,
            match_digest: pattern("match_digest")?,
            match_pattern: pattern("match_pattern")?,
            negate: flag("negate_match_pattern")?.unwrap_or(false),
            global: modifiers.contains("GLOBAL"),
            caseless,
            flag_out: row.number("flagout")?,
            flag_outs: flag_outs(row)?,
            replace_pattern: row.owned("replace_pattern"),
            destination: row.number("destination_hostgroup")?,
            cache_ttl: row.number("cache_ttl")?,
            next_query_flag_in: row.number("next_query_flagin")?,
            mirror: row.number("mirror_hostgroup")?,
            error_msg: row.owned("error_msg"),
            ok_msg: row.owned("ok_msg"),
            multiplex: row.number("multiplex")?,
            gtid_from: row.number("gtid_from_hostgroup")?,
            apply: flag("apply")?.unwrap_or(false),
            comment: row.owned("comment"),
            rest: Vec::new(),
            line: row.line,
        };
        if rule.replace_pattern.is_some() && rule.match_pattern.is_none() {
            return Err(row.wrong("replace_pattern: it replaces what match_pattern matches, and there is none"));
        }
        if rule.multiplex.is_some_and(|value| value > 2) {
            return Err(row.wrong("multiplex: use 0, 1 or 2"));
        }
        for (column, value) in row.unread() {
            if !WITHOUT_EFFECT.contains(&column) {
                unknown.push(format!("{name}: column {column}"));
            }
            if !matches!(column, "hits" | "regex") {
                rule.rest.push((column.to_owned(), value.to_owned()));
            }
        }
        Ok(rule)
    }

    /// Its name in decisions.
    pub fn name(&self) -> String {
        format!("rule {}", self.id)
    }

    /// What it asks for and does, on one line.
    pub fn text(&self) -> String {
        let mut asks = Vec::new();
        let mut ask = |name: &str, value: Option<String>| asks.extend(value.map(|value| format!("{name} {value}")));
        ask("flagIN", (self.flag_in != 0).then(|| self.flag_in.to_string()));
        ask("username", self.username.clone());
        ask("schemaname", self.schemaname.clone());
        ask("client_addr", self.client_addr.clone());
        ask("proxy_addr", self.proxy_addr.clone());
        ask("proxy_port", self.proxy_port.map(|port| port.to_string()));
        ask("digest", self.digest.map(|digest| format!("0x{digest:016X}")));
        let not = if self.negate { "not " } else { "" };
        let pattern =
            |pattern: &Option<Pattern>| pattern.as_ref().map(|pattern| format!("{not}`{}`", pattern.as_str()));
        ask("match_digest", pattern(&self.match_digest));
        ask("match_pattern", pattern(&self.match_pattern));
        if asks.is_empty() {
            asks.push("everything".to_owned());
        }
        let mut does = Vec::new();
        let mut act = |name: &str, value: Option<String>| does.extend(value.map(|value| format!("{name} {value}")));
        act("hostgroup", self.destination.map(|hostgroup| hostgroup.to_string()));
        act("flagOUT", self.flag_out.map(|flag| flag.to_string()));
        for (flag, weight) in &self.flag_outs {
            act("flagOUT", Some(format!("{flag} by weight {weight}")));
        }
        act("replace by", self.replace_pattern.as_ref().map(|by| format!("`{by}`")));
        act("error", self.error_msg.as_ref().map(|message| format!("`{message}`")));
        act("OK", self.ok_msg.as_ref().map(|message| format!("`{message}`")));
        act("mirror to", self.mirror.map(|hostgroup| hostgroup.to_string()));
        act("multiplex", self.multiplex.map(|value| value.to_string()));
        if self.apply {
            does.push("apply".to_owned());
        }
        if does.is_empty() {
            does.push("nothing".to_owned());
        }
        let inactive = if self.active { "" } else { " (inactive)" };
        format!("{}: {}{inactive}", asks.join(", "), does.join(", "))
    }
}

/// A hash, in hexadecimal with `0x`.
fn digest(row: &Row) -> Result<Option<u64>, Error> {
    let Some(text) = row.text("digest") else { return Ok(None) };
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let digest = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let problem = || {
        row.wrong(format!("digest: `{text}` is no digest; write it as in stats_mysql_query_digest: 0x1C46AE529DD5A40E"))
    };
    digest.map(Some).ok_or_else(problem)
}

/// `{"flagOUTs": [{"id": 1, "weight": 900}, ...]}`
fn flag_outs(row: &Row) -> Result<Vec<(u32, u32)>, Error> {
    let Some(text) = row.text("attributes") else { return Ok(Vec::new()) };
    let wrong = |problem: &str| row.wrong(format!("attributes: {problem}"));
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
    let Some(object) = value.as_object() else { return Err(wrong("not a JSON object")) };
    if let Some(other) = object.keys().find(|key| *key != "flagOUTs") {
        return Err(wrong(&format!("`{other}` is not known; only flagOUTs is")));
    }
    let Some(list) = object.get("flagOUTs") else { return Ok(Vec::new()) };
    let entries = list.as_array().ok_or_else(|| wrong("flagOUTs is not a list"))?;
    let number = |entry: &serde_json::Value, key: &str| {
        let number = entry.get(key).and_then(serde_json::Value::as_u64).and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| wrong(&format!("an entry of flagOUTs has no number `{key}`")))
    };
    entries.iter().map(|entry| Ok((number(entry, "id")?, number(entry, "weight")?))).collect()
}
