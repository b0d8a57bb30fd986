//! `splitproof-analyze`: judge the run of a router.
//!
//! Exit codes: 0 pass; 1 fail; 2 could not judge, or the command line or an input cannot be used.

mod cli;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let flags = cli::Flags::parse();
    match cli::Plan::try_from(flags).and_then(cli::run) {
        Ok(code) => ExitCode::from(code),
        Err(error) if cli::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("splitproof-analyze: {}", splitproof_capture::causes(error.as_ref()));
            ExitCode::from(2)
        }
    }
}
