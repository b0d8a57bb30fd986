//! Both directions of a session: the handshake, and the keys that follow from it.

use std::ops::Range;

use super::hello::{ClientHello, ServerHello, TLS_1_2, TLS_1_3, message};
use super::key_log::{KeyLog, Secrets};
use super::opener::Opener;
use super::record::kind;
use super::side::{Keys, Next, Side};
use super::suite::{self, Suite};
use crate::postgresql::Direction;

/// What is held back of both directions while the keys are not known, bytes. Certificates take a few thousand.
const MOST_HELD: u64 = 64 << 10;

/// The longest handshake message. Chains of certificates are far shorter.
const LONGEST_MESSAGE: usize = 1 << 18;

/// Why the content of a session cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There are no secrets at all.
    #[error("there is no key log: give --keylog with the file that a client or server wrote for SSLKEYLOGFILE")]
    NoKeyLog,
    /// There are secrets, but not those.
    #[error("the key log does not hold its secrets")]
    NoSecrets,
    /// There are secrets that do not open it.
    #[error("the secrets that the key log holds for it do not open it")]
    WrongSecrets,
    /// It is too old.
    #[error("this version is not decrypted")]
    Version,
    /// The cipher suite is not known.
    #[error("this cipher suite is not decrypted")]
    Suite,
    /// Bytes of the handshake are missing.
    #[error("its handshake was not captured whole")]
    Incomplete,
    /// The bytes are something else.
    #[error("its handshake is not that of TLS")]
    NotTls,
}

/// What came out of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Content, in [`Plain::bytes`].
    Data {
        /// Who sent it.
        side: Direction,
        /// When the first byte of its record came.
        first_ns: i64,
        /// Where it stands.
        range: Range<usize>,
    },
    /// So many encrypted bytes are of no use: they are part of records that are not whole, or that could not be opened.
    Passed(u64),
    /// Content of this side is missing here; `missing` encrypted bytes of it were not captured.
    Gap {
        /// Whose content.
        side: Direction,
        /// Bytes that were not captured; 0 where they were, but could not be opened.
        missing: u64,
    },
}

/// Content, piece by piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plain {
    /// The content of all pieces.
    pub bytes: Vec<u8>,
    /// The pieces, in order.
    pub pieces: Vec<Piece>,
}

impl Plain {
    /// Forgets all of it.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.pieces.clear();
    }

    fn data(&mut self, side: Direction, first_ns: i64, content: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(content);
        if start < self.bytes.len() {
            self.pieces.push(Piece::Data { side, first_ns, range: start..self.bytes.len() });
        }
    }

    fn passed(&mut self, bytes: u64) {
        if bytes > 0 {
            self.pieces.push(Piece::Passed(bytes));
        }
    }
}

/// Both directions of a session.
pub struct Connection {
    keys: KeyLog,
    client: Side,
    server: Side,
    hello: Option<ClientHello>,
    chosen: Option<ServerHello>,
    /// The server asked the client to say hello again.
    retried: bool,
    /// True once the keys are known.
    open: bool,
}

impl Connection {
    /// A session from its first byte on.
    pub fn new(keys: &KeyLog) -> Self {
        let (client, server) = (Side::new(), Side::new());
        Connection { keys: keys.clone(), client, server, hello: None, chosen: None, retried: false, open: false }
    }

    /// True once the keys are known.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Bytes that wait for the rest of their record.
    pub fn held(&self) -> u64 {
        (self.client.held.len() + self.server.held.len()) as u64
    }

    /// What is known of the session: version, cipher suite, the server's name.
    pub fn describe(&self) -> String {
        let mut words = Vec::new();
        match &self.chosen {
            Some(chosen) => words.extend([suite::version(chosen.version), suite::name(chosen.suite)]),
            None => words.push("TLS".to_owned()),
        }
        if let Some(name) = self.hello.as_ref().and_then(|hello| hello.server_name.as_deref()) {
            words.push(format!("server name {}", name.escape_default()));
        }
        words.join(", ")
    }

