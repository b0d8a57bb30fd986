//! Whole sessions of both engines: bytes of both sides, holes in them, and an end. Nothing panics, and each request is there
//! once.
//!
//! The input is a byte (engine, joined midway or not, how it ends), and a row of steps: who speaks (or where bytes are
//! missing), a length in two bytes, bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use splitproof_capture::session::{self, Close, Shared, Start};
use splitproof_capture::trace::{Engine, Request};

fuzz_target!(|input: &[u8]| {
    let Some((&first, mut rest)) = input.split_first() else { return };
    let engine = if first & 1 == 0 { Engine::Postgresql } else { Engine::Mysql };
    let how = match first >> 2 & 3 {
        0 => Close::Client,
        1 => Close::Server,
        2 => Close::Reset,
        _ => Close::RecordingEnded,
    };
    let start = Start { client: "10.0.0.1:40000".into(), server: "10.0.0.2:5432".into(), midway: first & 2 != 0 };
    let mut session = session::decoder(engine, 0, start, &Shared::new(engine));
    let mut rows: Vec<Request> = Vec::new();
    let mut at_ns = 1_700_000_000_000_000_000;
    while let Some((&[who, high, low], after)) = rest.split_first_chunk() {
        let length = u16::from_be_bytes([high, low]);
        at_ns += 1_000_000;
        if who & 6 == 6 {
            rest = after;
            match who & 1 {
                0 => session.client_gap(at_ns, length.into(), &mut rows),
                _ => session.server_gap(at_ns, length.into(), &mut rows),
            }
            continue;
        }
        let (bytes, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        match who & 1 {
            0 => session.client(at_ns, bytes, &mut rows),
            _ => session.server(at_ns, bytes, &mut rows),
        }
    }
    session.close(at_ns, how, &mut rows);
    let mut seqs: Vec<_> = rows.iter().map(|row| row.seq).collect();
    seqs.sort_unstable();
    assert!(seqs.iter().copied().eq(0..session.next_seq()), "{seqs:?} of {}", session.next_seq());
});
