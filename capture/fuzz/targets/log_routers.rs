//! Logs of routers: ProxySQL's in JSON and binary, MaxScale's, pgpool-II's.

#![no_main]

use libfuzzer_sys::fuzz_target;

mod logs;

fuzz_target!(|input: &[u8]| logs::read(logs::ROUTERS, input));
