//! The standby's replay is paused in the middle of a run: what it answers from then on is stale, and no mismatch.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use splitproof_capture::trace::{Kind, Outcome, Reader, Request, TransactionStatus};

use crate::stage::{Played, stage};
use crate::verdict::Judged;

/// From the replayer's start to the pause: it has begun to send by then, and commits have passed.
const BEFORE: Duration = Duration::from_secs(4);
/// How long the replay is paused.
const PAUSE: Duration = Duration::from_secs(4);
/// So many reads at least must be caught: the shop's clients read some hundred times in that time.
const ENOUGH: usize = 50;
/// By how much a lag may differ from the one that clients' times give; and the time between two samples of a position, at
/// the edge of the pause.
const SLACK_NS: i64 = 50_000_000;

fn now_ns() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

#[test]
fn reads_from_a_paused_standby_are_stale_and_no_mismatch() {
    let mut stage = stage();
    let today = stage.played("today", "today");
    let (mut paused_ns, mut resumed_ns, mut caught_up_ns) = (0, 0, 0);
    let paused = stage.play("paused", "today", |sandbox| {
        std::thread::sleep(BEFORE);
        sandbox.pause_replay().unwrap();
        paused_ns = now_ns();
        std::thread::sleep(PAUSE);
        resumed_ns = now_ns();
        sandbox.resume_replay().unwrap();
        sandbox.wait_caught_up().unwrap();
        caught_up_ns = now_ns();
    });
    let verdict = stage.compare(&today, &paused);
    let judged: HashMap<_, _> =
        verdict.requests.iter().map(|request| ((request.session, request.seq), request)).collect();
    let on_standby = |judged: &Judged| judged.nodes == ["standby"];

    let history = History::of(&paused);
    let (mut stale, mut after) = (0, Vec::new());
    for read in &history.reads {
        let judged = judged[&(read.session, read.seq)];
        if !on_standby(judged) {
            continue;
        }
        if paused_ns < judged.start_ns && read.end_ns < resumed_ns {
            let Some(commit_ns) = history.first_commit(&read.tables, paused_ns + SLACK_NS, judged.start_ns) else {
                continue;
            };
            stale += 1;
            assert_eq!(judged.staleness.as_deref(), Some("stale"), "{judged:?} {read:?}");
            // What it missed is at least as old as the first commit that the standby cannot have applied.
            let age_ns = judged.start_ns - commit_ns;
            let lag_ns = judged.lag_ns.unwrap();
            assert!(lag_ns > 0 && lag_ns + SLACK_NS >= age_ns, "{judged:?} {read:?}: {age_ns}");
        } else if judged.start_ns > caught_up_ns {
            after.push(judged);
        }
    }
    assert!(stale >= ENOUGH, "only {stale} reads were caught");

    // Once it has caught up, what it lacks are commits of that very moment.
    assert!(after.len() >= 10, "only {} reads after the pause", after.len());
    let still: Vec<_> = after.iter().filter(|read| read.staleness.as_deref() == Some("stale")).collect();
    assert!(still.len() * 10 < after.len(), "{} of {} are stale: {still:?}", still.len(), after.len());
    assert!(still.iter().all(|read| read.lag_ns.unwrap() < 1_000_000_000), "{still:?}");

    let answers = &verdict.report.comparison.answers;
    assert_eq!(answers.counts["mismatch"], 0, "{:#?}", answers.shapes);
    assert!(verdict.metric("max_lag_ms") >= PAUSE.as_millis() as f64 / 2.0);
    // The courier's other connection reads rows that were just changed: there the old answer shows.
    let basket = answers.shapes.iter().find(|shape| shape.shape.text.to_lowercase().starts_with("select basket"));
    let basket = basket.unwrap_or_else(|| panic!("{:#?}", answers.shapes));
    assert!(basket.counts["stale"] + basket.counts["missing"] > 0, "{basket:?}");
    assert!(!verdict.holds("stale_answers"));
}

/// The tables of the shop.
const TABLES: [&str; 8] = ["users", "stock", "orders", "order_lines", "sessions", "audit", "imports", "summary"];

