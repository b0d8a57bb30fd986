//! A whole configuration: rules, users, servers, variables.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use super::digest::DigestOptions;
use super::pattern::Library;
use super::row::Row;
use super::rule::Rule;
use super::{Holds, file};
use crate::simulate::Error;

/// What the rule files say.
pub struct Config {
    /// The rules, by their numbers; those that are not active too.
    pub rules: Vec<Rule>,
    /// `mysql_query_rules_fast_routing`, by user, schema and flag.
    pub fast: HashMap<(String, String, u32), u32>,
    /// `mysql_users`.
    pub users: HashMap<String, User>,
    /// `mysql_servers`.
    pub servers: Vec<Server>,
    /// `mysql_replication_hostgroups`: writers and readers.
    pub pairs: Vec<(u32, u32)>,
    /// The variables that decide something here.
    pub variables: Variables,
    /// Tables, columns and variables that are not known.
    pub unknown: Vec<String>,
    /// The tables that the files hold.
    pub tables: Vec<String>,
}

/// A row of `mysql_users`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    /// `default_hostgroup`
    pub default_hostgroup: u32,
    /// `transaction_persistent`
    pub transaction_persistent: bool,
    /// `fast_forward`: no rule is looked at.
    pub fast_forward: bool,
}

/// A row of `mysql_servers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// `hostgroup_id`
    pub hostgroup: u32,
    /// `hostname` and `port`
    pub address: String,
    /// `weight`; 0 where it takes no new connections.
    pub weight: u32,
}

/// The variables that decide something here, with ProxySQL's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variables {
    /// `mysql-query_processor_regex`
    pub library: Library,
    /// `mysql-query_processor_iterations`
    pub iterations: u32,
    /// `mysql-query_digests`: whether there are digests at all.
    pub digests: bool,
    /// `mysql-query_digests_*`
    pub digest: DigestOptions,
    /// `mysql-set_query_lock_on_hostgroup`
    pub lock: bool,
    /// `mysql-multiplexing`
    pub multiplexing: bool,
    /// `mysql-auto_increment_delay_multiplex`
    pub auto_increment_delay: u32,
    /// `mysql-enforce_autocommit_on_reads`
    pub autocommit_on_reads: bool,
    /// `mysql-default_schema`
    pub default_schema: String,
    /// `mysql-enable_load_data_local_infile`
    pub load_local: bool,
}

impl Default for Variables {
    fn default() -> Self {
        Variables {
            library: Library::Pcre,
            iterations: 0,
            digests: true,
            digest: DigestOptions::default(),
            lock: true,
            multiplexing: true,
            auto_increment_delay: 5,
            autocommit_on_reads: false,
            default_schema: "information_schema".into(),
            load_local: false,
        }
    }
}

/// Tables that say nothing about where statements go.
const OTHER_TABLES: &[&str] =
    &["scheduler", "proxysql_servers", "restapi_routes", "mysql_collations", "admin_variables"];
/// Tables that do, and are not modelled.
const UNMODELLED_TABLES: &[&str] = &[
    "mysql_group_replication_hostgroups",
    "mysql_galera_hostgroups",
    "mysql_aws_aurora_hostgroups",
    "mysql_hostgroup_attributes",
    "mysql_servers_ssl_params",
    "mysql_firewall_whitelist_users",
    "mysql_firewall_whitelist_rules",
    "mysql_ldap_mapping",
];

impl Config {
    /// Reads files; what a later one says of the same user, server or variable replaces it, and a rule may stand in one file only.
    pub fn read(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut rows = Vec::new();
        for path in paths {
            rows.extend(file::read(path)?);
        }
        Config::of(&rows)
    }

    /// The configuration that rows make.
    pub fn of(rows: &[Row]) -> Result<Self, Error> {
        let mut config = Config {
            rules: Vec::new(),
            fast: HashMap::new(),
            users: HashMap::new(),
            servers: Vec::new(),
            pairs: Vec::new(),
            variables: Variables::default(),
            unknown: Vec::new(),
            tables: Vec::new(),
        };
        // How rules are read depends on a variable.
        for row in rows.iter().filter(|row| row.table == "global_variables") {
            config.variable(row)?;
        }
        for row in rows {
            if !config.tables.contains(&row.table) {
                config.tables.push(row.table.clone());
            }
            config.row(row)?;
        }
        config.rules.sort_by_key(|rule| rule.id);
        config.unknown.sort();
        config.unknown.dedup();
        Ok(config)
    }

