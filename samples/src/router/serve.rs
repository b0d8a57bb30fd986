//! The listener.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use super::fault;
use super::log::DecisionLog;
use super::node::Engine;
use super::position::{Positions, Source};
use super::{Config, Faults, Nodes, Router, mysql, postgresql};
use crate::router::text::Texts;

/// What all sessions share.
#[derive(Debug)]
pub struct Shared {
    /// What decides.
    pub router: Router,
    /// What reads wait for.
    pub positions: Positions,
    /// The decision log.
    pub log: DecisionLog,
}

impl Shared {
    /// A router in front of these servers, the primary first.
    pub fn new(
        engine: Engine,
        config: Config,
        addresses: &[String],
        control: &[String],
        faults: Faults,
        log: DecisionLog,
    ) -> Self {
        let mut nodes = Nodes::new(addresses, control, &config);
        fault::looks_away(&faults, &mut nodes);
        fault::never_retries(&faults, &mut nodes);
        let source = match engine {
            Engine::Postgresql => Source::Postgresql(postgresql::control::Control::new(&config, nodes.count())),
            Engine::Mysql => Source::Mysql(mysql::control::Control::new(&config, nodes.count())),
        };
        let positions = Positions::new(source, nodes.count());
        Shared { router: Router { engine, config, nodes, faults, texts: Texts::new(engine) }, positions, log }
    }
}

/// Serves clients until SIGINT or SIGTERM; open sessions end with it.
pub async fn serve(shared: Arc<Shared>, listener: TcpListener) -> std::io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut tasks = JoinSet::new();
    if shared.router.nodes.watches_lag() {
        let shared = Arc::clone(&shared);
        tasks.spawn(async move {
            let interval = Duration::from_millis(shared.router.config.control.interval_ms);
            shared.positions.watch(&shared.router.nodes, interval).await;
        });
    }
    let service = Service::new(shared);
    let mut sessions = 0;
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    sessions += 1;
                    service.spawn(&mut tasks, sessions, stream);
                }
                // Out of file descriptors, or a client that was gone again: the next one may fare better.
                Err(error) => {
                    eprintln!("splitproof-router: cannot accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            },
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            Some(_) = tasks.join_next() => {}
        }
    }
    tasks.shutdown().await;
    Ok(())
}

/// One of the protocols.
enum Service {
    Postgresql(Arc<postgresql::Service>),
    Mysql(Arc<mysql::Service>),
}

impl Service {
    fn new(shared: Arc<Shared>) -> Self {
        match shared.router.engine {
            Engine::Postgresql => Service::Postgresql(Arc::new(postgresql::Service::new(shared))),
            Engine::Mysql => Service::Mysql(Arc::new(mysql::Service::new(shared))),
        }
    }

    fn spawn(&self, tasks: &mut JoinSet<()>, id: u64, stream: TcpStream) {
        match self {
            Service::Postgresql(service) => tasks.spawn(postgresql::session::serve(Arc::clone(service), id, stream)),
            Service::Mysql(service) => tasks.spawn(mysql::session::serve(Arc::clone(service), id, stream)),
        };
    }
}
