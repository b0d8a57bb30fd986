//! The command `splitproof-replay`.

mod args;
mod display;
mod priority;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Parser;
use splitproof_replay::progress::Progress;
use splitproof_replay::run;
use splitproof_replay::session::Stop;
use splitproof_replay::summary::{Summary, Verdict};
use tokio::signal::unix::{SignalKind, signal};

use args::{Args, Format};

/// The input or the pair cannot be used; clap exits with this code as well.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    let args = Args::parse();
    match replay(&args) {
        Ok(summary) => ExitCode::from(match summary.verdict() {
            Verdict::Sound => 0,
            Verdict::Unsound | Verdict::Incomplete => 1,
            Verdict::Refused => UNUSABLE,
        }),
        Err(error) => {
            eprintln!("splitproof-replay: {}", splitproof_capture::causes(error.as_ref()));
            ExitCode::from(UNUSABLE)
        }
    }
}

fn replay(args: &Args) -> Result<Summary> {
    let order = args.order()?;
    priority::raise();
    let runtime = tokio::runtime::Runtime::new().context("start the runtime")?;
    let summary = runtime.block_on(async {
        let (sender, stop) = Stop::new();
        let mut interrupt = signal(SignalKind::interrupt()).context("listen for Ctrl-C")?;
        let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
        let mut hangup = signal(SignalKind::hangup()).context("listen for SIGHUP")?;
        tokio::spawn(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            eprintln!("stopping: no more requests are sent; what is there is being written");
            // Held on to afterwards, so that the signal stays given.
            sender.send(true).ok();
            std::future::pending::<()>().await;
        });
        let progress = Arc::new(Progress::default());
        let display = display::start(Arc::clone(&progress));
        let summary = run::replay(&order, &progress, stop).await;
        display.stop().await;
        anyhow::Ok(summary?)
    })?;
    print(&summary, args.format)?;
    Ok(summary)
}

fn print(summary: &Summary, format: Format) -> Result<()> {
    let text = match format {
        Format::Text => summary.to_string(),
        Format::Json => serde_json::to_string_pretty(summary)? + "\n",
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        // Whoever reads has read enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("print the summary"),
    }
}
