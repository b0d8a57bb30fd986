//! Replays into real servers: what is repeated, what is seen at the nodes, and what is refused.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use futures::{SinkExt, StreamExt};
use splitproof_capture::tap::{Options as TapOptions, Relay};
use splitproof_capture::trace::{
    Engine, Existing, Kind, Losses, Options, Outcome, Reader, Request, Role, Sink, Writer,
};
use splitproof_replay::clock::Speed;
use splitproof_replay::control::ControlError;
use splitproof_replay::pair::{Pair, Passfile, Passwords};
use splitproof_replay::run::{Only, Order, ReplayError, replay};
use splitproof_replay::session::{NotSent, Stop};
use splitproof_replay::summary::{Summary, Verdict};
use splitproof_samples::Sandbox;
use splitproof_samples::sandbox::state::Backends;
use splitproof_samples::shop::Workload;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// One user for each way of authentication.
const USERS: [(&str, &str); 4] = [("postgres", "trust"), ("ann", "scram-sha-256"), ("bob", "md5"), ("eve", "password")];

#[test]
fn what_was_recorded_is_repeated_exactly() {
    let home = crate::home();
    let mut sandbox = Sandbox::create(home.path().join("pair")).unwrap();
    sandbox.up().unwrap();
    let primary = sandbox.primary();
    for (user, method) in USERS.iter().skip(1) {
        let encryption = if *method == "md5" { "md5" } else { "scram-sha-256" };
        let sql = format!("SET password_encryption = '{encryption}'; CREATE ROLE {user} LOGIN PASSWORD 'of {user}'");
        primary.sql("shop", &sql).unwrap();
    }
    let rules: String = USERS.map(|(user, method)| format!("host all {user} 127.0.0.1/32 {method}\n")).concat();
    let hba = primary.data().join("pg_hba.conf");
    let others = std::fs::read_to_string(&hba).unwrap();
    std::fs::write(&hba, rules + &others).unwrap();
    primary.sql("shop", "SELECT pg_reload_conf()").unwrap();

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let trace = home.path().join("trace");
    runtime.block_on(record(&sandbox, &trace, |port| async move {
        join_all(USERS.map(|(user, _)| client(port, user))).await;
        cancelled(port).await;
    }));
    let mut order = direct(&sandbox, &trace, &home.path().join("run"));
    order.passwords.passfile = Passfile::parse("*:*:*:ann:of ann\n*:*:*:bob:of bob\n*:*:*:eve:of eve\n");
    let summary = runtime.block_on(run(&order)).unwrap();
    assert_eq!(summary.not_sent, BTreeMap::new(), "{summary}");
    assert_eq!((summary.recorded, summary.sessions, summary.refused.len()), (summary.sent, 6, 0), "{summary}");

    let recorded = repeated(&order, &[], timeless);
    use Kind::*;
    assert_kinds(&recorded, &[Query, Prepare, Execute, Fetch, Close, Copy, Cancel]);
    assert!(recorded.iter().any(|row| row.outcome == Outcome::Cancelled));

    // The same at full speed, and only its reads.
    order.existing = Existing::Replace;
    order.speed = Speed::Max;
    order.only = Only::Reads;
    let summary = runtime.block_on(run(&order)).unwrap();
    assert!(
        summary.not_sent.keys().all(|reason| matches!(reason, NotSent::NotARead | NotSent::CancelTarget)),
        "{summary}"
    );
    assert!(summary.not_sent.get(&NotSent::NotARead).is_some_and(|&count| count > 0), "{summary}");
    assert!(rows(&order.run).iter().all(|row| row.affected.is_none_or(|affected| affected == 0)));
}

