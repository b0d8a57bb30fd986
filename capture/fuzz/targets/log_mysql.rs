//! The general and the slow log of MySQL, MariaDB and Percona Server.

#![no_main]

use libfuzzer_sys::fuzz_target;

mod logs;

fuzz_target!(|input: &[u8]| logs::read(logs::MYSQL, input));