    /// Why the session is not open, if nothing more comes.
    pub fn end(&self) -> Refusal {
        if self.chosen.is_some() { Refusal::NoSecrets } else { Refusal::Incomplete }
    }

    /// Takes bytes of one direction, and puts out what can be read now. After an error nothing more can be read.
    ///
    /// # Errors
    ///
    /// The session cannot be decrypted.
    pub fn push(&mut self, side: Direction, at_ns: i64, bytes: &[u8], out: &mut Plain) -> Result<(), Refusal> {
        let before = self.side(side).held.len();
        self.side(side).arrived(at_ns, bytes);
        if !self.open && self.chosen.is_some() {
            self.agree()?;
        }
        self.drain(side, before, at_ns, out)?;
        let other = match side {
            Direction::Client => Direction::Server,
            Direction::Server => Direction::Client,
        };
        // What the other side sent may have waited for this.
        if !self.side(other).held.is_empty() {
            let all = self.side(other).held.len();
            self.drain(other, all, at_ns, out)?;
        }
        if !self.open && self.held() > MOST_HELD {
            return Err(self.end());
        }
        Ok(())
    }

    /// `missing` bytes of one direction were not captured; the next ones come after them.
    ///
    /// # Errors
    ///
    /// The session cannot be decrypted, because the handshake is not whole.
    pub fn gap(&mut self, side: Direction, missing: u64, out: &mut Plain) -> Result<(), Refusal> {
        if !self.open {
            return Err(Refusal::Incomplete);
        }
        let passed = self.side(side).gap(missing);
        out.passed(passed);
        out.pieces.push(Piece::Gap { side, missing });
        Ok(())
    }

    fn side(&mut self, side: Direction) -> &mut Side {
        match side {
            Direction::Client => &mut self.client,
            Direction::Server => &mut self.server,
        }
    }

    /// True when the next record of a direction can be understood: what follows the hellos needs both of them, and the keys.
    fn is_due(&self, side: Direction, first: Option<u8>) -> bool {
        match self.chosen {
            Some(_) => self.open,
            None if side == Direction::Server || self.hello.is_none() => true,
            None => match first {
                Some(kind::HANDSHAKE) => true,
                // It stands before the second hello, and means nothing in the versions that know one.
                Some(kind::CHANGE_CIPHER_SPEC) => self.retried,
                _ => false,
            },
        }
    }

    /// Reads records. The first `before` bytes that are held came earlier than `at_ns`.
    fn drain(&mut self, direction: Direction, before: usize, at_ns: i64, out: &mut Plain) -> Result<(), Refusal> {
        let mut used = 0;
        loop {
            let first = self.side(direction).held.get(used).copied();
            if !self.is_due(direction, first) {
                break;
            }
            let side = self.side(direction);
            let first_ns = if used < before { side.since_ns } else { at_ns };
            let opened = !matches!(side.keys, Keys::Plain | Keys::Agreed(_));
            match side.next(&mut used) {
                Next::Wait => break,
                Next::NotTls => return Err(Refusal::NotTls),
                Next::Passed(bytes) => out.passed(bytes),
                Next::Refused(bytes) => {
                    if !side.has_opened() {
                        return Err(Refusal::WrongSecrets);
                    }
                    side.search();
                    out.pieces.push(Piece::Gap { side: direction, missing: 0 });
                    out.passed(bytes);
                }
                Next::Record(kind::HANDSHAKE, content) => {
                    let content = content.to_vec();
                    self.handshake(direction, &content)?;
                }
                // It is not encrypted: such data is none of a session whose beginning was seen.
                Next::Record(kind::DATA, _) if !opened => return Err(Refusal::Incomplete),
                Next::Record(kind::DATA, content) => out.data(direction, first_ns, content),
                // It is not a change where no keys are agreed on.
                Next::Record(kind::CHANGE_CIPHER_SPEC, _) if !opened => side.data(),
                Next::Record(..) => {}
            }
        }
        let side = self.side(direction);
        if used >= before {
            side.since_ns = at_ns;
        }
        side.held.drain(..used);
        Ok(())
    }

