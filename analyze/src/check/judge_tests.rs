use std::path::Path;
use std::sync::Arc;

use splitproof_capture::sql::Dialect;
use splitproof_capture::trace::{Engine, Role};
use splitproof_replay::catalog::{Catalog, Function, FunctionKind, Relation, Volatility};

use super::{Executed, expectations, judge};
use crate::check::{Case, FindingKind, Fixture};
use crate::intent::{Intent, Judge, Reason};

/// The functions and the unlogged table that the catalogue's setup makes.
fn pair() -> Catalog {
    let function = |name: &str, volatility| Function {
        schema: "public".to_owned(),
        name: name.to_owned(),
        args: "integer".to_owned(),
        volatility,
        kind: FunctionKind::Function,
        returns_set: false,
        language: "sql".to_owned(),
        definition: None,
    };
    let scratch = Relation { schema: "public".to_owned(), name: "scratch".to_owned(), kind: 'r', persistence: 'u' };
    Catalog {
        functions: vec![
            function("audit_login", Volatility::Volatile),
            function("name_of", Volatility::Stable),
            function("double", Volatility::Immutable),
            function("rebuild_summary", Volatility::Volatile),
        ],
        relations: vec![scratch],
        ..Catalog::default()
    }
}

/// The functions that the setup of the catalogue for MySQL and MariaDB makes, by what they declare.
fn mysql_pair() -> Catalog {
    let function = |name: &str, volatility| Function {
        schema: "splitproof_check".to_owned(),
        name: name.to_owned(),
        args: String::new(),
        volatility,
        kind: FunctionKind::Function,
        returns_set: false,
        language: "sql".to_owned(),
        definition: None,
    };
    Catalog {
        functions: vec![
            function("audit_login", Volatility::Volatile),
            function("name_of", Volatility::Stable),
            function("double_of", Volatility::Immutable),
        ],
        ..Catalog::default()
    }
}

#[test]
fn the_judgement_agrees_with_every_case_of_the_catalogues() {
    agrees("postgresql.yaml", Judge::new(Dialect::Postgresql, Some(Arc::new(pair()))));
    agrees("mysql.yaml", Judge::new(Dialect::of(Engine::Mysql), Some(Arc::new(mysql_pair()))));
}

fn agrees(file: &str, mut judge: Judge) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples/fixtures").join(file);
    let fixture = Fixture::read(&path).expect("the catalogue is right");
    let mut disputes = Vec::new();
    let mut statements = 0;
    for case in &fixture.cases {
        for (step, expected) in case.session.iter().zip(expectations(case, &mut judge)) {
            statements += 1;
            // A text in a variable is not known, and the catalogue says where such a thing belongs.
            let unknown = expected.verdict.is_unknown() && expected.verdict.reason != Reason::TextInVariable;
            if !expected.is_agreed() || unknown || step.safe.is_none() {
                disputes.push(format!(
                    "{}: {}: fixture {} {:?}, judgement {} (either: {}), because {}",
                    case.id,
                    step.sql,
                    expected.intent,
                    expected.allowed,
                    expected.verdict.intent,
                    expected.verdict.either,
                    expected.verdict.reason
                ));
            }
        }
    }
    assert!(disputes.is_empty(), "{}", disputes.join("\n"));
    assert!(fixture.cases.len() >= 70 && statements > fixture.cases.len());
}

const P: &[usize] = &[0];
const R: &[usize] = &[1];
const BOTH: &[usize] = &[0, 1];

/// Judges a session given as statement, nodes and error.
fn findings(session: &[(&str, &[usize], Option<&str>)]) -> Vec<(usize, FindingKind)> {
    let case = Case {
        id: "case".to_owned(),
        why: "test".to_owned(),
        source: Vec::new(),
        protocol: Default::default(),
        session: session
            .iter()
            .map(|(sql, ..)| serde_json::from_value(serde_json::json!({ "sql": sql })).expect("a step"))
            .collect(),
    };
    let executed: Vec<_> = session
        .iter()
        .map(|(_, nodes, error)| Executed { nodes: nodes.to_vec(), error: error.map(str::to_owned) })
        .collect();
    let mut known = Judge::new(Dialect::Postgresql, Some(Arc::new(pair())));
    let expected = expectations(&case, &mut known);
    let nodes = [("one".to_owned(), Role::Primary), ("two".to_owned(), Role::Replica)];
    judge(&case, &expected, &executed, &nodes).into_iter().map(|found| (found.statement, found.kind)).collect()
}

