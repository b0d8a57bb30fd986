//! The integration tests of splitproof-capture, one module per concern.

use std::io::Write;

mod cli;
mod corpus;
mod corpus_counts;
mod corpus_mysql;
mod dialogue;
mod live;
mod log;
mod merge;
mod mysql_codec;
mod packets;
mod postgresql_codec;
mod redaction;
mod server;
mod session;
mod session_gaps;
mod session_mysql;
mod session_properties;
mod show;
mod sql;
mod tap;
mod tap_postgresql;
mod tls;
mod trace_damage;
mod trace_docs;
mod trace_order;
mod trace_roundtrip;

/// Says that so many tests are left out, and why. In continuous integration none may be.
fn skipped(tests: usize, why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    // Not `println!`, which the test harness keeps to itself.
    writeln!(std::io::stderr(), "skipped: {tests} ({why})").expect("standard error");
}
