//! What the nodes were asked.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use splitproof_capture::clock::Clock as Stamps;
use splitproof_capture::sql::Dialect;
use splitproof_capture::tap::{Encryption, Options, Relay};
use splitproof_capture::trace::{Kind, Outcome, Request, Sink};
use splitproof_replay::pair::{EvidenceSource, Pair};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::CheckError;

/// The nodes are quiet when nothing is reported for so long; a tap reports within a few milliseconds.
const QUIET: Duration = Duration::from_millis(15);
/// A router that is never quiet (health checks) is not waited for any longer.
const LONGEST: Duration = Duration::from_millis(500);

/// A tap whose decoder gets no processor for so long is given up; what it did not tell of counts as unseen.
const STUCK: Duration = Duration::from_secs(10);

/// A row that was seen at the node of this number.
type Row = (usize, Request);

/// Watches the nodes through a tap in front of each. A replay's taps gather rows before they hand them over; a check
/// needs each row at once.
pub(super) struct Watch {
    taps: Vec<Relay<Rows>>,
    rows: mpsc::UnboundedReceiver<Row>,
    dialect: Dialect,
    seen: Vec<Row>,
}

/// Hands rows over as they come.
struct Rows {
    node: usize,
    out: mpsc::UnboundedSender<Row>,
}

impl Sink for Rows {
    fn request(&mut self, request: Request) {
        // The receiver is gone when the check is over.
        self.out.send((self.node, request)).ok();
    }
}

impl Watch {
    /// Begins to watch every node.
    pub async fn start(pair: &Pair, stamps: Stamps) -> Result<Self, CheckError> {
        let (out, rows) = mpsc::unbounded_channel();
        let mut taps = Vec::new();
        for (index, node) in pair.nodes.iter().enumerate() {
            let EvidenceSource::Tap { listen } = node.evidence else {
                return Err(CheckError::NotTapped { node: node.name.clone(), evidence: node.evidence.as_str() });
            };
            let (host, port) = node.url.address();
            let upstream = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
            let options = Options {
                clock: stamps,
                encryption: Encryption::Refuse,
                ..Options::new(pair.engine, listen, upstream)
            };
            let tap = Relay::start(options, Rows { node: index, out: out.clone() }).await;
            taps.push(tap.map_err(|source| CheckError::Tap { node: node.name.clone(), source })?);
        }
        Ok(Watch { taps, rows, dialect: Dialect::of(pair.engine), seen: Vec::new() })
    }

    /// Takes what the nodes report until they are quiet.
    pub async fn settle(&mut self) {
        let began = Instant::now();
        loop {
            // Before the wait: what has passed by now must be in the rows when it ends.
            let decoded = self.taps.iter().all(|tap| tap.counters().is_decoded());
            match timeout(QUIET, self.rows.recv()).await {
                Ok(Some(row)) => self.seen.push(row),
                Ok(None) => break,
                Err(_) if decoded => break,
                Err(_) => {}
            }
            if began.elapsed() > if decoded { LONGEST } else { STUCK } {
                break;
            }
        }
    }

    /// Drops what was seen so far.
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    /// The nodes that ran a statement in this time.
    pub fn nodes_of(&self, sql: &str, time: RangeInclusive<i64>) -> Vec<usize> {
        nodes_of(&self.seen, sql, &time, self.dialect)
    }

    /// Stops watching.
    pub async fn stop(self) {
        for tap in self.taps {
            tap.stop().await;
        }
    }
}

/// The nodes with an execution of this text in this time: of the text itself; if there is none,
/// of its shape, since routers rewrite white space and names; if there is none, of a text that holds it, since routers
/// put statements of their own in front.
fn nodes_of(seen: &[(usize, Request)], sql: &str, time: &RangeInclusive<i64>, dialect: Dialect) -> Vec<usize> {
    let during: Vec<_> = seen.iter().filter(|(_, row)| ran(row, time)).collect();
    let shape = dialect.shape_id(sql);
    let pick = |same: &dyn Fn(&str) -> bool| {
        let picked = during.iter().filter(|(_, row)| row.sql.as_deref().is_some_and(same));
        let mut nodes: Vec<usize> = picked.map(|(node, _)| *node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    };
    let exact = pick(&|text| text == sql);
    if !exact.is_empty() {
        return exact;
    }
    let alike = pick(&|text| dialect.shape_id(text) == shape);
    if !alike.is_empty() {
        return alike;
    }
    pick(&|text| text.contains(sql.trim_end_matches(';')))
}

fn ran(row: &Request, time: &RangeInclusive<i64>) -> bool {
    matches!(row.kind, Kind::Query | Kind::Execute | Kind::Copy)
        && row.outcome != Outcome::Skipped
        && time.contains(&row.start_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(node: usize, at: i64, kind: Kind, sql: &str) -> (usize, Request) {
        let mut row = Request::new(0, 0, at, kind);
        (row.sql, row.outcome) = (Some(sql.into()), Outcome::Ok);
        (node, row)
    }

    #[test]
    fn time_and_text_tell_an_execution() {
        let time = 10..=20;
        let seen = [
            row(0, 9, Kind::Query, "SELECT 1"),
            row(1, 12, Kind::Query, "SELECT 1"),
            row(0, 13, Kind::Prepare, "SELECT 1"),
            row(0, 14, Kind::Query, "SELECT version()"),
            row(0, 15, Kind::Query, "SELECT 2"),
            row(0, 21, Kind::Query, "SELECT 1"),
        ];
        assert_eq!(nodes_of(&seen, "SELECT 1", &time, Dialect::Postgresql), [1]);
        assert_eq!(nodes_of(&seen, "SELECT  1", &time, Dialect::Postgresql), [0, 1]);
        assert_eq!(nodes_of(&seen, "SELECT a", &time, Dialect::Postgresql), [0usize; 0]);
        let rewritten = [row(1, 12, Kind::Query, "SELECT wait_for(1); SELECT a")];
        assert_eq!(nodes_of(&rewritten, "SELECT a", &time, Dialect::Postgresql), [1]);
    }
}
