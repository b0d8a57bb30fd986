//! The data of a COPY.

use splitproof_capture::postgresql::frontend::Frontend;
use splitproof_capture::trace::Request;

use super::Connection;
use super::encode::Copied;
use crate::clock::Clock;
use crate::wire::Broken;

/// COPY data that is sent together, bytes.
const CHUNK: usize = 64 << 10;

/// Sends the data of one COPY of a request, and how it ended.
pub(super) async fn send<C: Clock>(
    connection: &mut Connection<C>,
    request: &Request,
    copied: &Copied<'_>,
) -> Result<(), Broken> {
    for data in copied.data {
        if Frontend::CopyData(data).encode(connection.outgoing()).is_err() {
            return Err(Broken::Invalid);
        }
        if connection.outgoing().len() >= CHUNK {
            connection.send("d", |_| None).await?;
        }
    }
    let (message, tag) = match copied.end {
        Some(b'c') => (Some(Frontend::CopyDone), "c"),
        // Earlier programs did not record the reason that the client gave; the server only repeats it.
        Some(_) => (Some(Frontend::CopyFail(request.copy_failure.as_deref().unwrap_or("as recorded").as_bytes())), "f"),
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
