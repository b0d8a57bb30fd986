//! sysbench's `oltp_read_write` against the primary of a MariaDB pair: a second workload, which we did not write.

use splitproof_capture::trace::Engine;

use crate::error::{Error, Result};
use crate::sandbox::{DATABASE, Sandbox, owner};

/// How sysbench runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sysbench {
    /// Whether statements are prepared and run in the binary protocol, or texts.
    pub prepared: bool,
    /// Whether each statement commits itself: sysbench's transactions then go without BEGIN and COMMIT.
    pub autocommit: bool,
    /// Tables.
    pub tables: u32,
    /// Rows of each table.
    pub rows: u32,
    /// Connections.
    pub threads: u32,
    /// Transactions in all, of [`Sysbench::statements`] each.
    pub transactions: u64,
    /// Stop after so many seconds, even with fewer transactions.
    pub seconds: u64,
    /// What it asks follows from this number.
    pub seed: u32,
}

impl Sysbench {
    /// Different statements of one table that a connection prepares.
    pub const SHAPES: u64 = 9;

    /// Statements of one transaction, BEGIN and COMMIT among them.
    pub const fn statements(&self) -> u64 {
        if self.autocommit { 18 } else { 20 }
    }
}

impl Default for Sysbench {
    fn default() -> Self {
        Self {
            prepared: false,
            autocommit: false,
            tables: 2,
            rows: 2000,
            threads: 4,
            transactions: 200,
            seconds: 60,
            seed: 1,
        }
    }
}

/// What sysbench said at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Done {
    /// Transactions that were committed.
    pub transactions: u64,
    /// Statements that succeeded, BEGIN and COMMIT among them.
    pub queries: u64,
    /// Statements that failed, as in a deadlock. sysbench then begins another transaction.
    pub failed: u64,
    /// Seconds from the first statement to the last; connecting and preparing come before.
    pub seconds: f64,
}

impl Sandbox {
    /// Makes sysbench's tables on the running pair, and waits until the replica has them.
    pub fn load_sysbench(&self, bench: Sysbench) -> Result<()> {
        self.sysbench(bench, "prepare")?;
        self.wait_caught_up()
    }

    /// Runs sysbench to its end. Its tables must be there.
    pub fn run_sysbench(&self, bench: Sysbench) -> Result<Done> {
        let said = self.sysbench(bench, "run")?;
        Done::read(&said)
    }

    fn sysbench(&self, bench: Sysbench, action: &str) -> Result<String> {
        if self.engine() != Engine::Mysql {
            return Err(self.unsupported("sysbench workload"));
        }
        let mut command = self.state().owner.command("sysbench", self.dir());
        command.args(["oltp_read_write", "--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=shop"]);
        command.arg(format!("--mysql-port={}", self.ports().primary)).arg(format!("--mysql-db={DATABASE}"));
        command.arg(format!("--tables={}", bench.tables)).arg(format!("--table-size={}", bench.rows));
        command.arg(format!("--threads={}", bench.threads)).arg(format!("--rand-seed={}", bench.seed));
        command.arg(format!("--events={}", bench.transactions)).arg(format!("--time={}", bench.seconds));
        command.arg(format!("--db-ps-mode={}", if bench.prepared { "auto" } else { "disable" }));
        if bench.autocommit {
            // It deletes a row and inserts it again. Two connections that do so with the same row get in each other's way.
            command.args(["--skip-trx=on", "--mysql-ignore-errors=1213,1020,1205,1062"]);
        }
        command.arg(action);
        owner::run(command, None).map_err(|error| match error {
            Error::Tool { status, .. } if status == owner::NO_START => {
                Error::NotInstalled { program: "sysbench", looked: None, package: "sysbench" }
            }
            error => error,
        })
    }
}

impl Done {
    /// Reads lines such as `        total:                           4000`.
    fn read(said: &str) -> Result<Self> {
        Ok(Self {
            transactions: number(said, "transactions:")?,
            queries: number(said, "total:")?,
            failed: number(said, "ignored errors:")?,
            seconds: number(said, "total time:")?,
        })
    }
}

/// The number behind a title, without its unit.
fn number<T: std::str::FromStr>(said: &str, title: &str) -> Result<T> {
    let line = said.lines().map(str::trim).find_map(|line| line.strip_prefix(title));
    let word = line.and_then(|rest| rest.split_whitespace().next());
    word.and_then(|word| word.trim_end_matches('s').parse().ok())
        .ok_or_else(|| Error::Unexpected { what: "sysbench's summary", answer: said.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_read() {
        let said = "SQL statistics:\n    queries performed:\n        read:                            2800\n\
                    \x20       total:                           4001\n\
                    \x20   transactions:                        200    (195.02 per sec.)\n\
                    \x20   ignored errors:                      1      (0.00 per sec.)\n\
                    General statistics:\n    total time:                          1.0233s\n";
        let done = Done { transactions: 200, queries: 4001, failed: 1, seconds: 1.0233 };
        assert_eq!(Done::read(said).unwrap(), done);
        assert!(Done::read("FATAL: no").unwrap_err().to_string().contains("FATAL: no"));
    }
}
