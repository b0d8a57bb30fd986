//! Progress on standard error, where that is a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use splitproof_capture::{log, packets, tap};

/// A line that tells how far a recording has come.
pub struct Progress(Option<ProgressBar>);

impl Progress {
    pub fn start() -> Self {
        if !std::io::stderr().is_terminal() {
            return Progress(None);
        }
        let bar = ProgressBar::no_length();
        bar.set_style(ProgressStyle::with_template("{elapsed} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress(Some(bar))
    }

    /// Shows how far a packet source has come.
    pub fn packets(&self, progress: packets::Progress<'_>) {
        let packets::Progress { statistics, total_bytes } = progress;
        self.show(|| {
            let share = share(statistics.bytes, total_bytes);
            format!("{} packets{share}, {} sessions", statistics.packets, statistics.sessions)
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
        if let Some(bar) = &self.0 {
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
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
