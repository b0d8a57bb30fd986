//! The table of connections: every packet goes in here and is accounted for.

use std::collections::{HashMap, hash_map::Entry};

use foldhash::fast::RandomState;

use super::{
    flow::Flow,
    fragments::{Fragments, Pushed},
    ports::Ports,
    statistics::Statistics,
    tcp::{self, Endpoint, Segment, flags},
    tunnel,
};
use crate::{
    session::{self, Close, Decoder, Shared, Start},
    trace::{Engine, Loss, Losses, Sink},
};

/// How much memory a capture may use, and how long it waits. Times are packet time, so that a file gives the same
/// trace however fast it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory for data that waits behind a hole in one direction of a connection, bytes. Beyond it the hole is a gap.
    pub buffered: usize,
    /// The same over all connections, bytes; looked at once a second of packet time.
    pub buffered_in_all: usize,
    /// How long data waits behind a hole that the peer has not acknowledged, nanoseconds. It matters where only one
    /// direction was captured; otherwise the acknowledgement decides.
    pub hole_ns: i64,
    /// When a connection that says nothing is taken for dead, nanoseconds. Pooled connections sleep long.
    pub idle_ns: i64,
    /// How long an ended connection is remembered, so that late repetitions are recognised, nanoseconds.
    pub linger_ns: i64,
    /// Connections held at once. Beyond it those that were silent longest are given up.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const SECOND: i64 = 1_000_000_000;
        Limits {
            buffered: 8 << 20,
            buffered_in_all: 256 << 20,
            hole_ns: 10 * SECOND,
            idle_ns: 6 * 3600 * SECOND,
            linger_ns: 60 * SECOND,
            connections: 1 << 18,
        }
    }
}

/// Makes the decoder of a new session from its server's kind, its number and what is known of it.
pub type Open = Box<dyn FnMut(Engine, u64, Start) -> Box<dyn Decoder>>;

/// Decoders that turn each session into requests. `shared` is what the sessions of one recording have in common.
pub fn sessions(shared: Shared) -> Open {
    Box::new(move |engine, session, start| session::decoder(engine, session, start, &shared))
}

/// How often the table is searched for what is due, nanoseconds of packet time.
const SWEEP_NS: i64 = 1_000_000_000;

/// What a connection needs of its surroundings while it handles a packet.
pub(super) struct Context<'a> {
    open: &'a mut Open,
    pub losses: &'a mut Losses,
    pub statistics: &'a mut Statistics,
    pub out: &'a mut dyn Sink,
}

impl Context<'_> {
    /// Numbers a session, and opens its decoder.
    pub fn open(&mut self, engine: Engine, start: Start) -> (u64, Box<dyn Decoder>) {
        let number = self.statistics.sessions;
        self.statistics.sessions += 1;
        self.statistics.midway += u64::from(start.midway);
        (number, (self.open)(engine, number, start))
    }
}

/// Packets in, requests out. It does no I/O: [`Source`](super::Source) feeds it, and so can a test.
pub struct Assembler {
    ports: Ports,
    limits: Limits,
    open: Open,
    flows: HashMap<[Endpoint; 2], Flow, RandomState>,
    fragments: Fragments,
    losses: Losses,
    statistics: Statistics,
    swept_ns: Option<i64>,
}

impl Assembler {
    /// An assembler for connections to these ports. `open` makes their decoders.
    pub fn new(ports: Ports, limits: Limits, open: Open) -> Self {
        Assembler {
            ports,
            limits,
            open,
            flows: HashMap::default(),
            fragments: Fragments::default(),
            losses: Losses::default(),
            statistics: Statistics::default(),
            swept_ns: None,
        }
    }

    /// The ports whose connections are decoded.
    pub fn ports(&self) -> &Ports {
        &self.ports
    }

    /// What was read so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// What was lost so far. The decoders count the gaps that they are told of, and the sessions joined midway.
    pub fn losses(&self) -> Losses {
        let mut losses = self.losses.clone();
        for decoder in self.flows.values().filter_map(Flow::decoder) {
            losses.merge(decoder.losses());
        }
        losses
    }

    /// Counts what the source itself lost.
    pub(super) fn lost(&mut self, loss: Loss, amount: u64) {
        self.losses.add(loss, amount);
    }

    /// Counts what the source itself lost, where it learns in the end how much that was in all.
    pub(super) fn lost_in_all(&mut self, loss: Loss, total: u64) {
        self.losses.set(loss, total);
    }

    /// Takes one packet: its link type as libpcap numbers it, its time in nanoseconds since 1970 UTC, the bytes
    /// captured, and how many it had on the wire.
    #[inline]
    pub fn feed(&mut self, link: i32, at_ns: i64, data: &[u8], wire: u32, out: &mut dyn Sink) {
        self.statistics.packet(at_ns, data.len());
        let outcome = tcp::read(link, data, wire).and_then(|segment| self.segment(at_ns, &segment, out));
        match outcome {
            Ok(()) => self.statistics.used += 1,
            Err(Loss::IpFragment) => self.fragment(link, at_ns, data, wire, out),
            Err(loss) => self.losses.add(loss, 1),
        }
        if self.swept_ns.is_none_or(|swept| at_ns.abs_diff(swept) >= SWEEP_NS.unsigned_abs()) {
            self.tick(at_ns, out);
        }
    }

