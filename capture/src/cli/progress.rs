//! Progress on standard error, where that is a terminal.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use splitproof_capture::{log, packets, tap};

use super::watch::Status;

/// A line that tells how far a recording has come.
pub struct Progress {
    bar: Option<ProgressBar>,
    status: Option<Arc<Status>>,
}

impl Progress {
    pub fn start() -> Self {
        if !std::io::stderr().is_terminal() {
            return Progress { bar: None, status: None };
        }
        let bar = ProgressBar::no_length();
        bar.set_style(ProgressStyle::with_template("{elapsed} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar: Some(bar), status: None }
    }

    /// Shows what a live recording costs and loses, too.
    pub fn with(mut self, status: Arc<Status>) -> Self {
        self.status = Some(status);
        self
    }

    /// True where somebody sees it.
    pub fn is_seen(&self) -> bool {
        self.bar.is_some()
    }

    /// Shows how far a packet source has come.
    pub fn packets(&self, progress: packets::Progress<'_>) {
        let packets::Progress { statistics, total_bytes } = progress;
        self.show(|| {
            let share = share(statistics.bytes, total_bytes);
            let status = self.status.as_ref().map_or(String::new(), |status| {
                let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
                let Status { dropped, dropped_now, cpu } = &**status;
                format!(
                    ", {} dropped ({} in the last second), cpu {}.{} %",
                    read(dropped),
                    read(dropped_now),
                    read(cpu) / 10,
                    read(cpu) % 10
                )
            });
            format!("{} packets{share}, {} sessions{status}", statistics.packets, statistics.sessions)
        });
    }

    /// Shows how far a log has been read.
    pub fn log(&self, progress: log::Progress<'_>) {
        let log::Progress { statistics, total_bytes } = progress;
        self.show(|| {
            let share = share(statistics.bytes, total_bytes);
            format!("{} entries{share}, {} requests", statistics.entries, statistics.opened + statistics.made_up)
        });
    }

    /// Shows what a relay did.
    pub fn tap(&self, counters: tap::Counters) {
        self.show(|| format!("{} connections open, {} requests", counters.open, counters.rows));
    }

    /// Shows a message; it is not made where nobody sees it.
    fn show(&self, message: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(message());
            bar.tick();
        }
    }
}

/// How much of all was read, for people.
fn share(bytes: u64, total: Option<u64>) -> String {
    match total {
        Some(total) if total > 0 => format!(" ({} %)", (bytes.saturating_mul(100) / total).min(100)),
        _ => String::new(),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
