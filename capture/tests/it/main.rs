//! The integration tests of splitproof-capture, one module per concern.

mod packets;
mod trace_damage;
mod trace_docs;
mod trace_order;
mod trace_roundtrip;
