//! ProxySQL's query rules.
//!
//! - [`Proxysql`]: the model; `session`: one client connection
//! - `file`, `cnf`, `dump`: rows from JSON, CSV, `proxysql.cnf` and SQL; `row`, `rule`, `config`: what they mean
//! - `rules`: trying the rules; `pattern`: their regular expressions; [`digest`]: the text that `match_digest` looks at; `spooky`: its hash
//! - `set`, `words`, `class`: what ProxySQL takes from a statement beside its rules
//! - `hostgroup`: hostgroups and the nodes in them
//! - [`lint`]: rules that can never match, rules in the shadow of others, pairs whose order decides; [`diff`]: two states of the rules;
//!   [`export`]: the rules as a script for the admin interface
//!
//! The semantics are those of ProxySQL 2.4 to 3.0, read in its source; `docs/models.md` lists them with what is left out.

mod class;
mod cnf;
mod config;
pub mod diff;
pub mod digest;
mod dump;
pub mod export;
mod file;
mod hostgroup;
pub mod lint;
mod pattern;
mod row;
mod rule;
mod rules;
mod session;
mod set;
mod spooky;
mod words;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use splitproof_capture::trace::Request;

pub use config::Config;

use super::intern::Interned;
use super::{About, Decision, Error, Model, Options, RuleUse, Sent};
use config::{User, Variables};
use hostgroup::Hostgroups;
use rules::Rules;

/// What a hostgroup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The primary.
    Primary,
    /// Replicas.
    Replica,
}

/// The model of ProxySQL with its rules.
pub struct Proxysql {
    rules: Rules,
    hostgroups: Hostgroups,
    words: Interned,
    groups: BTreeMap<u32, Arc<str>>,
    /// Users that no file names.
    strangers: RefCell<BTreeMap<String, u64>>,
    rewritten: Cell<u64>,
}

impl Proxysql {
    /// Reads rule files.
    pub fn load(paths: &[PathBuf], options: &Options) -> Result<Self, Error> {
        Proxysql::new(Config::read(paths)?, options)
    }

    /// The model of a configuration.
    pub fn new(config: Config, options: &Options) -> Result<Self, Error> {
        let hostgroups = Hostgroups::new(&config, &options.hostgroups)?;
        let groups = hostgroups.groups().map(|group| (group, format!("to hostgroup {group}").into())).collect();
        Ok(Proxysql {
            rules: Rules::new(config),
            hostgroups,
            words: Interned::default(),
            groups,
            strangers: RefCell::default(),
            rewritten: Cell::new(0),
        })
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        self.rules.config()
    }

    fn variables(&self) -> &Variables {
        &self.rules.config().variables
    }

    /// A user; one that no file names has ProxySQL's defaults and the only hostgroup that can be meant.
    fn user(&self, name: &str) -> User {
        if let Some(user) = self.rules.config().users.get(name) {
            return user.clone();
        }
        *self.strangers.borrow_mut().entry(name.to_owned()).or_default() += 1;
        User { default_hostgroup: self.primary_group(), transaction_persistent: true, fast_forward: false }
    }

    /// The lowest hostgroup that holds the primary; 0, ProxySQL's default, where that is one.
    fn primary_group(&self) -> u32 {
        let holds_primary = |group: u32| self.hostgroups.members(group).iter().any(|&(node, _)| node == 0);
        self.hostgroups.groups().find(|&group| holds_primary(group)).unwrap_or(0)
    }

    fn word(&self, text: &str) -> Arc<str> {
        self.words.get(text)
    }

    fn group_word(&self, group: u32) -> Arc<str> {
        self.groups.get(&group).cloned().unwrap_or_else(|| self.word(&format!("to hostgroup {group}")))
    }

    fn decision(&self, sent: Sent, reason: &str, rule: Option<Arc<str>>) -> Decision {
        Decision { sent, reason: self.word(reason), rule }
    }

