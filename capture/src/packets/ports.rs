//! Which server port speaks which protocol.

use std::str::FromStr;

use crate::trace::Engine;

/// The server ports to decode. Only this list decides what a connection speaks, so that a capture always gives the
/// same trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports(Vec<(u16, Engine)>);

impl Default for Ports {
    /// Every engine on its registered port.
    fn default() -> Self {
        Ports(vec![(5432, Engine::Postgresql), (3306, Engine::Mysql)])
    }
}

impl<I: IntoIterator<Item = PortOption>> From<I> for Ports {
    fn from(options: I) -> Self {
        let mut list = Vec::new();
        for PortOption { port, engine } in options {
            // the last one given for a port counts, as with other repeated options
            list.retain(|&(other, _)| other != port);
            list.push((port, engine));
        }
        Ports(list)
    }
}

impl Ports {
    /// What is spoken at a server port. The list is a handful long, so it is searched rather than hashed.
    #[inline]
    pub fn engine(&self, port: u16) -> Option<Engine> {
        self.0.iter().find(|(other, _)| *other == port).map(|&(_, engine)| engine)
    }

    /// What is spoken at all of them; `None` when they differ.
    pub fn only_engine(&self) -> Option<Engine> {
        let &(_, first) = self.0.first()?;
        self.0.iter().all(|&(_, engine)| engine == first).then_some(first)
    }

    /// The ports.
    pub(super) fn iter(&self) -> impl Iterator<Item = u16> {
        self.0.iter().map(|&(port, _)| port)
    }
}

/// One entry of [`Ports`] as the command line gives it: `5432=postgresql`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortOption {
    /// The server port.
    pub port: u16,
    /// What is spoken there.
    pub engine: Engine,
}

/// A `--port` argument that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPort {
    /// It is not of the form.
    #[error("write PORT=PROTOCOL; for example 5432=postgresql or 3306=mysql")]
    Form,
    /// The port is none.
    #[error("{0:?} is not a port: write a number from 1 to 65535; for example 5432=postgresql")]
    Port(String),
    /// The protocol is not decoded.
    #[error("{0:?} is not a protocol that can be decoded: write one of {known}; for example 5432=postgresql", known = known())]
    Protocol(String),
}

fn known() -> String {
    Engine::ALL.iter().map(|engine| engine.as_str()).collect::<Vec<_>>().join(", ")
}

impl FromStr for PortOption {
    type Err = InvalidPort;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (port, name) = text.split_once('=').ok_or(InvalidPort::Form)?;
        let number = port.parse().ok().filter(|&port| port > 0);
        let port = number.ok_or_else(|| InvalidPort::Port(port.to_owned()))?;
        let engine = Engine::from_word(name).ok_or_else(|| InvalidPort::Protocol(name.to_owned()))?;
        Ok(PortOption { port, engine })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_option_names_port_and_protocol() {
        let option: PortOption = "6432=postgresql".parse().expect("valid");
        assert_eq!(option, PortOption { port: 6432, engine: Engine::Postgresql });
        let option: PortOption = "3307=mysql".parse().expect("valid");
        assert_eq!(option, PortOption { port: 3307, engine: Engine::Mysql });
        for wrong in ["6432", "postgresql", "0=postgresql", "65536=postgresql", "6432=oracle", "=", ""] {
            let error = wrong.parse::<PortOption>().expect_err(wrong);
            assert!(error.to_string().contains("5432=postgresql"), "{error}");
        }
        let error = "5432=oracle".parse::<PortOption>().expect_err("is not decoded").to_string();
        assert!(error.contains("\"oracle\" is not a protocol") && error.contains("one of postgresql"), "{error}");
        let error = "five=postgresql".parse::<PortOption>().expect_err("is no number").to_string();
        assert!(error.contains("\"five\" is not a port"), "{error}");
    }

    #[test]
    fn the_last_protocol_given_for_a_port_counts_once() {
        let option = |port, engine| PortOption { port, engine };
        let mysql_last = [(6432, Engine::Postgresql), (3306, Engine::Mysql), (6432, Engine::Mysql)];
        let ports: Ports = mysql_last.map(|(port, engine)| option(port, engine)).into();
        assert_eq!(ports.iter().collect::<Vec<_>>(), [3306, 6432]);
        assert_eq!((ports.engine(6432), ports.engine(80)), (Some(Engine::Mysql), None));
        assert_eq!(ports.only_engine(), Some(Engine::Mysql));
        assert_eq!(Ports::default().only_engine(), None);
    }
}
