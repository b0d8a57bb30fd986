//! The analyzer on runs of millions of requests, against DuckDB doing the joins and aggregates of it on the same files.
//!
//! The runs are made up: 64 sessions whose statements overlap, point reads on a replica, one short transaction in ten on the primary, and what
//! a tap would have seen of them. DuckDB joins the two runs request by request, compares their answers, finds the executions of each request
//! by text and time at both nodes, and aggregates by shape and node. It keeps no session's state, judges no intent, and looks for no staleness.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use splitproof_capture::sql::shape_id;
use splitproof_capture::trace::{
    Engine, Kind, Losses, Options, Outcome, Position, Request, Role, Sink, TransactionStatus, Writer,
};

use crate::figure::{Figure, Goal};
use crate::tool;

const SESSIONS: u64 = 64;
/// Of each statement as its client saw it, nanoseconds.
const TOOK: u64 = 1_000_000;
/// The first request, nanoseconds since 1970.
const BEGIN: i64 = 1_800_000_000_000_000_000;
const SAMPLE: i64 = 10_000_000;
const MIB: f64 = 1024.0;

/// What is run on the machine.
struct Measured {
    seconds: f64,
    peak_mib: f64,
}

/// Compares runs of this many requests, and of half as many.
pub fn measure(requests: u64, folder: &Path) -> Result<Vec<Figure>> {
    let half = analyzed(requests / 2, &folder.join("half"))?;
    let dir = folder.join("whole");
    let whole = analyzed(requests, &dir)?;
    let mut figures = vec![
        Figure {
            name: "analyze_memory_mib".into(),
            value: whole.peak_mib,
            goal: Goal::AtMost(2048.0),
            detail: format!("peak resident size {:.0} MiB of {requests} requests a run, --memory 1GB", whole.peak_mib),
        },
        Figure {
            name: "analyze_time_when_rows_double".into(),
            value: whole.seconds / half.seconds,
            goal: Goal::AtMost(2.2),
            detail: format!(
                "{:.1} s of {requests} requests a run, {:.1} s of half as many",
                whole.seconds, half.seconds
            ),
        },
    ];
    match duckdb(&dir)? {
        Some(seconds) => figures.push(Figure {
            name: "analyze_time_vs_duckdb".into(),
            value: whole.seconds / seconds,
            goal: Goal::AtMost(1.5),
            detail: format!("compare {:.1} s, DuckDB {seconds:.1} s, of {requests} requests a run", whole.seconds),
        }),
        None => eprintln!("analyze_time_vs_duckdb is not measured: python3 has no module duckdb"),
    }
    Ok(figures)
}

