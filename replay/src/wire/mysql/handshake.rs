//! The start of a connection, as a state machine without I/O: packets of the server in, packets of the client out.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>

use splitproof_capture::mysql::{
    Answer, Attributes, Capabilities, ErrPacket, Exchange, Handshake as Greeting, HandshakeResponse, Invalid, Packet,
    Secret, Unencodable, packet,
};

use super::Login;
use super::auth::Method;
use crate::pair;

/// Longest packet that the client says it sends: what the servers take at most.
const MAX_PACKET: u32 = 1 << 30;

/// Why a session could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The server said no.
    #[error("{message} ({code})")]
    Server {
        /// Number of the error.
        code: u16,
        /// What it said.
        message: String,
    },
    /// The way of authentication is not supported.
    #[error(
        "it asks for {0} authentication; a replay can do mysql_native_password, caching_sha2_password, sha256_password \
         and client_ed25519"
    )]
    Method(String),
    /// The server's public key cannot be used.
    #[error("it sent a public key that is no RSA key, or is too short for the password")]
    PublicKey,
    /// A message cannot be made.
    #[error("{0}")]
    Unencodable(String),
    /// The server's bytes are not messages of the protocol.
    #[error("it does not speak the MySQL protocol: {0}")]
    Protocol(String),
    /// The connection ended.
    #[error("{0}")]
    Connection(String),
}

impl From<Unencodable> for Refused {
    fn from(error: Unencodable) -> Self {
        Refused::Unencodable(error.to_string())
    }
}

impl From<Invalid> for Refused {
    fn from(error: Invalid) -> Self {
        Refused::Protocol(error.to_string())
    }
}

/// A session being started.
pub struct Handshake<'a> {
    login: &'a Login,
    password: Option<&'a pair::Secret>,
    steps: Option<Steps>,
}

/// The steps of authentication: after the greeting, and after COM_CHANGE_USER.
#[derive(Debug)]
pub(super) struct Steps {
    exchange: Exchange,
    method: Method,
    scramble: Vec<u8>,
}

/// What the two sides agreed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// What is in force.
    pub capabilities: Capabilities,
    /// What the server sent for the first proof.
    pub scramble: Vec<u8>,
    /// The server's method.
    pub plugin: Vec<u8>,
}

impl<'a> Handshake<'a> {
    /// Waits for the greeting.
    pub fn new(login: &'a Login, password: Option<&'a pair::Secret>) -> Self {
        Handshake { login, password, steps: None }
    }

    /// Takes the server's first packet, and appends the response to `out`.
    pub fn greeting(&mut self, packet: Packet<'_>, out: &mut Vec<u8>) -> Result<Agreed, Refused> {
        if packet.payload.first() == Some(&ErrPacket::HEADER) {
            return Err(refusal(&ErrPacket::decode(packet.payload)?));
        }
        let greeting = Greeting::decode(packet.payload)?;
        let login = self.login;
        let capabilities = greeting.capabilities.agreed(login.capabilities);
        if !capabilities.contains(Capabilities::PROTOCOL_41) {
            return Err(Refused::Protocol("it is a server from before MySQL 4.1".to_owned()));
        }
        let scramble = greeting.scramble();
        // The server switches to the user's own method if this is not it.
        let method = Method::named(greeting.plugin).unwrap_or(Method::Native);
        let proof = method.proof(password(self.password), &scramble);
        let program = login.program.as_deref().map(|name| (&b"program_name"[..], name.as_bytes()));
        let attributes = Attributes::bytes(program);
        let response = HandshakeResponse {
            capabilities,
            max_packet: MAX_PACKET,
            collation: login.collation,
            user: login.user.as_bytes(),
            proof: Secret(&proof),
            database: login.database.as_deref().map(str::as_bytes),
            plugin: Some(method.name()),
            attributes: Some(Attributes::from_bytes(&attributes)?),
            zstd_level: Some(3),
        };
        let mut sequence = packet.sequence.wrapping_add(1);
        packet::write_with(out, &mut sequence, |out| response.encode(out))?;
        let agreed = Agreed { capabilities, plugin: greeting.plugin.to_vec(), scramble: scramble.clone() };
        self.steps = Some(Steps { exchange: Exchange::authentication(capabilities), method, scramble });
        Ok(agreed)
    }

    /// Takes a further packet of the server, and appends the answer to `out` if it wants one. True when the server is ready.
    pub fn step(&mut self, packet: Packet<'_>, out: &mut Vec<u8>) -> Result<bool, Refused> {
        let password = self.password;
        match &mut self.steps {
            Some(steps) => steps.take(packet, password, out),
            None => Err(Refused::Protocol("it has not greeted".to_owned())),
        }
    }
}

impl Steps {
    /// The steps after COM_CHANGE_USER with a first proof by this method.
    pub fn of_change(method: Method, scramble: &[u8], capabilities: Capabilities) -> Self {
        Steps { exchange: Exchange::authentication(capabilities), method, scramble: scramble.to_vec() }
    }

    /// Takes a packet of the server, and appends the answer to `out` if it wants one. True when the server is ready.
    pub fn take(
        &mut self,
        packet: Packet<'_>,
        secret: Option<&pair::Secret>,
        out: &mut Vec<u8>,
    ) -> Result<bool, Refused> {
        let answer = match self.exchange.next(packet.payload)? {
            Answer::Ok(_) => return Ok(true),
            Answer::Err(error) => return Err(refusal(&error)),
            Answer::AuthSwitch(switch) => {
                let named = || Refused::Method(String::from_utf8_lossy(switch.plugin).into_owned());
                self.method = Method::named(switch.plugin).ok_or_else(named)?;
                self.scramble = switch.data.to_vec();
                Some(self.method.proof(password(secret), switch.data))
            }
            Answer::AuthMore(more) => self.method.more(password(secret), &self.scramble, more.0)?,
            Answer::AuthNextFactor(_) => return Err(Refused::Method("a second factor of".to_owned())),
            _ => return Err(Refused::Protocol("it sent an answer before it was ready for a request".to_owned())),
        };
        if let Some(answer) = answer {
            packet::write(out, &mut packet.sequence.wrapping_add(1), &answer);
        }
        Ok(false)
    }
}

fn password(secret: Option<&pair::Secret>) -> &[u8] {
    secret.map(pair::Secret::bytes).unwrap_or_default()
}

fn refusal(error: &ErrPacket<'_>) -> Refused {
    Refused::Server { code: error.code, message: String::from_utf8_lossy(error.message).into_owned() }
}
