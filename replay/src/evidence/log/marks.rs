//! Statements of ours in the log: one at its beginning, one at its end, and one every few seconds. Where the first or last is missing,
//! so may be others; and each tells what time it is, whatever the time zones of the sessions around it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::mysql;
use crate::control::{Control, DriverError, MysqlControl, required, text};

/// Between two marks.
const EVERY: Duration = Duration::from_secs(10);

/// The marks of one run.
#[derive(Clone, Debug)]
pub struct Marks {
    /// The server's time a moment before the first one, as a literal in UTC. It makes the marks this run's.
    pub since: String,
}

/// Which mark a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The first one.
    Begin,
    /// One of those between.
    Between,
    /// The last one.
    End,
}

impl Marks {
    /// Writes the first mark.
    pub async fn begin(client: &MysqlControl) -> Result<Self, DriverError> {
        let marks = Marks { since: time(client).await? };
        marks.write(client, "begins").await?;
        Ok(marks)
    }

    /// Writes the last mark; gives the server's time a moment later, as a literal in UTC.
    pub async fn end(&self, client: &MysqlControl) -> Result<String, DriverError> {
        self.write(client, "ends").await?;
        time(client).await
    }

    /// What every mark begins with.
    pub fn start(&self) -> String {
        format!("SELECT 'the evidence of splitproof since {}", self.since)
    }

    /// Which mark a text in the log is; `None` for any other.
    pub fn of(&self, argument: &[u8]) -> Option<Mark> {
        match argument.strip_prefix(self.start().as_bytes())? {
            b" begins'" => Some(Mark::Begin),
            b" ends'" => Some(Mark::End),
            _ => Some(Mark::Between),
        }
    }

    async fn write(&self, client: &MysqlControl, what: &str) -> Result<(), DriverError> {
        client.run("SET SESSION sql_log_off = 0").await?;
        client.run(&format!("{} {what}'", self.start())).await?;
        client.run("SET SESSION sql_log_off = 1").await
    }
}

/// The server's time, in the control connection's time zone, which is UTC.
async fn time(client: &MysqlControl) -> Result<String, DriverError> {
    let row = client.row("SELECT CAST(SYSDATE(6) AS CHAR) AS time").await?;
    required(Some(&row), "time", text)
}

/// Writes marks every few seconds.
#[derive(Debug)]
pub struct Pulse {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Pulse {
    /// Begins to write them.
    pub fn start(control: Arc<Control>, marks: Marks) -> Self {
        let (stop, mut stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            while tokio::time::timeout(EVERY, &mut stopped).await.is_err() {
                let Ok(client) = mysql(&control) else { break };
                // A connection that is lost is noticed at the end.
                if marks.write(client, "goes on").await.is_err() {
                    break;
                }
            }
        });
        Pulse { stop, task }
    }

    /// Stops when no statement is under way.
    pub async fn stop(self) {
        self.stop.send(()).ok();
        self.task.await.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_those_of_their_run() {
        let marks = Marks { since: "2026-11-30 09:00:00.000001".to_owned() };
        let text = |what: &str| format!("{} {what}'", marks.start()).into_bytes();
        assert_eq!(marks.of(&text("begins")), Some(Mark::Begin));
        assert_eq!(marks.of(&text("goes on")), Some(Mark::Between));
        assert_eq!(marks.of(&text("ends")), Some(Mark::End));
        assert_eq!(marks.of(b"SELECT 1"), None);
        let other = Marks { since: "2026-11-30 09:00:00.000002".to_owned() };
        assert_eq!(other.of(&text("begins")), None);
    }
}
