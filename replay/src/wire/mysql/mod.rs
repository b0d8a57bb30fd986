//! The protocol of MySQL and MariaDB, from the client's side.
//!
//! - [`Login`]: as whom a session starts, and with which capabilities
//! - [`handshake`]: the start of a connection; `auth` proves who the client is, with `public_key`
//! - [`encode`]: from a recorded request to its commands; [`Statements`] has the numbers that the server gives now
//! - [`scan`]: follows the server's answers, `answers`: through their compression
//! - `compression`: packets in compressed packets
//! - [`Connection`]: the line to the router and its start; `wire` is what a session needs of it

mod answers;
mod auth;
mod compression;
mod connection;
pub mod encode;
pub mod handshake;
mod login;
mod public_key;
pub mod scan;
mod statements;
mod wire;

pub use connection::Connection;
pub use encode::codes;
pub use login::Login;
pub use statements::Statements;
