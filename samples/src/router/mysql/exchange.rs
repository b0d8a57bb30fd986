//! Sending a command to a server and passing its answer on, both at once.

use bytes::Buf;
use splitproof_capture::mysql::{Invalid, packet};

use super::Ended;
use super::client::Client;
use super::progress::{Answer, Pass, Progress};
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

/// Sends `bytes` and passes the answer on, but for its last packet.
pub(super) async fn exchange(
    client: &mut Client,
    server: &mut Server,
    mut bytes: Vec<u8>,
    mut progress: Progress,
) -> Result<Answer, Broken> {
    let mut sent = 0;
    let broken = |problem: String, relayed| Broken::Server { problem, relayed };
    loop {
        let relayed = progress.answer.relayed;
        relay(client, server, &mut progress).map_err(|error| broken(error.to_string(), relayed))?;
        if progress.exchange.awaits_client() {
            file_data(client, &mut bytes);
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

/// Passes on what there is of the answer.
fn relay(client: &mut Client, server: &mut Server, progress: &mut Progress) -> Result<(), Invalid> {
    while !progress.is_done()
        && let Some(packet) = packet::next(&server.input)
    {
        let length = packet.len();
        match progress.take(packet)? {
            Pass::Swallow | Pass::Hold => server.input.advance(length),
            Pass::Replace(payload) => {
                server.input.advance(length);
                progress.answer.relayed = true;
                client.send(&payload);
            }
            // A packet is passed on as it is, under the client's own sequence number; so is each part of a long payload.
            Pass::Relay => {
                let mut bytes = server.input.split_to(length);
                if let Some(sequence) = bytes.get_mut(3) {
                    *sequence = client.sequence;
                }
                client.sequence = client.sequence.wrapping_add(1);
                progress.answer.relayed = true;
                client.output.extend_from_slice(&bytes);
            }
        }
    }
    Ok(())
}

/// LOAD DATA LOCAL: what the client sends belongs to the statement, up to an empty packet.
fn file_data(client: &mut Client, bytes: &mut Vec<u8>) {
    while let Some(packet) = packet::next(&client.input) {
        let (length, ends) = (packet.len(), packet.is_empty());
        client.sequence = packet.sequence.wrapping_add(1);
        bytes.extend_from_slice(&client.input.split_to(length));
        if ends {
            return;
        }
    }
}
