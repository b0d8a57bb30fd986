//! `pgpool.conf`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::list::{Patterns, Preference, preferences};
use crate::simulate::{Error, Node, Nodes};

/// What of a transaction's or session's writes keeps later reads on the primary (`disable_load_balance_on_write`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnWrite {
    /// Nothing.
    Off,
    /// Until the transaction ends.
    #[default]
    Transaction,
    /// Also in the session's later transactions.
    TransTransaction,
    /// From then on, in transactions and outside of them.
    Always,
    /// Reads of the tables that the transaction has written.
    DmlAdaptive,
}

/// The settings that decide where statements go.
pub struct Conf {
    /// `load_balance_mode`
    pub load_balance: bool,
    /// `statement_level_load_balance`
    pub by_statement: bool,
    /// `ignore_leading_white_space`
    pub ignore_space: bool,
    /// `allow_sql_comments`
    pub comments: bool,
    /// `disable_load_balance_on_write`
    pub on_write: OnWrite,
    /// `dml_adaptive_object_relationship_list`
    pub related: Vec<(String, String)>,
    /// `read_only_function_list`
    pub read_only_functions: Patterns,
    /// `write_function_list`
    pub write_functions: Patterns,
    /// `primary_routing_query_pattern_list`
    pub primary_queries: Patterns,
    /// `user_redirect_preference_list`, `database_…`, `app_name_…`, the last of which wins.
    pub users: Vec<Preference>,
    pub databases: Vec<Preference>,
    pub applications: Vec<Preference>,
    /// `check_temp_table`
    pub temporary: bool,
    /// `check_unlogged_table`
    pub unlogged: bool,
    /// Settings that are not known.
    pub unknown: Vec<String>,
    unmodelled: Vec<String>,
    backends: BTreeMap<usize, Backend>,
}

#[derive(Clone, Debug, Default)]
struct Backend {
    name: Option<String>,
    host: Option<String>,
    port: Option<String>,
    weight: Option<f64>,
    always_primary: bool,
}

/// The beginnings of settings that say nothing about where a statement goes.
const WITHOUT_EFFECT: &[&str] = &[
    "listen_",
    "port",
    "unix_socket",
    "socket_dir",
    "pcp_",
    "backend_data_directory",
    "enable_pool_hba",
    "pool_passwd",
    "authentication_timeout",
    "allow_clear_text",
    "ssl",
    "num_init_children",
    "reserved_connections",
    "max_pool",
    "child_",
    "connection_life_time",
    "client_idle_limit",
    "log_",
    "syslog_",
    "debug_level",
    "client_min_messages",
    "logging_collector",
    "logdir",
    "pid_file_name",
    "connection_cache",
    "reset_query_list",
    "replicate_select",
    "insert_lock",
    "lobj_lock_table",
    "replication_stop_on_mismatch",
    "failover_if_affected",
    "sr_check_",
    "follow_primary_command",
    "health_check_",
    "connect_timeout",
    "failover_",
    "failback_",
    "fail_over_",
    "detach_false_primary",
    "search_primary_node_timeout",
    "recovery_",
    "online_",
    "client_idle_limit_in_recovery",
    "auto_failback",
    "use_watchdog",
    "wd_",
    "trusted_servers",
    "hostname",
    "heartbeat_",
    "delegate_",
    "if_",
    "arping_",
    "ping_path",
    "clear_memqcache",
    "other_",
    "memqcache_",
    "relcache_",
    "enable_shared_relcache",
    "pool_",
    "process_management",
    "notice_per_node",
    "serialize_accept",
    "enable_consensus",
    "backend_clustering_mode_",
    "logfile",
    "work_dir",
    "restart",
    "server_",
    "cache_safe_memqcache",
    "enable_multiple_failover",
    "stmt_",
    "max_spare_children",
    "min_spare_children",
];

