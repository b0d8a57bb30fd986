//! Refusing encryption in the server's place.

use std::io;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::connection::{Context, record, send};
use crate::postgresql::startup::{EncryptionAnswer, Startup};
use crate::postgresql::{Direction, frame};

/// The longest greeting that is waited for. Real ones have about a hundred bytes.
const GREETING: usize = 4096;

/// Answers encryption requests with no, and returns what the client sent next, which is not yet recorded.
pub(super) async fn postgresql(cx: &Context, session: u64, client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    loop {
        match frame::next_startup(&first) {
            Ok(None) => {
                if client.read_buf(&mut first).await? == 0 {
                    return Ok(first);
                }
            }
            Ok(Some(message @ (Startup::SslRequest | Startup::GssEncRequest))) => {
                let length = message.wire_len();
                record(cx, session, Direction::Client, first.get(..length).unwrap_or_default()).await;
                first.drain(..length.min(first.len()));
                let answer = [EncryptionAnswer::Refused.byte()];
                send(cx, session, Direction::Server, &answer, client).await?;
            }
            // Anything else is between client and server.
            Ok(Some(_)) | Err(_) => return Ok(first),
        }
    }
}

/// Passes the server's greeting on without its offer of encryption. What is no greeting is passed on as it is.
pub(super) async fn mysql(
    cx: &Context,
    session: u64,
    server: &mut TcpStream,
    client: &mut TcpStream,
) -> io::Result<()> {
    let mut first = Vec::new();
    while !is_whole(&first) {
        if server.read_buf(&mut first).await? == 0 {
            break;
        }
    }
    if let Some(flags) = encryption_flags(&first).and_then(|at| first.get_mut(at)) {
        *flags &= !CLIENT_SSL;
    }
    if first.is_empty() { Ok(()) } else { send(cx, session, Direction::Server, &first, client).await }
}

/// CLIENT_SSL within the second byte of the capability flags.
const CLIENT_SSL: u8 = 0x08;

/// True when a greeting is complete, or it is none.
fn is_whole(bytes: &[u8]) -> bool {
    match bytes {
        [a, b, c, 0, rest @ ..] => {
            let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            rest.len() >= length || length > GREETING
        }
        [_, _, _, _, ..] => true,
        _ => false,
    }
}

/// Where a greeting has the second byte of its capability flags: after the protocol version 10, the server's version,
/// the connection id, the first eight bytes of the scramble and a filler.
fn encryption_flags(greeting: &[u8]) -> Option<usize> {
    let [_, _, _, 0, 10, version @ ..] = greeting else { return None };
    let end = version.iter().position(|&byte| byte == 0)?;
    Some(5 + end + 1 + 4 + 8 + 1 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_where_the_greeting_of_a_real_server_has_it() {
        // MariaDB 10.11, up to its upper capability flags: lower flags f7fe, with the bit 0x0800 for encryption.
        let greeting = b"\x6b\0\0\0\x0a10.11.6-MariaDB\0\x05\0\0\0abcdefgh\0\xfe\xff\x2d\x02\0\xff\x81\x15";
        let at = encryption_flags(greeting).expect("a greeting");
        assert_eq!(greeting[at - 1..=at], [0xfe, 0xff]);
        assert_eq!(greeting[at + 1], 0x2d, "the collation comes next");
        // An error in place of a greeting, and another protocol.
        assert_eq!(encryption_flags(b"\x17\0\0\0\xff\x10\x04Too many connections"), None);
        assert_eq!(encryption_flags(b"SSH-2.0-OpenSSH"), None);
    }

    #[test]
    fn what_is_no_greeting_is_not_waited_for() {
        assert!(!is_whole(b"\x03\0\0"));
        assert!(!is_whole(b"\x03\0\0\0ab"));
        assert!(is_whole(b"\x03\0\0\0abc"));
        assert!(is_whole(b"SSH-"));
        assert!(is_whole(b"\xff\xff\xff\0"));
    }
}
