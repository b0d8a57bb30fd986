//! The integration tests of splitproof-capture, one module per concern.

mod cli;
mod corpus;
mod corpus_counts;
mod corpus_mysql;
mod dialogue;
mod log;
mod mysql_codec;
mod packets;
mod postgresql_codec;
mod server;
mod session;
mod session_gaps;
mod session_mysql;
mod session_properties;
mod sql;
mod tap;
mod tap_postgresql;
mod tls;
mod trace_damage;
mod trace_docs;
mod trace_order;
mod trace_roundtrip;
