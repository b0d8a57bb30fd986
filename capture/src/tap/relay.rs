//! The relay as a whole: listens, starts a task for each connection, and stops.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::connection::{Context, relay};
use super::counters::{Counters, Live, count};
use super::error::Error;
use super::options::Options;
use super::recorder::Recorder;
use crate::trace::{Losses, Sink};

/// Time to recover after the system refused to accept a connection.
const PAUSE: Duration = Duration::from_millis(20);

/// A running relay. Dropping it ends it, too, but nobody learns what was lost; see [`Relay::stop`].
#[derive(Debug)]
pub struct Relay<S> {
    listen: SocketAddr,
    live: Arc<Live>,
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
    decoding: thread::JoinHandle<(S, Losses)>,
}

/// What is left of a relay.
#[derive(Debug)]
pub struct Stopped<S> {
    /// The sink, which has every row.
    pub sink: S,
    /// What could not be used.
    pub losses: Losses,
    /// What the relay did.
    pub counters: Counters,
}

impl<S: Sink + Send + 'static> Relay<S> {
    /// Listens, and relays every connection to the server. Rows go to `sink` as soon as they are complete; session
    /// numbers count the connections from 0.
    ///
    /// # Errors
    /// [`Error`] where the addresses are no good. A server that is not there is no error: it may come.
    pub async fn start(options: Options, sink: S) -> Result<Self, Error> {
        let Options { listen, upstream, encryption, clock, shared, backlog } = options;
        let resolved = lookup_host(&upstream).await.map(Iterator::collect::<Vec<_>>);
        let upstream = resolved.map_err(|source| Error::Resolve { upstream, source })?;
        let listener = TcpListener::bind(listen).await.map_err(|source| Error::Listen { listen, source })?;
        let listen = listener.local_addr().map_err(|source| Error::Listen { listen, source })?;
        if let Some(&upstream) = upstream.iter().find(|address| **address == listen) {
            return Err(Error::Loop { upstream });
        }
        let live = Arc::new(Live::default());
        let engine = shared.engine();
        let (recorder, decoding) = Recorder::start(sink, clock, shared, backlog, Arc::clone(&live))
            .map_err(|source| Error::Thread { source })?;
        let (stop, watch) = watch::channel(false);
        let cx = Context { upstream, engine, encryption, clock, recorder, live: Arc::clone(&live) };
        let accepting = tokio::spawn(accept(Arc::new(cx), listener, watch));
        Ok(Relay { listen, live, stop, accepting, decoding })
    }

    /// Where it listens.
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// What it did so far.
    pub fn counters(&self) -> Counters {
        self.live.snapshot()
    }

    /// Stops: connections that are still open are cut, and their requests without an answer are unfinished. Returns
    /// when every row has reached the sink; `None` when the decoding thread panicked, and the sink with it.
    pub async fn stop(self) -> Option<Stopped<S>> {
        self.stop.send_replace(true);
        // The tasks hold the recorder; the thread ends when they are gone.
        self.accepting.await.ok();
        let decoding = self.decoding;
        let (sink, losses) = tokio::task::spawn_blocking(|| decoding.join().ok()).await.ok().flatten()?;
        Some(Stopped { sink, losses, counters: self.live.snapshot() })
    }
}

/// Accepts connections until `stop` changes, or its sender is gone; then waits for the connections to end.
async fn accept(cx: Arc<Context>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let mut sessions = 0..;
    // Each connection watches for itself.
    let watch = stop.clone();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    count(&cx.live.accepted);
                    let session = sessions.next().unwrap_or(u64::MAX);
                    connections.spawn(one(Arc::clone(&cx), session, client, watch.clone()));
                }
                Err(_) => {
                    count(&cx.live.accept_errors);
                    tokio::time::sleep(PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = stopped(&mut stop) => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Waits until the relay is stopped or dropped.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, and with it the relay.
    stop.wait_for(|stop| *stop).await.ok();
}

async fn one(cx: Arc<Context>, session: u64, client: TcpStream, stop: watch::Receiver<bool>) {
    cx.live.open.fetch_add(1, Relaxed);
    relay(Arc::clone(&cx), session, client, stop).await;
    cx.live.open.fetch_sub(1, Relaxed);
}
