//! A network interface, captured through libpcap.

use std::{
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use pcap::{Active, Capture, Device, Precision, Stat};

use super::{
    Assembler, Error, Ports, Tunnel,
    filter::filter,
    source::{Pace, Reason},
};
use crate::trace::{Loss, Sink};

/// How long the kernel may hold a packet before it shows it, milliseconds.
const HOLD_MS: i32 = 100;

/// How long to sleep when nothing has come.
const NAP: Duration = Duration::from_millis(5);

/// An interface to capture from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Its name: `eth0`, `lo`, or `any`.
    pub interface: String,
    /// Kernel buffer, bytes. It takes what arrives while the decoder is busy; what does not fit is dropped and
    /// counted.
    pub buffer: u32,
    /// Bytes kept of each packet.
    pub snap_length: u32,
    /// Whether to see packets that are not for this machine, as on a mirror port.
    pub promiscuous: bool,
    /// Tunnels whose packets pass the kernel's filter, whatever is in them.
    pub tunnels: Vec<Tunnel>,
}

impl Live {
    /// An interface with a kernel buffer of 64 MiB and whole packets.
    pub fn new(interface: impl Into<String>) -> Self {
        Live {
            interface: interface.into(),
            buffer: 64 << 20,
            snap_length: 262_144,
            promiscuous: false,
            tunnels: Vec::new(),
        }
    }

    /// Finds out whether the interface can be captured from.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.open(&Ports::default()).map(drop)
    }

    /// Captures until told to stop.
    pub(super) fn read(
        &self,
        capture: &mut Capture<Active>,
        to: &mut Assembler,
        out: &mut dyn Sink,
        pace: &mut Pace<'_>,
    ) -> Result<Reason, Error> {
        let link = capture.get_datalink().0;
        let mut counters = Counters::new(self.stat(capture)?, self.interface == "lo");
        let mut last = false;
        loop {
            if last {
                // before the rest is read, so that nothing counts as lost that came after it
                counters.take(self.stat(capture)?);
            }
            let mut read = 0;
            let seen = capture
                .dispatch(None, |packet| {
                    read += 1;
                    to.feed(link, time(packet.header), packet.data, packet.header.len, out);
                })
                .map_err(|error| self.error(&error))?;
            counters.read += read;
            if !last {
                counters.take(self.stat(capture)?);
            }
            to.lost_in_all(Loss::KernelDropped, counters.lost(last));
            if last {
                return Ok(pace.reason());
            }
            if seen == 0 {
                to.tick(now(), out);
                thread::sleep(NAP);
            }
            if pace.is_over(to, out) {
                // what arrived before the end is still in the kernel's hands for a moment
                thread::sleep(Duration::from_millis(2 * HOLD_MS.unsigned_abs() as u64));
                last = true;
            }
        }
    }

    /// Begins to capture the packets of these ports.
    pub(super) fn open(&self, ports: &Ports) -> Result<Capture<Active>, Error> {
        let int = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        let mut capture = Capture::from_device(self.interface.as_str())
            .map_err(|error| self.error(&error))?
            .precision(Precision::Nano)
            .buffer_size(int(self.buffer))
            .snaplen(int(self.snap_length))
            .promisc(self.promiscuous)
            .timeout(HOLD_MS)
            .open()
            .and_then(Capture::setnonblock)
            .map_err(|error| self.error(&error))?;
        // not every link type can carry VLAN tags, and libpcap refuses a filter that asks for them there
        let mut ask = |ethernet| capture.filter(&filter(ports, &self.tunnels, ethernet), true);
        if let Err(error) = ask(true) {
            if let Some(tunnel) = self.tunnels.iter().find(|tunnel| tunnel.needs_ethernet()) {
                let what = format!("{} cannot be told apart there: {}", tunnel.name(), text(&error));
                let remedy = "capture from an Ethernet interface, or leave it out of --tunnels".to_owned();
                return Err(Error::Interface { interface: self.interface.clone(), what, remedy });
            }
            ask(false).map_err(|error| self.error(&error))?;
        }
        Error::unless_known(capture.get_datalink(), &self.interface)?;
        Ok(capture)
    }

    fn stat(&self, capture: &mut Capture<Active>) -> Result<Stat, Error> {
        capture.stats().map_err(|error| self.error(&error))
    }

    fn error(&self, error: &pcap::Error) -> Error {
        let what = text(error);
        let remedy = match Device::list() {
            _ if what.contains("ermission") || what.contains("ermitted") => {
                "run as root, or once as root: setcap cap_net_raw=ep on this program".to_owned()
            }
            Ok(devices) if devices.iter().all(|device| device.name != self.interface) => {
                let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
                format!("interfaces here: {}", names.join(", "))
            }
            _ => "check that it is up, and that this kernel allows packet capture".to_owned(),
        };
        Error::Interface { interface: self.interface.clone(), what, remedy }
    }
}

/// The time of a packet, nanoseconds since 1970 UTC: libpcap was asked for nanoseconds, which it puts where the
/// microseconds are otherwise.
fn time(header: &pcap::PacketHeader) -> i64 {
    header.ts.tv_sec.saturating_mul(1_000_000_000).saturating_add(header.ts.tv_usec)
}

/// What libpcap says, without the prefix.
fn text(error: &pcap::Error) -> String {
    match error {
        pcap::Error::PcapError(text) => text.clone(),
        other => other.to_string(),
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// What the kernel says that it dropped, interface and buffer alike: packets that never reached the decoder.
///
/// What passes the loopback is there twice, out and in. libpcap gives out only the one that comes in, and the kernel drops and
/// counts either. While the capture runs, half of what was dropped is a good guess; at its end, when all was read, half of what
/// was received is what passed, and the rest was lost.
struct Counters {
    twice: bool,
    before: Stat,
    received: u64,
    dropped: u64,
    read: u64,
}

impl Counters {
    fn new(before: Stat, twice: bool) -> Self {
        Counters { twice, before, received: 0, dropped: 0, read: 0 }
    }

    /// The counters of libpcap have 32 bits and begin anew after that.
    fn take(&mut self, stat: Stat) {
        let grown = |now: u32, before: u32| u64::from(now.wrapping_sub(before));
        self.received += grown(stat.received, self.before.received);
        self.dropped += grown(stat.dropped, self.before.dropped) + grown(stat.if_dropped, self.before.if_dropped);
        self.before = stat;
    }

    fn lost(&self, at_end: bool) -> u64 {
        match self.twice {
            true if at_end && self.dropped > 0 => (self.received / 2).saturating_sub(self.read),
            true => self.dropped / 2,
            false => self.dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(received: u32, dropped: u32) -> Stat {
        Stat { received, dropped, if_dropped: 0 }
    }

    #[test]
    fn drops_of_the_loopback_count_once() {
        // Counted with two recorders: 11452 packets passed, the kernel saw 22904 and dropped 18183, and 2333 were read.
        let mut counters = Counters::new(stat(0, 0), true);
        counters.take(stat(22_904, 18_183));
        counters.read = 2333;
        assert_eq!(counters.lost(true), 11_452 - 2333);
        assert_eq!(counters.lost(false), 9091);
        let mut counters = Counters::new(stat(u32::MAX - 9, u32::MAX), false);
        counters.take(stat(90, 4));
        assert_eq!((counters.received, counters.lost(true)), (100, 5), "the counters begin anew");
    }
}
