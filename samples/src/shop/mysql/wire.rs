//! A client that speaks the protocol message by message, as older and other drivers do and as the comfortable library
//! does not: cursors that are read in pieces, long data, packets that end columns and rows, session tracking.

use splitproof_capture::mysql::packet;
use splitproof_capture::mysql::parameters::{Content, Parameter};
use splitproof_capture::mysql::{
    self, Attributes, BinaryRow, Capabilities, Command, Exchange, Execute, ExecuteFlags, Handshake, HandshakeResponse,
    Kind, LongData, ParamType, Query, Secret, TextRow, auth,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Answer;
use crate::sandbox::DATABASE;
use crate::shop::session::Role;

/// Why a client cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Io(#[from] std::io::Error),
    /// The server ended the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The server sent what the protocol does not allow.
    #[error("{0}")]
    Invalid(#[from] mysql::Invalid),
    /// A message could not be written.
    #[error("{0}")]
    Unencodable(#[from] mysql::Unencodable),
    /// The server refused the client.
    #[error("the server refused the connection: {0}")]
    Refused(String),
    /// The server wants a password.
    #[error("the server asks for a password; the sandbox's users have none")]
    Password,
}

/// utf8mb4_general_ci.
const COLLATION: u8 = 45;

/// What this client can do: not `DEPRECATE_EOF`, so that EOF packets stand behind columns and rows.
const CAPABILITIES: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.0
        | Capabilities::LONG_FLAG.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::PROTOCOL_41.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::MULTI_RESULTS.0
        | Capabilities::PS_MULTI_RESULTS.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::SESSION_TRACK.0,
);

/// One connection.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    capabilities: Capabilities,
    input: Vec<u8>,
    requests: u64,
}

/// A statement that the server keeps prepared.
#[derive(Debug, Clone, Copy)]
pub struct Prepared {
    id: u32,
}

