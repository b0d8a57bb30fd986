//! The socket of a connection, and the rows that come of what passes over it.

use std::io::ErrorKind;
use std::pin::pin;

use splitproof_capture::session::{Close, Decoder};
use splitproof_capture::trace::Losses;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::TcpStream;

use super::{Broken, Rows, Tag};
use crate::clock::Clock;

/// Bytes that one read takes at most.
const READ: usize = 32 << 10;
/// A buffer that grew beyond this for one large request is given back afterwards.
const KEEP: usize = 256 << 10;

/// Follows what the server sends, as far as a connection must know it.
pub trait Follow: Send {
    /// Takes the next bytes of the server. An error says that they are not the protocol.
    fn follow(&mut self, bytes: &[u8]) -> Result<(), Broken>;
}

/// Both directions of one connection. All that passes goes through the decoder, which makes the rows.
pub struct Line<C, D, F> {
    clock: C,
    stream: TcpStream,
    decoder: D,
    /// What is known of the server's answers.
    pub answers: F,
    buffer: Box<[u8]>,
    /// What is sent next.
    pub out: Vec<u8>,
    /// The rows that are finished.
    pub rows: Rows,
}

impl<C: Clock, D: Decoder, F: Follow> Line<C, D, F> {
    /// Takes over a socket.
    pub fn over(clock: C, stream: TcpStream, decoder: D, answers: F, rows: Rows) -> Self {
        let buffer = vec![0; READ].into_boxed_slice();
        Line { clock, stream, decoder, answers, buffer, out: Vec::new(), rows }
    }

    /// The time.
    pub fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    /// How many rows have begun so far.
    pub fn rows_begun(&self) -> u32 {
        self.decoder.next_seq()
    }

    /// What could not be decoded of the exchange.
    pub fn losses(&self) -> &Losses {
        self.decoder.losses()
    }

    /// Sends a step of the start, to which the server has nothing to say before it is whole.
    pub async fn tell(&mut self, at_ns: i64, mut bytes: &[u8]) -> Result<(), Broken> {
        self.decoder.client(at_ns, bytes, &mut self.rows);
        self.rows.begun(self.decoder.next_seq());
        while !bytes.is_empty() {
            self.stream.writable().await?;
            match self.stream.try_write(bytes) {
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// What the server says in the start, which is not followed.
    pub async fn hear(&mut self) -> Result<&[u8], Broken> {
        let read = self.stream.read(&mut self.buffer).await?;
        let bytes = self.buffer.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            return Err(Broken::Closed);
        }
        self.decoder.server(self.clock.now_ns(), bytes, &mut self.rows);
        Ok(bytes)
    }

    /// Sends what is in `out`. Reads meanwhile, since a server that cannot send its answers may stop to read.
    pub async fn send(&mut self, at_ns: i64) -> Result<(), Broken> {
        self.decoder.client(at_ns, &self.out, &mut self.rows);
        self.rows.begun(self.decoder.next_seq());
        let result = self.write().await;
        self.out.clear();
        if self.out.capacity() > KEEP {
            self.out.shrink_to(KEEP);
        }
        result
    }

    /// Reads until `enough` of the server's answers have come.
    pub async fn read_until(&mut self, enough: impl Fn(&F) -> bool) -> Result<(), Broken> {
        while !enough(&self.answers) {
            // Not readable() and try_read(): a read that leaves room in the buffer tells tokio that the socket is empty,
            // which saves the system call that would find that out before each wait.
            let read = self.stream.read(&mut self.buffer).await?;
            self.received(read)?;
        }
        Ok(())
    }

    /// Waits for something else while reading what the server sends unasked.
    pub async fn read_while<T: Future>(&mut self, other: T) -> Result<T::Output, Broken> {
        let mut other = pin!(other);
        loop {
            tokio::select! {
                biased;
                output = &mut other => return Ok(output),
                read = self.stream.read(&mut self.buffer) => self.received(read?)?,
            }
        }
    }

    /// Ends the session's rows; the row of the end itself gets this tag. The socket closes when the line is dropped.
    pub fn close(&mut self, how: Close, tag: Option<Tag>) {
        self.rows.begin(tag);
        self.decoder.close(self.clock.now_ns(), how, &mut self.rows);
        self.rows.begin(None);
    }

    /// Says goodbye without a row of its own: the recording does not tell how the session ended.
    pub fn leave(&mut self, goodbye: &[u8]) {
        self.close(Close::RecordingEnded, None);
        // A server that does not take it sees the end of the connection instead.
        self.stream.try_write(goodbye).ok();
    }

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
        let bytes = self.buffer.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            return Err(Broken::Closed);
        }
        self.decoder.server(self.clock.now_ns(), bytes, &mut self.rows);
        self.answers.follow(bytes)
    }
}
