//! A log of the format postgresql-stderr.

#![no_main]

use libfuzzer_sys::fuzz_target;

mod logs;

fuzz_target!(|input: &[u8]| logs::read("postgresql-stderr", input));
