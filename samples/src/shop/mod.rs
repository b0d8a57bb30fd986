//! The sample shop: a schema with seed data, and clients that use it as an application does.
//!
//! - [`Workload`]: how many clients, how fast, how long
//! - `session`: one client's life: its pace, its rows, its deck of actions
//! - `common`: what clients of both engines do in the same words
//! - `courier`: a write on one connection and the read of it on another
//! - `postgresql`, `mysql`: the clients and their actions in each engine's protocol and dialect. [`client`] is a connection
//!   to PostgreSQL; [`driver`] and [`wire`] are two kinds of connections to MariaDB
//!
//! Each client works on rows and identifiers of its own, so that a recording can be replayed: the literals
//! in it stay valid whatever order the clients come in.

mod common;
mod courier;
mod mysql;
mod postgresql;
mod session;

pub use mysql::{driver, wire};
pub use postgresql::client;
pub use session::Role;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

use session::{Client, Life, Session};
use splitproof_capture::trace::Engine;

use crate::error::{Error, Result};
use crate::sandbox::{DATABASE, Sandbox};

/// The schema with its seed data, in this engine's dialect.
fn schema(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgresql => include_str!("../../shop/postgresql.sql"),
        Engine::Mysql => include_str!("../../shop/mysql.sql"),
    }
}

/// How the shop's clients behave.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// What they speak.
    pub engine: Engine,
    /// Port on 127.0.0.1 to connect to.
    pub port: u16,
    /// Clients of the shop, at most [`Workload::MOST_CLIENTS`]; two report clients and a courier with two
    /// connections come on top.
    pub clients: usize,
    /// Requests to send in all; each client finishes the action it is in.
    pub requests: u64,
    /// Stop after this time, even with fewer requests.
    pub time: Duration,
    /// Mean pause of a client between two actions.
    pub pace: Duration,
    /// What each client asks follows from this.
    pub seed: u64,
}

/// What the clients saw.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Connections opened.
    pub sessions: u64,
    /// Requests sent.
    pub requests: u64,
    /// Errors that the server answered, by SQLSTATE (PostgreSQL) or number (MySQL).
    pub errors: BTreeMap<String, u64>,
}

impl Workload {
    /// As many as the seed data has rows for.
    pub const MOST_CLIENTS: usize = 11;

    /// The size of the shipped recording: some 3000 requests in some 20 seconds.
    pub fn on(engine: Engine, port: u16) -> Self {
        Self {
            engine,
            port,
            clients: 10,
            requests: 3000,
            time: Duration::from_secs(120),
            pace: Duration::from_millis(160),
            seed: 1,
        }
    }

    /// Runs all clients to their end.
    pub async fn run(self) -> Result<Summary> {
        match self.engine {
            Engine::Postgresql => self.run_as::<postgresql::client::Client, postgresql::client::Client>().await,
            Engine::Mysql => self.run_as::<mysql::driver::Driver, mysql::wire::Wire>().await,
        }
    }

    /// Runs the shop and the courier with one kind of client, and the reports with another.
    async fn run_as<C: Client, R: Client>(self) -> Result<Summary> {
        let deadline = Instant::now() + self.time;
        let shop = self.clients.clamp(1, Self::MOST_CLIENTS);
        let actors = shop + 3;
        let share = self.requests.div_ceil(actors as u64);
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..actors {
            let rng = fastrand::Rng::with_seed(self.seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
            let life = Life { port: self.port, pace: self.pace, deadline, share };
            match number.checked_sub(shop) {
                None => tasks.spawn(named(number, Session::<C>::live(number, rng, life, Role::Shop))),
                Some(0 | 1) => tasks.spawn(named(number, Session::<R>::live(number, rng, life, Role::Report))),
                Some(_) => tasks.spawn(named(number, courier::live::<C>(rng, life))),
            };
        }
        let mut total = Summary::default();
        while let Some(ended) = tasks.join_next().await {
            let one = ended.map_err(|error| Error::Workload { session: actors, what: error.to_string() })??;
            total.add(one);
        }
        Ok(total)
    }
}

/// Adds the client's number to its error.
async fn named<B: Display>(number: usize, life: impl Future<Output = Result<Summary, B>>) -> Result<Summary> {
    life.await.map_err(|broken| Error::Workload { session: number, what: broken.to_string() })
}

impl Summary {
    fn count_error(&mut self, code: &str) {
        *self.errors.entry(code.to_owned()).or_default() += 1;
    }

    fn add(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.requests += other.requests;
        for (code, count) in other.errors {
            *self.errors.entry(code).or_default() += count;
        }
    }
}

impl Sandbox {
    /// Loads the shop's schema and seed data into the running pair, and waits until the replica has them.
    pub fn load_shop(&self) -> Result<()> {
        self.primary().sql(DATABASE, schema(self.engine()))?;
        self.wait_caught_up()
    }
}
