//! What a real MariaDB pair says over its control connections.

use std::path::Path;
use std::time::Duration;

use splitproof_capture::clock::Clock as Stamps;
use splitproof_capture::trace::{Engine, Position, Role};
use splitproof_replay::catalog::{Catalog, Volatility};
use splitproof_replay::clock::WallClock;
use splitproof_replay::control::{self, ClockOffset, Control, ControlError, Lineage};
use splitproof_replay::pair::{Pair, Passwords};
use splitproof_replay::position::{Sampled, Sampler};
use splitproof_samples::Sandbox;
use splitproof_samples::sandbox::Plan;
use tokio::sync::{mpsc, oneshot};

/// A running pair, and its description.
fn start(home: &Path) -> (Sandbox, Pair) {
    let mut sandbox = Sandbox::create_with(home.join("pair"), Plan::new(Engine::Mysql).unwrap()).unwrap();
    sandbox.up().unwrap();
    let pair = Pair::parse(Path::new("pair.toml"), &sandbox.pair_toml()).unwrap();
    (sandbox, pair)
}

/// The sandbox's users have none.
fn passwords() -> Passwords {
    Passwords::default()
}

fn primary(sandbox: &Sandbox, sql: &str) -> String {
    sandbox.primary().sql("shop", sql).unwrap()
}

/// One pair for all, since making one takes seconds.
#[tokio::test]
async fn a_pair_is_asked() {
    let home = crate::home();
    let (sandbox, pair) = start(home.path());
    refusals_say_what_to_do_and_never_the_password(&sandbox).await;
    the_catalogue_holds_what_decides_where_a_statement_belongs(&sandbox, &pair).await;
    a_pair_is_told_from_what_is_none(&sandbox, &pair).await;
}

async fn a_pair_is_told_from_what_is_none(sandbox: &Sandbox, pair: &Pair) {
    let nodes = control::connect(pair, &passwords()).await.unwrap();
    let lineages: Vec<_> = nodes.iter().map(|(_, identity)| (identity.role, identity.lineage.clone())).collect();
    let replication = |server: &str, sources: &[&str], read_only| Lineage::Replication {
        server: server.to_owned(),
        sources: sources.iter().map(|source| (*source).to_owned()).collect(),
        read_only,
    };
    assert_eq!(lineages[0], (Role::Primary, replication("server_id 1", &[], false)));
    assert_eq!(lineages[1], (Role::Replica, replication("server_id 2", &["server_id 1"], true)));
    assert!(nodes[0].1.version.contains("MariaDB"), "{}", nodes[0].1.version);

    let clock = WallClock::start(Stamps::start()).unwrap();
    let offset = ClockOffset::measure(&nodes[0].0, &clock).await.unwrap();
    // The server is on this machine.
    assert!(offset.offset_ns.abs() < 50_000_000, "{offset:?}");

    let mut swapped = pair.clone();
    (swapped.nodes[0].role, swapped.nodes[1].role) = (Role::Replica, Role::Primary);
    let error = control::connect(&swapped, &passwords()).await.unwrap_err();
    assert!(matches!(error, ControlError::Role { .. }), "{error}");
    primary(sandbox, "SET GLOBAL read_only = 1");
    let error = control::connect(pair, &passwords()).await.unwrap_err().to_string();
    assert!(error.contains("read_only is on"), "{error}");
}

async fn refusals_say_what_to_do_and_never_the_password(sandbox: &Sandbox) {
    let text = format!(
        "engine = \"mysql\"\n[router]\nurl = \"mysql://127.0.0.1:1\"\n[[node]]\nname = \"a\"\nrole = \"primary\"\n\
         evidence = \"none\"\nurl = \"mysql://nobody:wrongword@127.0.0.1:{}\"\n\
         [[node]]\nname = \"b\"\nrole = \"replica\"\nevidence = \"none\"\nurl = \"mysql://nobody:wrongword@127.0.0.1:{}\"\n",
        sandbox.ports().primary,
        sandbox.ports().replica
    );
    let pair = Pair::parse("pair.toml".as_ref(), &text).unwrap();
    let error = control::connect(&pair, &passwords()).await.unwrap_err().to_string();
    assert!(error.contains("Access denied") && error.contains("MYSQL_PWD"), "{error}");
    assert!(!error.contains("wrongword"), "{error}");
}

