//! `splitproof-sandbox`: the command line of the sandbox.

mod cli;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("splitproof-sandbox: {}", splitproof_capture::causes(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}
