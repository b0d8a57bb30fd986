//! The line to the router, and its start.

use splitproof_capture::postgresql::Invalid;
use splitproof_capture::postgresql::backend::Backend;
use splitproof_capture::postgresql::frame::{self, Direction};
use splitproof_capture::session::postgresql::Session;
use tokio::net::TcpStream;

use super::handshake::{CancelKey, Handshake, Login, Refused, Step};
use super::scan::Scan;
use crate::clock::Clock;
use crate::pair::Secret;
use crate::wire::line::{Follow, Line};
use crate::wire::{Broken, Rows, Tag};

/// One connection to the router.
pub struct Connection<C> {
    pub(super) line: Line<C, Session, Scan>,
}

impl Follow for Scan {
    fn follow(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.received(bytes);
        if self.is_invalid() { Err(Broken::Invalid) } else { Ok(()) }
    }
}

impl<C: Clock> Connection<C> {
    /// Takes over a socket; `session` makes the rows.
    pub fn over(clock: C, stream: TcpStream, session: Session, rows: Rows) -> Self {
        Connection { line: Line::over(clock, stream, session, Scan::default(), rows) }
    }

    /// Starts the session. Returns its cancel key.
    pub async fn start(
        &mut self,
        login: &Login,
        password: Option<&Secret>,
        tag: impl FnOnce(i64) -> Option<Tag>,
    ) -> Result<Option<CancelKey>, Refused> {
        let broken = |broken: Broken| Refused::Connection(broken.to_string());
        let invalid = |invalid: Invalid| Refused::Protocol(invalid.to_string());
        let (mut pending, mut out) = (Vec::new(), Vec::new());
        let mut handshake = Handshake::begin(login, password, &mut out)?;
        let mut at_ns = self.line.now_ns();
        self.line.rows.begin(tag(at_ns));
        loop {
            self.line.tell(at_ns, &out).await.map_err(broken)?;
            out.clear();
            while out.is_empty() {
                pending.extend_from_slice(self.line.hear().await.map_err(broken)?);
                let mut used = 0;
                let step = loop {
                    let rest = pending.get(used..).unwrap_or_default();
                    let Some(frame) = frame::next_from(Direction::Server, rest).map_err(invalid)? else {
                        break Step::Continue;
                    };
                    used += frame.len;
                    let message = Backend::decode(frame).map_err(invalid)?;
                    if handshake.message(&message, &mut out)? == Step::Ready {
                        break Step::Ready;
                    }
                };
                pending.drain(..used);
                if step == Step::Ready {
                    self.line.answers.received(&pending);
                    return Ok(handshake.into_key());
                }
            }
            at_ns = self.line.now_ns();
        }
    }

    /// Where the bytes of the next messages are put before [`send`](Self::send).
    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.line.out
    }

    /// Sends the messages in [`outgoing`](Self::outgoing), whose type bytes are `tags`; `begin` is told the time.
    /// Returns that time.
    pub async fn send(&mut self, tags: &str, begin: impl FnOnce(i64) -> Option<Tag>) -> Result<i64, Broken> {
        let at_ns = self.line.now_ns();
        tags.bytes().for_each(|tag| self.line.answers.sent(tag));
        self.line.rows.begin(begin(at_ns));
        self.line.send(at_ns).await?;
        Ok(at_ns)
    }

    /// What the server's messages say about the exchange.
    pub fn scan(&self) -> &Scan {
        &self.line.answers
    }

    /// Reads until `enough` of the server's messages have come.
    pub async fn read_until(&mut self, enough: impl Fn(&Scan) -> bool) -> Result<(), Broken> {
        self.line.read_until(enough).await
    }
}
