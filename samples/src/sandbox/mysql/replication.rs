//! What a MariaDB replica does and how far it is.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::sandbox::node::Node;
use crate::sandbox::{owner, wait};

/// How long one question waits for a position, in seconds; whoever asks asks again.
const WAIT: &str = "0.5";

/// How long a thread of the server may take to end, in seconds.
const PATIENCE: u64 = 30;

/// The row of `SHOW SLAVE STATUS`.
#[derive(Debug)]
pub struct Status(BTreeMap<String, String>);

impl Status {
    /// Asks the replica.
    pub fn of(replica: &Node) -> Result<Self> {
        let mut client = super::client(replica);
        client.args(["--vertical", "--execute", "SHOW SLAVE STATUS"]);
        owner::run(client, None).map(|text| Self::parse(&text))
    }

    /// Reads the client's vertical format: `   Slave_IO_Running: Yes`.
    fn parse(text: &str) -> Self {
        let columns = text.lines().filter_map(|line| line.split_once(':'));
        Self(columns.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect())
    }

    /// Whether a column holds this value.
    pub fn is(&self, column: &str, value: &str) -> bool {
        self.text(column) == value
    }

    /// A column that is a number.
    pub fn number(&self, column: &'static str) -> Result<u32> {
        let text = self.text(column);
        text.parse().map_err(|_| Error::Unexpected { what: column, answer: text.to_owned() })
    }

    fn text(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }
}

/// Makes a new replica follow the primary from the first transaction on.
pub fn follow(replica: &Node, port: u16, user: &str) -> Result<()> {
    replica
        .ask(&format!(
            "STOP SLAVE;
             CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = '{user}',
                 MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos;
             START SLAVE"
        ))
        .map(drop)
}

/// Whether the replica has applied everything up to this GTID position.
pub fn has_applied(replica: &Node, position: &str) -> Result<bool> {
    if replica.ask(&format!("SELECT MASTER_GTID_WAIT('{position}', {WAIT})"))? == "0" {
        return Ok(true);
    }
    match Status::of(replica)?.text("Last_SQL_Error") {
        "" => Ok(false),
        reason => Err(Error::Replication { node: replica.name, reason: reason.to_owned() }),
    }
}

/// Sets the delay, which takes both threads of the replica to stand still. A paused replica stays paused.
pub fn set_delay(replica: &Node, seconds: u32) -> Result<()> {
    let paused = Status::of(replica)?.is("Slave_SQL_Running", "No");
    let start = if paused { "START SLAVE IO_THREAD" } else { "START SLAVE" };
    replica.ask(&format!("STOP SLAVE; CHANGE MASTER TO MASTER_DELAY = {seconds}; {start}")).map(drop)
}

/// Ends the primary's threads that send the binary log. One whose replica has gone notices that only when it sends the
/// next transaction, and what it sends would be the first packet of somebody's recording.
pub fn end_dumps(primary: &Node) -> Result<()> {
    let dumps = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'";
    wait::until("the end of the replica's connection to the primary", PATIENCE, Some(&primary.log()), || {
        let dumps = primary.ask(dumps)?;
        for id in dumps.lines() {
            primary.ask(&format!("KILL {id}"))?;
        }
        Ok(dumps.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vertical_format_is_read() {
        let status = Status::parse(
            "*************************** 1. row ***************************\n\
             \x20             Slave_IO_State: Waiting for master to send event\n\
             \x20           Slave_IO_Running: Yes\n\
             \x20             Last_SQL_Error: \n\
             \x20                  SQL_Delay: 3\n",
        );
        assert!(status.is("Slave_IO_Running", "Yes") && status.is("Last_SQL_Error", ""));
        assert_eq!(status.number("SQL_Delay").unwrap(), 3);
        let error = Status::parse("").number("SQL_Delay").unwrap_err().to_string();
        assert!(error.contains("SQL_Delay"), "{error}");
    }
}
