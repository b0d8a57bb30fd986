//! A small language for runs, one line for each thing that happened.
//!
//! ```text
//! 1 10..12 UPDATE stock SET n = 1 -> P7 S8     session 1 asked this from 10 to 12 ms; it ran on the primary over backend
//!                                              connection 7, and on the standby over 8
//! 1 20..22 SELECT 1 -> S8:20.5..21             with the time of the execution
//! P7 30..31 DISCARD ALL                        an execution that no client asked for
//! 1 40..42 SELECT n FROM stock -> S8 | sum=5 rows=1 error=25006 outcome=lost with=a,b recorded=9.3 tx=open
//! @50 P lsn=100                                a sample of the primary's position
//! @50 S replay=90 time=48                      one of the standby's
//! ```
//!
//! A session's first line is preceded by its connect and its last one followed by its disconnect, 1 ms apart, unless `CONNECT` or
//! `DISCONNECT` lines say when.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use splitproof_analyze::compare;
use splitproof_analyze::comparison::Comparison;
use splitproof_capture::sql::{Dialect, shape_id};
use splitproof_capture::trace::{
    Engine, Kind, Losses, Options, Outcome, Param, Position, Request, Role, Sink, TransactionStatus, Writer,
};
use splitproof_replay::catalog::{Catalog, Function, FunctionKind, VaryingDefault, Volatility};

/// A run, as rows.
pub struct Scenario {
    pub engine: Engine,
    pub clients: Vec<Request>,
    /// The primary's trace and the standby's.
    pub nodes: [Vec<Request>; 2],
    pub positions: Vec<Position>,
    /// Digest of the recording that it repeats; `None` as in the runs of earlier programs.
    pub recording: Option<String>,
    /// The nodes' traces are read from their logs.
    pub logged: bool,
    /// What the replayer's summary says beside that; `outage` is the standby's.
    pub summary: serde_json::Map<String, serde_json::Value>,
}

/// Milliseconds of the language as nanoseconds of a trace.
pub fn ms(text: &str) -> i64 {
    BASE_NS + (text.parse::<f64>().expect("a time in ms") * 1e6) as i64
}

pub const BASE_NS: i64 = 1_800_000_000_000_000_000;
pub const NODES: [&str; 2] = ["primary", "standby"];

struct Site {
    node: usize,
    backend: u64,
    time: Option<(i64, i64)>,
}

pub fn scenario(text: &str) -> Scenario {
    let mut run = Scenario {
        engine: Engine::Postgresql,
        clients: Vec::new(),
        nodes: Default::default(),
        positions: Vec::new(),
        recording: None,
        logged: false,
        summary: Default::default(),
    };
    let mut seqs: HashMap<(usize, u64), u32> = HashMap::new();
    let mut status: HashMap<u64, TransactionStatus> = HashMap::new();
    let (mut first, mut last): (BTreeMap<u64, i64>, BTreeMap<u64, i64>) = Default::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(sample) = line.strip_prefix('@') {
            run.positions.push(position(sample));
            continue;
        }
        let (line, flags) = line.split_once(" | ").unwrap_or((line, ""));
        let (line, sites) = line.split_once(" -> ").unwrap_or((line, ""));
        let mut words = line.splitn(3, ' ');
        let (who, time, sql) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let (start, end) = span(time);
        if let Some(site) = site(who) {
            let seq = seqs.entry((site.node + 1, site.backend)).or_default();
            let row = request(site.backend, *seq, start, Some(end), sql, flags);
            *seq += 1;
            run.nodes[site.node].push(row);
            continue;
        }
        let session: u64 = who.parse().expect("a session number");
        let seq = seqs.entry((0, session)).or_insert(1);
        let mut row = request(session, *seq, start, Some(end), sql, flags);
        if row.kind == Kind::Connect {
            row.seq = 0;
            first.insert(session, i64::MIN);
        } else {
            *seq += 1;
        }
        if row.kind == Kind::Disconnect {
            last.insert(session, i64::MAX);
        }
        let now = status.entry(session).or_insert(TransactionStatus::Idle);
        *now = row.transaction.unwrap_or_else(|| next_status(*now, sql, row.outcome));
        row.transaction = Some(*now);
        first.entry(session).or_insert(start);
        let latest = last.entry(session).or_insert(end);
        *latest = (*latest).max(end);
        for site in sites.split_whitespace().map(|text| site(text).expect("a node")) {
            let (from, to) = site.time.unwrap_or((start + (end - start) / 4, end - (end - start) / 4));
            let seq = seqs.entry((site.node + 1, site.backend)).or_default();
            let mut execution = Request { session: site.backend, seq: *seq, ..row.clone() };
            (execution.start_ns, execution.duration_ns) = (from, Some((to - from) as u64));
            (execution.recorded_session, execution.recorded_seq) = (None, None);
            *seq += 1;
            run.nodes[site.node].push(execution);
        }
        run.clients.push(row);
    }
    for (session, start) in first.into_iter().filter(|&(_, start)| start != i64::MIN) {
        run.clients.push(connection(session, 0, start - 2_000_000, Kind::Connect));
    }
    for (session, end) in last.into_iter().filter(|&(_, end)| end != i64::MAX) {
        run.clients.push(connection(session, 100_000, end + 1_000_000, Kind::Disconnect));
    }
    run.clients.sort_by_key(|row| (row.start_ns, row.session, row.seq));
    for node in &mut run.nodes {
        node.sort_by_key(|row| (row.start_ns, row.session, row.seq));
    }
    run
}

