//! `splitproof-matrix`: the command line of the detection matrix.

use std::process::ExitCode;

use clap::Parser;
use splitproof_samples::matrix::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("splitproof-matrix: {error:#}");
            ExitCode::from(2)
        }
    }
}
