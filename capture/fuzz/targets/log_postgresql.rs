//! PostgreSQL's logs: csvlog, jsonlog and the text log.

#![no_main]

use libfuzzer_sys::fuzz_target;

mod logs;

fuzz_target!(|input: &[u8]| logs::read(logs::POSTGRESQL, input));
