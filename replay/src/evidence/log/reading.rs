//! From the table `mysql.general_log` to the node's trace. The table is read in the order in which it was written.

use std::collections::HashSet;

use mysql_async::Row;
use splitproof_capture::trace::{Loss, Losses, Request};
use tokio::sync::mpsc;

use super::marks::{Mark, Marks};
use super::sessions::{Entry, Sessions};
use super::times::Times;
use crate::control::{DriverError, MysqlControl, OPENING, required, text, value};
use crate::output::Note;
use crate::pair::Node;

/// Rows that are handed to the writer together.
const BATCH: usize = 256;

/// Reads the log of a node.
pub struct Reading<'a> {
    pub client: &'a MysqlControl,
    pub node: &'a Node,
    pub marks: &'a Marks,
    /// The server's time after the last mark, as a literal in UTC.
    pub until: &'a str,
    /// Number of the node.
    pub index: usize,
    pub out: &'a mpsc::Sender<Note>,
}

/// Which marks were read.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    begin: bool,
    any: bool,
    end: bool,
}

impl Passed {
    /// Takes the text of a row. True where it is a mark.
    fn passes(&mut self, marks: &Marks, argument: &[u8]) -> bool {
        let mark = marks.of(argument);
        self.begin |= mark == Some(Mark::Begin);
        self.end |= mark == Some(Mark::End);
        self.any |= mark.is_some();
        mark.is_some()
    }

    /// What lies before the first mark and behind the last one is not of this run.
    fn is_inside(self) -> bool {
        self.any && !self.end
    }
}

impl Reading<'_> {
    /// Hands the log's rows over; what is missing of the log, if anything is.
    pub async fn read(&self, losses: &mut Losses) -> Result<Option<&'static str>, DriverError> {
        self.client.unlimited().await?;
        // A session's time zone can be 14 hours away.
        let during = format!(
            "event_time >= CAST('{}' AS DATETIME(6)) - INTERVAL 15 HOUR AND event_time <= CAST('{}' AS DATETIME(6)) + \
             INTERVAL 15 HOUR",
            self.marks.since, self.until
        );
        let ours = self.not_the_routers(&during).await?;
        let all = format!(
            "SELECT CAST(UNIX_TIMESTAMP(event_time) * 1000000 AS SIGNED) AS written_us, user_host, thread_id, \
             command_type, argument FROM mysql.general_log WHERE {during}"
        );
        let (to, from) = mpsc::channel(BATCH);
        let (read, taken) = tokio::join!(self.client.stream(&all, to), self.take(from, &ours, losses));
        let passed = taken?;
        read?;
        Ok(match passed {
            Passed { begin: true, end: true, .. } => None,
            Passed { begin: false, .. } => {
                Some("the beginning of its log is gone: mysql.general_log was emptied or exchanged during the run")
            }
            _ => Some("the end of its log is missing: it was switched off or redirected during the run"),
        })
    }

    /// The connections of our own, which are known by their first statement, and of replicas, by what they ask for.
    async fn not_the_routers(&self, during: &str) -> Result<HashSet<u64>, DriverError> {
        let quoted = |text: &str| text.replace('\'', "''");
        let known = format!(
            "SELECT thread_id, argument FROM mysql.general_log WHERE {during} AND (argument = '{}' OR argument LIKE '{}%' OR \
             command_type LIKE 'Binlog Dump%' OR command_type LIKE 'Register %')",
            quoted(OPENING),
            quoted(&self.marks.start())
        );
        let rows = self.client.rows(&known).await?;
        let mut passed = Passed::default();
        // The statements with which it began were sent before the log was switched on.
        let mut found = HashSet::from([u64::from(self.client.thread())]);
        for row in rows {
            let argument: Vec<u8> = required(Some(&row), "argument", value)?;
            passed.passes(self.marks, &argument);
            if passed.is_inside() {
                found.insert(required(Some(&row), "thread_id", value)?);
            }
        }
        Ok(found)
    }

    /// Makes requests of the log's rows, but for those of these connections.
    async fn take(
        &self,
        mut log: mpsc::Receiver<Row>,
        other: &HashSet<u64>,
        losses: &mut Losses,
    ) -> Result<Passed, DriverError> {
        let (host, port) = self.node.url.address();
        let mut sessions = Sessions::new(format!("{host}:{port}"));
        let (mut times, mut passed) = (Times::default(), Passed::default());
        let mut rows = Vec::with_capacity(BATCH);
        while let Some(row) = log.recv().await {
            let argument: Vec<u8> = required(Some(&row), "argument", value)?;
            let written_us: i64 = required(Some(&row), "written_us", value)?;
            let is_mark = passed.passes(self.marks, &argument);
            if is_mark {
                times.utc(written_us);
            }
            if is_mark || !passed.is_inside() {
                continue;
            }
            let at_us = times.tell(written_us);
            let thread = required(Some(&row), "thread_id", value)?;
            let user_host = required(Some(&row), "user_host", text)?;
            if other.contains(&thread) || is_replication(&user_host) {
                continue;
            }
            let Some(at_us) = at_us else {
                losses.add(Loss::LogTime, 1);
                continue;
            };
            let command = required(Some(&row), "command_type", text)?;
            sessions.take(Entry { at_ns: at_us.saturating_mul(1000), user_host, thread, command, argument }, &mut rows);
            if rows.len() >= BATCH {
                self.hand_over(std::mem::take(&mut rows)).await;
            }
        }
        losses.merge(&sessions.finish(&mut rows));
        self.hand_over(rows).await;
        Ok(passed)
    }

    async fn hand_over(&self, rows: Vec<Request>) {
        // The writer is gone only when the run has failed, which it reports itself.
        self.out.send(Note::Node(self.index, rows)).await.ok();
    }
}

/// The statements that a replica applies are not the router's. MariaDB names their thread so, MySQL as a user of the system.
fn is_replication(user_host: &str) -> bool {
    user_host.contains("<replication_slave>") || user_host.contains("system user")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replication_is_known_by_its_user() {
        assert!(is_replication("[<replication_slave>] @  []"));
        assert!(!is_replication("shop[shop] @ localhost [127.0.0.1]"));
    }
}
