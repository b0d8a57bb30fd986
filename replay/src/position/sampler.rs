//! Asks one node for its position every few milliseconds.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use splitproof_capture::trace::{Position, Role};
use tokio_postgres::types::PgLsn;
use tokio_postgres::{Row, Statement};

use super::Cost;
use crate::clock::Clock;
use crate::control::{Control, ControlError};
use crate::pair::{Node, Passwords};

/// One answer for all: `CASE` keeps a function that would fail in the node's present role from being called.
/// The primary's flush position covers every commit that was acknowledged with `synchronous_commit` on.
const POSITION: &str = "\
    SELECT pg_is_in_recovery(), \
           CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_flush_lsn() END, \
           CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() END, \
           CASE WHEN pg_is_in_recovery() THEN pg_last_xact_replay_timestamp() END";

/// Wait before a lost control connection is opened again.
const RETRY: Duration = Duration::from_secs(1);

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
}

#[derive(Debug)]
struct Asking {
    control: Control,
    statement: Statement,
}

impl Asking {
    async fn over(control: Control) -> Result<Self, ControlError> {
        let statement = control.client().prepare(POSITION).await.map_err(control.failed("ask for its position"))?;
        Ok(Asking { control, statement })
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
        })
    }

    /// Samples until `stop` is ready. Takes a last sample then, so that the whole run is covered.
    pub async fn run(mut self, stop: impl Future<Output = ()>, mut to: impl Sampled) -> Cost {
        let mut stop = std::pin::pin!(stop);
        let mut ticks = tokio::time::interval(self.every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let last = tokio::select! {
                biased;
                () = &mut stop => true,
                _ = ticks.tick() => false,
            };
            if let Some(position) = self.sample().await {
                to.position(position).await;
            } else if !last {
                tokio::select! {
                    () = &mut stop => return self.cost,
                    () = tokio::time::sleep(RETRY) => {}
                }
            }
            if last {
                return self.cost;
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
        let answer = match &self.asking {
            Some(asking) => asking.control.client().query_one(&asking.statement, &[]).await.ok(),
            None => None,
        };
        let sample_ns = self.clock.now_ns().saturating_sub(at_ns).max(0).unsigned_abs();
        let position = answer.and_then(|row| position(&row, &self.name, at_ns, sample_ns).ok());
        match position {
            Some(_) => self.cost.answered(sample_ns),
            None => {
                self.cost.failed += 1;
                self.asking = None;
            }
        }
        position
    }
}

fn position(row: &Row, node: &Arc<str>, at_ns: i64, sample_ns: u64) -> Result<Position, tokio_postgres::Error> {
    let role = if row.try_get(0)? { Role::Replica } else { Role::Primary };
    let lsn = |lsn: Option<PgLsn>| lsn.map(u64::from);
    let replayed: Option<SystemTime> = row.try_get(3)?;
    Ok(Position {
        node: Arc::clone(node),
        at_ns,
        sample_ns,
        role,
        lsn: lsn(row.try_get(1)?),
        replay_lsn: lsn(row.try_get(2)?),
        replay_timestamp_ns: replayed.and_then(since_epoch),
    })
}

fn since_epoch(time: SystemTime) -> Option<i64> {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).ok(),
        Err(before) => i64::try_from(before.duration().as_nanos()).ok().map(|ns| -ns),
    }
}