#[test]
fn places() {
    use FindingKind::{AccidentalPrimaryRead, Unseen, WriteLeakage};
    assert_eq!(findings(&[("SELECT 1 FROM users", R, None)]), []);
    assert_eq!(findings(&[("SELECT 1 FROM users", P, None)]), [(0, AccidentalPrimaryRead)]);
    assert_eq!(findings(&[("SELECT 1 FROM users", &[], None)]), [(0, Unseen)]);
    assert_eq!(findings(&[("SELECT audit_login(1)", P, None)]), []);
    assert_eq!(findings(&[("SELECT audit_login(1)", R, Some("25006"))]), [(0, WriteLeakage)]);
    assert_eq!(findings(&[("UPDATE users SET name = name", BOTH, None)]), [(0, WriteLeakage)]);
    // Without a place in the fixture the judgement decides, and random() may run anywhere.
    assert_eq!(findings(&[("SET x = 1", BOTH, None)]), []);
}

#[test]
fn transactions() {
    use FindingKind::SplitTransaction;
    let write = "UPDATE users SET name = name";
    let read = "SELECT 1 FROM users";
    assert_eq!(findings(&[("BEGIN", BOTH, None), (write, P, None), (read, P, None), ("COMMIT", BOTH, None)]), []);
    assert_eq!(
        findings(&[("BEGIN", BOTH, None), (write, P, None), (read, R, None), ("COMMIT", BOTH, None)]),
        [(2, SplitTransaction)]
    );
    assert_eq!(
        findings(&[("BEGIN", BOTH, None), (read, R, None), (write, P, None), (read, P, None), ("COMMIT", BOTH, None)]),
        [(2, SplitTransaction), (3, SplitTransaction)]
    );
    assert_eq!(findings(&[("BEGIN", R, None), (write, P, None), ("COMMIT", P, None)]), [(1, SplitTransaction)]);
    let lost_end = [("BEGIN", BOTH, None), (write, P, None), ("SET LOCAL a = 1", BOTH, None), ("COMMIT", R, None)];
    assert_eq!(findings(&lost_end), [(3, SplitTransaction)]);
    let read_only = [("BEGIN READ ONLY", BOTH, None), (read, R, None), (read, P, None), ("COMMIT", BOTH, None)];
    assert!(findings(&read_only).contains(&(2, SplitTransaction)));
}

#[test]
fn state_is_used_where_it_lives() {
    use FindingKind::{LostState, MissedSetting};
    assert_eq!(findings(&[("PREPARE p AS SELECT 1", P, None), ("EXECUTE p", P, None)]), []);
    assert_eq!(findings(&[("PREPARE p AS SELECT 1", P, None), ("EXECUTE p", R, Some("26000"))]), [(1, LostState)]);
    assert_eq!(findings(&[("PREPARE p AS SELECT 1", BOTH, None), ("EXECUTE p", R, None)]), []);
    let temporary = [("CREATE TEMP TABLE t (a int)", P, None), ("SELECT a FROM t", R, Some("42P01"))];
    assert_eq!(findings(&temporary), [(1, LostState)]);
    assert_eq!(findings(&[("SET x = 1", BOTH, None), ("SELECT 1", R, None)]), []);
    assert_eq!(findings(&[("SET x = 1", P, None), ("SELECT 1", R, None)]), [(1, MissedSetting)]);
    assert_eq!(findings(&[("SET x = 1", P, None), ("RESET ALL", BOTH, None), ("SELECT 1", R, None)]), []);
    assert_eq!(findings(&[("SET x = 1", P, None), ("SET x = 2", BOTH, None), ("SELECT 1", R, None)]), []);
}

#[test]
fn a_router_may_answer_for_a_failed_transaction() {
    use FindingKind::{UnexpectedOutcome, Unseen};
    let text = "version: 1\nengine: postgresql\ncases:\n  - {id: a, why: b, session: [{sql: BEGIN}, {sql: SELECT 1/0, error: '22012'}, {sql: SELECT 1, error: 25P02}]}";
    let fixture = Fixture::parse(Path::new("f.yaml"), text).expect("is right");
    let case = &fixture.cases[0];
    let expected = expectations(case, &mut Judge::new(Dialect::Postgresql, None));
    let nodes = [("one".to_owned(), Role::Primary)];
    let ran =
        |nodes: &[usize], error: Option<&str>| Executed { nodes: nodes.to_vec(), error: error.map(str::to_owned) };
    let kinds = |executed: &[Executed]| -> Vec<_> {
        judge(case, &expected, executed, &nodes).into_iter().map(|found| found.kind).collect()
    };
    assert_eq!(kinds(&[ran(P, None), ran(P, Some("22012")), ran(&[], Some("25P02"))]), []);
    assert_eq!(kinds(&[ran(P, None), ran(&[], Some("22012")), ran(&[], Some("25P02"))]), [Unseen]);
    assert_eq!(kinds(&[ran(P, None), ran(P, None), ran(P, Some("25P02"))]), [UnexpectedOutcome]);
}

