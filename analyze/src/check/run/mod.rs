//! Runs a fixture against a real pair.
//!
//! - [`Plan`], [`run`]: everything together
//! - `prepare`: the database, on every node
//! - `conversation`: one case over one connection through the router
//! - `mysql`: both for MySQL and MariaDB, over their driver
//! - `watch`: what the nodes were asked meanwhile
//!
//! Cases run one after another, and each waits until the nodes are quiet. So whatever a node was asked between a
//! statement's departure and its answer, and with its text, is an execution of that statement: time and text suffice,
//! and nothing has to be added to the statement.

mod conversation;
mod error;
mod mysql;
mod prepare;
mod watch;

use std::sync::Arc;
use std::time::Instant;

use splitproof_capture::clock::Clock as Stamps;
use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Engine, Role};
use splitproof_replay::clock::WallClock;
use splitproof_replay::control;
use splitproof_replay::pair::{Pair, Passwords};

use super::{Case, CaseReport, CheckReport, Executed, Expected, Finding, FindingKind, Fixture, StatementReport};
use super::{expectations, judge};
use crate::intent::{Control, Intent, Judge};
use crate::run::dialect;
use conversation::{Answer, Router};
pub use error::CheckError;
use watch::Watch;

/// What is to be checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The known statements.
    pub fixture: Fixture,
    /// The router and the pair behind it.
    pub pair: Pair,
    /// Passwords for router and nodes.
    pub passwords: Passwords,
    /// How often a case is run at most while its only faults are reads that the primary served: a router that spreads
    /// reads over all nodes sends some of them there.
    pub tries: u32,
}

impl Plan {
    /// A usual number of [`tries`](Plan::tries): a router that sends every other read to a replica fails by chance once
    /// in 64 cases.
    pub const TRIES: u32 = 6;
}

/// Runs every case. `done` is told of each case as it ends.
///
/// # Errors
/// When the pair is not what it should be, the database cannot be prepared, a node is not watched, or the router
/// cannot be reached. A case that breaks off is no error; its report says so.
pub async fn run(plan: &Plan, mut done: impl FnMut(&CaseReport)) -> Result<CheckReport, CheckError> {
    let began = Instant::now();
    let nodes: Vec<_> = plan.pair.nodes.iter().map(|node| (node.name.clone(), node.role)).collect();
    if plan.fixture.engine != plan.pair.engine {
        return Err(CheckError::OtherEngine { fixture: plan.fixture.engine, pair: plan.pair.engine });
    }
    let (user, database) = login(plan)?;
    let stamps = Stamps::start();
    let clock = WallClock::start(stamps).map_err(CheckError::Clock)?;
    let mut watch = Watch::start(&plan.pair, stamps).await?;
    let controls = control::connect(&plan.pair, &plan.passwords).await?;
    let catalog = match plan.pair.engine {
        Engine::Postgresql => prepare::prepare(plan, &controls, &user, &database).await?,
        Engine::Mysql => mysql::prepare(plan, &controls, &user, &database).await?,
    };
    drop(controls);
    let router = Router {
        url: plan.pair.router.clone(),
        password: plan.pair.router.password(&user, &database, &plan.passwords),
        user,
        database,
        clock,
        shared: Shared::new(plan.pair.engine),
    };
    router.reach().await?;
    watch.settle().await;
    let mut known = Judge::new(dialect(plan.pair.engine, &catalog.server_version), Some(Arc::new(catalog)));
    let mut cases = Vec::with_capacity(plan.fixture.cases.len());
    for case in &plan.fixture.cases {
        let expected = expectations(case, &mut known);
        let report = tried(plan, case, &expected, &nodes, &router, &mut watch).await;
        done(&report);
        cases.push(report);
    }
    watch.stop().await;
    Ok(CheckReport {
        version: CheckReport::VERSION,
        fixture: plan.fixture.path.display().to_string(),
        router: plan.pair.router.to_string(),
        nodes: nodes.into_iter().map(|(name, role)| (name, role_word(role).to_owned())).collect(),
        seconds: began.elapsed().as_secs_f64(),
        cases,
    })
}

