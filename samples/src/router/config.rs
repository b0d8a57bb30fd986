//! The configuration file.
//!
//! YAML. The shipped ones in `samples/router/` name every field that they use.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::rules::Rule;

/// How a router decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By what the statement does, as MaxScale's readwritesplit decides.
    #[default]
    Parsed,
    /// By ordered regular expressions on its text, as ProxySQL's query rules decide.
    Regex,
}

/// Where a rule sends a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The primary.
    #[default]
    Primary,
    /// A replica.
    Replica,
}

/// How clients prove who they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Authentication {
    /// Not at all.
    #[default]
    Trust,
    /// By the passwords in `users`: md5 on PostgreSQL, mysql_native_password on MySQL.
    Password,
}

/// The configuration of a router.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How to decide.
    pub mode: Mode,
    /// Regex mode: the rules, in the order in which they are tried.
    pub rules: Vec<Rule>,
    /// Regex mode: where a statement goes that no rule matches.
    pub default: Place,
    /// Whether a transaction stays on the server where it began.
    pub transaction_persistent: bool,
    /// How reads are shared.
    pub weights: Weights,
    /// Whether a read on a replica waits until the replica has everything that was committed before the read.
    pub causal_reads: bool,
    /// How long such a read waits before it goes to the primary.
    pub causal_timeout_ms: u64,
    /// A replica further behind than this gets no reads.
    pub max_replica_lag_ms: Option<u64>,
    /// How long a replica that could not be reached is left alone.
    pub retry_replica_ms: u64,
    /// Parsed mode: functions that change something, by name; every other function is taken to read.
    pub volatile_functions: Vec<String>,
    /// Parsed mode: tables that replicas do not have, by name.
    pub primary_tables: Vec<String>,
    /// How clients prove who they are.
    pub authentication: Authentication,
    /// Users with their passwords, for clients as for servers.
    pub users: Vec<User>,
    /// As whom the router itself asks for positions and lag.
    pub control: Control,
    /// Idle connections kept per server, user and settings.
    pub pool_size: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            mode: Mode::Parsed,
            rules: Vec::new(),
            default: Place::Primary,
            transaction_persistent: true,
            weights: Weights::default(),
            causal_reads: true,
            causal_timeout_ms: 10_000,
            max_replica_lag_ms: None,
            retry_replica_ms: 1_000,
            volatile_functions: Vec::new(),
            primary_tables: Vec::new(),
            authentication: Authentication::Trust,
            users: Vec::new(),
            control: Control::default(),
            pool_size: 32,
        }
    }
}

/// How reads are shared, as numbers whose proportions count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// Of the primary.
    pub primary: u32,
    /// Of each replica, in the order of the command line; a replica that is not listed has 1.
    pub replicas: Vec<u32>,
}

/// A user's password.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// The user.
    pub name: String,
    /// The password.
    pub password: String,
}

impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

/// As whom the router itself connects to the servers.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Control {
    /// The user, whose password is in `users` if there is one.
    pub user: Option<String>,
    /// The database.
    pub database: Option<String>,
    /// Between two looks at a replica's lag.
    pub interval_ms: u64,
}

impl Default for Control {
    fn default() -> Self {
        Control { user: None, database: None, interval_ms: 100 }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It is not YAML, or a field is wrong.
    #[error("{}: {problem}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        problem: String,
    },
    /// The fields do not fit each other.
    #[error("{}: {problem}", path.display())]
    Contradiction {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        problem: &'static str,
    },
}

impl Config {
    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        Config::parse(path, &text)
    }

    /// Checks a text; `path` is only for messages.
    pub fn parse(path: &Path, text: &str) -> Result<Config, ConfigError> {
        let config: Config = serde_saphyr::from_str(text)
            .map_err(|error| ConfigError::Syntax { path: path.to_owned(), problem: error.to_string() })?;
        let wrong = |problem| Err(ConfigError::Contradiction { path: path.to_owned(), problem });
        match config.mode {
            Mode::Parsed if !config.rules.is_empty() => wrong("rules need `mode: regex`"),
            Mode::Regex if !config.volatile_functions.is_empty() || !config.primary_tables.is_empty() => {
                wrong("volatile_functions and primary_tables need `mode: parsed`")
            }
            _ if config.authentication == Authentication::Password && config.users.is_empty() => {
                wrong("`authentication: password` needs `users`")
            }
            _ => Ok(config),
        }
    }

    /// A user's password.
    pub fn password(&self, user: &str) -> Option<&str> {
        self.users.iter().find(|known| known.name == user).map(|known| known.password.as_str())
    }

    /// How long a causal read waits.
    pub fn causal_timeout(&self) -> Duration {
        Duration::from_millis(self.causal_timeout_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("router.yaml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_out_has_a_careful_default() {
        let config = parse("mode: parsed").unwrap();
        assert!(config.transaction_persistent && config.causal_reads);
        assert_eq!(config.default, Place::Primary);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("mode: guess", "guess"),
            ("moed: regex", "moed"),
            ("mode: regex\nrules: [{ pattern: '(', destination: replica }]", "("),
            ("mode: parsed\nrules: [{ pattern: x, destination: replica }]", "need `mode: regex`"),
            ("authentication: password", "needs `users`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("router.yaml") && error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_password_is_not_in_debug_output() {
        let config = parse("users: [{ name: a, password: hunter2 }]").unwrap();
        assert!(!format!("{config:?}").contains("hunter2"));
        assert_eq!(config.password("a"), Some("hunter2"));
    }
}