    fn last_rule(&self, matched: &[u16]) -> Option<Arc<str>> {
        let rule = self.rules.config().rules.get(usize::from(*matched.last()?))?;
        Some(self.word(&rule.name()))
    }

    fn rewrote(&self) {
        self.rewritten.set(self.rewritten.get() + 1);
    }
}

impl Model for Proxysql {
    fn about(&self) -> About {
        let config = self.rules.config();
        let active = || config.rules.iter().filter(|rule| rule.active);
        let mut unmodelled = Vec::new();
        for rule in active() {
            let mut leaves_out = |what: &str| unmodelled.push(format!("rule {}: {what}", rule.id));
            if rule.cache_ttl.is_some_and(|ttl| ttl > 0) {
                leaves_out("its answers may come from the query cache (cache_ttl); each is counted as sent on");
            }
            if rule.gtid_from.is_some() {
                leaves_out("gtid_from_hostgroup picks a replica that is up to date; any is taken here");
            }
            if rule.mirror.is_some() {
                leaves_out("the copy that it mirrors is not counted");
            }
            if rule.proxy_addr.is_some() || rule.proxy_port.is_some() {
                leaves_out(
                    "at which address and port of ProxySQL a client connects is not known; the criterion counts as fulfilled",
                );
            }
        }
        if config.servers.is_empty() && !config.pairs.is_empty() {
            unmodelled.push("no file lists the servers: one primary and one replica are assumed".into());
        }
        if !config.pairs.is_empty() && !config.servers.is_empty() {
            unmodelled.push(
                "servers are in the hostgroups as the files have them: what the monitor moves by read_only \
                 (mysql-monitor_writer_is_also_reader) is not followed; export runtime_mysql_servers to have it"
                    .into(),
            );
        }
        let mut notes: Vec<String> = lint::findings(config).iter().map(ToString::to_string).collect();
        if config.users.is_empty() {
            let group = self.primary_group();
            notes.push(format!(
                "no file lists mysql_users: every user has default hostgroup {group} and transaction_persistent = 1"
            ));
        }
        About {
            model: "ProxySQL 2.4 to 3.0, MySQL protocol".into(),
            nodes: self.hostgroups.nodes.clone(),
            unknown: config.unknown.clone(),
            unmodelled,
            notes,
        }
    }

    fn connect(&self, request: &Request) -> Box<dyn super::Session + '_> {
        Box::new(session::Session::new(self, request))
    }

    fn rules(&self) -> Vec<RuleUse> {
        let rules = self.rules.config().rules.iter().zip(self.rules.hits());
        rules.map(|(rule, hits)| RuleUse { rule: rule.name(), text: rule.text(), hits }).collect()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let config = self.rules.config();
        if !config.users.is_empty() {
            for (user, sessions) in &*self.strangers.borrow() {
                let group = self.primary_group();
                notes.push(format!(
                    "{sessions} sessions of user `{user}`, whom no file lists: taken to have default hostgroup {group} and transaction_persistent = 1"
                ));
            }
        }
        if self.rewritten.get() > 0 {
            notes.push(format!(
                "{} statements were rewritten by replace_pattern: they are judged as they were sent by the client",
                self.rewritten.get()
            ));
        }
        for rule in &config.rules {
            let patterns = [&rule.match_digest, &rule.match_pattern].into_iter().flatten();
            let gave_up: u64 = patterns.map(pattern::Pattern::gave_up).sum();
            if gave_up > 0 {
                notes.push(format!("{}: PCRE gave up on {gave_up} texts, which count as not matched", rule.name()));
            }
        }
        let unused: Vec<String> = config
            .rules
            .iter()
            .zip(self.rules.hits())
            .filter(|(rule, hits)| rule.active && *hits == 0)
            .map(|(rule, _)| rule.id.to_string())
            .collect();
        if !unused.is_empty() {
            notes.push(format!("rules that matched nothing in this trace: {}", unused.join(", ")));
        }
        notes
    }
}
