//! A connection to a server.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use super::handshake::{CancelKey, Handshake, Login, Refused, Step};
use bytes::{Buf, BytesMut};
use splitproof_capture::postgresql::backend::Backend;
use splitproof_capture::postgresql::frame::{self, Direction};
use splitproof_capture::postgresql::frontend::Frontend;
use splitproof_capture::trace::TransactionStatus;
use splitproof_replay::pair::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::answer::{Answer, Expect, Pass, Progress, What};

/// How long a server may take to let a client in.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Server {
    pub address: String,
    pub stream: TcpStream,
    pub input: BytesMut,
    /// What it reported at its start, such as the encoding.
    pub parameters: Vec<(Vec<u8>, Vec<u8>)>,
    pub key: Option<CancelKey>,
    /// Prepared statements, by name, with their generation.
    pub prepared: HashMap<String, u64>,
    pub status: TransactionStatus,
}

/// Why a connection could not be made: SQLSTATE and what happened.
#[derive(Debug)]
pub(super) struct NoServer {
    pub code: String,
    pub problem: String,
    /// Whether the server is there and said no.
    pub refused: bool,
}

impl NoServer {
    fn unreachable(problem: impl ToString) -> Self {
        NoServer { code: "08006".to_owned(), problem: problem.to_string(), refused: false }
    }
}

impl Server {
    /// Connects and logs in.
    pub async fn connect(address: &str, login: &Login, password: Option<&Secret>) -> Result<Server, NoServer> {
        let connect = async {
            let stream = TcpStream::connect(address).await.map_err(NoServer::unreachable)?;
            let _ = stream.set_nodelay(true);
            let mut server = Server {
                address: address.to_owned(),
                stream,
                input: BytesMut::new(),
                parameters: Vec::new(),
                key: None,
                prepared: HashMap::new(),
                status: TransactionStatus::Idle,
            };
            server.log_in(login, password).await?;
            Ok(server)
        };
        timeout(PATIENCE, connect).await.unwrap_or_else(|_| Err(NoServer::unreachable("no answer within 10 s")))
    }

    async fn log_in(&mut self, login: &Login, password: Option<&Secret>) -> Result<(), NoServer> {
        let refuse = |refused: Refused| match refused {
            Refused::Server { code, message } => NoServer { code, problem: message, refused: true },
            other => NoServer { code: "28000".to_owned(), problem: other.to_string(), refused: true },
        };
        let mut out = Vec::new();
        let mut handshake = Handshake::begin(login, password, &mut out).map_err(refuse)?;
        loop {
            self.stream.write_all(&out).await.map_err(NoServer::unreachable)?;
            out.clear();
            while let Some(frame) = frame::next_from(Direction::Server, &self.input).map_err(NoServer::unreachable)? {
                let message = Backend::decode(frame).map_err(NoServer::unreachable)?;
                if let Backend::ParameterStatus { name, value } = &message {
                    self.parameters.push((name.to_vec(), value.to_vec()));
                }
                let step = handshake.message(&message, &mut out).map_err(refuse)?;
                let length = frame.len;
                self.input.advance(length);
                if step == Step::Ready {
                    self.key = handshake.into_key();
                    return Ok(());
                }
            }
            if out.is_empty() && self.stream.read_buf(&mut self.input).await.map_err(NoServer::unreachable)? == 0 {
                return Err(NoServer::unreachable("the server closed the connection during its start"));
            }
        }
    }

    /// Runs a text whose answer nobody sees.
    pub async fn query(&mut self, sql: &str) -> Result<Answer, String> {
        let mut bytes = Vec::new();
        Frontend::Query { sql: sql.as_bytes() }.encode(&mut bytes).map_err(|error| error.to_string())?;
        self.ask(&bytes, VecDeque::from([Expect { what: What::Whole, ours: true }])).await
    }

    /// Sends messages whose answer nobody sees.
    pub async fn ask(&mut self, bytes: &[u8], expect: VecDeque<Expect>) -> Result<Answer, String> {
        let text = |error: std::io::Error| error.to_string();
        let mut progress = Progress::new(expect, false);
        self.stream.write_all(bytes).await.map_err(text)?;
        loop {
            let mut refuse_copy = false;
            while let Some(frame) =
                frame::next_from(Direction::Server, &self.input).map_err(|error| error.to_string())?
            {
                refuse_copy |= progress.take(frame).map_err(|error| error.to_string())? == Pass::CopyIn;
                let length = frame.len;
                self.input.advance(length);
            }
            if refuse_copy {
                let mut out = Vec::new();
                Frontend::CopyFail(b"nobody sends data here").encode(&mut out).map_err(|error| error.to_string())?;
                self.stream.write_all(&out).await.map_err(text)?;
            }
            if progress.is_done() {
                self.note(&progress.answer);
                return Ok(progress.answer);
            }
            if self.stream.read_buf(&mut self.input).await.map_err(text)? == 0 {
                return Err("the server closed the connection".to_owned());
            }
        }
    }

    /// Takes over what an answer says about the connection.
    pub fn note(&mut self, answer: &Answer) {
        self.status = answer.status.unwrap_or(self.status);
        self.prepared.extend(answer.parsed.iter().cloned());
        for name in &answer.closed {
            self.prepared.remove(name);
        }
    }

    /// Makes it as good as new for another session; false when that failed.
    pub async fn reset(&mut self) -> bool {
        let reset = async {
            if self.status != TransactionStatus::Idle {
                self.query("ROLLBACK").await?;
            }
            let answer = self.query("DISCARD ALL").await?;
            self.prepared.clear();
            Ok::<_, String>(answer.error.is_none() && answer.status == Some(TransactionStatus::Idle))
        };
        matches!(timeout(PATIENCE, reset).await, Ok(Ok(true)))
    }
}

/// Waits until one of these has something to say, and gives its place.
pub(super) async fn any_readable(servers: &[Option<Server>]) -> usize {
    poll_fn(|context| {
        for (node, server) in servers.iter().enumerate() {
            if let Some(server) = server
                && server.stream.poll_read_ready(context).is_ready()
            {
                return Poll::Ready(node);
            }
        }
        Poll::Pending
    })
    .await
}
