//! The command line of `splitproof-capture`.
//!
//! - `flags`: what can be typed; only `main` and this folder see it
//! - `plan`: the same, checked, as plain data: what to record from where to where
//! - `record`: packets and live interfaces; `tap`: the relay; `log`: server logs; `show`: what a trace holds
//! - `summary`: the closing summary, as text and JSON; `progress`: on a terminal only; `stop`: signals;
//!   `sink`: a full disk ends the recording

mod flags;
mod log;
mod plan;
mod progress;
mod record;
mod show;
mod sink;
mod stop;
mod summary;
mod tap;

use std::io::ErrorKind;

pub use flags::Flags;
pub use plan::Plan;

/// How a command that did its work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Nothing to report.
    Well,
    /// Problems were reported.
    WithProblems,
}

impl Done {
    fn from_problems(problems: &[String]) -> Self {
        if problems.is_empty() { Done::Well } else { Done::WithProblems }
    }
}

/// Does what the command line asked for.
pub fn run(plan: Plan) -> anyhow::Result<Done> {
    match plan {
        Plan::Record(record) => record::run(record),
        Plan::Tap(tap) => tap::run(tap),
        Plan::Log(log) => log::run(log),
        Plan::Show(show) => show::run(&show),
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