    fn row(&mut self, row: &Row) -> Result<(), Error> {
        match row.table.as_str() {
            "mysql_query_rules" => {
                let rule = Rule::read(row, self.variables.library, &mut self.unknown)?;
                if let Some(other) = self.rules.iter().find(|other| other.id == rule.id) {
                    let problem =
                        format!("rule {} stands in line {} already: a rule's number is its own", rule.id, other.line);
                    return Err(row.wrong(problem));
                }
                self.rules.push(rule);
            }
            "mysql_query_rules_fast_routing" => {
                let destination =
                    row.number("destination_hostgroup")?.ok_or_else(|| row.wrong("no destination_hostgroup"))?;
                let key = (
                    row.owned("username").unwrap_or_default(),
                    row.owned("schemaname").unwrap_or_default(),
                    row.number("flagin")?.unwrap_or(0),
                );
                self.fast.insert(key, destination);
            }
            "mysql_users" => self.user(row)?,
            "mysql_servers" => {
                let hostgroup = row.number("hostgroup_id")?.unwrap_or(0);
                let host = row.text("hostname").ok_or_else(|| row.wrong("no hostname"))?;
                let port: u16 = row.number("port")?.unwrap_or(3306);
                let status = row.text("status").unwrap_or("ONLINE").to_ascii_uppercase();
                let weight = row.number("weight")?.unwrap_or(1);
                let online = matches!(status.as_str(), "ONLINE" | "0");
                let address = format!("{host}:{port}");
                self.servers.retain(|server| (server.hostgroup, &server.address) != (hostgroup, &address));
                self.servers.push(Server { hostgroup, address, weight: if online { weight } else { 0 } });
            }
            "mysql_replication_hostgroups" => {
                let number = |column: &str| -> Result<u32, Error> {
                    row.number(column)?.ok_or_else(|| row.wrong(format!("no {column}")))
                };
                let pair = (number("writer_hostgroup")?, number("reader_hostgroup")?);
                if !self.pairs.contains(&pair) {
                    self.pairs.push(pair);
                }
            }
            "global_variables" => {}
            table if OTHER_TABLES.contains(&table) || table.starts_with("pgsql_") => {}
            table if UNMODELLED_TABLES.contains(&table) => self.unknown.push(format!("table {table}: not modelled")),
            table => self.unknown.push(format!("table {table}")),
        }
        Ok(())
    }

    fn user(&mut self, row: &Row) -> Result<(), Error> {
        let name = row.owned("username").ok_or_else(|| row.wrong("no username"))?;
        let row = &row.named(&format!("user {name}"));
        // Rows of the backend's half repeat those of the clients'.
        if row.flag("active")? == Some(false) || row.flag("frontend")? == Some(false) {
            return Ok(());
        }
        let user = User {
            default_hostgroup: row.number("default_hostgroup")?.unwrap_or(0),
            transaction_persistent: row.flag("transaction_persistent")?.unwrap_or(true),
            fast_forward: row.flag("fast_forward")?.unwrap_or(false),
        };
        self.users.insert(name, user);
        Ok(())
    }

    fn variable(&mut self, row: &Row) -> Result<(), Error> {
        let name = row.owned("variable_name").unwrap_or_default().to_ascii_lowercase();
        let Some(name) = name.strip_prefix("mysql-") else { return Ok(()) };
        let row = &row.named(&format!("variable mysql-{name}"));
        let number = || Ok::<u64, Error>(row.number("variable_value")?.unwrap_or(0));
        let flag = || Ok::<bool, Error>(row.flag("variable_value")?.unwrap_or(false));
        let variables = &mut self.variables;
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        match name {
            "query_processor_regex" => {
                variables.library = match number()? {
                    1 => Library::Pcre,
                    2 => Library::Re2,
                    _ => return Err(row.wrong("use 1 for PCRE or 2 for RE2")),
                }
            }
            "query_processor_iterations" => variables.iterations = u32::try_from(number()?).unwrap_or(u32::MAX),
            "query_digests" => variables.digests = flag()?,
            "query_digests_lowercase" => variables.digest.lowercase = flag()?,
            "query_digests_replace_null" => variables.digest.replace_null = flag()?,
            "query_digests_no_digits" => variables.digest.no_digits = flag()?,
            "query_digests_keep_comment" => variables.digest.keep_comment = flag()?,
            "query_digests_grouping_limit" => variables.digest.grouping_limit = size(number()?),
            "query_digests_groups_grouping_limit" => variables.digest.groups_grouping_limit = size(number()?),
            "query_digests_max_query_length" => variables.digest.max_length = size(number()?),
            "set_query_lock_on_hostgroup" => variables.lock = number()? != 0,
            "multiplexing" => variables.multiplexing = flag()?,
            "auto_increment_delay_multiplex" => {
                variables.auto_increment_delay = u32::try_from(number()?).unwrap_or(u32::MAX)
            }
            "enforce_autocommit_on_reads" => variables.autocommit_on_reads = flag()?,
            "default_schema" => variables.default_schema = row.owned("variable_value").unwrap_or_default(),
            "enable_load_data_local_infile" => variables.load_local = flag()?,
            // These change where statements go, and are not modelled.
            "firewall_whitelist_enabled"
            | "aurora_max_lag_ms_only_read_from_replicas"
            | "forward_autocommit"
            | "autocommit_false_is_transaction"
            | "session_idle_show_processlist"
            | "connection_delay_multiplex_ms"
            | "max_transaction_time"
                if !matches!(row.text("variable_value"), None | Some("0" | "false" | "true"))
                    || flag().unwrap_or(true) =>
            {
                self.unknown.push(format!("variable mysql-{name}: not modelled"));
            }
            // Hundreds of others (threads, timeouts, monitoring) say nothing about where a statement goes.
            _ => {}
        }
        Ok(())
    }

    /// What the hostgroups hold, from the servers, the pairs of hostgroups, and what the command line says.
    pub fn holds(&self, told: &[(u32, Holds)]) -> BTreeMap<u32, Holds> {
        let mut holds = BTreeMap::new();
        for &(writer, reader) in &self.pairs {
            holds.entry(reader).or_insert(Holds::Replica);
            holds.insert(writer, Holds::Primary);
        }
        holds.extend(told.iter().copied());
        holds
    }
}
