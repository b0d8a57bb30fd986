//! The MySQL codec and any payload: eight bytes of capabilities, and the payload.

#![no_main]

use libfuzzer_sys::fuzz_target;
use splitproof_capture::mysql::Capabilities;

#[path = "../../tests/it/mysql_codec/everything.rs"]
mod everything;

fuzz_target!(|input: &[u8]| {
    if let Some((capabilities, payload)) = input.split_first_chunk() {
        let capabilities = Capabilities(u64::from_le_bytes(*capabilities)) | Capabilities::PROTOCOL_41;
        everything::read_everything(payload, capabilities);
    }
});
