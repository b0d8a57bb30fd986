//! Which server port speaks which protocol.

use std::str::FromStr;

/// A wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// PostgreSQL, protocol 3.
    PostgreSql,
}

impl Protocol {
    /// Every protocol with its name on the command line.
    const NAMES: &[(&str, Protocol)] = &[("postgresql", Protocol::PostgreSql)];
}

/// The server ports to decode. Only this list decides what a connection speaks, so that a capture always gives the
/// same trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports(Vec<(u16, Protocol)>);

impl Default for Ports {
    /// PostgreSQL on its registered port.
    fn default() -> Self {
        Ports(vec![(5432, Protocol::PostgreSql)])
    }
}

impl<I: IntoIterator<Item = PortOption>> From<I> for Ports {
    fn from(options: I) -> Self {
        let mut list = Vec::new();
        for PortOption { port, protocol } in options {
            // the last one given for a port counts, as with other repeated options
            list.retain(|&(other, _)| other != port);
            list.push((port, protocol));
        }
        Ports(list)
    }
}

impl Ports {
    /// The protocol of a server port. The list is a handful long, so it is searched rather than hashed.
    #[inline]
    pub fn protocol(&self, port: u16) -> Option<Protocol> {
        self.0.iter().find(|(other, _)| *other == port).map(|&(_, protocol)| protocol)
    }

    /// The filter for libpcap that lets these ports through: also behind up to two VLAN tags where the link type can
    /// carry them, and behind IPv6 extension headers, which a filter cannot follow. An IP fragment without a TCP header
    /// does not pass; the one with it does, and is counted.
    pub(super) fn filter(&self, vlan: bool) -> String {
        let tcp: Vec<String> = self.0.iter().map(|(port, _)| format!("tcp port {port}")).collect();
        let plain = format!("{} or (ip6 and ip6[6] != 6 and ip6[6] != 17 and ip6[6] != 58)", tcp.join(" or "));
        match vlan {
            true => format!("({plain}) or (vlan and ({plain} or (vlan and ({plain}))))"),
            false => plain,
        }
    }
}

/// One entry of [`Ports`] as the command line gives it: `5432=postgresql`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortOption {
    /// The server port.
    pub port: u16,
    /// What is spoken there.
    pub protocol: Protocol,
}

/// A `--port` argument that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPort {
    /// It is not of the form.
    #[error("write PORT=PROTOCOL; for example 5432=postgresql")]
    Form,
    /// The port is none.
    #[error("{0:?} is not a port: write a number from 1 to 65535; for example 5432=postgresql")]
    Port(String),
    /// The protocol is not decoded.
    #[error("{0:?} is not a protocol that can be decoded: write one of {known}; for example 5432=postgresql", known = known())]
    Protocol(String),
}

fn known() -> String {
    Protocol::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl FromStr for PortOption {
    type Err = InvalidPort;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (port, name) = text.split_once('=').ok_or(InvalidPort::Form)?;
        let number = port.parse().ok().filter(|&port| port > 0);
        let port = number.ok_or_else(|| InvalidPort::Port(port.to_owned()))?;
        let protocol = Protocol::NAMES.iter().find(|(known, _)| *known == name);
        let (_, protocol) = protocol.ok_or_else(|| InvalidPort::Protocol(name.to_owned()))?;
        Ok(PortOption { port, protocol: *protocol })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_option_names_port_and_protocol() {
        let option: PortOption = "6432=postgresql".parse().expect("valid");
        assert_eq!(option, PortOption { port: 6432, protocol: Protocol::PostgreSql });
        for wrong in ["6432", "postgresql", "0=postgresql", "65536=postgresql", "6432=oracle", "=", ""] {
            let error = wrong.parse::<PortOption>().expect_err(wrong);
            assert!(error.to_string().contains("5432=postgresql"), "{error}");
        }
        let error = "5432=mysql".parse::<PortOption>().expect_err("is not decoded").to_string();
        assert!(error.contains("\"mysql\" is not a protocol") && error.contains("one of postgresql"), "{error}");
        let error = "five=postgresql".parse::<PortOption>().expect_err("is no number").to_string();
        assert!(error.contains("\"five\" is not a port"), "{error}");
    }

    #[test]
    fn the_last_protocol_given_for_a_port_counts_once() {
        let ports: Ports = [6432, 5432, 6432].map(|port| PortOption { port, protocol: Protocol::PostgreSql }).into();
        assert_eq!(ports.filter(false).matches("tcp port 6432").count(), 1);
        assert_eq!(ports.protocol(5432), Some(Protocol::PostgreSql));
        assert_eq!(ports.protocol(80), None);
    }

    #[test]
    fn libpcap_takes_the_filter_on_every_link_type_that_is_decoded() {
        for link in [0, 1, 12, 108, 113, 276] {
            let dead = pcap::Capture::dead(pcap::Linktype(link)).expect("handle");
            let ports = Ports::default();
            let filter = ports.filter(link == 1);
            dead.compile(&filter, true).unwrap_or_else(|error| panic!("{filter} on {link}: {error}"));
        }
    }
}