fn connection(session: u64, seq: u32, start: i64, kind: Kind) -> Request {
    let mut row = Request::new(session, seq, start, kind);
    row.duration_ns = Some(1_000_000);
    row.outcome = Outcome::Ok;
    row
}

fn request(session: u64, seq: u32, start: i64, end: Option<i64>, sql: &str, flags: &str) -> Request {
    let kind = match sql {
        "CONNECT" => Kind::Connect,
        "DISCONNECT" => Kind::Disconnect,
        _ => Kind::Query,
    };
    let mut row = Request::new(session, seq, start, kind);
    row.duration_ns = end.map(|end| (end - start) as u64);
    row.outcome = Outcome::Ok;
    (row.recorded_session, row.recorded_seq) = (Some(session), Some(seq));
    if kind == Kind::Query {
        row.messages = "Q".into();
        row.sql = Some(sql.into());
        row.shape_id = Some(shape_id(sql));
    }
    for flag in flags.split_whitespace() {
        let (name, value) = flag.split_once('=').expect("name=value");
        match name {
            "sum" => {
                let sum = value.parse().expect("a checksum");
                (row.checksum_full, row.checksum_rows, row.checksum_rowset) = (Some(sum), Some(sum), Some(sum));
            }
            "rows" => row.rows = value.parse().ok(),
            "tx" => row.transaction = TransactionStatus::from_word(value),
            "affected" => row.affected = value.parse().ok(),
            "error" => {
                row.error_code = Some(value.into());
                row.outcome = Outcome::Error;
            }
            "outcome" => row.outcome = Outcome::from_word(value).expect("an outcome"),
            "kind" => row.kind = Kind::from_word(value).expect("a kind"),
            "with" => {
                row.kind = Kind::Execute;
                row.messages = "BES".into();
                let param = |text: &str| Param { value: Some(text.as_bytes().into()), ..Param::default() };
                row.params = value.split(',').map(param).collect();
            }
            "recorded" => {
                let (session, seq) = value.split_once('.').expect("session.seq");
                (row.recorded_session, row.recorded_seq) = (session.parse().ok(), seq.parse().ok());
            }
            _ => panic!("unknown flag {flag}"),
        }
    }
    row
}

fn next_status(now: TransactionStatus, sql: &str, outcome: Outcome) -> TransactionStatus {
    let word = sql.split_whitespace().next().unwrap_or("").to_ascii_uppercase();
    match (word.as_str(), outcome) {
        ("BEGIN" | "START", Outcome::Ok) => TransactionStatus::Open,
        ("COMMIT" | "ROLLBACK" | "END", _) => TransactionStatus::Idle,
        (_, Outcome::Error) if now != TransactionStatus::Idle => TransactionStatus::Failed,
        _ => now,
    }
}

/// `P7`, or `S8:20.5..21`.
fn site(text: &str) -> Option<Site> {
    let (place, time) = text.split_once(':').map_or((text, None), |(place, time)| (place, Some(span(time))));
    let node = match place.chars().next()? {
        'P' => 0,
        'S' => 1,
        _ => return None,
    };
    Some(Site { node, backend: place[1..].parse().ok()?, time })
}

fn span(text: &str) -> (i64, i64) {
    let (start, end) = text.split_once("..").expect("START..END");
    (ms(start), ms(end))
}

/// `50 S replay=90 time=48`: asked for at 50 ms, answered 0.1 ms later.
fn position(text: &str) -> Position {
    let mut words = text.split_whitespace();
    let at_ns = ms(words.next().expect("a time"));
    let primary = words.next() == Some("P");
    let mut position = Position {
        node: NODES[usize::from(!primary)].into(),
        at_ns,
        sample_ns: 100_000,
        role: if primary { Role::Primary } else { Role::Replica },
        lsn: None,
        replay_lsn: None,
        replay_timestamp_ns: None,
        gtid: None,
    };
    for word in words {
        let (name, value) = word.split_once('=').expect("name=value");
        match name {
            "lsn" => position.lsn = value.parse().ok(),
            "replay" => position.replay_lsn = value.parse().ok(),
            "time" => position.replay_timestamp_ns = Some(ms(value)),
            "role" => position.role = Role::from_word(value).expect("a role"),
            _ => panic!("unknown word {word}"),
        }
    }
    position
}

