//! Recording through a relay.

use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Context;
use splitproof_capture::tap::{Counters, Encryption, Error, Options as RelayOptions, Relay, Stopped};
use splitproof_capture::trace::{Loss, Manifest, Options};

use super::Done;
use super::plan::Tap;
use super::progress::Progress;
use super::record::{ENCRYPTED, FLUSH_EVERY};
use super::redact::left_out;
use super::series::Series;
use super::sink::Watched;
use super::stop;
use super::summary::Summary;
use super::watch::{Cpu, Watch};

/// How often the signals and the time are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Relays and records until told to stop, and prints the summary.
pub fn run(plan: Tap) -> anyhow::Result<Done> {
    let Tap { engine, listen, upstream, refuse_encryption, duration, long, output } = plan;
    // Before an old trace is replaced: an address that is taken must not cost it.
    TcpListener::bind(listen).map_err(|source| Error::Listen { listen, source })?;
    let stop = stop::on_signals()?;
    let options = Options {
        inputs: vec![upstream.clone()],
        existing: output.existing,
        flush_every: Some(FLUSH_EVERY),
        ..Options::new(engine, "tap")
    };
    let rotates = !long.rotation.is_none();
    let series = Series::create(output.dir.clone(), options, long.rotation)?;
    let encryption = if refuse_encryption { Encryption::Refuse } else { Encryption::PassOn };
    let relay_options = RelayOptions { encryption, ..RelayOptions::new(engine, listen, upstream.as_str()) };
    let decided = Arc::new(OnceLock::from(relay_options.shared.clone()));
    let watch = Watch::new(&output.dir, long.min_free, false);
    let (ended_by, cpu) = (watch.ended(), Cpu::start());
    let sink = Watched::new(series, stop.clone(), output.redact, engine, decided).watching(watch);

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the relay")?;
    let stopped = runtime.block_on(async {
        let relay = Relay::start(relay_options, sink).await?;
        // Scripts that let the system choose the port read it here.
        eprintln!("listening on {}, relaying to {upstream}", relay.listen());
        let progress = Progress::start();
        let until = duration.map(|duration| Instant::now() + duration);
        while !stop.load(Ordering::Relaxed) && until.is_none_or(|until| Instant::now() < until) {
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()).min(LOOK));
            tokio::time::sleep(left).await;
            progress.tap(relay.counters());
        }
        anyhow::Ok(relay.stop().await)
    })?;
    let Stopped { sink, losses, counters } = stopped.context("the decoder died; what was flushed before is kept")?;
    let budget = cpu.budget();
    let (manifest, traces) = sink.finish(&losses, false)?;

    let mut problems = problems(&counters, &manifest, &upstream);
    problems.extend(left_out(&manifest));
    problems.extend(ended_by.get().cloned());
    let summary = Summary::new(&output.dir, &manifest, &problems).connections(&counters).cpu(budget);
    summary.traces(rotates.then_some(traces)).print(output.json)?;
    Ok(Done::from_problems(&problems))
}

/// What the user must know although a trace was written.
fn problems(counters: &Counters, manifest: &Manifest, upstream: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if counters.unreachable > 0 {
        let count = counters.unreachable;
        problems.push(format!("{count} connections could not be relayed: {upstream} was not reachable"));
    }
    if counters.accept_errors > 0 {
        let count = counters.accept_errors;
        problems.push(format!("the system refused {count} connections: raise the limit of open files (ulimit -n)"));
    }
    if manifest.table.requests == 0 {
        let why = if counters.accepted == 0 {
            "nobody connected"
        } else if manifest.table.losses.get(Loss::Encrypted) > 0 {
            ENCRYPTED
        } else {
            "no connection held a request; see what was lost"
        };
        problems.push(format!("no request was recorded: {why}"));
    }
    problems
}
