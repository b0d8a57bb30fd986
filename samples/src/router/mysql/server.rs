//! A connection to a server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use splitproof_capture::mysql::{
    Answer as Message, Capabilities, Code, Command, ErrPacket, Exchange, Handshake, Query, Status, auth::plugin, packet,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::login::{self, Login};
use super::progress::{Answer, Disguise, Progress};

/// How long a server may take to let a client in.
const PATIENCE: Duration = Duration::from_secs(10);

/// A prepared statement on one server.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The server's number.
    pub statement: u32,
    /// The types that it was last executed with.
    pub types: Option<Arc<[u8]>>,
}

#[derive(Debug)]
pub(super) struct Server {
    pub stream: TcpStream,
    pub input: BytesMut,
    /// The server's number of the connection.
    pub connection: u32,
    pub capabilities: Capabilities,
    pub status: Status,
    /// Statements of the binary protocol, by the router's number.
    pub statements: HashMap<u32, Known>,
    /// Statements prepared in SQL, by name, with their generation.
    pub names: HashMap<String, u64>,
    /// Whether the current database is no longer that of the login.
    pub database_changed: bool,
    scramble: Vec<u8>,
}

/// Why a connection could not be made.
#[derive(Debug)]
pub(super) struct NoServer {
    pub code: u16,
    pub problem: String,
    /// Whether the server is there and said no.
    pub refused: bool,
}

impl NoServer {
    fn unreachable(problem: impl ToString) -> Self {
        NoServer { code: 2003, problem: problem.to_string(), refused: false }
    }

    fn refused(problem: String) -> Self {
        NoServer { code: 1045, problem, refused: true }
    }
}

impl Server {
    /// Connects and logs in.
    pub async fn connect(address: &str, login: &Login, password: Option<&str>) -> Result<Server, NoServer> {
        let connect = async {
            let stream = TcpStream::connect(address).await.map_err(NoServer::unreachable)?;
            let _ = stream.set_nodelay(true);
            let mut server = Server {
                stream,
                input: BytesMut::new(),
                connection: 0,
                capabilities: Capabilities::default(),
                status: Status::default(),
                statements: HashMap::new(),
                names: HashMap::new(),
                database_changed: false,
                scramble: Vec::new(),
            };
            server.log_in(login, password).await?;
            Ok(server)
        };
        timeout(PATIENCE, connect).await.unwrap_or_else(|_| Err(NoServer::unreachable("no answer within 10 s")))
    }

    async fn log_in(&mut self, login: &Login, password: Option<&str>) -> Result<(), NoServer> {
        let (payload, sequence) = self.payload().await.map_err(NoServer::unreachable)?;
        let greeting = greeting(&payload)?;
        let method = if greeting.plugin.is_empty() { plugin::NATIVE_PASSWORD } else { greeting.plugin };
        self.connection = greeting.connection;
        self.scramble = greeting.scramble();
        self.capabilities = greeting.capabilities.agreed(login.capabilities());
        let method = if matches!(method, plugin::NATIVE_PASSWORD | plugin::CACHING_SHA2_PASSWORD) {
            method
        } else {
            // The server will ask for what the user needs.
            plugin::NATIVE_PASSWORD
        };
        let proof = login::proof(method, &self.scramble, password).map_err(NoServer::refused)?;
        let mut out = Vec::new();
        login.response(&proof, method, &mut out).map_err(|error| NoServer::refused(error.to_string()))?;
        self.authenticate(&out, sequence.wrapping_add(1), password).await
    }

    /// Becomes another user.
    pub async fn change_user(&mut self, login: &Login, password: Option<&str>) -> Result<(), NoServer> {
        let method = plugin::NATIVE_PASSWORD;
        let proof = login::proof(method, &self.scramble, password).map_err(NoServer::refused)?;
        let mut out = Vec::new();
        login.change_user(&proof, method, &mut out).map_err(|error| NoServer::refused(error.to_string()))?;
        self.forget_all();
        self.authenticate(&out, 0, password).await
    }

