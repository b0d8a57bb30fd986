//! Whether a target of the replay is a server of the recording.

use std::net::{SocketAddr, ToSocketAddrs};

use super::ControlError;
use crate::pair::Pair;

/// The addresses of a pair, to compare with the servers of a recording.
#[derive(Clone, Debug)]
pub struct Targets {
    known: Vec<(String, SocketAddr)>,
}

impl Targets {
    /// Resolves the addresses of the router and the nodes. A name that does not resolve is found out on connecting.
    pub fn of(pair: &Pair) -> Self {
        let nodes = pair.nodes.iter().map(|node| (format!("node \"{}\"", node.name), &node.url));
        let all = nodes.chain([("the router".to_owned(), &pair.router)]);
        let mut known = Vec::new();
        for (what, url) in all {
            let addresses = url.address().to_socket_addrs().into_iter().flatten();
            known.extend(addresses.map(|address| (what.clone(), canonical(address))));
        }
        Targets { known }
    }

    /// The target that listens on a recorded server address (`ADDRESS:PORT`), by name.
    pub fn find(&self, server: &str) -> Option<&str> {
        let server = canonical(server.parse().ok()?);
        self.known.iter().find(|(_, address)| *address == server).map(|(what, _)| what.as_str())
    }
}

/// Refuses a pair that holds one of the recorded servers.
///
/// # Errors
/// The first recorded server that is a target.
pub fn recorded_server<'a>(targets: &Targets, servers: impl IntoIterator<Item = &'a str>) -> Result<(), ControlError> {
    for server in servers {
        if let Some(what) = targets.find(server) {
            return Err(ControlError::RecordedServer { what: what.to_owned(), address: server.to_owned() });
        }
    }
    Ok(())
}

/// An IPv4 address may have been recorded as IPv6.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets() -> Targets {
        let known = vec![
            ("node \"primary\"".to_owned(), "10.0.0.1:5432".parse().unwrap()),
            ("the router".to_owned(), "127.0.0.1:9999".parse().unwrap()),
        ];
        Targets { known }
    }

    #[test]
    fn a_recorded_server_is_named() {
        let error = recorded_server(&targets(), ["10.0.0.1:5433", "10.0.0.1:5432"]).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("node \"primary\" is at 10.0.0.1:5432, where the trace was recorded"), "{message}");
        assert!(message.contains("--allow-recorded-server"), "{message}");
    }

    #[test]
    fn other_servers_and_odd_addresses_pass() {
        assert!(recorded_server(&targets(), ["10.0.0.2:5432", "127.0.0.1:9998", "unix", ""]).is_ok());
    }

    #[test]
    fn mapped_addresses_are_the_same() {
        assert_eq!(targets().find("[::ffff:127.0.0.1]:9999"), Some("the router"));
    }
}