/// What a run did, told from the texts alone: no parser of ours takes part.
#[derive(Default)]
struct History {
    reads: Vec<Read>,
    /// Commits by table: when each was asked for, and when it had ended.
    commits: BTreeMap<&'static str, Vec<(i64, i64)>>,
}

/// A SELECT that saw the newest state when it began.
#[derive(Debug)]
struct Read {
    session: u64,
    seq: u32,
    end_ns: i64,
    tables: Vec<&'static str>,
}

/// Where a session stands.
#[derive(Default)]
struct Session {
    failed: bool,
    /// Its transaction reads an older snapshot, taken at its first statement.
    snapshot: bool,
    written: Vec<&'static str>,
}

impl History {
    fn of(run: &Played) -> Self {
        let mut history = History::default();
        let mut sessions: HashMap<u64, Session> = HashMap::new();
        let mut rows: Vec<Request> = Reader::open(&run.run).unwrap().requests().map(Result::unwrap).collect();
        rows.sort_by_key(|row| (row.session, row.seq));
        for row in rows {
            history.row(sessions.entry(row.session).or_default(), &row);
        }
        history
    }

    fn row(&mut self, session: &mut Session, row: &Request) {
        let Some(sql) = row.sql.as_deref().filter(|_| row.kind != Kind::Prepare) else { return };
        let text = sql.to_lowercase();
        let ok = row.outcome == Outcome::Ok;
        if text.contains("repeatable read") {
            session.snapshot = true;
        }
        if ok && (row.affected > Some(0) || row.kind == Kind::Copy) {
            session.written.extend(written(&text));
        }
        if let Some(end_ns) = row.end_ns().filter(|_| ok && text.starts_with("select") && !session.snapshot) {
            let tables = after(&text, &["from ", "join "]);
            self.reads.push(Read { session: row.session, seq: row.seq, end_ns, tables });
        }
        match (row.transaction, row.end_ns()) {
            (Some(TransactionStatus::Idle), Some(end_ns)) => {
                let ended = std::mem::take(session);
                // A text of its own, or the COMMIT of a transaction that has not failed. In the extended protocol the
                // commit comes with the Sync, after the answer whose time we know.
                if ok && !ended.failed && !text.starts_with("rollback") && row.kind != Kind::Execute {
                    for table in ended.written {
                        self.commits.entry(table).or_default().push((row.start_ns, end_ns));
                    }
                }
            }
            (Some(status), _) => session.failed = status == TransactionStatus::Failed,
            (None, _) => {}
        }
    }

    /// The end of the first commit on one of the tables that was asked for after one moment and ended before another.
    fn first_commit(&self, tables: &[&str], after_ns: i64, before_ns: i64) -> Option<i64> {
        let commits = tables.iter().filter_map(|table| self.commits.get(table)).flatten();
        commits.filter(|(start, end)| *start > after_ns && *end < before_ns).map(|(_, end)| *end).min()
    }
}

/// Tables that a text writes.
fn written(text: &str) -> Vec<&'static str> {
    if text.starts_with("copy") && !text.contains("from stdin") {
        return Vec::new();
    }
    after(text, &["update ", "insert into ", "delete from ", "copy "])
}

/// Tables whose names stand behind one of the words.
fn after(text: &str, words: &[&str]) -> Vec<&'static str> {
    let named = |table: &&'static str| {
        words.iter().any(|word| {
            let mut rest = text;
            std::iter::from_fn(move || {
                let (_, behind) = rest.split_once(*word)?;
                rest = behind;
                Some(behind)
            })
            .any(|behind| behind.strip_prefix(*table).is_some_and(|end| !end.starts_with(['_', '.'])))
        })
    };
    TABLES.into_iter().filter(|table| named(table)).collect()
}

#[test]
fn tables_are_found_in_texts() {
    assert_eq!(
        after("select l.line from order_lines l join stock s using (sku)", &["from ", "join "]),
        ["stock", "order_lines"]
    );
    assert_eq!(after("select id from orders order by id", &["from "]), ["orders"]);
    assert_eq!(written("copy imports (id, note) from stdin"), ["imports"]);
    assert!(written("copy summary to stdout").is_empty());
    assert!(written("select name from users where id = 1 for update").is_empty());
}
