//! A network interface, captured through libpcap.

use std::{
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use pcap::{Active, Capture, Device, Precision};

use super::{
    Assembler, Error, Ports,
    file::{text, time},
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
}

impl Live {
    /// An interface with a kernel buffer of 64 MiB and whole packets.
    pub fn new(interface: impl Into<String>) -> Self {
        Live { interface: interface.into(), buffer: 64 << 20, snap_length: 262_144, promiscuous: false }
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
        let mut dropped = 0;
        let mut last = false;
        loop {
            let seen = capture
                .dispatch(None, |packet| to.feed(link, time(packet.header), packet.data, packet.header.len, out))
                .map_err(|error| self.error(&error))?;
            // interface and kernel drops alike: packets that never reached the decoder
            let stat = capture.stats().map_err(|error| self.error(&error))?;
            let total = u64::from(stat.dropped) + u64::from(stat.if_dropped);
            to.lost(Loss::KernelDropped, total.saturating_sub(dropped));
            dropped = total.max(dropped);
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
        let filtered = capture.filter(&self.filter(ports, true), true);
        filtered.or_else(|_| capture.filter(&self.filter(ports, false), true)).map_err(|error| self.error(&error))?;
        Error::unless_known(capture.get_datalink(), &self.interface)?;
        Ok(capture)
    }

    /// The filter for the kernel. What passes the loopback is there twice, out and in: libpcap passes over the one, but only after it
    /// took room in the buffer, or was counted among those that were dropped.
    fn filter(&self, ports: &Ports, vlan: bool) -> String {
        let filter = ports.filter(vlan);
        if self.interface == "lo" { format!("inbound and ({filter})") } else { filter }
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

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