/// The same statements for everybody, on tables of their own.
async fn client(port: u16, user: &'static str) {
    let config = format!("host=127.0.0.1 port={port} user={user} password='of {user}' dbname=shop");
    let (mut client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client
        .batch_execute("CREATE TEMP TABLE t (id int PRIMARY KEY, note text); SET extra_float_digits = 2")
        .await
        .unwrap();
    let insert = client.prepare("INSERT INTO t VALUES ($1, $2)").await.unwrap();
    for id in 0..10 {
        client.execute(&insert, &[&id, &Some("note").filter(|_| id % 2 == 0)]).await.unwrap();
    }
    // The key is taken: an error of a statement alone.
    client.execute(&insert, &[&1, &None::<&str>]).await.unwrap_err();
    let rows = client.simple_query("SELECT * FROM t ORDER BY id; UPDATE t SET note = 'x' WHERE id < 3").await.unwrap();
    assert!(rows.iter().any(|message| matches!(message, SimpleQueryMessage::CommandComplete(3))));
    client.simple_query("SELECT no_such_column").await.unwrap_err();

    let copy = client.copy_in("COPY t FROM STDIN").await.unwrap();
    let mut copy = pin!(copy);
    copy.send(b"100\thundred\n101\t\\N\n".as_slice()).await.unwrap();
    assert_eq!(copy.finish().await.unwrap(), 2);
    let copy = client.copy_out("COPY (SELECT * FROM t ORDER BY id) TO STDOUT").await.unwrap();
    assert_eq!(copy.count().await, 12);

    let transaction = client.transaction().await.unwrap();
    let portal = transaction.bind("SELECT id FROM t ORDER BY id", &[]).await.unwrap();
    assert_eq!(transaction.query_portal(&portal, 5).await.unwrap().len(), 5);
    assert_eq!(transaction.query_portal(&portal, 0).await.unwrap().len(), 7);
    drop(portal);
    transaction.rollback().await.unwrap();
    drop(insert);
    client.simple_query("SELECT 'the last word'").await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
}

/// A statement that is cancelled from another connection.
async fn cancelled(port: u16) {
    let config = format!("host=127.0.0.1 port={port} user=postgres dbname=shop");
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let token = client.cancel_token();
    let sleep = client.simple_query("SELECT pg_sleep(60)");
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        token.cancel_query(NoTls).await.unwrap();
    };
    let (slept, ()) = tokio::join!(sleep, cancel);
    assert_eq!(slept.unwrap_err().code().unwrap().code(), "57014");
    drop(client);
    connection.await.unwrap().unwrap();
}

#[test]
fn a_router_is_watched_from_behind() {
    let home = crate::home();
    let mut sandbox = Sandbox::create(home.path().join("pair")).unwrap();
    sandbox.up().unwrap();
    sandbox.load_shop().unwrap();
    sandbox.snapshot().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let trace = home.path().join("trace");
    runtime.block_on(record(&sandbox, &trace, |port| async move {
        let workload = Workload {
            clients: 3,
            requests: 300,
            pace: Duration::from_millis(3),
            ..Workload::on(Engine::Postgresql, port)
        };
        workload.run().await.unwrap();
    }));
    sandbox.restore().unwrap();
    sandbox.router_with("today", Backends::Taps, &[]).unwrap();
    let mut order = direct(&sandbox, &trace, &home.path().join("run"));
    order.pair = Pair::parse(Path::new("pair.toml"), &sandbox.pair_toml()).unwrap();
    let summary = runtime.block_on(run(&order)).unwrap();
    assert_eq!((summary.sent, summary.not_sent_total(), summary.lost_sessions), (summary.recorded, 0, 0), "{summary}");

    let reader = Reader::open(&order.run).unwrap();
    let texts =
        |name: &str| -> HashSet<Arc<str>> { reader.node(name).unwrap().filter_map(|row| row.unwrap().sql).collect() };
    let (primary, standby) = (texts("primary"), texts("standby"));
    let asked = rows(&order.run);
    for sql in asked.iter().filter(|row| row.outcome == Outcome::Ok).filter_map(|row| row.sql.as_ref()) {
        assert!(primary.contains(sql) || standby.contains(sql), "seen at no node: {sql}");
    }
    assert!(asked.iter().filter_map(|row| row.sql.as_ref()).any(|sql| !primary.contains(sql)), "nothing was balanced");
    let roles: BTreeMap<String, Role> = reader
        .positions()
        .unwrap()
        .map(|sample| sample.unwrap())
        .map(|sample| (sample.node.to_string(), sample.role))
        .collect();
    assert_eq!(roles, BTreeMap::from([("primary".to_owned(), Role::Primary), ("standby".to_owned(), Role::Replica)]));

    refusals(&runtime, &mut sandbox, order);
}

