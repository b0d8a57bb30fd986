//! The connection of a client.

use bytes::{Buf, BytesMut};
use splitproof_capture::mysql::packet::{self, Joiner};
use splitproof_capture::mysql::{Capabilities, ErrPacket, OkPacket, Status};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Ended;
use crate::router::pump::LONGEST_INPUT;

#[derive(Debug)]
pub(super) struct Client {
    pub stream: TcpStream,
    pub input: BytesMut,
    /// What has not been written to it yet.
    pub output: BytesMut,
    /// What it and the router agreed.
    pub capabilities: Capabilities,
    /// Sequence number of the next packet to it.
    pub sequence: u8,
}

impl Client {
    pub fn new(stream: TcpStream) -> Self {
        // A router that holds small answers back would change what is measured.
        let _ = stream.set_nodelay(true);
        let (input, output) = (BytesMut::new(), BytesMut::new());
        Client { stream, input, output, capabilities: Capabilities::default(), sequence: 0 }
    }

    /// Reads more.
    pub async fn fill(&mut self) -> Result<(), Ended> {
        if self.input.len() > LONGEST_INPUT {
            return Err(Ended::Unsupported("a command of more than 256 MiB"));
        }
        match self.stream.read_buf(&mut self.input).await {
            Ok(0) => Err(Ended::Gone),
            Ok(_) => Ok(()),
            Err(error) => Err(Ended::Client(error)),
        }
    }

    /// Writes what there is to write.
    pub async fn flush(&mut self) -> Result<(), Ended> {
        while !self.output.is_empty() {
            self.stream.write_buf(&mut self.output).await.map_err(Ended::Client)?;
        }
        Ok(())
    }

    /// Takes one payload off what was read, if it is whole.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>, Ended> {
        let (mut joiner, mut used) = (Joiner::new(), 0);
        while let Some(packet) = packet::next(self.input.get(used..).unwrap_or_default()) {
            used += packet.len();
            let sequence = packet.sequence.wrapping_add(1);
            if let Some(payload) = joiner.push(packet)? {
                let payload = payload.to_vec();
                self.sequence = sequence;
                self.input.advance(used);
                return Ok(Some(payload));
            }
        }
        Ok(None)
    }

    /// Waits for one payload.
    pub async fn payload(&mut self) -> Result<Vec<u8>, Ended> {
        loop {
            if let Some(payload) = self.take()? {
                return Ok(payload);
            }
            self.fill().await?;
        }
    }

    /// Sends one payload.
    pub fn send(&mut self, payload: &[u8]) {
        let mut out = Vec::with_capacity(payload.len() + packet::HEADER);
        packet::write(&mut out, &mut self.sequence, payload);
        self.output.extend_from_slice(&out);
    }

    /// Says OK.
    pub fn say_ok(&mut self, status: Status) -> Result<(), Ended> {
        let mut payload = Vec::new();
        OkPacket { status, ..OkPacket::default() }.encode(self.capabilities, &mut payload)?;
        self.send(&payload);
        Ok(())
    }

    /// Says that something failed.
    pub fn say_error(&mut self, code: u16, message: &str) {
        let state = match code {
            1045 => *b"28000",
            1040 => *b"08004",
            _ => *b"HY000",
        };
        let mut payload = Vec::new();
        ErrPacket { code, sqlstate: Some(state), message: message.as_bytes() }.encode(&mut payload);
        self.send(&payload);
    }

    /// Tells it why its session ends, if it still listens.
    pub async fn farewell(&mut self, why: &Ended) {
        if !matches!(why, Ended::Gone | Ended::Client(_)) {
            self.say_error(why.code(), &why.to_string());
            let _ = self.flush().await;
            let _ = self.stream.shutdown().await;
        }
    }
}
