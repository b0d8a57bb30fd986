//! The models against tables of cases, each with its source.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use splitproof_analyze::simulate::{Model, Nodes, Options, Router, Sent, load};
use splitproof_capture::sql::Dialect;
use splitproof_capture::trace::{Engine, Kind, Outcome, Request, Role, TransactionStatus};
use splitproof_replay::catalog::{Catalog, Function, FunctionKind, Volatility};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    version: u32,
    router: String,
    sources: BTreeMap<String, String>,
    rulesets: BTreeMap<String, String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    why: String,
    source: String,
    #[serde(default)]
    ruleset: Option<String>,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    database: Option<String>,
    #[serde(default)]
    application: Option<String>,
    #[serde(default)]
    client: Option<String>,
    session: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    #[serde(default)]
    sql: Option<String>,
    goes: String,
    #[serde(default)]
    rule: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    outcome: Option<String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    affected: Option<u64>,
    #[serde(default)]
    insert_id: Option<u64>,
    #[serde(default)]
    warnings: Option<u32>,
    #[serde(default)]
    transaction: Option<String>,
}

/// The table, checked for what a reader of it relies on.
fn table(name: &str) -> (Table, Router) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let table: Table = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(table.version, 1);
    let router = Router::ALL.iter().copied().find(|router| router.name() == table.router).unwrap();
    let mut ids = BTreeSet::new();
    let mut used = BTreeSet::new();
    for case in &table.cases {
        assert!(ids.insert(&case.id), "{name}: {} is there twice", case.id);
        assert!(!case.why.is_empty() && !case.session.is_empty(), "{}", case.id);
        let source = table.sources.get(&case.source).unwrap_or_else(|| panic!("{}: source {}", case.id, case.source));
        assert!(source.starts_with("https://") || source.starts_with("observed"), "{source}");
        used.insert(case.source.as_str());
    }
    let known: BTreeSet<&str> = table.sources.keys().map(String::as_str).collect();
    assert_eq!(used, known, "{name}: every source has a case");
    (table, router)
}

fn request(case: &Case, seq: u32, step: &Step, engine: Engine) -> Request {
    let kind = step.kind.as_deref().map_or(Kind::Query, |word| Kind::from_word(word).expect("a kind"));
    let mut request = Request::new(7, seq, i64::from(seq) * 1_000_000_000, kind);
    request.user = Some(case.user.as_deref().unwrap_or("app").into());
    request.database = case.database.as_deref().map(Into::into);
    request.application = case.application.as_deref().map(Into::into);
    request.client = case.client.as_deref().map(Into::into);
    request.sql = step.sql.as_deref().map(Into::into);
    request.shape_id = step.sql.as_deref().map(|sql| Dialect::of(engine).shape_id(sql));
    request.messages = match (engine, kind) {
        (Engine::Mysql, Kind::Query) => "03",
        (Engine::Mysql, _) => "17",
        (Engine::Postgresql, Kind::Query) => "Q",
        (Engine::Postgresql, _) => "BDES",
    }
    .into();
    request.outcome = step.outcome.as_deref().map_or(Outcome::Ok, |word| Outcome::from_word(word).expect("an outcome"));
    request.error_code = step.error.as_deref().map(Into::into);
    request.duration_ns = Some(1_000_000);
    request.transaction = step.transaction.as_deref().map(|word| TransactionStatus::from_word(word).expect("a status"));
    (request.affected, request.last_insert_id, request.warnings) = (step.affected, step.insert_id, step.warnings);
    request
}

/// A destination in the words of the tables.
fn word(model: &dyn Model, sent: &Sent) -> String {
    let nodes = model.about().nodes;
    let roles = |sent: &Nodes| -> (bool, bool) {
        let has = |role| sent.iter().any(|node| nodes[node].role == role);
        (has(Role::Primary), has(Role::Replica))
    };
    match sent {
        Sent::To(to) => match roles(to) {
            (true, true) => "all".into(),
            (true, false) => "primary".into(),
            (false, true) => "replica".into(),
            (false, false) => "nowhere".into(),
        },
        Sent::OneOf(_) => "unknown".into(),
        Sent::Router => "router".into(),
        Sent::Refused(code) => code.to_string(),
    }
}

fn model(router: Router, texts: &[&str], dir: &Path, options: &Options) -> Box<dyn Model> {
    let paths: Vec<PathBuf> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let path = dir.join(format!("{at}.conf"));
            std::fs::write(&path, text).unwrap();
            path
        })
        .collect();
    load(router, &paths, options).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs every case and gives their number.
