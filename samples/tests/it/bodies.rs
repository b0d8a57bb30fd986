//! A call of `audit_login()`, whose body the catalogue shows: it writes `audit`, and nothing else.
//!
//! The window is a call and a read of `audit` and of `users` behind it. It is replayed into the pair as it was, into one where
//! somebody has changed `users`, and into one whose replica stands still.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mysql_async::prelude::Queryable;
use splitproof_capture::trace::Engine;
use splitproof_replay::catalog::Catalog;
use splitproof_replay::control::Control;
use splitproof_replay::pair::{Pair, Passwords};
use splitproof_samples::Sandbox;
use splitproof_samples::sandbox::Plan;

use crate::stage::stage;
use crate::tools;
use crate::verdict::{ShapeAnswers, Verdict};

const CALL: &str = "SELECT audit_login(7)";
const AUDIT: &str = "SELECT count(*) FROM audit WHERE user_id = 7";
const USERS: &str = "SELECT name FROM users WHERE id = 7";
/// What somebody does behind the router's back.
const CHANGE: &str = "UPDATE users SET name = 'somebody' WHERE id = 7";
/// So long after the call come the reads: by then a replica that does not stand still has what the call wrote.
const PAUSE: Duration = Duration::from_millis(500);

/// The three replays of the window.
struct Runs {
    before: PathBuf,
    changed: PathBuf,
    paused: PathBuf,
    place: PathBuf,
}

/// What is done to a pair.
type Change = fn(&Sandbox);

impl Runs {
    fn new(home: &Path) -> Self {
        let path = |name: &str| home.join(format!("bodies-{name}"));
        Runs { before: path("before"), changed: path("changed"), paused: path("paused"), place: path("verdict") }
    }

    /// Each run with what is done to the pair before it.
    fn each(&self) -> [(&Path, Change); 3] {
        [
            (&self.before, |_| ()),
            (&self.changed, |sandbox| {
                sandbox.primary().sql("shop", CHANGE).unwrap();
                sandbox.wait_caught_up().unwrap();
            }),
            (&self.paused, |sandbox| sandbox.pause_replay().unwrap()),
        ]
    }

    fn check(&self, replica: &str) {
        let answers = |verdict: &Verdict, sql: &str| {
            let table = if sql == AUDIT { "from audit" } else { "from users" };
            let mut shapes = verdict.report.comparison.answers.shapes.iter();
            shapes.find(|shape| shape.shape.text.to_lowercase().contains(table)).map(worst)
        };
        // The call is known to have written another table, so that nothing excuses the difference.
        let verdict = Verdict::of(&self.before, &self.changed, &self.place);
        assert_eq!(answers(&verdict, USERS).as_deref(), Some("mismatch"), "{:#?}", verdict.report.comparison.answers);
        assert_eq!(answers(&verdict, AUDIT), None, "{:#?}", verdict.report.comparison.answers);
        for metric in ["unverified_answers", "reordered_answers"] {
            assert_eq!(verdict.metric(metric), 0.0, "{metric}");
        }

        let verdict = Verdict::of(&self.before, &self.paused, &self.place);
        let read = |sql: &str| {
            let mut found = verdict.requests.iter().filter(|request| request.sql.as_deref() == Some(sql));
            found.next().unwrap_or_else(|| panic!("{sql} in {:#?}", verdict.requests))
        };
        assert_eq!((read(CALL).nodes.as_slice(), read(CALL).staleness.as_deref()), (&["primary".to_owned()][..], None));
        for (sql, staleness) in [(AUDIT, "stale"), (USERS, "current")] {
            assert_eq!(read(sql).nodes, [replica], "{sql}");
            assert_eq!(read(sql).staleness.as_deref(), Some(staleness), "{sql}");
        }
        assert_eq!(answers(&verdict, AUDIT).as_deref(), Some("stale"), "{:#?}", verdict.report.comparison.answers);
        assert_eq!(answers(&verdict, USERS), None, "{:#?}", verdict.report.comparison.answers);
    }
}

/// How the answers of a shape compare that has one request.
fn worst(shape: &ShapeAnswers) -> String {
    let classes: Vec<_> = shape.counts.iter().filter(|(class, count)| **count > 0 && *class != "equal").collect();
    assert_eq!(classes.len(), 1, "{shape:?}");
    classes[0].0.clone()
}

fn replayed(replay: tools::Running) {
    let ended = replay.end();
    // On a busy machine the replay may be late (exit code 1); it has to be whole all the same.
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
}