impl Wire {
    /// Connects and waits until the server is ready.
    pub async fn connect(port: u16, role: Role) -> Result<Self, Broken> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let mut wire = Self { stream, capabilities: CAPABILITIES, input: Vec::new(), requests: 0 };
        let greeting = wire.packet().await?;
        // A server that is full or does not like the address sends an error in place of its greeting.
        let handshake = match mysql::ErrPacket::decode(&greeting) {
            Ok(refusal) => return Err(Broken::Refused(String::from_utf8_lossy(refusal.message).into_owned())),
            Err(_) => Handshake::decode(&greeting)?,
        };
        wire.capabilities = handshake.capabilities.agreed(CAPABILITIES);
        let attributes = Attributes::bytes([(b"program_name".as_slice(), role.application().as_bytes())]);
        let response = HandshakeResponse {
            capabilities: wire.capabilities,
            max_packet: 1 << 24,
            collation: COLLATION,
            user: role.user().as_bytes(),
            proof: Secret(b""),
            database: Some(DATABASE.as_bytes()),
            plugin: Some(auth::plugin::NATIVE_PASSWORD),
            attributes: Some(Attributes::from_bytes(&attributes)?),
            zstd_level: None,
        };
        let mut out = Vec::new();
        packet::write_with(&mut out, &mut 1, |out| response.encode(out))?;
        wire.stream.write_all(&out).await?;
        let answer = wire.read(Exchange::authentication(wire.capabilities), &[]).await?;
        match answer.error {
            None => Ok(wire),
            Some(code) => Err(Broken::Refused(format!("error {code}"))),
        }
    }

    /// Requests sent so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Runs a text.
    pub async fn query(&mut self, sql: &str) -> Result<Answer, Broken> {
        self.command(&Command::Query(Query::new(sql.as_bytes())), &[]).await
    }

    /// Prepares a statement.
    pub async fn prepare(&mut self, sql: &str) -> Result<Prepared, Broken> {
        let answer = self.command(&Command::Prepare { sql: sql.as_bytes() }, &[]).await?;
        match (answer.statement, answer.error) {
            (Some(id), _) => Ok(Prepared { id }),
            (None, code) => Err(Broken::Refused(format!("error {} for {sql}", code.unwrap_or_default()))),
        }
    }

    /// Runs a prepared statement with a number, which returns columns of these types.
    pub async fn execute(&mut self, statement: Prepared, number: i32, columns: &[Kind]) -> Result<Answer, Broken> {
        let number = number.to_le_bytes();
        self.run(statement, ExecuteFlags::default(), &[(Kind::LONG, Content::Bytes(&number))], columns).await
    }

    /// Runs a prepared statement with a text that is sent ahead in two pieces.
    pub async fn execute_long(&mut self, statement: Prepared, text: &str, columns: &[Kind]) -> Result<Answer, Broken> {
        let (first, second) = text.as_bytes().split_at(text.len() / 2);
        for data in [first, second] {
            self.command(&Command::LongData(LongData { statement: statement.id, parameter: 0, data }), &[]).await?;
        }
        self.run(statement, ExecuteFlags::default(), &[(Kind::VAR_STRING, Content::Long)], columns).await
    }

    /// Opens a cursor and reads it to its end, `rows` at a time.
    pub async fn scroll(
        &mut self,
        statement: Prepared,
        number: i32,
        rows: u32,
        columns: &[Kind],
    ) -> Result<Answer, Broken> {
        let number = number.to_le_bytes();
        let parameter = [(Kind::LONG, Content::Bytes(number.as_slice()))];
        let mut answer = self.run(statement, ExecuteFlags::READ_ONLY, &parameter, columns).await?;
        while answer.error.is_none() && answer.more {
            answer = self.command(&Command::Fetch { statement: statement.id, rows }, columns).await?;
        }
        self.command(&Command::Reset { statement: statement.id }, &[]).await?;
        Ok(answer)
    }

    /// Forgets a prepared statement.
    pub async fn close(&mut self, statement: Prepared) -> Result<(), Broken> {
        self.command(&Command::Close { statement: statement.id }, &[]).await.map(drop)
    }

    /// Changes the current database.
    pub async fn init_db(&mut self, database: &str) -> Result<Answer, Broken> {
        self.command(&Command::InitDb { database: database.as_bytes() }, &[]).await
    }

    /// Says goodbye.
    pub async fn quit(mut self) -> Result<u64, Broken> {
        self.command(&Command::Quit, &[]).await?;
        self.stream.shutdown().await?;
        Ok(self.requests)
    }

    async fn run(
        &mut self,
        statement: Prepared,
        flags: ExecuteFlags,
        parameters: &[(Kind, Content<'_>)],
        columns: &[Kind],
    ) -> Result<Answer, Broken> {
        let parameters: Vec<_> = parameters
            .iter()
            .map(|&(kind, value)| Parameter { name: b"", kind: ParamType::new(kind, false), value })
            .collect();
        let mut payload = Vec::new();
        Execute::write(&mut payload, self.capabilities, statement.id, flags, &parameters, true)?;
        self.command(&Command::decode(&payload, self.capabilities)?, columns).await
    }

    /// Sends a command and reads its answer; rows of the binary protocol have columns of these types.
    async fn command(&mut self, command: &Command<'_>, columns: &[Kind]) -> Result<Answer, Broken> {
        self.requests += 1;
        let mut out = Vec::new();
        packet::write_with(&mut out, &mut 0, |out| command.encode(self.capabilities, out))?;
        self.stream.write_all(&out).await?;
        self.read(Exchange::of(command, self.capabilities), columns).await
    }

    async fn read(&mut self, mut exchange: Exchange, kinds: &[Kind]) -> Result<Answer, Broken> {
        let mut answer = Answer::default();
        while !exchange.is_complete() {
            let payload = self.packet().await?;
            match exchange.next(&payload)? {
                mysql::Answer::Row => {
                    let first = if exchange.is_binary() {
                        BinaryRow::decode(&payload, kinds)?.iter().next().and_then(|(_, value)| value)
                    } else {
                        TextRow::decode(&payload, exchange.columns())?.iter().next().flatten()
                    };
                    answer.rows(1, first.and_then(|value| String::from_utf8(value.to_vec()).ok()));
                    answer.bodies.push(payload);
                }
                mysql::Answer::CursorOpen(_) => answer.more = true,
                mysql::Answer::ResultEnd(end) => answer.more = !end.status.contains(mysql::Status::LAST_ROW_SENT),
                mysql::Answer::PrepareOk(prepared) => answer.statement = Some(prepared.statement),
                mysql::Answer::Err(error) => answer = Answer::refused(error.code),
                mysql::Answer::AuthSwitch(_) | mysql::Answer::AuthMore(_) | mysql::Answer::AuthNextFactor(_) => {
                    return Err(Broken::Password);
                }
                _ => {}
            }
        }
        Ok(answer)
    }

    /// The payload of the next packet. The shop has no answer that needs more than one packet for a row.
    async fn packet(&mut self) -> Result<Vec<u8>, Broken> {
        loop {
            if let Some(packet) = packet::next(&self.input) {
                let (length, payload) = (packet.len(), packet.payload.to_vec());
                self.input.drain(..length);
                return Ok(payload);
            }
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return Err(Broken::Closed);
            }
        }
    }
}
