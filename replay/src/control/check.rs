//! Opens the control connections and checks that the pair is what `pair.toml` says.

use futures::future::try_join_all;

use super::{Control, ControlError, Identity, Lineage};
use crate::pair::{Pair, Passwords, Role};

/// Connects to every node, in the order of `pair.toml`, and checks roles and that the nodes belong together.
///
/// # Errors
/// The first node that cannot be reached or is not what it should be.
pub async fn connect(pair: &Pair, passwords: &Passwords) -> Result<Vec<(Control, Identity)>, ControlError> {
    let nodes = try_join_all(pair.nodes.iter().map(|node| async {
        let control = Control::open(node, passwords).await?;
        let identity = control.identity().await?;
        Ok((control, identity))
    }))
    .await?;
    let described: Vec<_> = nodes.iter().map(|(control, identity)| (Named::of(control), identity)).collect();
    check_roles(&described)?;
    check_lineage(&described)?;
    Ok(nodes)
}

/// A node as messages name it, and the role that `pair.toml` gives it.
struct Named<'a> {
    name: &'a str,
    url: String,
    role: Role,
}

impl<'a> Named<'a> {
    fn of(control: &'a Control) -> Self {
        let node = control.node();
        Named { name: &node.name, url: node.url.to_string(), role: node.role }
    }
}

fn check_roles(nodes: &[(Named<'_>, &Identity)]) -> Result<(), ControlError> {
    for (node, identity) in nodes {
        let (name, url) = (node.name.to_owned(), node.url.clone());
        if identity.role != node.role {
            return Err(ControlError::Role { node: name, url, expected: node.role, found: identity.role });
        }
        if let (Role::Primary, Lineage::Replication { read_only: true, .. }) = (node.role, &identity.lineage) {
            return Err(ControlError::ReadOnly { node: name, url });
        }
    }
    Ok(())
}

fn check_lineage(nodes: &[(Named<'_>, &Identity)]) -> Result<(), ControlError> {
    let Some((primary, leader)) = nodes.iter().find(|(node, _)| node.role == Role::Primary) else { return Ok(()) };
    for (node, identity) in nodes.iter().filter(|(node, _)| node.role == Role::Replica) {
        let problem = match (&identity.lineage, &leader.lineage) {
            (Lineage::System(found), Lineage::System(expected)) if found != expected => {
                format!("it is of another database system ({found}) than the primary \"{}\" ({expected})", primary.name)
            }
            (Lineage::Replication { server, sources, .. }, Lineage::Replication { server: expected, .. }) => {
                if server == expected {
                    format!("it calls itself {server}, as the primary \"{}\" does", primary.name)
                } else if follows(sources, expected, nodes) {
                    continue;
                } else {
                    let sources = sources.join(", ");
                    format!("it replicates from {sources}, and the primary \"{}\" is {expected}", primary.name)
                }
            }
            _ => continue,
        };
        return Err(ControlError::Lineage { node: node.name.to_owned(), url: node.url.clone(), problem });
    }
    Ok(())
}

/// True when one of these servers is the wanted one, or a node of the pair that follows it (a chain of replicas).
fn follows(sources: &[String], wanted: &str, nodes: &[(Named<'_>, &Identity)]) -> bool {
    let mut reached: Vec<&str> = sources.iter().map(String::as_str).collect();
    let mut next = 0;
    while let Some(source) = reached.get(next).copied() {
        if source == wanted {
            return true;
        }
        for (_, identity) in nodes {
            if let Lineage::Replication { server, sources, .. } = &identity.lineage
                && server == source
            {
                let more = sources.iter().map(String::as_str).filter(|more| !reached.contains(more));
                let more: Vec<_> = more.collect();
                reached.extend(more);
            }
        }
        next += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(nodes: &[(Role, Role, &str, &[&str], bool)]) -> Result<(), String> {
        let identities: Vec<_> = nodes
            .iter()
            .map(|(_, found, server, sources, read_only)| Identity {
                role: *found,
                lineage: Lineage::Replication {
                    server: (*server).to_owned(),
                    sources: sources.iter().map(|source| (*source).to_owned()).collect(),
                    read_only: *read_only,
                },
                version: String::new(),
            })
            .collect();
        let named: Vec<_> = nodes
            .iter()
            .zip(&identities)
            .map(|((role, _, server, ..), identity)| {
                (Named { name: server, url: "mysql://x".to_owned(), role: *role }, identity)
            })
            .collect();
        check_roles(&named).and_then(|()| check_lineage(&named)).map_err(|error| error.to_string())
    }

    const P: Role = Role::Primary;
    const R: Role = Role::Replica;

    #[test]
    fn a_pair_and_a_chain_pass() {
        check(&[(P, P, "1", &[], false), (R, R, "2", &["1"], true)]).unwrap();
        check(&[(R, R, "3", &["2"], true), (P, P, "1", &[], false), (R, R, "2", &["1"], true)]).unwrap();
    }

    #[test]
    fn what_is_no_pair_is_said() {
        let other = check(&[(P, P, "1", &[], false), (R, R, "2", &["9"], true)]).unwrap_err();
        assert!(other.contains("it replicates from 9, and the primary \"1\" is 1"), "{other}");
        let circle =
            check(&[(P, P, "1", &[], false), (R, R, "2", &["3"], true), (R, R, "3", &["2"], true)]).unwrap_err();
        assert!(circle.contains("replicates from 3"), "{circle}");
        let twin = check(&[(P, P, "1", &[], false), (R, R, "1", &["1"], true)]).unwrap_err();
        assert!(twin.contains("as the primary"), "{twin}");
    }

    #[test]
    fn roles_and_read_only_are_checked() {
        let swapped = check(&[(P, R, "1", &["2"], true), (R, P, "2", &[], false)]).unwrap_err();
        assert!(swapped.contains("is a replica, and pair.toml says role = \"primary\""), "{swapped}");
        let fenced = check(&[(P, P, "1", &[], true), (R, R, "2", &["1"], true)]).unwrap_err();
        assert!(fenced.contains("read_only"), "{fenced}");
    }
}
