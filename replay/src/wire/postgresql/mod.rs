//! PostgreSQL's protocol, from the client's side.
//!
//! - [`encode`]: from a recorded request to the bytes of its messages
//! - [`scan`]: follows the server's bytes just enough to know when it is ready again
//! - [`handshake`]: start-up and authentication
//! - [`Connection`]: the line to the router and its start; `wire` is what a session needs of it
//! - `copy`: sends the data of a COPY
//! - [`cancel`]: a cancel request, on a connection of its own

pub mod cancel;
mod connection;
mod copy;
pub mod encode;
pub mod handshake;
pub mod scan;
mod wire;

pub use connection::Connection;
