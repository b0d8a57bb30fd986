//! A cancel request, on a connection of its own.

use std::io;

use splitproof_capture::postgresql::startup::Startup;
use splitproof_capture::trace::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::handshake::CancelKey;

/// The recorded session that a recorded cancel request is aimed at, if the recording knows it.
pub fn target(request: &Request) -> Option<u64> {
    let value = request.params.first()?.value.as_deref()?;
    str::from_utf8(value).ok()?.parse().ok()
}

/// Asks the router to cancel what the session with this key is doing. There is no answer but the end of the connection.
///
/// # Errors
/// The system's, when the request could not be sent.
pub async fn send(router: (&str, u16), key: &CancelKey) -> io::Result<()> {
    let mut bytes = Vec::new();
    Startup::Cancel { process_id: key.process_id, secret: &key.secret }.encode(&mut bytes).map_err(io::Error::other)?;
    let mut stream = TcpStream::connect(router).await?;
    stream.write_all(&bytes).await?;
    // The server closes once it has passed the signal on: only then has the request done what it can. A reset is as good.
    let mut end = [0; 1];
    let _closed = stream.read(&mut end).await;
    Ok(())
}
