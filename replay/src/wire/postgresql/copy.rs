//! The data of a COPY.

use splitproof_capture::postgresql::frontend::Frontend;
use splitproof_capture::trace::Request;

use super::Connection;
use crate::clock::Clock;
use crate::wire::Broken;

/// COPY data that is sent together, bytes.
const CHUNK: usize = 64 << 10;

/// Sends the data of a COPY, and how it ended: `c`, `f`, or not at all.
pub(super) async fn send<C: Clock>(
    connection: &mut Connection<C>,
    request: &Request,
    end: Option<u8>,
) -> Result<(), Broken> {
    for data in &request.copy_data {
        if Frontend::CopyData(data).encode(connection.outgoing()).is_err() {
            return Err(Broken::Invalid);
        }
        if connection.outgoing().len() >= CHUNK {
            connection.send("d", |_| None).await?;
        }
    }
    let (message, tag) = match end {
        Some(b'c') => (Some(Frontend::CopyDone), "c"),
        // The reason that the client gave is not recorded; the server only repeats it.
        Some(_) => (Some(Frontend::CopyFail(b"as recorded")), "f"),
        None => (None, ""),
    };
    if let Some(message) = message
        && message.encode(connection.outgoing()).is_err()
    {
        return Err(Broken::Invalid);
    }
    if !connection.outgoing().is_empty() {
        connection.send(tag, |_| None).await?;
    }
    Ok(())
}
