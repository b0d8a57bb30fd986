//! One connection to the router, which sends what the recorded client sent.
//!
//! - [`Wire`]: what a session needs of a connection, whatever the engine
//! - [`postgresql`], [`mysql`]: the connections of each engine; `line`: the socket that they have in common
//! - [`Rows`], [`Tag`]: the rows that come of it, and the recorded requests that they repeat
//! - [`Broken`], [`Refused`]: why a connection ends, or does not begin

mod broken;
mod line;
pub mod mysql;
pub mod postgresql;
mod refused;
mod rows;

use splitproof_capture::session::Close;
use splitproof_capture::trace::{Losses, Request};

use crate::pair::Keyring;

pub use broken::Broken;
pub use refused::Refused;
pub use rows::{Rows, Tag};

/// The recorded request cannot be made again: something that it needs is not in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incomplete;

/// What a session needs of a connection, whatever the engine. Requests go out in three steps, so that nothing is sent of one
/// that cannot be sent whole: [`encode`](Wire::encode), [`send`](Wire::send), [`complete`](Wire::complete).
pub trait Wire: Send {
    /// As whom a session starts.
    type Login: Sync;

    /// Starts the session, and tells how it can be cancelled.
    fn start(
        &mut self,
        login: &Self::Login,
        keyring: &Keyring,
        tag: impl FnOnce(i64) -> Option<Tag> + Send,
    ) -> impl Future<Output = Result<Option<postgresql::handshake::CancelKey>, Refused>> + Send;

    /// Makes ready what is sent first of a request.
    fn encode(&mut self, request: &Request) -> Result<(), Incomplete>;

    /// Drops what was made ready.
    fn discard(&mut self);

    /// Sends what was made ready; `begin` is told the time. Returns that time.
    fn send(
        &mut self,
        request: &Request,
        begin: impl FnOnce(i64) -> Option<Tag> + Send,
    ) -> impl Future<Output = Result<i64, Broken>> + Send;

    /// Sends the rest of the request, which the server has to ask for.
    fn complete(&mut self, request: &Request) -> impl Future<Output = Result<(), Broken>> + Send;

    /// Ends a group of which nothing more is sent (PostgreSQL's Sync).
    fn end_group(&mut self) -> impl Future<Output = Result<(), Broken>> + Send;

    /// True when the server has answered everything.
    fn is_ready(&self) -> bool;

    /// Reads until the server has answered everything.
    fn until_ready(&mut self) -> impl Future<Output = Result<(), Broken>> + Send;

    /// Waits for something else while reading what the server sends unasked.
    fn read_while<F: Future + Send>(&mut self, other: F) -> impl Future<Output = Result<F::Output, Broken>> + Send
    where
        F::Output: Send;

    /// True when the connection turned into a replication stream, which is not replayed.
    fn is_replication(&self) -> bool;

    /// Ends the session as the recorded client did; the row of the end gets the tag.
    fn goodbye(
        &mut self,
        request: &Request,
        tag: impl Fn(i64) -> Option<Tag> + Send + Sync,
    ) -> impl Future<Output = ()> + Send;

    /// Ends the session's rows; the row of the end itself gets this tag. The socket closes when the connection is dropped.
    fn close(&mut self, how: Close, tag: Option<Tag>);

    /// Says goodbye without a row of its own: the recording does not tell how the session ended.
    fn leave(&mut self);

    /// How many rows have begun so far.
    fn rows_begun(&self) -> u32;

    /// The rows that are finished.
    fn rows(&mut self) -> &mut Rows;

    /// What could not be decoded of the exchange.
    fn losses(&self) -> &Losses;
}