async fn the_catalogue_holds_what_decides_where_a_statement_belongs(sandbox: &Sandbox, pair: &Pair) {
    primary(
        sandbox,
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(20) DEFAULT 'now()', \
         at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, u CHAR(36) DEFAULT UUID()); CREATE TABLE m (a INT) ENGINE = MEMORY; \
         CREATE SEQUENCE ids; CREATE VIEW v AS SELECT a FROM t; \
         CREATE FUNCTION reads_it() RETURNS INT READS SQL DATA RETURN (SELECT max(id) FROM t); \
         CREATE PROCEDURE says_nothing() INSERT INTO t(a) VALUES ('it\\'s'); \
         CREATE TRIGGER upper_a BEFORE INSERT ON t FOR EACH ROW SET NEW.a = upper(NEW.a)",
    );
    let control = Control::open(&pair.nodes[0], &passwords()).await.unwrap();
    let catalog = Catalog::snapshot(&control).await.unwrap();
    assert_eq!(catalog.database, "shop");
    assert_eq!(catalog.volatility(Some("shop"), "reads_it"), Some(Volatility::Stable));
    assert_eq!(catalog.volatility(Some("shop"), "says_nothing"), Some(Volatility::Volatile));
    let defaults: Vec<_> = catalog.varying_defaults.iter().map(|default| default.column.as_str()).collect();
    assert_eq!(defaults, ["id", "at", "u"]);
    let relations: Vec<_> = catalog.relations.iter().map(|relation| (relation.kind, relation.name.as_str())).collect();
    assert_eq!(relations, [('S', "ids"), ('v', "v")]);
    let mysql = catalog.mysql.as_ref().unwrap();
    assert_eq!(mysql.settings["server_id"], "1");
    let table = |name: &str| mysql.tables.iter().find(|table| table.name == name).unwrap();
    assert_eq!(table("m").engine.as_deref(), Some("MEMORY"));
    assert!(table("v").definition.as_deref().unwrap().contains("select"));
    let routine = mysql.routines.iter().find(|routine| routine.name == "says_nothing").unwrap();
    assert_eq!((routine.data_access.as_str(), routine.deterministic), ("CONTAINS SQL", false));
    // As it was written, escapes and all.
    assert!(routine.create.as_deref().unwrap().ends_with(r"INSERT INTO t(a) VALUES ('it\'s')"), "{routine:?}");
    let trigger = &mysql.triggers[0];
    assert_eq!((trigger.table.as_str(), trigger.event.as_str()), ("t", "INSERT"));
    assert!(trigger.create.as_deref().unwrap().ends_with("FOR EACH ROW SET NEW.a = upper(NEW.a)"), "{trigger:?}");
    assert!(mysql.routines.iter().any(|routine| routine.schema == "sys" && routine.create.is_none()));
}

struct To(mpsc::UnboundedSender<Position>);

impl Sampled for To {
    async fn position(&mut self, position: Position) {
        self.0.send(position).ok();
    }
}

#[tokio::test]
async fn positions_follow_the_transactions_and_a_promotion() {
    let home = crate::home();
    let (sandbox, pair) = start(home.path());
    let clock = WallClock::start(Stamps::start()).unwrap();
    let (out, mut samples) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let mut running = Vec::new();
    let mut stops = vec![stop];
    let mut stopped = Some(stopped);
    for at in 0..2 {
        let control = Control::open(&pair.nodes[at], &passwords()).await.unwrap();
        let sampler = Sampler::over(control, &passwords(), clock.clone(), Duration::from_millis(5)).await.unwrap();
        let stopped = stopped.take().unwrap_or_else(|| {
            let (stop, stopped) = oneshot::channel();
            stops.push(stop);
            stopped
        });
        running.push(tokio::spawn(sampler.run(async move { stopped.await.unwrap_or(()) }, To(out.clone()))));
    }
    drop(out);
    // What follows blocks this thread, on which the samplers run too: first let each take a position from before.
    let mut all = Vec::new();
    while !["primary", "replica"].iter().all(|&node| all.iter().any(|sample: &Position| &*sample.node == node)) {
        all.push(samples.recv().await.unwrap());
    }
    primary(&sandbox, "CREATE TABLE t (a INT)");
    for n in 0..5 {
        primary(&sandbox, &format!("INSERT INTO shop.t VALUES ({n})"));
    }
    sandbox.wait_caught_up().unwrap();
    let last = primary(&sandbox, "SELECT @@gtid_binlog_pos");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let promote = "STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0";
    sandbox.replica().sql("shop", promote).unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    for stop in stops {
        stop.send(()).ok();
    }
    for task in running {
        let (cost, outage) = task.await.unwrap();
        assert_eq!((cost.failed, outage), (0, None));
    }
    while let Some(sample) = samples.recv().await {
        all.push(sample);
    }
    let of = |node: &'static str, role| all.iter().filter(move |sample| &*sample.node == node && sample.role == role);
    let number: u64 = last.rsplit('-').next().unwrap().parse().unwrap();
    let primary = of("primary", Role::Primary).next_back().unwrap();
    assert_eq!((primary.gtid.as_deref(), primary.lsn, primary.replay_lsn), (Some(last.as_str()), Some(number), None));
    let replica = of("replica", Role::Replica).next_back().unwrap();
    assert_eq!((replica.gtid.as_deref(), replica.lsn, replica.replay_lsn), (Some(last.as_str()), None, Some(number)));
    let numbers: Vec<_> = of("primary", Role::Primary).map(|sample| sample.lsn.unwrap()).collect();
    assert!(numbers.is_sorted() && numbers[0] < number, "{numbers:?}");
    assert!(of("replica", Role::Primary).next().is_some(), "the promotion is seen");
}
