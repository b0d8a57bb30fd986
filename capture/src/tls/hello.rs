//! The two messages of a handshake that are needed: what the client offers, and what the server chose.

/// Handshake messages by their type.
pub(super) mod message {
    pub const CLIENT_HELLO: u8 = 1;
    pub const SERVER_HELLO: u8 = 2;
    pub const FINISHED: u8 = 20;
    pub const KEY_UPDATE: u8 = 24;
}

/// TLS 1.2 as a number, which is also what records of later versions call themselves.
pub(super) const TLS_1_2: u16 = 0x0303;
/// TLS 1.3 as a number.
pub(super) const TLS_1_3: u16 = 0x0304;

/// The random number of a ServerHello that asks the client to say hello again.
const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// What a client says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientHello {
    pub random: [u8; 32],
    /// The host that it asks for (SNI).
    pub server_name: Option<String>,
}

/// What the server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerHello {
    pub random: [u8; 32],
    pub version: u16,
    pub suite: u16,
    /// The client is asked to say hello again.
    pub retry: bool,
}

/// Bytes that are taken from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        Some(self.take(bytes)?.iter().fold(0, |number, &byte| number << 8 | usize::from(byte)))
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
    }

    /// A field behind its length, which takes so many bytes.
    fn field(&mut self, length: usize) -> Option<&'a [u8]> {
        let n = self.number(length)?;
        self.take(n)
    }

    fn random(&mut self) -> Option<[u8; 32]> {
        self.take(32)?.first_chunk().copied()
    }

    /// The extensions with their numbers. There may be none, not even a length.
    fn extensions(&mut self) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let mut all = Fields(self.field(2).unwrap_or_default());
        std::iter::from_fn(move || Some((all.u16()?, all.field(2)?)))
    }
}

impl ClientHello {
    /// Reads the body of the message.
    pub fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body);
        fields.u16()?;
        let random = fields.random()?;
        let (_session, _suites, _compression) = (fields.field(1)?, fields.field(2)?, fields.field(1)?);
        let server_name = fields.extensions().find(|&(number, _)| number == 0).and_then(|(_, names)| name(names));
        Some(ClientHello { random, server_name })
    }
}

/// The host's name in the extension.
fn name(names: &[u8]) -> Option<String> {
    let mut entry = Fields(Fields(names).field(2)?);
    let kind = entry.number(1)?;
    let name = entry.field(2)?;
    (kind == 0).then(|| String::from_utf8_lossy(name).into_owned())
}

impl ServerHello {
    /// Reads the body of the message.
    pub fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body);
        let mut version = fields.u16()?;
        let random = fields.random()?;
        fields.field(1)?;
        let suite = fields.u16()?;
        fields.take(1)?;
        if let Some((_, value)) = fields.extensions().find(|&(number, _)| number == 43) {
            version = Fields(value).u16()?;
        }
        Some(ServerHello { random, version, suite, retry: random == RETRY })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_hello_with_a_name_and_one_without_extensions() {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        let hello = ClientHello::decode(&body).expect("whole");
        assert_eq!(hello, ClientHello { random: [7; 32], server_name: None });
        // extensions: 16 (ALPN) empty, then 0 with one name
        body.extend([0, 15, 0, 16, 0, 0, 0, 0, 0, 7, 0, 5, 0, 0, 2, b'd', b'b']);
        assert_eq!(ClientHello::decode(&body).and_then(|hello| hello.server_name).as_deref(), Some("db"));
        for len in 0..41 {
            assert_eq!(ClientHello::decode(&body[..len]), None);
        }
    }

    #[test]
    fn the_version_of_a_server_hello_is_that_of_its_extension() {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0xc0, 0x2f, 0]);
        let old = ServerHello::decode(&body).expect("whole");
        assert_eq!((old.version, old.suite, old.retry), (TLS_1_2, 0xc02f, false));
        body.extend([0, 10, 0, 22, 0, 0, 0, 43, 0, 2, 3, 4]);
        assert_eq!(ServerHello::decode(&body).map(|hello| hello.version), Some(TLS_1_3));
    }
}
