//! One client's life, whatever the engine: its pace, its rows, its deck of actions.

use std::fmt::Display;
use std::future::Future;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::Summary;

/// What all clients share.
#[derive(Debug, Clone, Copy)]
pub struct Life {
    /// Where to connect.
    pub port: u16,
    /// Mean pause between two actions.
    pub pace: Duration,
    /// When to stop at the latest.
    pub deadline: Instant,
    /// Requests to send.
    pub share: u64,
}

/// What a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The shop's application.
    Shop,
    /// The shop's work in the background.
    Worker,
    /// Reports, which may only read.
    Report,
}

impl Role {
    /// Whom it logs in as.
    pub fn user(self) -> &'static str {
        match self {
            Self::Shop | Self::Worker => "shop",
            Self::Report => "report",
        }
    }

    /// What it calls itself.
    pub fn application(self) -> &'static str {
        match self {
            Self::Shop => "web",
            Self::Worker => "worker",
            Self::Report => "reports",
        }
    }
}

/// A connection in one engine's protocol, with what clients do on it.
pub trait Client: Sized + Send + 'static {
    /// Something that a client does: one request, or several that belong together.
    type Action: Copy + Send + Sync + 'static;
    /// Why a client cannot go on.
    type Broken: Display + Send + 'static;

    /// How often each action is in a client's deck. Every card is dealt once before any comes again, so that even a
    /// short run has each of them.
    fn deck(role: Role) -> &'static [(Self::Action, usize)];

    /// Connects to 127.0.0.1.
    fn connect(port: u16, role: Role) -> impl Future<Output = Result<Self, Self::Broken>> + Send;

    /// Does what a driver does on every new connection.
    fn introduce(session: &mut Session<Self>, role: Role) -> impl Future<Output = Result<(), Self::Broken>> + Send;

    /// Does an action.
    fn perform(
        session: &mut Session<Self>,
        action: Self::Action,
    ) -> impl Future<Output = Result<(), Self::Broken>> + Send;

    /// Runs a text; gives the code of the error that it ended with.
    fn ask(&mut self, sql: &str) -> impl Future<Output = Result<Option<String>, Self::Broken>> + Send;

    /// Requests sent so far.
    fn requests(&self) -> u64;

    /// Says goodbye; gives the requests sent in all.
    fn leave(self) -> impl Future<Output = Result<u64, Self::Broken>> + Send;
}

/// What a server answered.
pub trait Answered {
    /// The code of the error that the answer ended with.
    fn error_code(&self) -> Option<String>;
}

/// Users and articles that belong to one client alone.
const USERS_EACH: i32 = 40;
const SKUS_EACH: i32 = 16;

/// Where the clients' own identifiers begin, and how many each has.
const FIRST_ID: i32 = 100_000;
const IDS_EACH: i32 = 10_000;

/// One client with its connection.
#[derive(Debug)]
pub struct Session<C> {
    /// Its number, which its rows and identifiers follow from.
    pub number: usize,
    /// The connection.
    pub client: C,
    /// Its own source of chance.
    pub rng: Rng,
    role: Role,
    life: Life,
    next_id: i32,
    summary: Summary,
}

impl<C: Client> Session<C> {
    /// Connects, deals actions until its share of requests is sent, and says goodbye.
    pub async fn live(number: usize, mut rng: Rng, life: Life, role: Role) -> Result<Summary, C::Broken> {
        // Not all at once.
        pause(&mut rng, life.pace / 2).await;
        let base = i32::try_from(number).unwrap_or_default();
        let client = C::connect(life.port, role).await?;
        let summary = Summary { sessions: 1, ..Summary::default() };
        let next_id = FIRST_ID + base * IDS_EACH;
        let mut session = Self { number, client, rng, role, life, next_id, summary };
        C::introduce(&mut session, role).await?;
        'life: loop {
            let mut deck: Vec<_> =
                C::deck(role).iter().flat_map(|(action, count)| std::iter::repeat_n(*action, *count)).collect();
            session.rng.shuffle(&mut deck);
            for action in deck {
                let sent = session.summary.requests + session.client.requests();
                if sent >= life.share || Instant::now() >= life.deadline {
                    break 'life;
                }
                pause(&mut session.rng, life.pace).await;
                C::perform(&mut session, action).await?;
            }
        }
        session.summary.requests += session.client.leave().await?;
        Ok(session.summary)
    }

    /// Goes and comes back, as a pool does with a connection that has lived long enough.
    pub async fn reconnect(&mut self) -> Result<(), C::Broken> {
        let fresh = C::connect(self.life.port, self.role).await?;
        self.summary.requests += std::mem::replace(&mut self.client, fresh).leave().await?;
        self.summary.sessions += 1;
        C::introduce(self, self.role).await
    }

    /// Runs a text; an error is counted and the client goes on, as an application would.
    pub async fn ask(&mut self, sql: &str) -> Result<(), C::Broken> {
        if let Some(code) = self.client.ask(sql).await? {
            self.summary.count_error(&code);
        }
        Ok(())
    }

    /// Counts the error that an answer may be.
    pub fn note<A: Answered>(&mut self, answer: A) -> A {
        if let Some(code) = answer.error_code() {
            self.summary.count_error(&code);
        }
        answer
    }

    /// A user of this client's own.
    pub fn user(&mut self) -> i32 {
        own(&mut self.rng, self.number, USERS_EACH)
    }

    /// An article of this client's own.
    pub fn sku(&mut self) -> i32 {
        own(&mut self.rng, self.number, SKUS_EACH)
    }

    /// Any article; read only what nobody changes of it.
    pub fn any_sku(&mut self) -> i32 {
        self.rng.i32(1..=200)
    }

    /// A user that may be anybody's; read only what nobody changes of it.
    pub fn anyone(&mut self) -> i32 {
        self.rng.i32(1..=500)
    }

    /// An order of the seed data, which nobody changes.
    pub fn old_order(&mut self) -> i32 {
        self.rng.i32(1..=1500)
    }

    /// An identifier that no other client uses and this one has not used.
    pub fn fresh_id(&mut self) -> i32 {
        self.next_id += 1;
        self.next_id
    }

    /// A moment of thought inside a transaction.
    pub async fn think(&mut self) {
        tokio::time::sleep(Duration::from_micros(self.rng.u64(0..3000))).await;
    }
}

fn own(rng: &mut Rng, number: usize, each: i32) -> i32 {
    i32::try_from(number).unwrap_or_default() * each + rng.i32(1..=each)
}

/// Waits for a random time with this mean, as if requests came by chance, and never for more than four times
/// the mean.
pub async fn pause(rng: &mut Rng, mean: Duration) {
    let chance = -(1.0 - rng.f64()).ln();
    tokio::time::sleep(mean.mul_f64(chance.min(4.0))).await;
}