#[test]
fn a_call_of_a_function_touches_the_tables_of_its_body_on_postgresql() {
    let mut stage = stage();
    let wait = format!("SELECT pg_sleep({})", PAUSE.as_secs_f32());
    let window = stage.trace("bodies-window", "shop", &[CALL, &wait, AUDIT, USERS]);
    let runs = Runs::new(&stage.path(""));
    for (run, prepare) in runs.each() {
        stage.fresh("today");
        prepare(&stage.sandbox);
        replayed(stage.replay(&window, run, &[]));
    }
    stage.sandbox.resume_replay().unwrap();
    runs.check("standby");
}

#[test]
fn the_catalogue_of_postgresql_keeps_bodies_and_triggers() {
    let mut stage = stage();
    stage.fresh("today");
    stage
        .sandbox
        .primary()
        .sql(
            "shop",
            "CREATE FUNCTION atomic(i int) RETURNS int BEGIN ATOMIC INSERT INTO imports (id) VALUES (i); SELECT i; END;
             CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.note := ''x''; RETURN NEW; END';
             CREATE TRIGGER stamps BEFORE INSERT OR UPDATE ON imports FOR EACH ROW EXECUTE FUNCTION stamp();
             CREATE TRIGGER off AFTER DELETE ON imports EXECUTE FUNCTION stamp();
             ALTER TABLE imports DISABLE TRIGGER off",
        )
        .unwrap();
    let pair = Pair::parse(Path::new("pair.toml"), &stage.sandbox.pair_toml()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let catalog = runtime.block_on(async {
        let control = Control::open(&pair.nodes[0], &Passwords::default()).await.unwrap();
        Catalog::snapshot(&control).await.unwrap()
    });
    let function = |name: &str| catalog.functions.iter().find(|function| function.name == name).unwrap();
    let body = |name: &str| function(name).definition.as_deref().unwrap();
    assert!(body("audit_login").contains("INSERT INTO audit (user_id, what) VALUES (login, 'login');"));
    assert!(body("order_total").contains("FROM order_lines l JOIN stock s USING (sku)"));
    // As the server writes it, which keeps no text of it.
    assert!(body("atomic").starts_with("BEGIN ATOMIC") && body("atomic").contains("INSERT INTO imports"));
    assert_eq!((&function("lower").definition, function("lower").language.as_str()), (&None, "internal"));
    let triggers = catalog.triggers.iter();
    let triggers: Vec<_> = triggers.map(|found| (&*found.table, &*found.name, &*found.function)).collect();
    assert_eq!(triggers, [("imports", "stamps", "stamp")]);
    assert_eq!(catalog.triggers[0].events, ["INSERT", "UPDATE"]);
}

#[test]
fn a_call_of_a_function_touches_the_tables_of_its_body_on_mariadb() {
    let home = crate::home();
    let home = home.path();
    let mut sandbox = Sandbox::create_with(home.join("pair"), Plan::new(Engine::Mysql).unwrap()).unwrap();
    sandbox.up().unwrap();
    sandbox.load_shop().unwrap();
    sandbox.snapshot().unwrap();
    let pair = sandbox.write_pair_toml(Some(&home.join("pair.toml"))).unwrap();
    // Every read goes to the replica, whatever it knows.
    let router = home.join("router.yaml");
    let rules = "mode: parsed\ncausal_reads: false\nvolatile_functions: [audit_login]\nweights: { primary: 0, replicas: [1] }\n";
    std::fs::write(&router, rules).unwrap();

    let window = home.join("window");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(crate::replay::record(&sandbox, &window, |port| async move {
        let url = format!("mysql://shop@127.0.0.1:{port}/shop?prefer_socket=false");
        let mut connection = mysql_async::Conn::from_url(url).await.unwrap();
        connection.query_drop(CALL).await.unwrap();
        tokio::time::sleep(PAUSE).await;
        connection.query_drop(AUDIT).await.unwrap();
        connection.query_drop(USERS).await.unwrap();
        connection.disconnect().await.unwrap();
    }));
    let runs = Runs::new(home);
    for (run, prepare) in runs.each() {
        sandbox.restore().unwrap();
        sandbox.router(router.to_str().unwrap()).unwrap();
        prepare(&sandbox);
        let arguments = [window.as_os_str(), "--pair".as_ref(), pair.as_os_str(), "-o".as_ref(), run.as_os_str()];
        replayed(tools::Running::start("replay", arguments.into_iter().chain(["--allow-recorded-server".as_ref()])));
    }
    runs.check("replica");
}
