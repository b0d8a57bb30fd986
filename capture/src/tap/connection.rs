//! One connection through the relay: the path of the data.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::counters::{Live, count};
use super::options::Encryption;
use super::recorder::{Event, Recorder};
use super::refuse;
use super::relay::stopped;
use crate::clock::Clock;
use crate::postgresql::Direction;
use crate::session::{Close, Start};
use crate::trace::Engine;

/// Bytes read at once. Larger than a segment, small enough that a thousand connections need 32 MiB.
const PIECE: usize = 16 << 10;

/// What every connection of a relay needs.
pub(super) struct Context {
    pub upstream: Vec<SocketAddr>,
    pub engine: Engine,
    pub encryption: Encryption,
    pub clock: Clock,
    pub recorder: Recorder,
    pub live: Arc<Live>,
}

/// Relays one connection until both directions have ended, one of them broke, or `stop` changes.
pub(super) async fn relay(cx: Arc<Context>, session: u64, client: TcpStream, mut stop: watch::Receiver<bool>) {
    let accepted_ns = cx.clock.now_ns();
    let address =
        |address: io::Result<SocketAddr>| address.map_or_else(|_| "".into(), |known| known.to_string().into());
    let from = address(client.peer_addr());
    let server = tokio::select! {
        connected = TcpStream::connect(cx.upstream.as_slice()) => connected,
        () = stopped(&mut stop) => return,
    };
    let server = match server {
        Ok(server) => server,
        Err(error) => {
            count(&cx.live.unreachable);
            let to = cx.upstream.first().map_or_else(|| "".into(), |first| first.to_string().into());
            cx.recorder.event(Event::Unreachable {
                session,
                start: Start { client: from, server: to, midway: false },
                at_ns: accepted_ns,
                end_ns: cx.clock.now_ns(),
                why: format!("the server cannot be reached: {error}"),
            });
            return;
        }
    };
    let to = address(server.peer_addr());
    cx.recorder.event(Event::Open { session, start: Start { client: from, server: to, midway: false } });
    let ended = tokio::select! {
        ended = both_ways(&cx, session, client, server) => ended,
        // The recorder closes what is open when the recording ends.
        () = stopped(&mut stop) => return,
    };
    let how = ended.unwrap_or_else(|_| {
        count(&cx.live.broken);
        Close::Reset
    });
    cx.recorder.event(Event::Close { session, at_ns: cx.clock.now_ns(), how });
}

/// Relays until both directions have ended; fails as soon as one of them breaks.
async fn both_ways(cx: &Context, session: u64, mut client: TcpStream, mut server: TcpStream) -> io::Result<Close> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let mut first = Vec::new();
    if cx.encryption == Encryption::Refuse {
        match cx.engine {
            Engine::Postgresql => first = refuse::postgresql(cx, session, &mut client).await?,
            Engine::Mysql => refuse::mysql(cx, session, &mut server, &mut client).await?,
        }
    }
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let requests = async {
        if !first.is_empty() {
            send(cx, session, Direction::Client, &first, &mut to_server).await?;
        }
        pump(cx, session, Direction::Client, &mut from_client, &mut to_server).await
    };
    let answers = pump(cx, session, Direction::Server, &mut from_server, &mut to_client);
    let (client_end, server_end) = tokio::try_join!(requests, answers)?;
    Ok(if client_end <= server_end { Close::Client } else { Close::Server })
}

/// Relays one direction to its end, and tells when that was. The other direction goes on.
async fn pump(
    cx: &Context,
    session: u64,
    side: Direction,
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<i64> {
    let mut piece = vec![0; PIECE];
    loop {
        let count = from.read(&mut piece).await?;
        let Some(bytes) = piece.get(..count).filter(|bytes| !bytes.is_empty()) else {
            let end_ns = cx.clock.now_ns();
            // The other side may have closed both directions already; it has nothing to be told then.
            to.shutdown().await.ok();
            return Ok(end_ns);
        };
        send(cx, session, side, bytes, to).await?;
    }
}

pub(super) async fn send(
    cx: &Context,
    session: u64,
    side: Direction,
    bytes: &[u8],
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    record(cx, session, side, bytes).await;
    to.write_all(bytes).await
}

pub(super) async fn record(cx: &Context, session: u64, side: Direction, bytes: &[u8]) {
    let counter: &AtomicU64 = match side {
        Direction::Client => &cx.live.client_bytes,
        Direction::Server => &cx.live.server_bytes,
    };
    counter.fetch_add(bytes.len() as u64, Relaxed);
    cx.recorder.bytes(session, side, cx.clock.now_ns(), bytes).await;
}