impl Conf {
    /// Reads files, one after the other.
    pub fn read(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut conf = Conf {
            load_balance: true,
            by_statement: false,
            ignore_space: true,
            comments: false,
            on_write: OnWrite::Transaction,
            related: Vec::new(),
            read_only_functions: Patterns::default(),
            write_functions: Patterns::default(),
            primary_queries: Patterns::default(),
            users: Vec::new(),
            databases: Vec::new(),
            applications: Vec::new(),
            temporary: true,
            unlogged: true,
            unknown: Vec::new(),
            unmodelled: Vec::new(),
            backends: BTreeMap::new(),
        };
        for path in paths {
            let text = std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.clone(), source })?;
            let mut empty = true;
            for (number, line) in text.lines().enumerate() {
                let wrong = |problem: String| Error::rules(path, number + 1, problem);
                if let Some((name, value)) = setting(line).map_err(wrong)? {
                    empty = false;
                    conf.set(&name, &value).map_err(|problem| wrong(format!("{name}: {problem}")))?;
                }
            }
            if empty {
                return Err(Error::file(path, "it holds no setting: give a pgpool.conf"));
            }
        }
        if !conf.read_only_functions.is_empty() && !conf.write_functions.is_empty() {
            let path = paths.first().map_or(Path::new("pgpool.conf"), PathBuf::as_path);
            return Err(Error::file(
                path,
                "read_only_function_list and write_function_list exclude each other: leave one empty",
            ));
        }
        conf.unknown.sort();
        conf.unknown.dedup();
        Ok(conf)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "backend_clustering_mode" => match value {
                "streaming_replication" | "logical_replication" => {}
                other => {
                    return Err(format!(
                        "`{other}` is not modelled: only streaming_replication and logical_replication are"
                    ));
                }
            },
            // The names of earlier versions.
            "master_slave_mode" | "master_slave_sub_mode" | "replication_mode" => {}
            "load_balance_mode" => self.load_balance = flag(value)?,
            "statement_level_load_balance" => self.by_statement = flag(value)?,
            "ignore_leading_white_space" => self.ignore_space = flag(value)?,
            "allow_sql_comments" => self.comments = flag(value)?,
            "disable_load_balance_on_write" => {
                self.on_write = match value.to_ascii_lowercase().as_str() {
                    "off" => OnWrite::Off,
                    "transaction" => OnWrite::Transaction,
                    "trans_transaction" => OnWrite::TransTransaction,
                    "always" => OnWrite::Always,
                    "dml_adaptive" => OnWrite::DmlAdaptive,
                    other => {
                        return Err(format!(
                            "`{other}` is not known: use off, transaction, trans_transaction, always or dml_adaptive"
                        ));
                    }
                }
            }
            "dml_adaptive_object_relationship_list" => {
                let pairs = value.split(',').map(str::trim).filter(|pair| !pair.is_empty());
                let halves = pairs.map(|pair| {
                    let (left, right) =
                        pair.split_once(':').ok_or_else(|| format!("`{pair}`: write `object:object`"))?;
                    Ok::<_, String>((
                        left.trim().trim_end_matches("()").to_ascii_lowercase(),
                        right.trim().to_ascii_lowercase(),
                    ))
                });
                self.related = halves.collect::<Result<_, _>>()?;
            }
            "read_only_function_list" | "white_function_list" => self.read_only_functions = Patterns::read(value, ',')?,
            "write_function_list" | "black_function_list" => self.write_functions = Patterns::read(value, ',')?,
            "primary_routing_query_pattern_list" | "black_query_pattern_list" => {
                self.primary_queries = Patterns::read(value, ';')?
            }
            "user_redirect_preference_list" => self.users = preferences(value)?,
            "database_redirect_preference_list" => self.databases = preferences(value)?,
            "app_name_redirect_preference_list" => self.applications = preferences(value)?,
            "check_temp_table" => match value.to_ascii_lowercase().as_str() {
                "catalog" | "trace" | "on" | "true" | "1" => self.temporary = true,
                "none" | "off" | "false" | "0" => self.temporary = false,
                other => return Err(format!("`{other}` is not known: use catalog, trace or none")),
            },
            "check_unlogged_table" => self.unlogged = flag(value)?,
            "delay_threshold" | "delay_threshold_by_time" => {
                if value.trim_matches(|c: char| c.is_ascii_alphabetic()).trim() != "0" {
                    self.unmodelled.push(format!(
                        "{name}: how far a standby is behind is not known; every one counts as up to date"
                    ));
                }
            }
            "prefer_lower_delay_standby" => {}
            "memory_cache_enabled" => {
                if flag(value)? {
                    self.unmodelled.push(
                        "memory_cache_enabled: answers may come from the query cache; each is counted as sent on"
                            .into(),
                    );
                }
            }
            _ => match backend(name) {
                Some((setting, number)) => self.backend(setting, number, value)?,
                None if WITHOUT_EFFECT.iter().any(|start| name.starts_with(start)) => {}
                None => self.unknown.push(format!("setting {name}")),
            },
        }
        Ok(())
    }

    fn backend(&mut self, setting: &str, number: usize, value: &str) -> Result<(), String> {
        if number >= Nodes::MOST {
            return Err(format!("{number} is too large a number for a backend here: {} at most", Nodes::MOST - 1));
        }
        let backend = self.backends.entry(number).or_default();
        match setting {
            "backend_hostname" => backend.host = Some(value.to_owned()),
            "backend_port" => backend.port = Some(value.to_owned()),
            "backend_application_name" => backend.name = Some(value.to_owned()),
            "backend_weight" => {
                let weight: f64 = value.parse().map_err(|_| format!("`{value}` is no number"))?;
                if !(0.0..=1e6).contains(&weight) {
                    return Err(format!("`{value}` is no weight"));
                }
                backend.weight = Some(weight);
            }
            "backend_flag" => {
                backend.always_primary =
                    value.split('|').any(|flag| flag.trim().eq_ignore_ascii_case("ALWAYS_PRIMARY"));
            }
            _ => {}
        }
        Ok(())
    }

    /// The nodes with the primary's number among them, and the weights, in thousandths.
    pub fn nodes(&self, paths: &[PathBuf]) -> Result<(Vec<Node>, usize, Vec<u32>), Error> {
        let path = paths.first().map_or(Path::new("pgpool.conf"), PathBuf::as_path);
        let backends: Vec<(&usize, &Backend)> =
            self.backends.iter().filter(|(_, backend)| backend.host.is_some()).collect();
        if backends.len() < 2 {
            return Err(Error::file(
                path,
                format!("{} backends (backend_hostname0, …): a primary and a standby are needed", backends.len()),
            ));
        }
        let primary = backends.iter().position(|(_, backend)| backend.always_primary).unwrap_or(0);
        let name = |number: usize, backend: &Backend| {
            let told = backend.name.clone().filter(|name| !name.is_empty());
            let name = told.unwrap_or_else(|| format!("backend{number}"));
            name.chars()
                .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
                .collect::<String>()
        };
        let nodes = backends.iter().enumerate().map(|(at, (number, backend))| {
            let name = name(**number, backend);
            if at == primary { Node::primary(name) } else { Node::replica(name) }
        });
        let nodes: Vec<Node> = nodes.collect();
        for (at, node) in nodes.iter().enumerate() {
            if nodes.iter().skip(at + 1).any(|other| other.name == node.name) {
                return Err(Error::file(
                    path,
                    format!("two backends are named {}: give each a backend_application_name of its own", node.name),
                ));
            }
        }
        let weights = backends.iter().map(|(_, backend)| (backend.weight.unwrap_or(1.0) * 1_000.0) as u32).collect();
        Ok((nodes, primary, weights))
    }

    /// What is set and left out.
    pub fn unmodelled(&self) -> Vec<String> {
        let mut lines = self.unmodelled.clone();
        if !self.backends.values().any(|backend| backend.always_primary) {
            lines.push("which backend is the primary pgpool finds out when it runs: the first one is taken".into());
        }
        lines
    }
}

