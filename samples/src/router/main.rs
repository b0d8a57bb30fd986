//! `splitproof-router`: the sample router.

use std::process::ExitCode;

use clap::Parser;
use splitproof_samples::router::cli::Cli;

/// The command line or the configuration cannot be used; clap exits with this code as well.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("splitproof-router: {}", splitproof_capture::causes(error.as_ref()));
            ExitCode::from(UNUSABLE)
        }
    }
}
