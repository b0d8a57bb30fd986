//! A source that needs no right to capture packets: a TCP relay between client and server that records what passes.
//!
//! - [`Relay`]: listens, relays, and hands the rows to a [`Sink`](crate::trace::Sink)
//! - [`Options`], [`Encryption`]: what it does
//! - [`Counters`], [`Stopped`]: what it did
//!
//! Bytes are relayed unmodified, each piece as it comes: `connection` is the path of the data; only where encryption is
//! to be refused, `refuse` does so in the server's place. Every piece is stamped
//! and handed over before it is sent on, so that a request is never recorded after its answer. Decoding happens on a
//! thread of its own (`recorder`). It has a bounded backlog: when it falls behind, the relay waits for it, because a
//! slow recording is better than one with holes.

mod connection;
mod counters;
mod error;
mod options;
mod recorder;
mod refuse;
mod relay;

pub use counters::Counters;
pub use error::Error;
pub use options::{Encryption, Options};
pub use relay::{Relay, Stopped};