    /// Sends the first proof, and goes through the steps that the server wants.
    async fn authenticate(&mut self, first: &[u8], mut sequence: u8, password: Option<&str>) -> Result<(), NoServer> {
        let mut exchange = Exchange::authentication(self.capabilities);
        self.write(first, &mut sequence).await.map_err(NoServer::unreachable)?;
        loop {
            let (payload, last) = self.payload().await.map_err(NoServer::unreachable)?;
            let mut sequence = last.wrapping_add(1);
            let message = exchange.next(&payload).map_err(NoServer::unreachable)?;
            match message {
                Message::Ok(ok) => {
                    self.status = ok.status;
                    return Ok(());
                }
                Message::Err(error) => return Err(refusal(&error)),
                Message::AuthSwitch(switch) => {
                    self.scramble = switch.data.strip_suffix(b"\0").unwrap_or(switch.data).to_vec();
                    let proof = login::proof(switch.plugin, switch.data, password).map_err(NoServer::refused)?;
                    self.write(&proof, &mut sequence).await.map_err(NoServer::unreachable)?;
                }
                Message::AuthMore(more) => login::more(more.0).map_err(NoServer::refused)?,
                _ => return Err(NoServer::refused("it wants a further proof".to_owned())),
            }
        }
    }

    async fn write(&mut self, payload: &[u8], sequence: &mut u8) -> std::io::Result<()> {
        let mut out = Vec::new();
        packet::write(&mut out, sequence, payload);
        self.stream.write_all(&out).await
    }

    /// The next payload and its last sequence number.
    async fn payload(&mut self) -> Result<(Vec<u8>, u8), String> {
        let mut joiner = packet::Joiner::new();
        loop {
            while let Some(packet) = packet::next(&self.input) {
                let (length, sequence) = (packet.len(), packet.sequence);
                let whole = joiner.push(packet).map_err(|error| error.to_string())?.map(<[u8]>::to_vec);
                self.input.advance(length);
                if let Some(payload) = whole {
                    return Ok((payload, sequence));
                }
            }
            if self.stream.read_buf(&mut self.input).await.map_err(|error| error.to_string())? == 0 {
                return Err("the server closed the connection".to_owned());
            }
        }
    }

    /// Runs a text whose answer nobody sees.
    pub async fn query(&mut self, sql: &str) -> Result<Answer, String> {
        let mut payload = Vec::new();
        let query = Command::Query(Query::new(sql.as_bytes()));
        query.encode(self.capabilities, &mut payload).map_err(|error| error.to_string())?;
        self.ask(&payload).await
    }

    /// Sends a command whose answer nobody sees.
    pub async fn ask(&mut self, payload: &[u8]) -> Result<Answer, String> {
        let command = Command::decode(payload, self.capabilities).map_err(|error| error.to_string())?;
        let exchange = Exchange::of(&command, self.capabilities);
        let mut progress = Progress::new(exchange, self.capabilities, Disguise::default(), false);
        let mut sequence = 0;
        self.write(payload, &mut sequence).await.map_err(|error| error.to_string())?;
        while !progress.is_done() {
            let Some(packet) = packet::next(&self.input) else {
                if self.stream.read_buf(&mut self.input).await.map_err(|error| error.to_string())? == 0 {
                    return Err("the server closed the connection".to_owned());
                }
                continue;
            };
            let (length, mut sequence) = (packet.len(), packet.sequence.wrapping_add(1));
            progress.take(packet).map_err(|error| error.to_string())?;
            self.input.advance(length);
            if progress.exchange.awaits_client() {
                // Nobody sends a file here.
                self.write(b"", &mut sequence).await.map_err(|error| error.to_string())?;
            }
        }
        self.status = progress.answer.status.unwrap_or(self.status);
        Ok(progress.answer)
    }

    /// The session was made as new: nothing is prepared any more.
    pub fn forget_all(&mut self) {
        self.statements.clear();
        self.names.clear();
    }

    /// Makes it as good as new for another session; false when that failed.
    pub async fn reset(&mut self, login: &Login) -> bool {
        let reset = async {
            self.forget_all();
            let answer = self.ask(&[Code::RESET_CONNECTION.0]).await?;
            let mut well = answer.error.is_none();
            if self.database_changed {
                // There is no way back to no database at all.
                let Some(database) = &login.database else { return Ok(false) };
                let back = [&[Code::INIT_DB.0], database.as_slice()].concat();
                well &= self.ask(&back).await?.error.is_none();
                self.database_changed = false;
            }
            Ok::<_, String>(well)
        };
        matches!(timeout(PATIENCE, reset).await, Ok(Ok(true)))
    }
}

/// A server's greeting, or its refusal.
pub(super) fn greeting(payload: &[u8]) -> Result<Handshake<'_>, NoServer> {
    if payload.first() == Some(&ErrPacket::HEADER) {
        let error = ErrPacket::decode(payload).map_err(NoServer::unreachable)?;
        return Err(refusal(&error));
    }
    Handshake::decode(payload).map_err(NoServer::unreachable)
}

fn refusal(error: &ErrPacket<'_>) -> NoServer {
    NoServer { code: error.code, problem: String::from_utf8_lossy(error.message).into_owned(), refused: true }
}
