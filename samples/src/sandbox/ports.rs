//! The ports of a sandbox.

use std::net::TcpListener;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Every port a sandbox uses, all on 127.0.0.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// The primary.
    pub primary: u16,
    /// The replica.
    pub replica: u16,
    /// The router, where clients connect.
    pub router: u16,
    /// The router's administration.
    pub router_admin: u16,
    /// Where replay's tap in front of the primary listens; the router's backend 0 points here.
    pub tap_primary: u16,
    /// Where replay's tap in front of the replica listens; the router's backend 1 points here.
    pub tap_replica: u16,
}

/// Blocks start at multiples of eight, so that two sandboxes created at once either take the same block, and
/// then see each other's servers, or share no port.
const BLOCK: u16 = 8;
const USED: u16 = 6;
const FIRST: u16 = 20_000;
const END: u16 = 32_000;
const TRIES: usize = 200;

impl Ports {
    /// Picks six free neighbouring ports below the kernel's range for outgoing connections. A port that
    /// binding to port 0 gives lies inside that range, and a client's connection could take it before a tap
    /// listens there.
    pub fn pick() -> Result<Self> {
        for _ in 0..TRIES {
            let base = FIRST + fastrand::u16(0..(END - FIRST) / BLOCK) * BLOCK;
            let free = (base..base + USED).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok());
            if free {
                return Ok(Self {
                    primary: base,
                    replica: base + 1,
                    router: base + 2,
                    router_admin: base + 3,
                    tap_primary: base + 4,
                    tap_replica: base + 5,
                });
            }
        }
        Err(Error::NoPorts(usize::from(USED)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_differ() {
        let ports = Ports::pick().unwrap();
        let all =
            [ports.primary, ports.replica, ports.router, ports.router_admin, ports.tap_primary, ports.tap_replica];
        let distinct: std::collections::BTreeSet<u16> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
        for port in all {
            TcpListener::bind(("127.0.0.1", port)).unwrap();
        }
    }
}
