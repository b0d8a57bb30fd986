//! Hostgroups and the nodes in them.

use std::collections::BTreeMap;

use super::Holds;
use super::config::Config;
use crate::simulate::{Error, Node, Nodes};

/// The servers of each hostgroup, as nodes.
pub struct Hostgroups {
    /// The nodes, the primary first.
    pub nodes: Vec<Node>,
    members: BTreeMap<u32, Vec<(usize, u32)>>,
}

impl Hostgroups {
    /// Finds the nodes. Fails where a hostgroup is used of which nothing is known.
    pub fn new(config: &Config, told: &[(u32, Holds)]) -> Result<Self, Error> {
        let holds = config.holds(told);
        let mut nodes: Vec<Node> = Vec::new();
        let mut members: BTreeMap<u32, Vec<(usize, u32)>> = BTreeMap::new();
        let servers = &config.servers;
        // A server that takes writes anywhere is the primary.
        let is_primary = |address: &str| {
            let groups = servers.iter().filter(|server| server.address == address).map(|server| server.hostgroup);
            let mut known = groups.clone().filter_map(|group| holds.get(&group));
            known.any(|holds| *holds == Holds::Primary)
        };
        let mut addresses: Vec<&str> = servers.iter().map(|server| server.address.as_str()).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let (primaries, replicas): (Vec<&str>, Vec<&str>) = addresses.iter().partition(|address| is_primary(address));
        if primaries.len() > 1 {
            return Err(Error::Option(format!(
                "{} are all in a hostgroup for writes, and a run has one primary: say with --hostgroup N=replica which hostgroups hold replicas",
                primaries.join(", ")
            )));
        }
        if primaries.len() + replicas.len() > Nodes::MOST {
            return Err(Error::Option(format!("{} servers are too many: {} at most", servers.len(), Nodes::MOST)));
        }
        if !primaries.is_empty() {
            nodes.extend(primaries.iter().map(|address| Node::primary(name(address))));
            nodes.extend(replicas.iter().map(|address| Node::replica(name(address))));
            for server in servers {
                let at = nodes.iter().position(|node| node.name == name(&server.address));
                members.entry(server.hostgroup).or_default().extend(at.map(|at| (at, server.weight)));
            }
        } else {
            nodes = vec![Node::primary("primary"), Node::replica("replica")];
            for (&group, &holds) in &holds {
                members.insert(group, vec![(usize::from(holds == Holds::Replica), 1)]);
            }
        }
        let hostgroups = Hostgroups { nodes, members };
        for (group, whose) in used(config) {
            if !hostgroups.members.contains_key(&group) {
                return Err(Error::Option(format!(
                    "{whose} sends to hostgroup {group}, and no file says what that holds: say --hostgroup {group}=primary or \
                     --hostgroup {group}=replica, or export mysql_servers and mysql_replication_hostgroups too"
                )));
            }
        }
        Ok(hostgroups)
    }

    /// The nodes of a hostgroup with their weights; none where it is not known, or empty.
    pub fn members(&self, group: u32) -> &[(usize, u32)] {
        self.members.get(&group).map_or(&[], Vec::as_slice)
    }

    /// Every hostgroup.
    pub fn groups(&self) -> impl Iterator<Item = u32> {
        self.members.keys().copied()
    }

    /// Every node.
    pub fn all(&self) -> Nodes {
        Nodes::all(self.nodes.len())
    }
}

/// A node's name must do for a file's.
fn name(address: &str) -> String {
    let host = address.strip_suffix(":3306").unwrap_or(address);
    host.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' }).collect()
}

/// The hostgroups that rules and users name, each with the first that does.
fn used(config: &Config) -> BTreeMap<u32, String> {
    let mut used = BTreeMap::new();
    for rule in config.rules.iter().filter(|rule| rule.active) {
        if let Some(group) = rule.destination {
            used.entry(group).or_insert_with(|| rule.name());
        }
    }
    for ((user, schema, _), &group) in &config.fast {
        used.entry(group).or_insert_with(|| format!("fast routing of user `{user}` and schema `{schema}`"));
    }
    let mut users: Vec<_> = config.users.iter().collect();
    users.sort();
    for (name, user) in users {
        used.entry(user.default_hostgroup).or_insert_with(|| format!("user {name}"));
    }
    used
}
