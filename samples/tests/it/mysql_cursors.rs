//! COM_STMT_FETCH through the router: rows are fetched where the cursor is.

use std::collections::HashMap;

use splitproof_capture::trace::{Engine, Kind, Losses, Options, Outcome, Reader, Request, Sink, Writer};
use splitproof_samples::sandbox::state::Backends;

use crate::mysql_stage::{Stage, stage};
use crate::verdict::Verdict;

const READ: &str = "SELECT id, name FROM users WHERE id <= ? ORDER BY id";
const FETCHES: u32 = 4;

/// A trace of sessions that read the same rows through a cursor at the same time; every other one inside a transaction that has written.
fn trace(stage: &Stage, sessions: u64) -> std::path::PathBuf {
    let dir = stage.path("cursors");
    let mut writer = Writer::create(&dir, Options::new(Engine::Mysql, "test")).unwrap();
    for session in 1..=sessions {
        // Its own statement tells which connection of the router's a session uses; the others are the same in all.
        let (read, write) =
            (format!("SELECT {session}"), format!("UPDATE users SET credit = credit WHERE id = {session}"));
        let mut rows = vec![(Kind::Connect, "", None, None)];
        if session % 2 == 0 {
            rows.push((Kind::Query, "03", Some("BEGIN"), None));
            rows.push((Kind::Query, "03", Some(write.as_str()), None));
        } else {
            rows.push((Kind::Query, "03", Some(read.as_str()), None));
        }
        rows.push((Kind::Prepare, "16", Some(READ), Some("1")));
        rows.push((Kind::Execute, "17", Some(READ), Some("1")));
        rows.extend((0..FETCHES).map(|_| (Kind::Fetch, "1c", Some(READ), Some("1"))));
        rows.push((Kind::Close, "19", None, Some("1")));
        rows.push((Kind::Query, "03", Some(if session % 2 == 0 { "COMMIT" } else { "SELECT 3" }), None));
        rows.push((Kind::Disconnect, "01", None, None));
        for (seq, (kind, messages, sql, statement)) in (0..).zip(rows) {
            let mut row = Request::new(session, seq, 1_700_000_000_000_000_000 + i64::from(seq) * 20_000_000, kind);
            (row.user, row.database) = (Some("shop".into()), Some("shop".into()));
            (row.messages, row.sql) = (messages.into(), sql.map(Into::into));
            (row.statement, row.outcome, row.duration_ns) = (statement.map(Into::into), Outcome::Ok, Some(1_000_000));
            match kind {
                Kind::Execute => {
                    let value = splitproof_capture::trace::Param {
                        type_id: 3,
                        binary: true,
                        value: Some(40_i32.to_le_bytes().into()),
                    };
                    (row.params, row.param_types) = (vec![value], Some(vec![3]));
                    // CURSOR_TYPE_READ_ONLY
                    row.result_formats = vec![1];
                }
                Kind::Fetch => row.row_limit = Some(5),
                _ => {}
            }
            writer.request(row);
        }
    }
    writer.finish(&Losses::default()).unwrap();
    dir
}

#[test]
fn fetches_run_where_their_execution_ran() {
    let mut stage = stage();
    stage.fresh("causal_reads: false", Backends::Taps);
    let sessions = 6;
    let (trace, run) = (trace(&stage, sessions), stage.path("cursors-run"));
    let summary = stage.replayed(&stage.sandbox.pair_toml(), &trace, &run, &[]);
    assert_eq!(summary["sent"], summary["recorded"], "{summary}");
    let rows: HashMap<(u64, u32), Request> = Reader::open(&run)
        .unwrap()
        .requests()
        .map(|row| row.unwrap())
        .map(|row| ((row.session, row.seq), row))
        .collect();
    let decided: Vec<Vec<String>> =
        stage.decisions().into_iter().filter(|entry| entry.sql == READ).map(|entry| entry.destinations).collect();
    let verdict = Verdict::of(&run, &run, &stage.path("verdict"));
    assert_eq!(verdict.metric("unattributed"), 0.0);

    let mut executed: HashMap<u64, Vec<String>> = HashMap::new();
    let mut fetches = 0;
    for request in verdict.requests.iter().filter(|request| request.needed) {
        let row = &rows[&(request.session, request.seq)];
        match row.kind {
            Kind::Execute => {
                let node = if row.recorded_session.unwrap().is_multiple_of(2) { "primary" } else { "replica" };
                assert_eq!(request.nodes, [node], "{row:?}");
                executed.insert(request.session, request.nodes.clone());
            }
            Kind::Fetch => {
                assert_eq!((row.rows, row.outcome), (Some(5), Outcome::Ok), "{row:?}");
                assert_eq!(request.nodes, executed[&request.session], "{row:?}");
                fetches += 1;
            }
            _ => {}
        }
    }
    assert_eq!(fetches, sessions as u32 * FETCHES);
    let mut ours: Vec<Vec<String>> = executed.into_values().collect();
    let mut decided = decided;
    ours.sort();
    decided.sort();
    assert_eq!(ours, decided, "the router's own log agrees");
}