#[test]
fn outcomes() {
    use FindingKind::UnexpectedOutcome;
    assert_eq!(findings(&[("SELECT 1 FROM users", R, Some("42P01"))]), [(0, UnexpectedOutcome)]);
    // What follows the first is a consequence of it.
    assert_eq!(
        findings(&[("SELECT 1 FROM users", R, Some("42P01")), ("SELECT 2", R, Some("42P01"))]),
        [(0, UnexpectedOutcome)]
    );
}

#[test]
fn a_place_in_the_fixture_outranks_the_judgement() {
    let text = "version: 1\nengine: postgresql\ncases:\n  - {id: a, why: b, session: [{sql: SELECT 1, safe: primary, allowed: [replica]}]}";
    let fixture = Fixture::parse(Path::new("f.yaml"), text).expect("is right");
    let expected = expectations(&fixture.cases[0], &mut Judge::new(Dialect::Postgresql, None));
    assert_eq!((expected[0].intent, expected[0].is_agreed()), (Intent::Primary, false));
    let executed = [Executed { nodes: vec![1], error: None }];
    let nodes = [("one".to_owned(), Role::Primary), ("two".to_owned(), Role::Replica)];
    assert_eq!(judge(&fixture.cases[0], &expected, &executed, &nodes), []);
}

/// Judges a session of MySQL given as statement, nodes and error.
fn mysql_findings(session: &[(&str, &[usize], Option<&str>)]) -> Vec<(usize, FindingKind)> {
    let steps: Vec<_> = session.iter().map(|(sql, ..)| serde_json::json!({ "sql": sql })).collect();
    let case = serde_json::json!({ "id": "case", "why": "test", "session": steps });
    let case: Case = serde_json::from_value(case).expect("a case");
    let executed: Vec<_> = session
        .iter()
        .map(|(_, nodes, error)| Executed { nodes: nodes.to_vec(), error: error.map(str::to_owned) })
        .collect();
    let mut known = Judge::new(Dialect::of(Engine::Mysql), Some(Arc::new(mysql_pair())));
    let expected = expectations(&case, &mut known);
    let nodes = [("one".to_owned(), Role::Primary), ("two".to_owned(), Role::Replica)];
    judge(&case, &expected, &executed, &nodes).into_iter().map(|found| (found.statement, found.kind)).collect()
}

/// "Information Functions", "SHOW WARNINGS Statement" and "User-Defined Variables" of the MySQL manual: all of it is kept
/// by the connection to one server.
#[test]
fn what_a_mysql_statement_left_is_asked_for_where_it_ran() {
    use FindingKind::{LostState, MissedSetting};
    let insert = ("INSERT INTO audit (user_id) VALUES (1)", P, None);
    let read = ("SELECT 1 FROM users", R, None);
    let id = "SELECT LAST_INSERT_ID()";
    assert_eq!(mysql_findings(&[insert, read, (id, P, None)]), []);
    assert_eq!(mysql_findings(&[insert, read, (id, R, None)]), [(2, LostState)]);
    let warnings = "SHOW WARNINGS";
    assert_eq!(mysql_findings(&[insert, read, (warnings, R, None)]), []);
    assert_eq!(mysql_findings(&[insert, (warnings, R, None)]), [(1, LostState)]);
    let fill = "SELECT id INTO @a FROM users";
    let used = "SELECT @a";
    assert_eq!(mysql_findings(&[(fill, R, None), read, (used, R, None)]), []);
    assert_eq!(mysql_findings(&[(fill, R, None), (used, P, None)]), [(1, LostState)]);
    assert_eq!(mysql_findings(&[(fill, R, None), (fill, P, None), (used, P, None)]), []);
    // A constant is missed only by what reads it.
    let set = "SET @a = 1";
    assert_eq!(mysql_findings(&[(set, P, None), read]), []);
    assert_eq!(mysql_findings(&[(set, P, None), ("SELECT 1 FROM users WHERE id = @a", R, None)]), [(1, MissedSetting)]);
    assert_eq!(mysql_findings(&[(set, BOTH, None), ("SELECT 1 FROM users WHERE id = @a", R, None)]), []);
}
