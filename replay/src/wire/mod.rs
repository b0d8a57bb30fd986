//! One connection to the router, which sends what the recorded client sent.
//!
//! - [`encode`]: from a recorded request to the bytes of its messages
//! - [`scan`]: follows the server's bytes just enough to know when it is ready again
//! - [`handshake`]: start-up and authentication
//! - [`Connection`]: socket, codec and the rows that come of it
//! - [`cancel`]: a cancel request, on a connection of its own

pub mod cancel;
mod connection;
pub mod encode;
pub mod handshake;
pub mod scan;

pub use connection::{Broken, Connection, Rows, Tag};
