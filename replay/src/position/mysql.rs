//! A MySQL or MariaDB server's position: GTIDs.

use std::time::{Duration, Instant};

use splitproof_capture::trace::Role;

use super::gtid;
use super::sampler::Answer;
use crate::control::{DriverError, Family, Lineage, MysqlControl, is_on, required, text};

/// A role is asked for again after this time, and whenever `read_only` changes, as it does in a promotion: the status of
/// replication costs more than the position.
const ROLE_AGAIN: Duration = Duration::from_secs(1);

/// The question, and what it takes to understand the answer.
#[derive(Debug)]
pub(super) struct Question {
    declared: Role,
    role: Role,
    read_only: bool,
    asked: Instant,
    /// The server whose transactions are counted: the replica's source, or the primary itself.
    origin: String,
}

impl Question {
    pub async fn prepare(control: &MysqlControl, declared: Role) -> Result<Self, DriverError> {
        let mut question =
            Question { declared, role: declared, read_only: false, asked: Instant::now(), origin: String::new() };
        question.who(control).await?;
        Ok(question)
    }

    async fn who(&mut self, control: &MysqlControl) -> Result<(), DriverError> {
        let identity = control.identity(self.declared).await?;
        (self.role, self.asked) = (identity.role, Instant::now());
        if let Lineage::Replication { server, sources, read_only } = identity.lineage {
            self.read_only = read_only;
            self.origin = sources.into_iter().next().unwrap_or(server);
        }
        Ok(())
    }

    pub async fn ask(&mut self, control: &MysqlControl) -> Result<Answer, DriverError> {
        if self.asked.elapsed() > ROLE_AGAIN {
            self.who(control).await?;
        }
        let mut answer = self.position(control).await?;
        if answer.1 != self.read_only {
            self.who(control).await?;
            answer = self.position(control).await?;
        }
        Ok(answer.0)
    }

    /// The position, and whether the server takes writes. MariaDB's primary is as far as its binary log; its replica as far as
    /// it has applied what it received.
    async fn position(&self, control: &MysqlControl) -> Result<(Answer, bool), DriverError> {
        let position = match (control.family(), self.role) {
            (Family::Mariadb, Role::Primary) => "@@GLOBAL.gtid_binlog_pos",
            (Family::Mariadb, Role::Replica) => "@@GLOBAL.gtid_slave_pos",
            (Family::Mysql, _) => "@@GLOBAL.gtid_executed",
        };
        let row = control.row(&format!("SELECT {position} AS position, @@GLOBAL.read_only AS read_only")).await?;
        let gtid = text(&row, "position")?.filter(|gtid| !gtid.is_empty());
        let number = gtid.as_deref().and_then(|gtid| match control.family() {
            Family::Mariadb => gtid::mariadb_sequence(gtid),
            Family::Mysql => gtid::mysql_sequence(gtid, &self.origin),
        });
        let is_primary = self.role == Role::Primary;
        let answer = Answer {
            role: self.role,
            lsn: number.filter(|_| is_primary),
            replay_lsn: number.filter(|_| !is_primary),
            replay_timestamp_ns: None,
            gtid: gtid.map(Into::into),
        };
        Ok((answer, is_on(&required(Some(&row), "read_only", text)?)))
    }
}
