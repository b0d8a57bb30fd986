//! The command line of `splitproof-analyze`.
//!
//! - `flags`: what can be typed; only `main` and this folder see it
//! - `plan`: the same, checked, as plain data
//! - `audit`, `canary`, `check`, `compare`, `coverage`, `explain`, `metrics`, `routes`, `rules`, `simulate`: one file per command; `models`: what
//!   `explain`, `rules` and `simulate` share

mod audit;
mod canary;
mod check;
mod compare;
mod coverage;
mod explain;
mod flags;
mod metrics;
mod models;
mod plan;
mod routes;
mod rules;
mod simulate;

use std::io::ErrorKind;

pub use flags::Flags;
pub use plan::Plan;

/// Does what the command line asked for and gives the exit code.
pub fn run(plan: Plan) -> anyhow::Result<u8> {
    match plan {
        Plan::Audit(audit) => audit::run(audit),
        Plan::Canary(canary) => canary::run(&canary),
        Plan::Check(check) => check::run(&check),
        Plan::Compare(compare) => compare::run(&compare),
        Plan::Coverage(coverage) => coverage::run(&coverage),
        Plan::Simulate(simulate) => simulate::run(&simulate),
        Plan::Explain(explain) => explain::run(&explain),
        Plan::Rules(rules) => rules::run(&rules),
        Plan::Metrics => metrics::run(),
        Plan::Routes(routes) => routes::run(&routes),
    }
}

/// Takes a closed pipe for a reader who has read enough, so that the verdict's exit code still comes out.
fn enough(written: std::io::Result<()>) -> std::io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Whether the reader of our output went away, as `head` does, which is its right.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(ErrorKind::BrokenPipe)
    })
}