/// The same lines as a run of MariaDB: commands, shapes and statuses as its protocol has them. `with=` makes a binary
/// execute, `kind=` other commands.
pub fn mysql(text: &str) -> Scenario {
    let mut run = scenario(text);
    run.engine = Engine::Mysql;
    let [primary, standby] = &mut run.nodes;
    for row in run.clients.iter_mut().chain(primary).chain(standby) {
        row.messages = match row.kind {
            Kind::Query => "03".into(),
            Kind::Execute => "17".into(),
            Kind::Ping => "0e".into(),
            Kind::Reset => "1f".into(),
            _ => continue,
        };
        row.transaction = row.transaction.filter(|_| row.error_code.is_none()).map(|status| match status {
            TransactionStatus::Failed => TransactionStatus::Open,
            status => status,
        });
        row.shape_id = row.sql.as_deref().map(|sql| Dialect::of(Engine::Mysql).shape_id(sql));
    }
    run
}

impl Scenario {
    /// The same run, seen by the nodes' general logs: when each statement came, with its parameters in the text (which here are
    /// decimals), and nothing of its answer.
    pub fn by_logs(mut self) -> Self {
        self.logged = true;
        for row in self.nodes.iter_mut().flatten() {
            let sql = row.sql.as_deref().map(|sql| {
                row.params.iter().fold(sql.to_string(), |sql, param| {
                    let value = param.value.as_deref().map_or("NULL".into(), String::from_utf8_lossy);
                    sql.replacen('?', &value, 1)
                })
            });
            let sql = sql.map(|sql| sql.trim_end_matches(';').to_string());
            *row = Request {
                messages: row.messages.clone(),
                shape_id: sql.as_deref().map(|sql| Dialect::of(self.engine).shape_id(sql)),
                sql: sql.map(Into::into),
                ..Request::new(row.session, row.seq, row.start_ns, row.kind)
            };
        }
        self
    }

    /// Writes the run as a directory. The defaults of `orders.id` and `audit.id` are sequences; `audit_login()` writes
    /// `audit`, and what `dynamic()` does is not known.
    pub fn write(&self, dir: &Path) {
        let mut writer = Writer::create(dir, Options::new(self.engine, "replay")).unwrap();
        for row in &self.clients {
            writer.request(row.clone());
        }
        for (name, rows) in NODES.iter().zip(&self.nodes) {
            let mut node = writer.node(name).unwrap();
            for row in rows {
                node.request(row.clone());
            }
            node.finish(&Losses::default()).unwrap();
        }
        let mut positions = writer.positions().unwrap();
        for position in &self.positions {
            positions.push(position).unwrap();
        }
        positions.finish().unwrap();
        let nodes = [("primary", "primary"), ("standby", "replica")];
        let evidence = if self.logged { "log" } else { "tap" };
        let mut nodes: Vec<_> = nodes
            .iter()
            .map(|(name, role)| serde_json::json!({ "name": name, "role": role, "evidence": evidence }))
            .collect();
        let recording = self.recording.as_deref();
        let mut summary = self.summary.clone();
        if let Some(outage) = summary.remove("outage") {
            nodes[1]["outage"] = outage;
        }
        let own = serde_json::json!({ "nodes": nodes, "trace": "window", "recording": recording });
        summary.extend(own.as_object().unwrap().clone());
        writer.run(&summary).unwrap();
        catalog().write(&writer).unwrap();
        writer.finish(&Losses::default()).unwrap();
    }

    /// Writes only what the clients saw, as a recording.
    pub fn write_recording(&self, dir: &Path) {
        let mut writer = Writer::create(dir, Options::new(self.engine, "packets")).unwrap();
        for row in &self.clients {
            writer.request(Request { recorded_session: None, recorded_seq: None, ..row.clone() });
        }
        writer.finish(&Losses::default()).unwrap();
    }
}

/// A comparison of two directories, and nothing else asked for.
pub fn options(baseline: PathBuf, candidate: PathBuf) -> compare::Options {
    compare::Options {
        baseline,
        candidate,
        memory: 256 << 20,
        fixture: None,
        client_tag: None,
        noise: Default::default(),
        requests: None,
    }
}

/// Writes two runs and compares them.
pub fn compared(baseline: &Scenario, candidate: &Scenario) -> Result<Comparison, compare::Error> {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path().join("baseline"), dir.path().join("candidate"));
    baseline.write(&options.baseline);
    candidate.write(&options.candidate);
    compare::compare(&options)
}

fn catalog() -> Catalog {
    let varying = |table: &str| VaryingDefault {
        schema: "public".into(),
        table: table.into(),
        column: "id".into(),
        expression: format!("nextval('{table}_id_seq'::regclass)"),
    };
    let function = |name: &str, statements: &str| Function {
        schema: "public".into(),
        name: name.into(),
        args: String::new(),
        volatility: Volatility::Volatile,
        kind: FunctionKind::Function,
        returns_set: false,
        language: "plpgsql".into(),
        definition: Some(format!("BEGIN {statements} END")),
    };
    Catalog {
        functions: vec![
            function("audit_login", "INSERT INTO audit (user_id) VALUES (login); RETURN login;"),
            function("dynamic", "EXECUTE text;"),
        ],
        varying_defaults: vec![varying("orders"), varying("audit")],
        ..Catalog::default()
    }
}