/// `backend_weight1` as its setting and number.
fn backend(name: &str) -> Option<(&str, usize)> {
    if !name.starts_with("backend_") {
        return None;
    }
    let setting = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let known = [
        "backend_hostname",
        "backend_port",
        "backend_weight",
        "backend_flag",
        "backend_application_name",
        "backend_data_directory",
    ];
    let number = name.get(setting.len()..)?.parse().ok()?;
    known.contains(&setting).then_some((setting, number))
}

fn flag(value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" | "t" | "y" => Ok(true),
        "off" | "false" | "no" | "0" | "f" | "n" => Ok(false),
        _ => Err(format!("`{value}` is no flag: use on or off")),
    }
}

/// A line as name and value; `None` for an empty one.
fn setting(line: &str) -> Result<Option<(String, String)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    if name.is_empty() {
        return Err("a setting begins with its name".into());
    }
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    if let Some(quoted) = rest.strip_prefix('\'') {
        let mut value = String::new();
        let mut characters = quoted.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\'' if characters.peek() == Some(&'\'') => value.extend(characters.next()),
                '\'' => {
                    let after: String = characters.collect();
                    let after = after.trim_start();
                    if !after.is_empty() && !after.starts_with('#') {
                        return Err(format!("{name}: `{after}` stands behind the value"));
                    }
                    return Ok(Some((name.to_ascii_lowercase(), value)));
                }
                // A backslash stays: patterns need it. Before a quote it escapes that.
                '\\' if characters.peek() == Some(&'\'') => value.extend(characters.next()),
                other => value.push(other),
            }
        }
        return Err(format!("{name}: the value begins with a quote and never ends"));
    }
    let value = rest.split('#').next().unwrap_or_default().trim();
    if value.is_empty() {
        return Err(format!("{name}: it has no value"));
    }
    Ok(Some((name.to_ascii_lowercase(), value.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_names_and_values() {
        for (line, expected) in [
            ("load_balance_mode = on", Some(("load_balance_mode", "on"))),
            ("port 9999 # c", Some(("port", "9999"))),
            ("a = 'it''s # no comment' # c", Some(("a", "it's # no comment"))),
            ("a = 'x\\.y'", Some(("a", "x\\.y"))),
            ("  # c", None),
            ("", None),
        ] {
            let found = setting(line).unwrap();
            assert_eq!(found.as_ref().map(|(name, value)| (name.as_str(), value.as_str())), expected, "{line}");
        }
        for line in ["= 1", "a =", "a = 'x", "a = 'x' y"] {
            assert!(setting(line).is_err(), "{line}");
        }
    }
}