fn holds(name: &str, default: &str) -> usize {
    let (table, router) = table(name);
    let options = Options { catalog: Some(catalog()), ..Options::default() };
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let mut used: BTreeSet<&str> = ["base"].into();
    for case in &table.cases {
        let ruleset = case.ruleset.as_deref().unwrap_or(default);
        used.insert(ruleset);
        let text = table.rulesets.get(ruleset).unwrap_or_else(|| panic!("{}: ruleset {ruleset}", case.id));
        let base = table.rulesets.get("base");
        let texts: Vec<&str> = base.into_iter().chain([text]).map(String::as_str).collect();
        let model = model(router, &texts, dir.path(), &options);
        assert_eq!(model.about().unknown, Vec::<String>::new(), "{}", case.id);
        let connect = Request { kind: Kind::Connect, sql: None, ..request(case, 0, &case.session[0], router.engine()) };
        let mut session = model.connect(&connect);
        session.route(&connect);
        session.ended(&connect);
        for (at, step) in case.session.iter().enumerate() {
            let request = request(case, at as u32 + 1, step, router.engine());
            let decision = session.route(&request);
            session.ended(&request);
            let goes = word(model.as_ref(), &decision.sent);
            let rule = step.rule.is_none() || step.rule.as_deref() == decision.rule.as_deref();
            if goes != step.goes || !rule {
                wrong.push(format!(
                    "{} step {}: {:?} goes to {goes} by {:?} ({}), and should go to {} by {:?}",
                    case.id,
                    at + 1,
                    step.sql.as_deref().unwrap_or(""),
                    decision.rule,
                    decision.reason,
                    step.goes,
                    step.rule
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let known: BTreeSet<&str> = table.rulesets.keys().map(String::as_str).collect();
    assert_eq!(used, known, "every rule set has a case");
    table.cases.len()
}

#[test]
fn proxysql_does_as_its_table_says() {
    let cases = holds("proxysql.yaml", "split");
    assert!(cases >= 120, "{cases}");
}

/// The functions of the pair that pgpool-II was observed on.
fn catalog() -> Arc<Catalog> {
    let function = |name: &str, volatility, kind| Function {
        schema: "public".into(),
        name: name.into(),
        args: "integer".into(),
        volatility,
        kind,
        returns_set: false,
        language: "plpgsql".into(),
        definition: None,
    };
    let functions = vec![
        function("audit_login", Volatility::Volatile, FunctionKind::Function),
        function("stable_fn", Volatility::Stable, FunctionKind::Function),
        function("rebuild_summary", Volatility::Volatile, FunctionKind::Procedure),
    ];
    Arc::new(Catalog { functions, ..Catalog::default() })
}

#[test]
fn pgpool_does_as_it_was_seen_to() {
    let dir = tempfile::tempdir().unwrap();
    let conf = "backend_hostname0 = 'a'\nbackend_weight0 = 0\nbackend_hostname1 = 'b'\nbackend_weight1 = 1\nstatement_level_load_balance = on\n";
    let options = Options { catalog: Some(catalog()), ..Options::default() };
    let model = model(Router::Pgpool, &[conf], dir.path(), &options);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/pgpool-observed.tsv");
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect::<Vec<_>>());
    assert_eq!(rows.next().unwrap()[..3], ["session", "statement", "executed_on"]);
    let mut sessions = BTreeMap::new();
    let (mut seen, mut wrong) = (0, Vec::new());
    for row in rows {
        let (number, sql, executed) = (row[0], row[1].replace("\\n", "\n"), row[2]);
        let mut request = Request::new(number.parse().unwrap(), seen + 1, i64::from(seen) * 1_000_000_000, Kind::Query);
        request.messages = "Q".into();
        request.sql = Some(sql.as_str().into());
        request.shape_id = Some(Dialect::Postgresql.shape_id(&sql));
        let failed = row.get(3).is_some_and(|error| !error.is_empty());
        request.outcome = if failed { Outcome::Error } else { Outcome::Ok };
        let (session, transaction) =
            sessions.entry(number.to_owned()).or_insert_with(|| (model.connect(&request), TransactionStatus::Idle));
        *transaction = match sql.split_whitespace().next() {
            Some("BEGIN" | "START") => TransactionStatus::Open,
            Some("COMMIT" | "ROLLBACK") if !sql.contains("TO") => TransactionStatus::Idle,
            _ => *transaction,
        };
        request.transaction = Some(*transaction);
        let decision = session.route(&request);
        session.ended(&request);
        let expected = match executed {
            "P" => "primary",
            "R" => "replica",
            _ => "all",
        };
        seen += 1;
        let goes = word(model.as_ref(), &decision.sent);
        if goes != expected {
            wrong.push(format!("{number}: {sql} goes to {goes} ({}), and went to {expected}", decision.reason));
        }
    }
    assert!(seen >= 85, "{seen}");
    assert!(wrong.is_empty(), "{} of {seen} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn pgpool_does_as_its_table_says() {
    let cases = holds("pgpool.yaml", "transaction");
    assert!(cases >= 25, "{cases}");
}
