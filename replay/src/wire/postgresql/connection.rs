//! Socket, codec and the rows that come of it.

use std::io::ErrorKind;
use std::pin::pin;

use splitproof_capture::postgresql::backend::Backend;
use splitproof_capture::postgresql::frame::{self, Direction};
use splitproof_capture::session::postgresql::Session;
use splitproof_capture::session::{Close, Decoder};
use splitproof_capture::trace::Losses;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::TcpStream;

use super::handshake::{CancelKey, Handshake, Login, Refused, Step};
use super::scan::Scan;
use crate::clock::Clock;
use crate::pair::Secret;
use crate::wire::{Broken, Rows, Tag};

/// Bytes that one read takes at most.
const READ: usize = 32 << 10;
/// A buffer that grew beyond this for one large request is given back afterwards.
const KEEP: usize = 256 << 10;

/// One connection to the router.
pub struct Connection<C> {
    clock: C,
    stream: TcpStream,
    session: Session,
    scan: Scan,
    buffer: Box<[u8]>,
    out: Vec<u8>,
    /// The rows that are finished.
    pub rows: Rows,
}

impl<C: Clock> Connection<C> {
    /// Takes over a socket; `session` makes the rows.
    pub fn over(clock: C, stream: TcpStream, session: Session, rows: Rows) -> Self {
        Connection {
            clock,
            stream,
            session,
            scan: Scan::default(),
            buffer: vec![0; READ].into_boxed_slice(),
            out: Vec::new(),
            rows,
        }
    }

    /// Starts the session. Returns its cancel key.
    pub async fn start(
        &mut self,
        login: &Login,
        password: Option<&Secret>,
        tag: impl FnOnce(i64) -> Option<Tag>,
    ) -> Result<Option<CancelKey>, Refused> {
        let mut out = Vec::new();
        let mut handshake = Handshake::begin(login, password, &mut out)?;
        let at_ns = self.clock.now_ns();
        self.rows.begin(tag(at_ns));
        self.session.client(at_ns, &out, &mut self.rows);
        self.rows.begun(self.session.next_seq());
        let mut pending = Vec::new();
        loop {
            self.write_plainly(&out).await.map_err(refused)?;
            out.clear();
            while out.is_empty() {
                let read = self.read_plainly().await.map_err(refused)?;
                pending.extend_from_slice(&self.buffer[..read]);
                let mut used = 0;
                let step = loop {
                    let rest = pending.get(used..).unwrap_or_default();
                    let invalid =
                        |invalid: splitproof_capture::postgresql::Invalid| Refused::Protocol(invalid.to_string());
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
                    self.scan.received(&pending);
                    return Ok(handshake.into_key());
                }
            }
            self.session.client(self.clock.now_ns(), &out, &mut self.rows);
        }
    }

    /// Where the bytes of the next messages are put before [`send`](Self::send).
    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Drops what was put into [`outgoing`](Self::outgoing).
    pub fn discard(&mut self) {
        self.out.clear();
    }

    /// Sends the messages in [`outgoing`](Self::outgoing), whose type bytes are `tags`; `begin` is told the time.
    /// Returns that time.
    pub async fn send(&mut self, tags: &str, begin: impl FnOnce(i64) -> Option<Tag>) -> Result<i64, Broken> {
        let at_ns = self.clock.now_ns();
        tags.bytes().for_each(|tag| self.scan.sent(tag));
        self.rows.begin(begin(at_ns));
        self.session.client(at_ns, &self.out, &mut self.rows);
        self.rows.begun(self.session.next_seq());
        let result = self.write().await;
        self.out.clear();
        if self.out.capacity() > KEEP {
            self.out.shrink_to(KEEP);
        }
        result.map(|()| at_ns)
    }

    /// How many rows have begun so far.
    pub fn rows_begun(&self) -> u32 {
        self.session.next_seq()
    }

    /// True when the server has answered everything.
    pub fn is_ready(&self) -> bool {
        self.scan.is_ready()
    }

    /// The time.
    pub fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    /// What could not be decoded of the exchange.
    pub fn losses(&self) -> &Losses {
        self.session.losses()
    }

    /// What the server's messages say about the exchange.
    pub fn scan(&self) -> &Scan {
        &self.scan
    }

    /// Reads until `enough` of the server's messages have come.
    pub async fn read_until(&mut self, enough: impl Fn(&Scan) -> bool) -> Result<(), Broken> {
        while !enough(&self.scan) {
            // Not readable() and try_read(): a read that leaves room in the buffer tells tokio that the socket is empty,
            // which saves the system call that would find that out before each wait.
            let read = self.stream.read(&mut self.buffer).await?;
            self.received(read)?;
        }
        Ok(())
    }

    /// Waits for something else while reading what the server sends unasked.
    pub async fn read_while<F: Future>(&mut self, other: F) -> Result<F::Output, Broken> {
        let mut other = pin!(other);
        loop {
            tokio::select! {
                biased;
                output = &mut other => return Ok(output),
                read = self.stream.read(&mut self.buffer) => self.received(read?)?,
            }
        }
    }

    /// Ends the session's rows; the row of the end itself gets this tag. The socket closes when the connection is dropped.
    pub fn close(&mut self, how: Close, tag: Option<Tag>) {
        self.rows.begin(tag);
        self.session.close(self.clock.now_ns(), how, &mut self.rows);
        self.rows.begin(None);
    }

    /// Says goodbye without a row of its own: the recording does not tell how the session ended.
    pub fn leave(&mut self) {
        self.close(Close::RecordingEnded, None);
        // A server that does not take it sees the end of the connection instead.
        self.stream.try_write(b"X\0\0\0\x04").ok();
    }

    /// Takes what the socket has, without waiting.
    fn read_some(&mut self) -> Result<(), Broken> {
        match self.stream.try_read(&mut self.buffer) {
            Ok(read) => self.received(read),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what was read into the buffer.
    fn received(&mut self, read: usize) -> Result<(), Broken> {
        let bytes = &self.buffer[..read];
        if bytes.is_empty() {
            return Err(Broken::Closed);
        }
        self.session.server(self.clock.now_ns(), bytes, &mut self.rows);
        self.scan.received(bytes);
        if self.scan.is_invalid() { Err(Broken::Invalid) } else { Ok(()) }
    }

    /// Writes `out`. Reads meanwhile, since a server that cannot send its answers may stop to read.
    async fn write(&mut self) -> Result<(), Broken> {
        let mut written = 0;
        while let Some(rest) = self.out.get(written..).filter(|rest| !rest.is_empty()) {
            match self.stream.try_write(rest) {
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let ready = self.stream.ready(Interest::READABLE | Interest::WRITABLE).await?;
                    if ready.is_readable() {
                        self.read_some()?;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn write_plainly(&mut self, mut bytes: &[u8]) -> Result<(), Broken> {
        while !bytes.is_empty() {
            self.stream.writable().await?;
            match self.stream.try_write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn read_plainly(&mut self) -> Result<usize, Broken> {
        let read = self.stream.read(&mut self.buffer).await?;
        if read == 0 {
            return Err(Broken::Closed);
        }
        self.session.server(self.clock.now_ns(), &self.buffer[..read], &mut self.rows);
        Ok(read)
    }
}

fn refused(broken: Broken) -> Refused {
    Refused::Connection(broken.to_string())
}
