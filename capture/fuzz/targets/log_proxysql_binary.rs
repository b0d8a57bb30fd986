//! A log of the format proxysql-binary.

#![no_main]

use libfuzzer_sys::fuzz_target;

mod logs;

fuzz_target!(|input: &[u8]| logs::read("proxysql-binary", input));
