//! The connection of a client.

use bytes::BytesMut;
use splitproof_capture::postgresql::report::write_error;
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
}

impl Client {
    pub fn new(stream: TcpStream) -> Self {
        // A router that holds small answers back would change what is measured.
        let _ = stream.set_nodelay(true);
        Client { stream, input: BytesMut::new(), output: BytesMut::new() }
    }

    /// Reads more.
    pub async fn fill(&mut self) -> Result<(), Ended> {
        if self.input.len() > LONGEST_INPUT {
            return Err(Ended::Unsupported("a pipeline of more than 256 MiB without a Sync"));
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

    /// Makes a message for it.
    pub fn say(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), splitproof_capture::postgresql::Unencodable>,
    ) -> Result<(), Ended> {
        let mut out = Vec::new();
        encode(&mut out)?;
        self.output.extend_from_slice(&out);
        Ok(())
    }

    /// Tells it why its session ends, if it still listens.
    pub async fn farewell(&mut self, why: &Ended) {
        if matches!(why, Ended::Gone | Ended::Client(_)) {
            return;
        }
        let message = why.to_string().replace('\0', " ");
        let fields = [(b'S', "FATAL"), (b'V', "FATAL"), (b'C', why.sqlstate()), (b'M', &message)];
        let fields = fields.map(|(code, text)| (code, text.as_bytes()));
        if self.say(|out| write_error(out, fields)).is_ok() {
            let _ = self.flush().await;
            let _ = self.stream.shutdown().await;
        }
    }
}
