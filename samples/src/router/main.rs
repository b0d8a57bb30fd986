//! `splitproof-router`: the sample router.

use std::process::ExitCode;

use clap::Parser;
use splitproof_samples::router::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("splitproof-router: {error:#}");
            ExitCode::FAILURE
        }
    }
}
