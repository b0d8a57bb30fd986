//! Random sequences of statements: what intent calls replica-safe executes on a real replica, with the answer of the idle primary.
//!
//! - `grammar`: drawing from alternatives; `postgresql`, `mysql`: the grammar of each engine, and its pair
//! - here: a sequence carried out on both nodes, and what contradicts intent
//!
//! The sequences are drawn from a fixed seed; `SPLITPROOF_SEED` draws others, `SPLITPROOF_SEQUENCES` more or fewer.

mod grammar;
mod mysql;
mod postgresql;

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use splitproof_analyze::intent::{Intent, Judge, RequestView, Session, Verdict};
use splitproof_capture::trace::{Engine, Outcome, Role};
use splitproof_replay::catalog::Catalog;
use splitproof_replay::control::Control;
use splitproof_replay::pair::{Pair, Passwords};
use splitproof_samples::Sandbox;
use splitproof_samples::sandbox::Plan;

/// Sequences of each engine.
const SEQUENCES: u32 = 1_000;

/// Rows as texts, or an error's code.
type Answer = Result<Vec<String>, String>;

/// One connection to a node.
trait Node {
    /// Carries out a text.
    async fn run(&mut self, sql: &str) -> Answer;
}

/// What came of the sequences.
#[derive(Debug, Default)]
struct Found {
    /// Statements that intent calls replica-safe, and that ran on both.
    safe: u32,
    /// Those whose answers were compared.
    compared: u32,
    /// Those that failed on both alike.
    failed: u32,
    /// Statements that belong elsewhere.
    others: u32,
    /// What contradicts intent.
    wrong: Vec<String>,
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
}

/// A pair with this setup run on the primary, and the catalogue of its primary.
async fn pair(engine: Engine, setup: &str) -> (tempfile::TempDir, Sandbox, Arc<Catalog>) {
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut sandbox = Sandbox::create_with(home.path().join("pair"), Plan::new(engine).unwrap()).unwrap();
    sandbox.up().unwrap();
    sandbox.primary().sql("shop", setup).unwrap();
    sandbox.wait_caught_up().unwrap();
    let file = sandbox.write_pair_toml(None).unwrap();
    let pair = Pair::read(&file).unwrap();
    let primary = pair.nodes.iter().find(|node| node.role == Role::Primary).unwrap();
    let control = Control::open(primary, &Passwords::default()).await.unwrap();
    let catalog = Catalog::snapshot(&control).await.unwrap();
    (home, sandbox, Arc::new(catalog))
}

/// Carries out one sequence: everything on the primary, and on the replica what is safe there, session state, and the control of
/// transactions. `caught_up` waits until the replica has what the primary has committed.
async fn sequence<N: Node>(
    statements: &[String],
    judge: &mut Judge,
    [primary, replica]: [&mut N; 2],
    mut caught_up: impl AsyncFnMut(),
    found: &mut Found,
) {
    let mut session = Session::new();
    // The sequence before may have left something to catch up with.
    let mut behind = true;
    for (at, sql) in statements.iter().enumerate() {
        // How it ended is known only afterwards, and what it asks for does not depend on that.
        let verdict = session.clone().judge(judge, &RequestView::query(sql));
        let answer = primary.run(sql).await;
        let code = answer.as_ref().err().map(String::as_str);
        let outcome = if code.is_some() { Outcome::Error } else { Outcome::Ok };
        session.judge(judge, &RequestView { outcome, error_code: code, ..RequestView::query(sql) });
        let both = verdict.intent == Intent::All || verdict.intent == Intent::Same && verdict.control.is_some();
        if verdict.intent != Intent::Replica {
            found.others += 1;
            behind = true;
            if both {
                drop(replica.run(sql).await);
            }
            continue;
        }
        if std::mem::take(&mut behind) {
            caught_up().await;
        }
        let theirs = replica.run(sql).await;
        found.safe += 1;
        if let Some(problem) = contradiction(&verdict, &answer, &theirs, found) {
            let reason = &verdict.reason;
            found.wrong.push(format!("{problem} ({reason})\n  {}", statements[..=at].join("\n  ")));
        }
    }
}

/// How two answers contradict that the statement may run on either node.
fn contradiction(verdict: &Verdict, primary: &Answer, replica: &Answer, found: &mut Found) -> Option<String> {
    let profile = verdict.profile.as_ref();
    match (primary, replica) {
        (Err(one), Err(other)) if one == other => {
            found.failed += 1;
            None
        }
        (Ok(one), Ok(other)) => {
            if profile.is_some_and(|profile| profile.answer_varies().is_some()) {
                return None;
            }
            found.compared += 1;
            let ordered = profile.is_some_and(|profile| profile.statements.iter().all(|each| each.facts.ordered));
            let (mut one, mut other) = (one.clone(), other.clone());
            if !ordered {
                one.sort();
                other.sort();
            }
            (one != other).then(|| format!("the primary answers {one:?}, the replica {other:?}"))
        }
        (one, other) => {
            Some(format!("the primary says {:?}, the replica {:?}", one.as_ref().err(), other.as_ref().err()))
        }
    }
}

/// The generator has drawn what the test is about, and nothing contradicts intent.
fn expect_none_wrong(found: &Found, sequences: u32) {
    println!(
        "{sequences} sequences: {} safe statements, {} compared, {} failed alike, {} others; {} wrong",
        found.safe,
        found.compared,
        found.failed,
        found.others,
        found.wrong.len()
    );
    assert!(found.safe > sequences && found.compared > sequences / 2 && found.others > sequences, "{found:?}");
    // Failures that are alike tell little.
    assert!(found.failed * 5 < found.safe, "{} of {} failed", found.failed, found.safe);
    let first: Vec<&String> = found.wrong.iter().take(10).collect();
    assert!(first.is_empty(), "{} contradict intent: {first:#?}", found.wrong.len());
}
