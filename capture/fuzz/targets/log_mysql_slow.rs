//! A log of the format mysql-slow.

#![no_main]

use libfuzzer_sys::fuzz_target;

mod logs;

fuzz_target!(|input: &[u8]| logs::read("mysql-slow", input));
