//! Many sessions that say the same at the same time: only the chain of connections tells whose execution is whose. What the
//! router decided is in its own log.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use splitproof_capture::trace::{Engine, Kind, Losses, Options, Outcome, Request, Sink, Writer};
use splitproof_samples::Sandbox;
use splitproof_samples::router::log::Entry;
use splitproof_samples::sandbox::state::Backends;

use crate::tools::Running;
use crate::verdict::{Judged, Verdict};

const SESSIONS: u64 = 64;
const STATEMENTS: u32 = 60;
/// Each session sends one of its statements in so many nanoseconds, all of them at the same time.
const STEP_NS: i64 = 20_000_000;
/// What they all say. Reads are shared by both servers.
const SAID: [&str; 3] =
    ["SELECT name FROM users WHERE id = 7", "SELECT count(*) FROM stock", "UPDATE users SET name = name WHERE id = 7"];
const RULES: &str = "mode: parsed\ncausal_reads: false\nweights: { primary: 1, replicas: [1] }\n";

/// What each session says first, by which its connection is known in the router's log.
fn name(session: u64) -> String {
    format!("SELECT {session} AS crowd")
}

fn window(engine: Engine, dir: PathBuf) -> PathBuf {
    let mut writer = Writer::create(&dir, Options::new(engine, "test")).unwrap();
    for session in 0..SESSIONS {
        for seq in 0..STATEMENTS + 3 {
            let (kind, sql) = match seq {
                0 => (Kind::Connect, None),
                1 => (Kind::Query, Some(name(session))),
                seq if seq == STATEMENTS + 2 => (Kind::Disconnect, None),
                seq => (Kind::Query, Some(SAID[seq as usize % SAID.len()].to_owned())),
            };
            let start_ns = 1_700_000_000_000_000_000 + i64::from(seq) * STEP_NS;
            let mut row = Request::new(session, seq, start_ns, kind);
            (row.user, row.database) = (Some("shop".into()), Some("shop".into()));
            row.messages = match (engine, kind) {
                (_, Kind::Connect) => "".into(),
                (Engine::Postgresql, Kind::Query) => "Q".into(),
                (Engine::Postgresql, _) => "X".into(),
                (Engine::Mysql, Kind::Query) => "03".into(),
                (Engine::Mysql, _) => "01".into(),
            };
            row.pipeline_group = (engine == Engine::Postgresql && kind == Kind::Query).then_some(seq);
            (row.sql, row.outcome, row.duration_ns) = (sql.map(Into::into), Outcome::Ok, Some(1_000_000));
            writer.request(row);
        }
    }
    writer.finish(&Losses::default()).unwrap();
    dir
}

/// Replays the crowd through the sample router, and holds what was attributed against what the router decided.
fn attributed(sandbox: &mut Sandbox, home: &Path, backends: Backends, pair: &str) {
    let engine = sandbox.engine();
    let (rules, file, run) = (home.join("crowd.yaml"), home.join("crowd.toml"), home.join("crowd-run"));
    std::fs::write(&rules, RULES).unwrap();
    sandbox.restore().unwrap();
    sandbox.router_with(rules.to_str().unwrap(), backends, &[]).unwrap();
    std::fs::write(&file, pair).unwrap();
    let crowd = window(engine, home.join("crowd"));
    let arguments = [crowd.as_os_str(), "--pair".as_ref(), file.as_os_str(), "-o".as_ref(), run.as_os_str()];
    let ended = Running::start("replay", arguments.into_iter().chain(["--format".as_ref(), "json".as_ref()])).end();
    crate::mysql_stage::whole(&ended);
    let verdict = Verdict::of(&run, &run, &home.join("crowd-verdict"));
    for dir in [&crowd, &run] {
        std::fs::remove_dir_all(dir).unwrap();
    }

    // The router numbers connections as they came; the first statement says whose it is.
    let log = std::fs::read_to_string(sandbox.dir().join("log").join("router-statements.log")).unwrap();
    let mut decided: HashMap<u64, Vec<Entry>> = HashMap::new();
    for line in log.lines() {
        let entry: Entry = serde_json::from_str(line).unwrap();
        decided.entry(entry.session).or_default().push(entry);
    }
    let decided: HashMap<&str, &[Entry]> =
        decided.values().filter_map(|entries| Some((entries.first()?.sql.as_str(), entries.as_slice()))).collect();

    let mut said: BTreeMap<u64, Vec<&Judged>> = BTreeMap::new();
    for request in verdict.requests.iter().filter(|request| request.needed) {
        said.entry(request.session).or_default().push(request);
    }
    let (mut needed, mut known, mut wrong) = (0, 0, Vec::new());
    for requests in said.values_mut() {
        requests.sort_by_key(|request| request.seq);
        let entries = decided[requests[0].sql.as_deref().unwrap()];
        for (request, entry) in requests.iter().zip(entries) {
            assert_eq!(Some(&entry.sql), request.sql.as_ref(), "the log has the session's statements in their order");
            needed += 1;
            known += u64::from(!request.nodes.is_empty());
            // PostgreSQL's replica has the name of a standby in the pair.
            let primary = |names: &[String]| names.iter().map(|name| name == "primary").collect::<Vec<_>>();
            if !request.nodes.is_empty() && primary(&entry.destinations) != primary(&request.nodes) {
                wrong.push(format!("{request:?}: {:?}", entry.destinations));
            }
        }
    }
    println!("{engine}: {needed} requests of {SESSIONS} sessions, {known} attributed, {} of them wrongly", wrong.len());
    assert_eq!(needed, SESSIONS * u64::from(STATEMENTS + 1));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // On MariaDB statements overlap for so long on a busy machine that some stay open; a log does not tell at all when one ended.
    let least = match (engine, backends) {
        (Engine::Postgresql, _) => needed * 999 / 1000,
        (Engine::Mysql, Backends::Taps) => needed * 3 / 4,
        (Engine::Mysql, Backends::Nodes) => needed / 4,
    };
    assert!(known >= least, "{known} of {needed} attributed");
    let replica = verdict.requests.iter().filter(|request| request.nodes.iter().any(|node| node != "primary")).count();
    assert!(replica > 500, "{replica} reads ran on the replica, so that there was something to tell apart");
}

#[test]
fn whose_execution_is_whose_in_a_crowd_on_postgresql() {
    let mut stage = crate::stage::stage();
    let (home, pair) = (stage.path(""), stage.sandbox.pair_toml());
    attributed(&mut stage.sandbox, &home, Backends::Taps, &pair);
}

#[test]
fn whose_execution_is_whose_in_a_crowd_on_mariadb() {
    let mut stage = crate::mysql_stage::stage();
    let (home, pair) = (stage.path(""), stage.sandbox.pair_toml());
    attributed(&mut stage.sandbox, &home, Backends::Taps, &pair);
}

#[test]
fn whose_execution_is_whose_in_a_crowd_by_the_general_log() {
    let mut stage = crate::mysql_stage::stage();
    let (home, pair) = (stage.path(""), stage.by_logs());
    attributed(&mut stage.sandbox, &home, Backends::Nodes, &pair);
}
