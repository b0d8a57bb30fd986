//! When to stop: SIGINT and SIGTERM.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A flag that turns true at the first SIGINT or SIGTERM, so that the recording ends in order. At the second the
/// program ends at once; what was flushed is readable all the same.
pub fn on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().context("signals")?;
    let (mut interrupt, mut terminate) = {
        let _guard = runtime.enter();
        (signal(SignalKind::interrupt()).context("SIGINT")?, signal(SignalKind::terminate()).context("SIGTERM")?)
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(either(&mut interrupt, &mut terminate));
            flag.store(true, Ordering::Relaxed);
            runtime.block_on(either(&mut interrupt, &mut terminate));
            std::process::exit(130);
        })
        .context("signals")?;
    Ok(stop)
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => (),
        _ = terminate.recv() => (),
    }
}
