//! The PostgreSQL codec and any bytes, in both directions.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/it/postgresql_codec/everything.rs"]
mod everything;

fuzz_target!(|input: &[u8]| everything::read_everything(input));
