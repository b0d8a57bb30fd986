//! Record what clients ask a database server, when, and what came back.
//!
//! This crate owns the vocabulary that the other Splitproof crates share: the [`trace`] and its rows,
//! the wire protocols as codecs without I/O ([`postgresql`], [`mysql`]), the state machine that turns the two byte
//! streams of a connection into requests ([`session`]), and the facts of one SQL statement ([`sql`]).
//! The sources [`packets`] and [`tap`] feed bytes in and rows come out; the source [`log`] makes rows of what a server wrote down. [`causes`] and [`plain`] are for what a user
//! reads when something is wrong.

mod causes;
pub mod checksum;
pub mod clock;
pub mod log;
pub mod mysql;
pub mod packets;
pub mod postgresql;
pub mod session;
pub mod sql;
pub mod tap;
pub mod tls;
pub mod trace;
mod twice;
mod unpack;
mod wording;

pub use causes::causes;
pub use wording::plain;