    /// Takes an IP fragment. A packet that is whole now is accounted for with all its fragments; one that never
    /// becomes whole is a loss of those that came.
    #[cold]
    fn fragment(&mut self, link: i32, at_ns: i64, data: &[u8], wire: u32, out: &mut dyn Sink) {
        let (packets, outcome) =
            match tunnel::fragment(link, data, wire).map(|piece| self.fragments.push(at_ns, &piece)) {
                Err(loss) => (1, Err(loss)),
                Ok(Pushed::Waiting) => (0, Ok(())),
                Ok(Pushed::Repeated) => (1, Ok(())),
                Ok(Pushed::Whole(whole)) => {
                    let carried = tunnel::whole(&whole);
                    let segment = carried.and_then(tcp::segment);
                    (whole.packets, segment.and_then(|segment| self.segment(at_ns, &segment, out)))
                }
            };
        match outcome {
            Ok(()) => self.statistics.used += packets,
            Err(loss) => self.losses.add(loss, packets),
        }
        self.losses.add(Loss::IpFragment, self.fragments.expire(at_ns));
    }

    #[inline]
    fn segment(&mut self, at_ns: i64, segment: &Segment<'_>, out: &mut dyn Sink) -> Result<(), Loss> {
        let ends = (self.ports.engine(segment.destination.port), self.ports.engine(segment.source.port));
        let (from_client, engine) = match ends {
            (Some(engine), None) => (true, engine),
            (None, Some(engine)) => (false, engine),
            // Between two listed ports the one that begins is the client; midway, the one that speaks first.
            (Some(_), Some(engine)) if segment.has(flags::SYN) && segment.has(flags::ACK) => (false, engine),
            (Some(engine), Some(_)) => (true, engine),
            (None, None) => return Err(Loss::OtherTraffic),
        };

        self.statistics.payload_bytes += u64::from(segment.len());
        if self.flows.len() >= self.limits.connections {
            self.shed(at_ns, out);
        }
        let Assembler { limits, flows, losses, statistics, open, .. } = self;
        let mut cx = Context { open, losses, statistics, out };
        let key = match segment.source < segment.destination {
            true => [segment.source, segment.destination],
            false => [segment.destination, segment.source],
        };
        match flows.entry(key) {
            Entry::Occupied(mut entry) => {
                let flow = entry.get_mut();
                if flow.is_another(segment, flow.is_client(segment.source)) {
                    flow.end(at_ns, Close::RecordingEnded, &mut cx);
                    *flow = Flow::new(segment, from_client, engine);
                }
                let from_client = flow.is_client(segment.source);
                flow.packet(at_ns, segment, from_client, limits, &mut cx);
            }
            // Only a SYN or data shows a connection: a lone ACK, FIN or RST may be the last of one.
            Entry::Vacant(entry) if segment.has(flags::SYN) || segment.len() > 0 => {
                let flow = entry.insert(Flow::new(segment, from_client, engine));
                flow.packet(at_ns, segment, from_client, limits, &mut cx);
            }
            Entry::Vacant(_) => {}
        }
        if segment.missing > 0 { Err(Loss::SnapLength) } else { Ok(()) }
    }

    /// Lets time pass: gives up holes and connections that are due. Only a source that waits for packets needs to
    /// call it; [`feed`](Self::feed) does so by the packets' times.
    pub fn tick(&mut self, now_ns: i64, out: &mut dyn Sink) {
        self.swept_ns = Some(now_ns);
        self.losses.add(Loss::IpFragment, self.fragments.expire(now_ns));
        let Assembler { limits, flows, losses, statistics, open, .. } = self;
        let mut cx = Context { open, losses, statistics, out };
        let mut buffered = 0;
        flows.retain(|_, flow| {
            let silent = now_ns.saturating_sub(flow.last_ns());
            if flow.is_closed() {
                return silent < limits.linger_ns;
            }
            buffered += flow.buffered();
            let over = buffered > limits.buffered_in_all;
            flow.give_up(now_ns, if over { i64::MAX } else { now_ns.saturating_sub(limits.hole_ns) }, &mut cx);
            if silent >= limits.idle_ns {
                flow.end(now_ns, Close::RecordingEnded, &mut cx);
                cx.statistics.abandoned += 1;
            }
            !flow.is_closed()
        });
    }

    /// Makes room: forgets ended connections, then gives up those that were silent longest, a sixteenth at a time.
    #[cold]
    fn shed(&mut self, at_ns: i64, out: &mut dyn Sink) {
        self.flows.retain(|_, flow| !flow.is_closed());
        let excess = self.flows.len().saturating_sub(self.limits.connections - self.limits.connections / 16);
        let mut times: Vec<i64> = self.flows.values().map(Flow::last_ns).collect();
        if excess == 0 || excess > times.len() {
            return;
        }
        let (_, &mut latest, _) = times.select_nth_unstable(excess - 1);
        let Assembler { flows, losses, statistics, open, .. } = self;
        let mut cx = Context { open, losses, statistics, out };
        flows.retain(|_, flow| {
            if flow.last_ns() <= latest {
                flow.end(at_ns, Close::RecordingEnded, &mut cx);
                cx.statistics.abandoned += 1;
            }
            !flow.is_closed()
        });
    }

    /// Ends the capture: closes every session that is still open, in the order of their numbers.
    pub fn finish(&mut self, out: &mut dyn Sink) {
        let at_ns = self.statistics.last_ns.unwrap_or(0);
        self.losses.add(Loss::IpFragment, self.fragments.expire(i64::MAX));
        let mut flows: Vec<Flow> = self.flows.drain().map(|(_, flow)| flow).collect();
        flows.sort_by_key(Flow::session);
        let Assembler { losses, statistics, open, .. } = self;
        let mut cx = Context { open, losses, statistics, out };
        for mut flow in flows {
            flow.end(at_ns, Close::RecordingEnded, &mut cx);
        }
    }
}
