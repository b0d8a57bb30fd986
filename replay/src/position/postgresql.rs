//! A PostgreSQL server's position: LSNs.

use std::time::{SystemTime, UNIX_EPOCH};

use splitproof_capture::trace::Role;
use tokio_postgres::Statement;
use tokio_postgres::types::PgLsn;

use super::sampler::Answer;
use crate::control::{DriverError, PostgresqlControl};

/// One answer for all: `CASE` keeps a function that would fail in the node's present role from being called.
/// The primary's flush position covers every commit that was acknowledged with `synchronous_commit` on.
const POSITION: &str = "\
    SELECT pg_is_in_recovery(), \
           CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_flush_lsn() END, \
           CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() END, \
           CASE WHEN pg_is_in_recovery() THEN pg_last_xact_replay_timestamp() END";

/// The question, prepared.
#[derive(Debug)]
pub(super) struct Question(Statement);

impl Question {
    pub async fn prepare(control: &PostgresqlControl) -> Result<Self, DriverError> {
        Ok(Question(control.client().prepare(POSITION).await?))
    }

    pub async fn ask(&self, control: &PostgresqlControl) -> Result<Answer, DriverError> {
        let row = control.client().query_one(&self.0, &[]).await?;
        let lsn = |lsn: Option<PgLsn>| lsn.map(u64::from);
        let replayed: Option<SystemTime> = row.try_get(3)?;
        Ok(Answer {
            role: if row.try_get(0)? { Role::Replica } else { Role::Primary },
            lsn: lsn(row.try_get(1)?),
            replay_lsn: lsn(row.try_get(2)?),
            replay_timestamp_ns: replayed.and_then(since_epoch),
            gtid: None,
        })
    }
}

fn since_epoch(time: SystemTime) -> Option<i64> {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).ok(),
        Err(before) => i64::try_from(before.duration().as_nanos()).ok().map(|ns| -ns),
    }
}