/// As whom the cases connect, and where to.
fn login(plan: &Plan) -> Result<(String, String), CheckError> {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let router = &plan.pair.router;
    let user = given(router.user()).or_else(|| plan.pair.defaults.user.clone()).ok_or(CheckError::NoUser)?;
    let own = given(router.database()).or_else(|| plan.pair.defaults.database.clone());
    let database = plan.fixture.database.clone().or(own).unwrap_or_else(|| user.clone());
    Ok((user, database))
}

/// Runs a case until it is right, wrong beyond doubt, or tried often enough.
async fn tried(
    plan: &Plan,
    case: &Case,
    expected: &[Expected],
    nodes: &[(String, Role)],
    router: &Router,
    watch: &mut Watch,
) -> CaseReport {
    let began = Instant::now();
    let mut best: Option<CaseReport> = None;
    for tries in 1..=plan.tries.max(1) {
        watch.forget();
        let (answers, broken) = router.hold(case).await;
        watch.settle().await;
        let executed = executed(case, expected, &answers, watch);
        let findings = judge(case, expected, &executed, nodes);
        let chance = |finding: &Finding| finding.kind == FindingKind::AccidentalPrimaryRead;
        let final_word = broken.is_some() || !findings.iter().all(chance) || findings.is_empty();
        let report = report(case, expected, &executed, nodes, findings, broken);
        best = Some(CaseReport { tries, seconds: began.elapsed().as_secs_f64(), ..report });
        if final_word {
            break;
        }
    }
    // The loop runs at least once.
    best.unwrap_or_else(|| report(case, expected, &[], nodes, Vec::new(), None))
}

/// Where the statements ran that were answered.
fn executed(case: &Case, expected: &[Expected], answers: &[Answer], watch: &Watch) -> Vec<Executed> {
    let end_ns = answers.last().map_or(0, |answer| answer.answered_ns);
    let steps = case.session.iter().zip(expected).zip(answers).enumerate();
    let executed = steps.map(|(index, ((step, expected), answer))| {
        // Routers open a transaction on a node, and set a session's settings there, when a later statement needs it.
        let late = expected.intent == Intent::All || expected.verdict.control == Some(Control::Begin);
        let again = case.session.iter().zip(answers).skip(index + 1).find(|(next, _)| next.sql == step.sql);
        let until_ns = match again {
            _ if !late => answer.answered_ns,
            Some((_, next)) => next.sent_ns,
            None => end_ns,
        };
        Executed { nodes: watch.nodes_of(&step.sql, answer.sent_ns..=until_ns), error: answer.error.clone() }
    });
    executed.collect()
}

fn report(
    case: &Case,
    expected: &[Expected],
    executed: &[Executed],
    nodes: &[(String, Role)],
    findings: Vec<Finding>,
    broken: Option<String>,
) -> CaseReport {
    let names = |executed: Option<&Executed>| {
        let indices = executed.map(|executed| executed.nodes.as_slice()).unwrap_or_default();
        indices.iter().filter_map(|&node| nodes.get(node)).map(|(name, _)| name.clone()).collect()
    };
    let statements = case.session.iter().zip(expected).enumerate().map(|(index, (step, expected))| StatementReport {
        sql: step.sql.clone(),
        intent: expected.intent.as_str().to_owned(),
        nodes: names(executed.get(index)),
        error: executed.get(index).and_then(|executed| executed.error.clone()),
        disputed: (!expected.is_agreed())
            .then(|| format!("{} because {}", expected.verdict.intent, expected.verdict.reason)),
    });
    CaseReport {
        id: case.id.clone(),
        why: case.why.clone(),
        seconds: 0.0,
        tries: 0,
        statements: statements.collect(),
        findings,
        broken,
    }
}

fn role_word(role: Role) -> &'static str {
    match role {
        Role::Primary => "primary",
        Role::Replica => "replica",
    }
}
