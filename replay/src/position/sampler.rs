//! Asks one node for its position every few milliseconds.

use std::sync::Arc;
use std::time::Duration;

use splitproof_capture::trace::{Position, Role};

use super::outage::{Outage, Pulse};
use super::{Cost, mysql, postgresql};
use crate::clock::Clock;
use crate::control::{Client, Control, ControlError};
use crate::pair::{Node, Passwords};

/// Wait before a lost control connection is opened again.
const RETRY: Duration = Duration::from_secs(1);

/// Longest wait for an answer; a node that takes longer does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Takes samples of a node.
pub trait Sampled: Send + 'static {
    /// Takes one.
    fn position(&mut self, position: Position) -> impl Future<Output = ()> + Send;
}

/// Samples the position of one node until it is told to stop.
#[derive(Debug)]
pub struct Sampler<C> {
    clock: C,
    node: Node,
    name: Arc<str>,
    passwords: Passwords,
    every: Duration,
    asking: Option<Asking>,
    cost: Cost,
    pulse: Pulse,
}

#[derive(Debug)]
struct Asking {
    control: Control,
    question: Question,
}

/// What has to be remembered between two questions, by engine.
#[derive(Debug)]
enum Question {
    Postgresql(postgresql::Question),
    Mysql(mysql::Question),
}

/// What a node answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub role: Role,
    pub lsn: Option<u64>,
    pub replay_lsn: Option<u64>,
    pub replay_timestamp_ns: Option<i64>,
    pub gtid: Option<Arc<str>>,
}

impl Asking {
    async fn over(control: Control) -> Result<Self, ControlError> {
        let failed = "ask for its position";
        let question = match control.client() {
            Client::Postgresql(client) => postgresql::Question::prepare(client).await.map(Question::Postgresql),
            Client::Mysql(client) => mysql::Question::prepare(client, control.node().role).await.map(Question::Mysql),
        };
        Ok(Asking { question: question.map_err(control.failed(failed))?, control })
    }

    /// `None` when there is no answer that can be used.
    async fn ask(&mut self) -> Option<Answer> {
        match (self.control.client(), &mut self.question) {
            (Client::Postgresql(client), Question::Postgresql(question)) => question.ask(client).await.ok(),
            (Client::Mysql(client), Question::Mysql(question)) => question.ask(client).await.ok(),
            _ => None,
        }
    }
}

impl<C: Clock> Sampler<C> {
    /// A sampler that uses this control connection, and opens another one if it is lost.
    pub async fn over(
        control: Control,
        passwords: &Passwords,
        clock: C,
        every: Duration,
    ) -> Result<Self, ControlError> {
        let node = control.node().clone();
        Ok(Sampler {
            clock,
            name: node.name.as_str().into(),
            node,
            passwords: passwords.clone(),
            every,
            asking: Some(Asking::over(control).await?),
            cost: Cost::default(),
            pulse: Pulse::default(),
        })
    }

    /// Samples until `stop` is ready. Takes a last sample then, so that the whole run is covered. Gives what it cost, and whether
    /// the node stopped answering.
    pub async fn run(mut self, stop: impl Future<Output = ()>, mut to: impl Sampled) -> (Cost, Option<Outage>) {
        let mut stop = std::pin::pin!(stop);
        let mut ticks = tokio::time::interval(self.every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut last = false;
        loop {
            if !last {
                last = tokio::select! {
                    biased;
                    () = &mut stop => true,
                    _ = ticks.tick() => false,
                };
            }
            if let Some(position) = self.sample().await {
                to.position(position).await;
            } else if !last {
                tokio::select! {
                    () = &mut stop => last = true,
                    () = tokio::time::sleep(RETRY) => {}
                }
                continue;
            }
            if last {
                return (self.cost, self.pulse.outage());
            }
        }
    }

    async fn sample(&mut self) -> Option<Position> {
        if self.asking.is_none() {
            self.asking = match Control::open(&self.node, &self.passwords).await {
                Ok(control) => Asking::over(control).await.ok(),
                Err(_) => None,
            };
        }
        let at_ns = self.clock.now_ns();
        let answer = match &mut self.asking {
            Some(asking) => tokio::time::timeout(PATIENCE, asking.ask()).await.unwrap_or(None),
            None => None,
        };
        let sample_ns = self.clock.now_ns().saturating_sub(at_ns).max(0).unsigned_abs();
        let position = answer.map(|Answer { role, lsn, replay_lsn, replay_timestamp_ns, gtid }| Position {
            node: Arc::clone(&self.name),
            at_ns,
            sample_ns,
            role,
            lsn,
            replay_lsn,
            replay_timestamp_ns,
            gtid,
        });
        match position {
            Some(_) => {
                self.cost.answered(sample_ns);
                self.pulse.answered(at_ns);
            }
            None => {
                self.pulse.silent(at_ns);
                self.cost.failed += 1;
                self.asking = None;
            }
        }
        position
    }
}
