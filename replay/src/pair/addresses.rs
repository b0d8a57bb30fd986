//! Addresses of a pair that cannot all be right.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use super::{EvidenceSource, Node, Url};

/// A field of a node that contradicts another address of the pair.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Clash {
    /// The node's place in `pair.toml`.
    pub node: usize,
    /// Its field.
    pub key: &'static str,
    /// What is wrong and what to write instead.
    pub problem: String,
}

/// The first address that cannot be right: a tap where something else listens, or one server under two names. A name
/// that does not resolve is found out on connecting.
pub(super) fn clash(router: &Url, nodes: &[Node]) -> Option<Clash> {
    let servers: Vec<Vec<SocketAddr>> = nodes.iter().map(|node| resolve(&node.url)).collect();
    let router = resolve(router);
    for (index, node) in nodes.iter().enumerate() {
        let before = nodes.iter().take(index);
        let twin =
            before.clone().zip(&servers).find(|(_, server)| servers.get(index) == Some(*server) && !server.is_empty());
        if let Some((twin, _)) = twin {
            let problem = format!("the address of node \"{}\" too: name each server once", twin.name);
            return Some(Clash { node: index, key: "url", problem });
        }
        let EvidenceSource::Tap { listen } = node.evidence else { continue };
        let clash = |problem| Some(Clash { node: index, key: "tap", problem });
        let watched = before.zip(0..).find_map(|(other, at)| match other.evidence {
            EvidenceSource::Tap { listen: other } if meet(other, listen) => Some(at),
            _ => None,
        });
        if let Some(other) = watched.and_then(|at: usize| nodes.get(at)) {
            return clash(format!("the tap of node \"{}\" listens there: give each tap a port of its own", other.name));
        }
        let taken = nodes.iter().zip(&servers).find(|(_, server)| server.iter().any(|server| meet(*server, listen)));
        if let Some((other, _)) = taken {
            let problem = format!(
                "the tap listens on the address of node \"{}\": give it a free port, and let the router's backend point there",
                other.name
            );
            return clash(problem);
        }
        if router.iter().any(|router| meet(*router, listen)) {
            return clash("the tap listens on the router's address: give it a free port".to_owned());
        }
    }
    None
}

fn resolve(url: &Url) -> Vec<SocketAddr> {
    let mut all: Vec<_> = url.address().to_socket_addrs().into_iter().flatten().collect();
    all.sort_unstable();
    all
}

/// True when a connection to `one` would reach a listener at `other`, or the two cannot both listen. Port 0 takes a free port.
fn meet(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip().to_canonical(), other.ip().to_canonical());
    let everywhere = |ip: IpAddr, seen: IpAddr| ip.is_unspecified() && (seen.is_loopback() || seen.is_unspecified());
    one.port() != 0 && one.port() == other.port() && (a == b || everywhere(a, b) || everywhere(b, a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::Role;

    fn node(name: &str, url: &str, tap: &str) -> Node {
        let evidence = match tap {
            "" => EvidenceSource::None,
            tap => EvidenceSource::Tap { listen: tap.parse().unwrap() },
        };
        let url = Url::parse(&format!("mysql://root@{url}")).unwrap();
        Node { name: name.to_owned(), role: Role::Replica, url, evidence }
    }

    fn found(nodes: &[Node]) -> Option<(usize, &'static str, String)> {
        let router = Url::parse_router("mysql://127.0.0.1:6033").unwrap();
        clash(&router, nodes).map(|clash| (clash.node, clash.key, clash.problem))
    }

    #[test]
    fn a_usual_pair_is_right() {
        let pair = [node("a", "127.0.0.1:3306", "127.0.0.1:4306"), node("b", "127.0.0.1:3307", "127.0.0.1:4307")];
        assert_eq!(found(&pair), None);
        let elsewhere = [node("a", "192.0.2.1:3306", "127.0.0.1:3306"), node("b", "192.0.2.2:3306", "127.0.0.2:3306")];
        assert_eq!(found(&elsewhere), None);
        let free = [node("a", "127.0.0.1:3306", "127.0.0.1:0"), node("b", "127.0.0.1:3307", "127.0.0.1:0")];
        assert_eq!(found(&free), None);
    }

    #[test]
    fn one_server_is_not_two_nodes() {
        let (node, key, problem) = found(&[node("a", "127.0.0.1:3306", ""), node("b", "127.0.0.1", "")]).unwrap();
        assert_eq!((node, key), (1, "url"));
        assert!(problem.contains("node \"a\""), "{problem}");
    }

    #[test]
    fn a_tap_has_an_address_of_its_own() {
        let with = |tap: &str| {
            let pair = [node("a", "127.0.0.1:3306", "127.0.0.1:4306"), node("b", "127.0.0.1:3307", tap)];
            let (node, key, problem) = found(&pair).unwrap();
            assert_eq!((node, key), (1, "tap"), "{tap}");
            problem
        };
        assert!(with("127.0.0.1:4306").contains("the tap of node \"a\""));
        assert!(with("0.0.0.0:4306").contains("the tap of node \"a\""));
        assert!(with("127.0.0.1:3306").contains("the address of node \"a\""));
        assert!(with("127.0.0.1:3307").contains("the address of node \"b\""));
        assert!(with("0.0.0.0:6033").contains("the router's address"));
    }
}
