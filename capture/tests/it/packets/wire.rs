//! Builds the packets of a connection, and hears what the assembler makes of them.

use std::{
    fmt::Write,
    sync::{Arc, Mutex},
};

use etherparse::PacketBuilder;
use splitproof_capture::{
    packets::{Assembler, Limits, Ports, Statistics},
    session::{Close, Decoder, Start},
    trace::{Loss, Losses, Request, Sink},
};

pub const ETHERNET: i32 = 1;

/// One end of a connection.
#[derive(Clone, Copy)]
pub struct End {
    pub address: [u8; 4],
    pub port: u16,
}

pub const CLIENT: End = End { address: [10, 0, 0, 1], port: 40_000 };
pub const SERVER: End = End { address: [10, 0, 0, 2], port: 5432 };

/// A TCP segment to be built. The flags are letters: `S`, `A`, `F`, `R`.
#[derive(Clone)]
pub struct Tcp {
    pub from: End,
    pub to: End,
    pub seq: u32,
    pub ack: u32,
    pub flags: &'static str,
    pub payload: Vec<u8>,
}

impl Tcp {
    pub fn client(flags: &'static str, seq: u32, ack: u32, payload: &str) -> Self {
        Tcp { from: CLIENT, to: SERVER, seq, ack, flags, payload: payload.into() }
    }

    pub fn server(flags: &'static str, seq: u32, ack: u32, payload: &str) -> Self {
        Tcp { from: SERVER, to: CLIENT, seq, ack, flags, payload: payload.into() }
    }

    /// From another client port.
    pub fn port(mut self, port: u16) -> Self {
        for end in [&mut self.from, &mut self.to] {
            end.port = if end.port == SERVER.port { end.port } else { port };
        }
        self
    }

    /// The segment in IPv4, without a link header.
    pub fn ipv4(&self) -> Vec<u8> {
        let step = PacketBuilder::ipv4(self.from.address, self.to.address, 64);
        let mut step = step.tcp(self.from.port, self.to.port, self.seq, 64_000);
        for flag in self.flags.chars() {
            step = match flag {
                'S' => step.syn(),
                'A' => step.ack(self.ack),
                'F' => step.fin(),
                'R' => step.rst(),
                other => panic!("no flag {other}"),
            };
        }
        let mut bytes = Vec::new();
        step.write(&mut bytes, &self.payload).expect("a buffer takes all");
        bytes
    }

    /// The segment in IPv4 in Ethernet.
    pub fn ethernet(&self) -> Vec<u8> {
        let mut bytes = vec![2; 12];
        bytes.extend([8, 0]);
        bytes.extend(self.ipv4());
        bytes
    }
}

/// What the decoders were told, one line per connection event.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<String>>);

impl Heard {
    pub fn text(&self) -> String {
        self.0.lock().expect("no panic before").clone()
    }

    fn line(&self, line: std::fmt::Arguments<'_>) {
        let mut text = self.0.lock().expect("no panic before");
        writeln!(text, "{line}").expect("a string takes all");
    }
}

struct Listener {
    session: u64,
    heard: Heard,
    losses: Losses,
}

impl Decoder for Listener {
    fn client(&mut self, _: i64, bytes: &[u8], _: &mut dyn Sink) {
        self.heard.line(format_args!("{} > {}", self.session, String::from_utf8_lossy(bytes)));
    }

    fn server(&mut self, _: i64, bytes: &[u8], _: &mut dyn Sink) {
        self.heard.line(format_args!("{} < {}", self.session, String::from_utf8_lossy(bytes)));
    }

    fn client_gap(&mut self, _: i64, missing: u64, _: &mut dyn Sink) {
        self.heard.line(format_args!("{} > [{missing}]", self.session));
    }

    fn server_gap(&mut self, _: i64, missing: u64, _: &mut dyn Sink) {
        self.heard.line(format_args!("{} < [{missing}]", self.session));
    }

    fn close(&mut self, _: i64, how: Close, _: &mut dyn Sink) {
        self.heard.line(format_args!("{} close {how:?}", self.session));
    }

    fn next_seq(&self) -> u32 {
        0
    }

    fn losses(&self) -> &Losses {
        &self.losses
    }
}

/// An assembler whose decoders only listen.
pub fn assembler(ports: Ports, limits: Limits) -> (Assembler, Heard) {
    let heard = Heard::default();
    let to = heard.clone();
    let open = move |_, session, start: Start| -> Box<dyn Decoder> {
        let midway = if start.midway { " midway" } else { "" };
        to.line(format_args!("{session} {} -> {}{midway}", start.client, start.server));
        Box::new(Listener { session, heard: to.clone(), losses: Losses::default() })
    };
    (Assembler::new(ports, limits, Box::new(open)), heard)
}

/// What came of some packets.
pub struct Played {
    pub text: String,
    pub statistics: Statistics,
    pub losses: Losses,
}

/// Feeds frames of one link type, a millisecond apart, and ends the capture.
pub fn feed<'a>(link: i32, frames: impl IntoIterator<Item = &'a [u8]>) -> Played {
    let (mut assembler, heard) = assembler(Ports::default(), Limits::default());
    let mut out: Vec<Request> = Vec::new();
    for (frame, n) in frames.into_iter().zip(1..) {
        assembler.feed(link, n * 1_000_000, frame, frame.len() as u32, &mut out);
    }
    assembler.finish(&mut out);
    let played = Played { text: heard.text(), statistics: assembler.statistics().clone(), losses: assembler.losses() };
    accounted(&played);
    played
}

/// Plays segments as Ethernet frames and returns what the decoders heard.
pub fn play(segments: &[Tcp]) -> String {
    let frames: Vec<Vec<u8>> = segments.iter().map(Tcp::ethernet).collect();
    feed(ETHERNET, frames.iter().map(Vec::as_slice)).text
}

/// Packets that were read and not used. Those that the kernel dropped were never read.
pub fn lost_packets(losses: &Losses) -> u64 {
    let lost = losses.iter().filter(|(loss, _)| loss.unit() == "packets" && *loss != Loss::KernelDropped);
    lost.map(|(_, amount)| amount).sum()
}

/// Checks that every packet was used or is counted as lost.
pub fn accounted(played: &Played) {
    assert_eq!(played.statistics.packets, played.statistics.used + lost_packets(&played.losses), "{:?}", played.losses);
}
