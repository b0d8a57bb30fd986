//! Socket, codec and the rows that come of it.

use std::io::ErrorKind;
use std::pin::pin;

use splitproof_capture::mysql::compressed::Algorithm;
use splitproof_capture::mysql::packet;
use splitproof_capture::session::mysql::Session;
use splitproof_capture::session::{Close, Decoder};
use splitproof_capture::trace::Losses;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::TcpStream;

use super::compression::Compression;
use super::handshake::{Agreed, Handshake, Refused};
use super::scan::Scan;
use super::{Login, Statements};
use crate::clock::Clock;
use crate::pair::{Keyring, Secret};
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
    pub(super) scan: Scan,
    compression: Option<Compression>,
    buffer: Box<[u8]>,
    /// Packets of the next command.
    pub(super) out: Vec<u8>,
    /// What received packets were before they were compressed.
    plain: Vec<u8>,
    /// The numbers of prepared statements.
    pub(super) statements: Statements,
    /// What the handshake agreed; `None` before it.
    pub(super) agreed: Option<Agreed>,
    /// For a change of the user.
    pub(super) keyring: Option<Keyring>,
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
            compression: None,
            buffer: vec![0; READ].into_boxed_slice(),
            out: Vec::new(),
            plain: Vec::new(),
            statements: Statements::default(),
            agreed: None,
            keyring: None,
            rows,
        }
    }

    /// Starts the session.
    pub async fn start(
        &mut self,
        login: &Login,
        password: Option<&Secret>,
        tag: impl FnOnce(i64) -> Option<Tag>,
    ) -> Result<(), Refused> {
        let mut handshake = Handshake::new(login, password);
        // The row of a connection begins with it, and the server speaks first.
        self.rows.begin(tag(self.clock.now_ns()));
        let (mut pending, mut out) = (Vec::new(), Vec::new());
        loop {
            let read = self.read_plainly().await.map_err(refused)?;
            pending.extend_from_slice(self.buffer.get(..read).unwrap_or_default());
            let mut used = 0;
            while let Some(packet) = packet::next(pending.get(used..).unwrap_or_default()) {
                used += packet.len();
                if self.agreed.is_none() {
                    let agreed = handshake.greeting(packet, &mut out)?;
                    self.scan.agreed(agreed.capabilities);
                    self.agreed = Some(agreed);
                } else if handshake.step(packet, &mut out)? {
                    return self.begin_commands();
                }
            }
            pending.drain(..used);
            if !out.is_empty() {
                self.session.client(self.clock.now_ns(), &out, &mut self.rows);
                self.rows.begun(self.session.next_seq());
                self.write_plainly(&out).await.map_err(refused)?;
                out.clear();
            }
        }
    }

    /// From now on the bytes are commands and answers, compressed if that was agreed.
    fn begin_commands(&mut self) -> Result<(), Refused> {
        self.rows.begun(self.session.next_seq());
        let agreed = self.agreed.as_ref().and_then(|agreed| Algorithm::agreed(agreed.capabilities));
        let compression = agreed.map(Compression::new).transpose();
        self.compression = compression.map_err(|error| Refused::Connection(error.to_string()))?;
        Ok(())
    }

    /// Sends the commands in `out`; `begin` is told the time. Returns that time.
    pub(super) async fn send_commands(&mut self, begin: impl FnOnce(i64) -> Option<Tag>) -> Result<i64, Broken> {
        let at_ns = self.clock.now_ns();
        let mut rest = self.out.as_slice();
        while let Some(packet) = packet::next(rest) {
            // What continues a long command has a higher number.
            if packet.sequence == 0 {
                self.scan.sent(packet.payload);
            }
            rest = rest.get(packet.len()..).unwrap_or_default();
        }
        if let Some(compression) = &mut self.compression {
            compression.restart();
        }
        self.rows.begin(begin(at_ns));
        let result = self.put(at_ns).await;
        result.map(|()| at_ns)
    }

    /// Sends the packets in `out`, which go on with a command.
    pub(super) async fn send_more(&mut self) -> Result<(), Broken> {
        let at_ns = self.clock.now_ns();
        self.put(at_ns).await
    }

    async fn put(&mut self, at_ns: i64) -> Result<(), Broken> {
        if let Some(compression) = &mut self.compression {
            self.out = compression.compress(&self.out)?;
        }
        self.session.client(at_ns, &self.out, &mut self.rows);
        self.rows.begun(self.session.next_seq());
        let result = self.write().await;
        self.out.clear();
        if self.out.capacity() > KEEP {
            self.out.shrink_to(KEEP);
        }
        result
    }

    /// The time.
    pub(super) fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    /// How many rows have begun so far.
    pub fn rows_begun(&self) -> u32 {
        self.session.next_seq()
    }

    /// What could not be decoded of the exchange.
    pub fn losses(&self) -> &Losses {
        self.session.losses()
    }

    /// Reads until `enough` of the server's packets have come.
    pub(super) async fn read_until(&mut self, enough: impl Fn(&Scan) -> bool) -> Result<(), Broken> {
        while !enough(&self.scan) {
            let read = self.stream.read(&mut self.buffer).await?;
            self.received(read)?;
        }
        Ok(())
    }

    /// Waits for something else while reading what the server sends unasked.
    pub(super) async fn read_during<F: Future>(&mut self, other: F) -> Result<F::Output, Broken> {
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
        let quit = b"\x01\0\0\0\x01".as_slice();
        let bytes = match &mut self.compression {
            Some(compression) => {
                compression.restart();
                compression.compress(quit).unwrap_or_default()
            }
            None => quit.to_vec(),
        };
        // A server that does not take it sees the end of the connection instead.
        self.stream.try_write(&bytes).ok();
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
        self.session.server(self.clock.now_ns(), bytes, &mut self.rows);
        match &mut self.compression {
            None => self.scan.received(bytes),
            Some(compression) => {
                self.plain.clear();
                compression.received(bytes, &mut self.plain).ok_or(Broken::Invalid)?;
                self.scan.received(&self.plain);
            }
        }
        if let Some(number) = self.scan.take_prepared() {
            self.statements.prepared(number);
        }
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
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
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
        let bytes = self.buffer.get(..read).unwrap_or_default();
        self.session.server(self.clock.now_ns(), bytes, &mut self.rows);
        Ok(read)
    }
}

fn refused(broken: Broken) -> Refused {
    Refused::Connection(broken.to_string())
}
