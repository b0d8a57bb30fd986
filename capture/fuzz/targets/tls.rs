//! TLS from any bytes, with secrets for the session that they may name. Every byte that was pushed is content, overhead of a
//! record, or told as passed over; nothing panics, and nothing is held without a bound.
//!
//! The input is a row of steps: who speaks (and whether a gap comes), a length, bytes. A client's hello with a known number
//! stands before it, and the server's answer where the first byte says so, so that the fuzzer meets open sessions.

#![no_main]

use libfuzzer_sys::fuzz_target;
use splitproof_capture::postgresql::Direction;
use splitproof_capture::tls::{Connection, KeyLog, Plain};

/// A hello of one side: its record, and the message in it.
fn hello(kind: u8, rest: &[u8]) -> Vec<u8> {
    let body = [&[3, 3][..], &[7; 32], rest].concat();
    let message = [&[kind, 0, 0, body.len() as u8][..], &body].concat();
    [&[22, 3, 3, 0, message.len() as u8][..], &message].concat()
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, mut rest)) = data.split_first() else { return };
    let keys = KeyLog::default();
    let random = "07".repeat(32);
    for label in ["CLIENT_RANDOM", "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET"] {
        keys.add(format!("{label} {random} {}\n", "01".repeat(48)).as_bytes());
    }
    for label in ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"] {
        keys.add(format!("{label} {random} {}\n", "01".repeat(32)).as_bytes());
    }
    let mut tls = Connection::new(&keys);
    let mut plain = Plain::default();
    if first & 1 != 0 {
        let client = hello(1, &[0, 0, 2, 0x13, 1, 1, 0]);
        tls.push(Direction::Client, 1, &client, &mut plain).expect("a hello");
    }
    if first & 3 == 3 {
        let new: &[u8] = &[0, 0x13, 1, 0, 0, 6, 0, 43, 0, 2, 3, 4];
        let old: &[u8] = &[0, 0xc0, 0x2f, 0];
        let server = hello(2, if first & 4 != 0 { new } else { old });
        tls.push(Direction::Server, 2, &server, &mut plain).expect("a hello");
        assert!(tls.is_open());
    }
    let mut at_ns = 3;
    while let Some((&[who, high, low], after)) = rest.split_first_chunk() {
        let (bytes, after) = after.split_at(usize::from(u16::from_be_bytes([high & 0x3f, low])).min(after.len()));
        rest = after;
        let side = if who & 1 == 0 { Direction::Client } else { Direction::Server };
        at_ns += 1;
        plain.clear();
        let pushed = match who & 6 {
            6 => tls.gap(side, u64::from(who) + 1, &mut plain),
            _ => tls.push(side, at_ns, bytes, &mut plain),
        };
        assert!(tls.held() <= 1 << 20);
        let _ = tls.describe();
        if pushed.is_err() {
            return;
        }
    }
});