/// What a replay does not begin with, and a replay that is stopped.
fn refusals(runtime: &tokio::runtime::Runtime, sandbox: &mut Sandbox, mut order: Order) {
    let fails = |order: &Order| runtime.block_on(run(order)).unwrap_err();
    order.run = order.run.with_file_name("refused");
    let text = sandbox.pair_toml();
    let swapped = text.replace("\"primary\"\nurl", "\"x\"\nurl").replace("\"replica\"\nurl", "\"primary\"\nurl");
    order.pair = Pair::parse(Path::new("pair.toml"), &swapped.replace("\"x\"\nurl", "\"replica\"\nurl")).unwrap();
    assert!(matches!(fails(&order), ReplayError::Control(ControlError::Role { .. })));

    let down = text.replace(&format!(":{}/", sandbox.ports().replica), ":1/");
    order.pair = Pair::parse(Path::new("pair.toml"), &down).unwrap();
    let error = fails(&order);
    assert!(
        error.to_string().contains("node \"standby\" at postgresql://postgres@127.0.0.1:1/shop: cannot connect"),
        "{error}"
    );

    order.pair = Pair::parse(Path::new("pair.toml"), &text).unwrap();
    order.allow_recorded_server = false;
    assert!(matches!(fails(&order), ReplayError::Control(ControlError::RecordedServer { .. })));
    assert!(!order.run.exists(), "a replay that cannot begin leaves nothing behind");

    order = direct(sandbox, &order.trace, &order.run);
    order.speed = Speed::Factor(0.02);
    let (sender, stop) = Stop::new();
    let summary = runtime.block_on(async {
        let progress = Arc::default();
        let (summary, ()) = tokio::join!(replay(&order, &progress, stop), async {
            tokio::time::sleep(Duration::from_millis(2000)).await;
            sender.send(true).unwrap();
        });
        summary.unwrap()
    });
    assert_eq!((summary.stopped, summary.verdict()), (true, Verdict::Incomplete));
    // Nothing was refused or lost, so what was not sent was stopped: all requests are one or the other.
    assert_eq!(summary.not_sent.keys().collect::<Vec<_>>(), [&NotSent::Stopped], "{summary}");
    assert_eq!(summary.sent + summary.not_sent_total(), summary.recorded, "{summary}");
    assert!(!Reader::open(&order.run).unwrap().manifest().complete);
    assert_eq!(rows(&order.run).iter().filter(|row| row.recorded_seq.is_some()).count() as u64, summary.sent);

    // A user whom nobody knows.
    sandbox.primary().sql("shop", "ALTER ROLE shop NOLOGIN; ALTER ROLE report NOLOGIN").unwrap();
    order.speed = Speed::Max;
    order.existing = Existing::Replace;
    let summary = runtime.block_on(run(&order)).unwrap();
    assert_eq!(summary.verdict(), Verdict::Refused, "{summary}");
    assert!(summary.to_string().contains("is not permitted to log in"), "{summary}");
}

/// Records what happens through a tap in front of the primary.
pub async fn record<F: Future<Output = ()>>(sandbox: &Sandbox, trace: &Path, traffic: impl FnOnce(u16) -> F) {
    record_at(sandbox.engine(), sandbox.ports().primary, trace, traffic).await;
}

