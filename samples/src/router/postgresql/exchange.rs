//! Sending a unit to a server and passing its answer on, both at once: a client may send long before it reads.

use bytes::Buf;
use splitproof_capture::postgresql::Invalid;
use splitproof_capture::postgresql::frame::{self, Direction};

use super::Ended;
use super::answer::{Answer, Pass, Progress};
use super::client::Client;
use super::server::Server;
use crate::router::pump::{self, ClientSide, ServerSide};

/// Why an exchange broke off.
#[derive(Debug)]
pub(super) enum Broken {
    /// The client's side.
    Client(Ended),
    /// The server's side, and whether the client had seen anything of the answer.
    Server { problem: String, relayed: bool },
}

/// COPY ... FROM STDIN: what the client sends belongs to the statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copy {
    No,
    /// Until CopyDone or CopyFail, or with the extended protocol until the Sync after it.
    Data {
        extended: bool,
    },
}

/// Sends `bytes` and passes the answer on, without the last ReadyForQuery.
pub(super) async fn exchange(
    client: &mut Client,
    server: &mut Server,
    mut bytes: Vec<u8>,
    mut progress: Progress,
    extended: bool,
) -> Result<Answer, Broken> {
    let mut sent = 0;
    let mut copy = Copy::No;
    let broken = |problem: String, relayed| Broken::Server { problem, relayed };
    loop {
        let relayed = progress.answer.relayed;
        let wants_data = relay(client, server, &mut progress).map_err(|error| broken(error.to_string(), relayed))?;
        if wants_data {
            copy = Copy::Data { extended };
        }
        if copy != Copy::No {
            copy = copy_data(client, &mut bytes, copy).map_err(Broken::Client)?;
        }
        if progress.is_done() && sent == bytes.len() {
            return Ok(progress.answer);
        }
        let relayed = progress.answer.relayed;
        let client = ClientSide { stream: &mut client.stream, input: &mut client.input, output: &mut client.output };
        let server =
            ServerSide { stream: &mut server.stream, input: &mut server.input, bytes: &bytes, sent: &mut sent };
        pump::pump(client, server).await.map_err(|why| match why {
            pump::Broken::Gone => Broken::Client(Ended::Gone),
            pump::Broken::Client(error) => Broken::Client(Ended::Client(error)),
            pump::Broken::Server(problem) => broken(problem, relayed),
        })?;
    }
}

/// Passes on what there is of the answer; true when the server waits for COPY data.
fn relay(client: &mut Client, server: &mut Server, progress: &mut Progress) -> Result<bool, Invalid> {
    let mut wants_data = false;
    while !progress.is_done()
        && let Some(frame) = frame::next_from(Direction::Server, &server.input)?
    {
        let (pass, length) = (progress.take(frame)?, frame.len);
        wants_data |= pass == Pass::CopyIn;
        if pass == Pass::Swallow {
            server.input.advance(length);
        } else {
            progress.answer.relayed = true;
            client.output.extend_from_slice(&server.input.split_to(length));
        }
    }
    Ok(wants_data)
}

/// Takes COPY data from the client.
fn copy_data(client: &mut Client, bytes: &mut Vec<u8>, mut copy: Copy) -> Result<Copy, Ended> {
    while let Copy::Data { extended } = copy
        && let Some(frame) = frame::next_from(Direction::Client, &client.input)?
    {
        let (tag, length) = (frame.tag, frame.len);
        let ends = if extended { tag == b'S' } else { matches!(tag, b'c' | b'f') };
        bytes.extend_from_slice(&client.input.split_to(length));
        if ends {
            copy = Copy::No;
        }
    }
    Ok(copy)
}