    /// Takes the content of a record of the handshake: a part of a message, or several.
    fn handshake(&mut self, direction: Direction, content: &[u8]) -> Result<(), Refusal> {
        let mut all = std::mem::take(&mut self.side(direction).message);
        all.extend_from_slice(content);
        let mut rest = all.as_slice();
        while let Some(&[kind, a, b, c]) = rest.first_chunk() {
            let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            if length > LONGEST_MESSAGE {
                return Err(Refusal::NotTls);
            }
            let Some(body) = rest.get(4..4 + length) else { break };
            self.message(direction, kind, body)?;
            rest = rest.get(4 + length..).unwrap_or_default();
        }
        self.side(direction).message = rest.to_vec();
        Ok(())
    }

    fn message(&mut self, direction: Direction, kind: u8, body: &[u8]) -> Result<(), Refusal> {
        let new = self.chosen.as_ref().is_some_and(|chosen| chosen.version == TLS_1_3);
        match (direction, kind) {
            (Direction::Client, message::CLIENT_HELLO) if self.chosen.is_none() => {
                self.hello = Some(ClientHello::decode(body).ok_or(Refusal::NotTls)?);
            }
            (Direction::Server, message::SERVER_HELLO) if self.chosen.is_none() => {
                let hello = ServerHello::decode(body).ok_or(Refusal::NotTls)?;
                self.retried |= hello.retry;
                if !hello.retry {
                    self.chosen = Some(hello);
                    self.agree()?;
                }
            }
            (_, message::FINISHED) if new => {
                let side = self.side(direction);
                if let Keys::Handshake(..) = side.keys {
                    side.data();
                }
            }
            (_, message::KEY_UPDATE) if new => self.side(direction).update(),
            _ => {}
        }
        Ok(())
    }

    /// Both sides have said hello: looks for the secrets. They may be written a little later than they are used.
    fn agree(&mut self) -> Result<(), Refusal> {
        let (Some(hello), Some(chosen)) = (&self.hello, &self.chosen) else { return Err(Refusal::Incomplete) };
        if !matches!(chosen.version, TLS_1_2 | TLS_1_3) {
            return Err(Refusal::Version);
        }
        let suite = Suite::of(chosen.suite).ok_or(Refusal::Suite)?;
        let new = chosen.version == TLS_1_3;
        let suffices = |secrets: &Secrets| match new {
            true => secrets.traffic.iter().all(Option::is_some),
            false => secrets.master.is_some(),
        };
        let Some(secrets) = self.keys.find(&hello.random, suffices) else {
            return match self.keys.may_grow() {
                true => Ok(()),
                false if self.keys.is_empty() => Err(Refusal::NoKeyLog),
                false => Err(Refusal::NoSecrets),
            };
        };
        let keys = match new {
            true => later(suite, &secrets),
            false => secrets
                .master
                .and_then(|master| Opener::pair(suite, &master, &hello.random, &chosen.random))
                .map(|pair| pair.map(|opener| Keys::Agreed(Box::new(opener)))),
        };
        [self.client.keys, self.server.keys] = keys.ok_or(Refusal::WrongSecrets)?;
        self.open = true;
        Ok(())
    }
}

/// The keys of both directions in TLS 1.3.
fn later(suite: Suite, secrets: &Secrets) -> Option<[Keys; 2]> {
    let keys = |side: usize| {
        let opener = |secret: &[u8]| Opener::new(suite, secret).map(Box::new);
        let data = opener(secrets.traffic.get(side)?.as_deref()?)?;
        Some(match secrets.handshake.get(side)?.as_deref() {
            Some(secret) => Keys::Handshake(opener(secret)?, data),
            None => Keys::Unknown(data),
        })
    };
    Some([keys(0)?, keys(1)?])
}