/// Makes two runs and compares them.
fn analyzed(requests: u64, dir: &Path) -> Result<Measured> {
    fs::create_dir_all(dir)?;
    eprintln!("making two runs of {requests} requests");
    for name in ["baseline", "candidate"] {
        make(requests, &dir.join(name)).with_context(|| format!("make {name}"))?;
    }
    eprintln!("comparing them");
    let mut command = Command::new(tool::path("splitproof-analyze")?);
    command.arg("compare").arg(dir.join("baseline")).arg(dir.join("candidate")).args(["--memory", "1GB"]);
    let began = Instant::now();
    let mut child = command.stdout(Stdio::null()).env("TMPDIR", dir).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak_mib = 0.0_f64;
    let ended = loop {
        // The kernel keeps the mark, so that looking now and then misses only what comes at the very end.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
        peak_mib = mark.map_or(peak_mib, |kib: f64| peak_mib.max(kib / MIB));
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    // The runs are equal, but for what the samples do not decide.
    if !matches!(ended.code(), Some(0 | 1)) {
        bail!("splitproof-analyze compare ended with {ended}");
    }
    Ok(Measured { seconds: began.elapsed().as_secs_f64(), peak_mib })
}

/// The statement of a session's turn, and whether it belongs to a transaction.
fn text(session: u64, turn: u64) -> (String, TransactionStatus, bool) {
    let key = turn * SESSIONS + session;
    let table = key % 40;
    match turn % 40 {
        0 => ("BEGIN".into(), TransactionStatus::Open, true),
        1 => (format!("UPDATE accounts{table} SET n = n + 1 WHERE id = {key}"), TransactionStatus::Open, true),
        2 => (format!("INSERT INTO history (account, n) VALUES ({key}, 1)"), TransactionStatus::Open, true),
        3 => ("COMMIT".into(), TransactionStatus::Idle, true),
        _ => (format!("SELECT c FROM things{table} WHERE id = {key}"), TransactionStatus::Idle, false),
    }
}

fn make(requests: u64, dir: &Path) -> Result<()> {
    let mut writer = Writer::create(dir, Options::new(Engine::Postgresql, "replay"))?;
    let mut nodes = [writer.node("primary")?, writer.node("standby")?];
    let step = TOOK / SESSIONS;
    for number in 0..requests {
        let (session, turn) = (number % SESSIONS, number / SESSIONS);
        let start = BEGIN + (number * step) as i64;
        let seq = u32::try_from(turn + 1)?;
        let (sql, status, on_primary) = text(session, turn);
        let mut row = Request::new(session, seq, start, Kind::Query);
        row.shape_id = Some(shape_id(&sql));
        (row.messages, row.sql) = ("Q".into(), Some(sql.into()));
        (row.recorded_session, row.recorded_seq, row.due_ns) = (Some(session), Some(seq), Some(start));
        (row.duration_ns, row.outcome, row.transaction) = (Some(TOOK - step), Outcome::Ok, Some(status));
        let sum = Some(u128::from(number));
        (row.rows, row.checksum_full, row.checksum_rows, row.checksum_rowset) = (Some(1), sum, sum, sum);
        let mut execution = row.clone();
        (execution.start_ns, execution.duration_ns) = (start + 100_000, Some(TOOK / 2));
        (execution.recorded_session, execution.recorded_seq, execution.due_ns) = (None, None, None);
        writer.request(row);
        nodes[usize::from(!on_primary)].request(execution);
    }
    for node in nodes {
        node.finish(&Losses::default())?;
    }
    let mut positions = writer.positions()?;
    let end = BEGIN + (requests * step) as i64;
    for at_ns in (0..).map(|number| BEGIN + number * SAMPLE).take_while(|at_ns| *at_ns < end) {
        let lsn = Some((at_ns - BEGIN).unsigned_abs());
        let sample = |node: &str, role| Position {
            node: node.into(),
            at_ns,
            sample_ns: 100_000,
            role,
            lsn: lsn.filter(|_| role == Role::Primary),
            replay_lsn: lsn.filter(|_| role == Role::Replica),
            replay_timestamp_ns: None,
            gtid: None,
        };
        positions.push(&sample("primary", Role::Primary))?;
        positions.push(&sample("standby", Role::Replica))?;
    }
    positions.finish()?;
    let nodes = [("primary", "primary"), ("standby", "replica")]
        .map(|(name, role)| serde_json::json!({ "name": name, "role": role, "evidence": "tap" }));
    writer.run(&serde_json::json!({ "nodes": nodes, "trace": "window" }))?;
    writer.finish(&Losses::default())?;
    Ok(())
}

/// Seconds that DuckDB takes; `None` where there is none.
fn duckdb(dir: &Path) -> Result<Option<f64>> {
    let found = Command::new("python3").args(["-c", "import duckdb"]).stderr(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        return Ok(None);
    }
    eprintln!("the same with DuckDB");
    let began = Instant::now();
    let status =
        Command::new("python3").args(["-c", DUCKDB]).arg(dir).stdout(Stdio::null()).status().context("run python3")?;
    if !status.success() {
        bail!("DuckDB failed");
    }
    Ok(Some(began.elapsed().as_secs_f64()))
}

const DUCKDB: &str = r#"
import duckdb, sys
dir = sys.argv[1]
db = duckdb.connect()
db.sql(f"SET memory_limit = '1GB'; SET temp_directory = '{dir}/duckdb'; SET preserve_insertion_order = false")
for run in ["baseline", "candidate"]:
    db.sql(f"CREATE VIEW {run} AS FROM '{dir}/{run}/requests-*.parquet'")
    db.sql(f"""CREATE VIEW {run}_nodes AS SELECT *, regexp_extract(filename, 'node-([a-z]+)-', 1) AS node
               FROM read_parquet('{dir}/{run}/node-*.parquet', filename = true)""")
    # Where each request ran, by text and time.
    db.sql(f"""CREATE TABLE {run}_placed AS
        SELECT r.session, r.seq, r.recorded_session, r.recorded_seq, r.shape_id, r.duration_ns, r.outcome, r.error_code,
               r.checksum_rowset, r."affected", count(n.node) AS executions, min(n.node) AS node, min(n.duration_ns) AS worked_ns
        FROM {run} r LEFT JOIN {run}_nodes n
          ON r.sql = n.sql AND n.start_ns BETWEEN r.start_ns AND r.start_ns + to_microseconds(r.duration_ns // 1000)
         AND r.session = n.session
        GROUP BY ALL""")
    db.sql(f"""SELECT shape_id, node, count(*), sum(worked_ns), quantile_cont(duration_ns, 0.5), quantile_cont(duration_ns, 0.99),
                      max(duration_ns) FROM {run}_placed GROUP BY ALL""").fetchall()
    db.sql(f"""SELECT count(*), count(DISTINCT session), count(DISTINCT shape_id), count(*) FILTER (outcome = 'error'),
                      count(*) FILTER (executions <> 1) FROM {run}_placed""").fetchall()
# The pairs of answers.
db.sql("""SELECT c.shape_id, b.outcome, c.outcome, b.checksum_rowset IS DISTINCT FROM c.checksum_rowset AS differs,
                 b."affected" IS DISTINCT FROM c."affected" AS counts, b.node, c.node, count(*), min(c.session)
          FROM baseline_placed b JOIN candidate_placed c USING (recorded_session, recorded_seq) GROUP BY ALL""").fetchall()
"#;
