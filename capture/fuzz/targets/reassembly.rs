//! Frames of any content: link types, tunnels, fragments and TCP segments, with times that go anywhere. Every packet and every
//! byte of payload is used or counted, and the bytes that a decoder is told of stand in the order of their numbers.
//!
//! The input is a row of frames: link type (a choice), time step (signed, milliseconds), cut (bytes that are not captured),
//! length, bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use splitproof_capture::packets::{Assembler, Limits, sessions};
use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Engine, Loss, Request};

const LINKS: [i32; 8] = [1, 1, 1, 0, 101, 113, 276, 229];

fuzz_target!(|data: &[u8]| {
    for &engine in Engine::ALL {
        let limits = Limits { buffered: 4096, buffered_in_all: 16_384, connections: 16, ..Limits::default() };
        let mut assembler = Assembler::new(Default::default(), limits, sessions(Shared::new(engine)));
        let mut out: Vec<Request> = Vec::new();
        let (mut rest, mut at_ns) = (data, 1_700_000_000_000_000_000_i64);
        while let Some((&[link, step, cut, len], after)) = rest.split_first_chunk() {
            let (frame, after) = after.split_at(usize::from(len).min(after.len()));
            rest = after;
            at_ns += i64::from(step.cast_signed()) * 100_000_000;
            let link = LINKS[usize::from(link) % LINKS.len()];
            assembler.feed(link, at_ns, frame, frame.len() as u32 + u32::from(cut), &mut out);
        }
        assembler.finish(&mut out);
        let losses = assembler.losses();
        let lost = losses.iter().filter(|(loss, _)| loss.unit() == "packets" && *loss != Loss::KernelDropped);
        let statistics = assembler.statistics();
        assert_eq!(statistics.packets, statistics.used + lost.map(|(_, packets)| packets).sum::<u64>());
        assert_eq!(statistics.contradiction(), None);
        assert!(out.iter().all(|request| request.session < statistics.sessions));
    }
});
