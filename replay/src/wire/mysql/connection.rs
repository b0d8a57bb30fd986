//! The line to the router, its start, and the compression of what is sent.

use splitproof_capture::mysql::compressed::Algorithm;
use splitproof_capture::mysql::packet;
use splitproof_capture::session::mysql::Session;
use tokio::net::TcpStream;

use super::Login;
use super::answers::Answers;
use super::compression::Compression;
use super::handshake::{Agreed, Handshake, Refused};
use super::scan::Scan;
use crate::clock::Clock;
use crate::pair::{Keyring, Secret};
use crate::wire::line::Line;
use crate::wire::{Broken, Rows, Tag};

/// COM_QUIT.
pub(super) const QUIT: &[u8] = b"\x01\0\0\0\x01";

/// One connection to the router.
pub struct Connection<C> {
    pub(super) line: Line<C, Session, Answers>,
    /// What the handshake agreed; `None` before it.
    pub(super) agreed: Option<Agreed>,
    /// For a change of the user.
    pub(super) keyring: Option<Keyring>,
}

impl<C: Clock> Connection<C> {
    /// Takes over a socket; `session` makes the rows.
    pub fn over(clock: C, stream: TcpStream, session: Session, rows: Rows) -> Self {
        let line = Line::over(clock, stream, session, Answers::default(), rows);
        Connection { line, agreed: None, keyring: None }
    }

    /// Starts the session.
    pub async fn start(
        &mut self,
        login: &Login,
        password: Option<&Secret>,
        tag: impl FnOnce(i64) -> Option<Tag>,
    ) -> Result<(), Refused> {
        let broken = |broken: Broken| Refused::Connection(broken.to_string());
        let mut handshake = Handshake::new(login, password);
        // The row of a connection begins with it, and the server speaks first.
        self.line.rows.begin(tag(self.line.now_ns()));
        let (mut pending, mut out) = (Vec::new(), Vec::new());
        loop {
            pending.extend_from_slice(self.line.hear().await.map_err(broken)?);
            let mut used = 0;
            while let Some(packet) = packet::next(pending.get(used..).unwrap_or_default()) {
                used += packet.len();
                if self.agreed.is_none() {
                    let agreed = handshake.greeting(packet, &mut out)?;
                    self.line.answers.scan.agreed(agreed.capabilities);
                    self.agreed = Some(agreed);
                } else if handshake.step(packet, &mut out)? {
                    return self.begin_commands();
                }
            }
            pending.drain(..used);
            if !out.is_empty() {
                self.line.tell(self.line.now_ns(), &out).await.map_err(broken)?;
                out.clear();
            }
        }
    }

    /// From now on the bytes are commands and answers, compressed if that was agreed.
    fn begin_commands(&mut self) -> Result<(), Refused> {
        self.line.rows.begun(self.line.rows_begun());
        let agreed = self.agreed.as_ref().and_then(|agreed| Algorithm::agreed(agreed.capabilities));
        let compression = agreed.map(Compression::new).transpose();
        self.line.answers.compression = compression.map_err(|error| Refused::Connection(error.to_string()))?;
        Ok(())
    }

    /// What the server's packets say about the exchange.
    pub(super) fn scan(&self) -> &Scan {
        &self.line.answers.scan
    }

    /// Reads until `enough` of the server's packets have come.
    pub(super) async fn read_until(&mut self, enough: impl Fn(&Scan) -> bool) -> Result<(), Broken> {
        self.line.read_until(|answers| enough(&answers.scan)).await
    }

    /// Sends the commands that were put into the line; `begin` is told the time. Returns that time.
    pub(super) async fn send_commands(&mut self, begin: impl FnOnce(i64) -> Option<Tag>) -> Result<i64, Broken> {
        let at_ns = self.line.now_ns();
        let mut rest = self.line.out.as_slice();
        while let Some(packet) = packet::next(rest) {
            // What continues a long command has a higher number.
            if packet.sequence == 0 {
                self.line.answers.scan.sent(packet.payload);
            }
            rest = rest.get(packet.len()..).unwrap_or_default();
        }
        if let Some(compression) = &mut self.line.answers.compression {
            compression.restart();
        }
        self.line.rows.begin(begin(at_ns));
        self.compress()?;
        self.line.send(at_ns).await?;
        Ok(at_ns)
    }

    /// Sends the packets that were put into the line, which go on with a command.
    pub(super) async fn send_more(&mut self) -> Result<(), Broken> {
        let at_ns = self.line.now_ns();
        self.compress()?;
        self.line.send(at_ns).await
    }

    fn compress(&mut self) -> Result<(), Broken> {
        if let Some(compression) = &mut self.line.answers.compression {
            self.line.out = compression.compress(&self.line.out)?;
        }
        Ok(())
    }

    /// The bytes of COM_QUIT, as they are sent.
    pub(super) fn quit(&mut self) -> Vec<u8> {
        match &mut self.line.answers.compression {
            Some(compression) => {
                compression.restart();
                compression.compress(QUIT).unwrap_or_default()
            }
            None => QUIT.to_vec(),
        }
    }
}
