//! When to stop: SIGINT, SIGTERM and SIGHUP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What the user must know of input that was not read to its end.
pub const STOPPED: &str = "it was stopped before the end of its files: what follows is not in the trace";

/// A flag that turns true at the first SIGINT, SIGTERM or SIGHUP, so that the recording ends in order. At the second the
/// program ends at once; what was flushed is readable all the same.
pub fn on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().context("signals")?;
    let mut signals = {
        let _guard = runtime.enter();
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [one, two, three] = kinds.map(signal);
        [one.context("SIGINT")?, two.context("SIGTERM")?, three.context("SIGHUP")?]
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(any(&mut signals));
            flag.store(true, Ordering::Relaxed);
            runtime.block_on(any(&mut signals));
            std::process::exit(130);
        })
        .context("signals")?;
    Ok(stop)
}

async fn any([interrupt, terminate, hangup]: &mut [Signal; 3]) {
    tokio::select! {
        _ = interrupt.recv() => (),
        _ = terminate.recv() => (),
        _ = hangup.recv() => (),
    }
}
