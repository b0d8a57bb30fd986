//! The state machine of an answer and any packets: the command, whether there is a cursor, eight bytes of capabilities, and
//! packets, each behind a byte with its length.

#![no_main]

use libfuzzer_sys::fuzz_target;
use splitproof_capture::mysql::{Capabilities, Code, Exchange};

fuzz_target!(|input: &[u8]| {
    let Some((&[code, form], rest)) = input.split_first_chunk() else { return };
    let Some((capabilities, mut rest)) = rest.split_first_chunk() else { return };
    let capabilities = Capabilities(u64::from_le_bytes(*capabilities));
    let mut exchange = match form & 1 {
        0 => Exchange::new(Code(code), capabilities),
        _ => Exchange::joined(Code(code)),
    };
    if form & 2 != 0 {
        exchange = exchange.with_cursor();
    }
    while let Some((&length, after)) = rest.split_first() {
        let (payload, after) = after.split_at(after.len().min(length.into()));
        rest = after;
        let before = exchange.clone();
        let answer = exchange.next(payload);
        assert!(!before.is_complete() || answer.is_err());
        assert!(answer.is_ok() || exchange == before, "what cannot stand there changes nothing");
        assert!(!exchange.is_complete() || !exchange.awaits_client());
    }
});
