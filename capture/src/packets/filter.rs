//! What an interface is asked for: the filter that the kernel applies.

use std::str::FromStr;

use super::Ports;
use super::tunnel::{GENEVE, VXLAN};

/// A kind of tunnel that a live capture lets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// VXLAN, at its registered port and Linux's older one.
    Vxlan,
    /// Geneve.
    Geneve,
    /// GRE, and so ERSPAN.
    Gre,
    /// IPv4 or IPv6 in either.
    Ipip,
    /// MPLS over Ethernet.
    Mpls,
    /// PPPoE.
    Pppoe,
}

impl Tunnel {
    /// Every kind.
    pub const ALL: &[Tunnel] = &[Tunnel::Vxlan, Tunnel::Geneve, Tunnel::Gre, Tunnel::Ipip, Tunnel::Mpls, Tunnel::Pppoe];

    /// Its name on the command line, which is tcpdump's.
    pub fn name(self) -> &'static str {
        match self {
            Tunnel::Vxlan => "vxlan",
            Tunnel::Geneve => "geneve",
            Tunnel::Gre => "gre",
            Tunnel::Ipip => "ipip",
            Tunnel::Mpls => "mpls",
            Tunnel::Pppoe => "pppoe",
        }
    }

    /// Whether only frames that are like Ethernet's can be asked for it.
    pub(super) fn needs_ethernet(self) -> bool {
        matches!(self, Tunnel::Mpls | Tunnel::Pppoe)
    }

    /// The filter that lets it pass.
    fn filter(self) -> String {
        // Of UDP in fragments, only the first tells the port.
        let udp = |ports: &[u16]| {
            let ports: Vec<String> = ports.iter().map(|port| format!("udp port {port}")).collect();
            format!("{} or (ip proto 17 and ip[6:2] & 0x1fff != 0)", ports.join(" or "))
        };
        match self {
            Tunnel::Vxlan => udp(&VXLAN),
            Tunnel::Geneve => udp(&[GENEVE]),
            Tunnel::Gre => "ip proto 47 or ip6 proto 47".to_owned(),
            Tunnel::Ipip => "ip proto 4 or ip proto 41 or ip6 proto 4 or ip6 proto 41".to_owned(),
            // Not `mpls` and `pppoes`, which change what the rest of a filter means.
            Tunnel::Mpls => "ether proto 0x8847 or ether proto 0x8848".to_owned(),
            Tunnel::Pppoe => "ether proto 0x8864".to_owned(),
        }
    }
}

/// A name that is no tunnel's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a tunnel: write some of vxlan, geneve, gre (ERSPAN, too), ipip, mpls, pppoe, with commas between them; or all"
)]
pub struct InvalidTunnel(String);

impl FromStr for Tunnel {
    type Err = InvalidTunnel;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Tunnel::ALL.iter().copied().find(|tunnel| tunnel.name() == name);
        found.ok_or_else(|| InvalidTunnel(name.to_owned()))
    }
}

/// The filter for libpcap that lets these ports through: also behind up to two VLAN tags where the link is like Ethernet and can
/// carry them, and behind IPv6 extension headers, which a filter cannot follow. Of fragments of TCP in IPv4 those after
/// the first pass whatever their port, which only the first tells. Of these tunnels all passes, whatever is in them.
pub(super) fn filter(ports: &Ports, tunnels: &[Tunnel], ethernet: bool) -> String {
    let mut parts: Vec<String> = ports.iter().map(|port| format!("tcp port {port}")).collect();
    parts.push("(ip proto 6 and ip[6:2] & 0x1fff != 0)".to_owned());
    parts.push("(ip6 and ip6[6] != 6 and ip6[6] != 17 and ip6[6] != 58)".to_owned());
    let possible = tunnels.iter().filter(|tunnel| ethernet || !tunnel.needs_ethernet());
    parts.extend(possible.map(|tunnel| tunnel.filter()));
    let plain = parts.join(" or ");
    match ethernet {
        true => format!("({plain}) or (vlan and ({plain} or (vlan and ({plain}))))"),
        false => plain,
    }
}

#[cfg(test)]
mod tests {
    use pcap::{Capture, Linktype};

    use super::*;

    /// UDP from and to port 4789 in IPv4, or what a protocol number says.
    fn packet(protocol: u8, port: u16, fragment: u16) -> Vec<u8> {
        let mut packet = vec![0; 12];
        packet.extend_from_slice(&[8, 0, 0x45, 0, 0, 40, 0, 0]);
        packet.extend_from_slice(&fragment.to_be_bytes());
        packet.extend_from_slice(&[64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend_from_slice(&port.to_be_bytes());
        packet.extend_from_slice(&port.to_be_bytes());
        packet.resize(60, 0);
        packet
    }

    #[track_caller]
    fn passes(filter: &str, packet: &[u8]) -> bool {
        let program = Capture::dead(Linktype::ETHERNET).expect("opens").compile(filter, true).expect(filter);
        program.filter(packet)
    }

    #[test]
    fn libpcap_takes_the_filter_on_every_link_type_that_is_decoded() {
        for link in [0, 1, 12, 108, 113, 276] {
            let dead = Capture::dead(Linktype(link)).expect("handle");
            for tunnels in [&[], Tunnel::ALL] {
                let filter = filter(&Ports::default(), tunnels, link == 1);
                dead.compile(&filter, true).unwrap_or_else(|error| panic!("{filter} on {link}: {error}"));
            }
        }
    }

    #[test]
    fn tunnels_pass_where_they_are_asked_for() {
        let without = filter(&Ports::default(), &[], true);
        let mpls = [&[0; 12][..], &[0x88, 0x47], &[0; 46]].concat();
        let pppoe = [&[0; 12][..], &[0x88, 0x64], &[0; 46]].concat();
        for (name, packet) in [
            ("vxlan", packet(17, 4789, 0)),
            ("vxlan", packet(17, 8472, 0)),
            ("vxlan", packet(17, 9, 100)),
            ("geneve", packet(17, 6081, 0)),
            ("gre", packet(47, 0, 0)),
            ("ipip", packet(4, 0, 0)),
            ("ipip", packet(41, 0, 0)),
            ("mpls", mpls),
            ("pppoe", pppoe),
        ] {
            let tunnel: Tunnel = name.parse().expect("a tunnel");
            assert!(!passes(&without, &packet), "{name}");
            assert!(passes(&filter(&Ports::default(), &[tunnel], true), &packet), "{name}");
            assert!(passes(&filter(&Ports::default(), Tunnel::ALL, true), &packet), "{name}");
            let tagged = [&packet[..12], &[0x81, 0, 0, 5], &packet[12..]].concat();
            assert!(passes(&filter(&Ports::default(), &[tunnel], true), &tagged), "{name} behind a VLAN tag");
        }
        let all = filter(&Ports::default(), Tunnel::ALL, true);
        assert!(passes(&all, &packet(6, 5432, 0)) && passes(&without, &packet(6, 5432, 0)));
        assert!(!passes(&all, &packet(6, 80, 0)) && !passes(&all, &packet(17, 53, 0)));
        assert!("ipsec".parse::<Tunnel>().expect_err("no tunnel").to_string().contains("vxlan"));
    }
}
