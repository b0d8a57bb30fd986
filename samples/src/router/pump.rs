//! Both directions of an exchange at once: a client may send long before it reads.

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Bytes read from a client before they are used. What a server must get in one go is kept whole until it is sent.
pub const LONGEST_INPUT: usize = 256 << 20;

/// What a client has not read yet before the server is read no further.
const LONGEST_OUTPUT: usize = 1 << 20;

/// The client's side.
pub struct ClientSide<'a> {
    pub stream: &'a mut TcpStream,
    pub input: &'a mut BytesMut,
    /// What has not been written to it yet.
    pub output: &'a mut BytesMut,
}

/// The server's side.
pub struct ServerSide<'a> {
    pub stream: &'a mut TcpStream,
    pub input: &'a mut BytesMut,
    /// What is for it, of which `sent` bytes are written.
    pub bytes: &'a [u8],
    pub sent: &'a mut usize,
}

/// Who broke off, and why.
pub enum Broken {
    /// The client went.
    Gone,
    /// The client's connection failed.
    Client(std::io::Error),
    /// The server's connection ended or failed.
    Server(String),
}

/// Waits until something can be read or written on either side, and does it.
pub async fn pump(client: ClientSide<'_>, server: ServerSide<'_>) -> Result<(), Broken> {
    let (mut from_server, mut to_server) = server.stream.split();
    let (mut from_client, mut to_client) = client.stream.split();
    let rest = server.bytes.get(*server.sent..).unwrap_or_default();
    tokio::select! {
        written = to_server.write(rest), if !rest.is_empty() => match written {
            Ok(count) => *server.sent += count,
            // What it said before it went is worth more than that it went.
            Err(_) => *server.sent = server.bytes.len(),
        },
        read = from_server.read_buf(server.input), if client.output.len() < LONGEST_OUTPUT => match read {
            Ok(0) => return Err(Broken::Server("the server closed the connection".to_owned())),
            Ok(_) => {}
            Err(error) => return Err(Broken::Server(error.to_string())),
        },
        written = to_client.write_buf(client.output), if !client.output.is_empty() => {
            written.map_err(Broken::Client)?;
        },
        read = from_client.read_buf(client.input), if client.input.len() < LONGEST_INPUT => match read {
            Ok(0) => return Err(Broken::Gone),
            Ok(_) => {}
            Err(error) => return Err(Broken::Client(error)),
        },
    }
    Ok(())
}