/// The same in front of whatever listens at a port.
pub async fn record_at<F: Future<Output = ()>>(
    engine: Engine,
    port: u16,
    trace: &Path,
    traffic: impl FnOnce(u16) -> F,
) {
    let server = format!("127.0.0.1:{port}");
    let options = TapOptions::new(engine, "127.0.0.1:0".parse().unwrap(), server.clone());
    let relay = Relay::start(options, Vec::new()).await.unwrap();
    traffic(relay.listen().port()).await;
    // A client that has gone may still be leaving.
    while relay.counters().open > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let stopped = relay.stop().await.unwrap();
    let mut writer = Writer::create(trace, Options::new(engine, "tap")).unwrap();
    // The tap's own address is no server: the recording is of the server behind it.
    for mut row in stopped.sink {
        row.server = Some(server.as_str().into());
        writer.request(row);
    }
    assert_eq!(stopped.losses, Losses::default());
    writer.finish(&stopped.losses).unwrap();
}

/// A replay straight into the primary, with both nodes sampled.
pub fn direct(sandbox: &Sandbox, trace: &Path, run: &Path) -> Order {
    let port = |port: u16| format!("//127.0.0.1:{port}/");
    let text = sandbox.pair_toml().replace(&port(sandbox.ports().router), &port(sandbox.ports().primary));
    let text = text.lines().filter(|line| !line.starts_with("tap =")).collect::<Vec<_>>().join("\n");
    let text = text.replace("evidence = \"tap\"", "evidence = \"none\"");
    Order {
        trace: trace.to_owned(),
        pair: Pair::parse(Path::new("pair.toml"), &text).unwrap(),
        passwords: Passwords::default(),
        run: run.to_owned(),
        existing: Existing::Refuse,
        speed: Speed::ORIGINAL,
        only: Only::All,
        allow_recorded_server: true,
        sample_every: Duration::from_millis(10),
        give_up_after: Duration::from_secs(60),
    }
}

pub async fn run(order: &Order) -> Result<Summary, ReplayError> {
    let (_sender, stop) = Stop::new();
    replay(order, &Arc::default(), stop).await
}

fn rows(trace: &Path) -> Vec<Request> {
    Reader::open(trace).unwrap().requests().map(|row| row.unwrap()).collect()
}

/// Every recorded request came again, with an answer unless it is of a kind that gets none, and with the same one as far as
/// `comparable` leaves it. Gives the recording.
pub fn repeated(order: &Order, unanswered: &[Kind], comparable: impl Fn(Request) -> Request) -> Vec<Request> {
    let recorded = rows(&order.trace);
    let (mut wanted, mut found) = (recorded.clone(), rows(&order.run));
    wanted.sort_by_key(|row| (row.session, row.seq));
    found.sort_by_key(|row| (row.recorded_session, row.recorded_seq));
    assert_eq!(wanted.len(), found.len());
    for (wanted, found) in wanted.into_iter().zip(found) {
        assert!(found.duration_ns.is_some() || unanswered.contains(&found.kind), "{found:?}");
        assert_eq!(comparable(wanted), comparable(found));
    }
    recorded
}

/// The recording is of no use without these.
pub fn assert_kinds(recorded: &[Request], kinds: &[Kind]) {
    for kind in kinds {
        assert!(recorded.iter().any(|row| row.kind == *kind), "the recording lacks {kind}");
    }
}

/// What two rows have in common when one repeats the other.
pub fn timeless(row: Request) -> Request {
    Request {
        session: 0,
        seq: 0,
        recorded_session: None,
        recorded_seq: None,
        start_ns: 0,
        due_ns: None,
        late_cause: None,
        first_row_ns: None,
        duration_ns: None,
        client: None,
        server: None,
        // A cancel request names a session by the number that it has in its own trace, and only the recording's is known.
        params: if row.kind == Kind::Cancel { Vec::new() } else { row.params },
        ..row
    }
}
