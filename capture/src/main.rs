//! `splitproof-capture`: record what clients ask a database server.
//!
//! Exit codes: 0 done; 1 done, but with a problem that was reported (nothing could be decoded, an input was damaged,
//! a trace is incomplete); 2 not done: a wrong command line, or an input or output that cannot be used.

mod cli;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let flags = cli::Flags::parse();
    match cli::Plan::try_from(flags).and_then(cli::run) {
        Ok(cli::Done::Well) => ExitCode::SUCCESS,
        Ok(cli::Done::WithProblems) => ExitCode::from(1),
        Err(error) if cli::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("splitproof-capture: {}", splitproof_capture::causes(error.as_ref()));
            ExitCode::from(2)
        }
    }
}
