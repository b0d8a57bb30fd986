//! A log of the format maxscale-qla.

#![no_main]

use libfuzzer_sys::fuzz_target;

mod logs;

fuzz_target!(|input: &[u8]| logs::read("maxscale-qla", input));
