//! What a recording looks at every second: the disk, its own use of the processor, and what the kernel drops.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use serde::Serialize;
use splitproof_capture::trace::{Loss, Losses};

/// What a terminal shows of it; shared with the progress line.
#[derive(Debug, Default)]
pub struct Status {
    /// Packets dropped so far, and in the last second.
    pub dropped: AtomicU64,
    pub dropped_now: AtomicU64,
    /// Time of the processor in the last second, thousandths of a core.
    pub cpu: AtomicU64,
}

/// Looks every second.
pub struct Watch {
    dir: PathBuf,
    min_free: Option<u64>,
    status: Arc<Status>,
    /// Why the recording was ended.
    ended: Arc<OnceLock<String>>,
    cpu: Cpu,
    /// True where a line about each second with drops is printed.
    tells_drops: bool,
}

impl Watch {
    pub fn new(dir: &Path, min_free: Option<u64>, tells_drops: bool) -> Self {
        let (status, ended) = (Arc::new(Status::default()), Arc::new(OnceLock::new()));
        Watch { dir: dir.into(), min_free, status, ended, cpu: Cpu::start(), tells_drops }
    }

    /// What the progress line shows.
    pub fn status(&self) -> Arc<Status> {
        Arc::clone(&self.status)
    }

    /// Why the recording was ended, once it was.
    pub fn ended(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.ended)
    }

    /// True when the recording must end.
    pub fn tick(&mut self, losses: &Losses) -> bool {
        let dropped = losses.get(Loss::KernelDropped);
        let now = dropped.saturating_sub(self.status.dropped.swap(dropped, Ordering::Relaxed));
        self.status.dropped_now.store(now, Ordering::Relaxed);
        self.status.cpu.store(self.cpu.lap(), Ordering::Relaxed);
        if now > 0 && self.tells_drops {
            eprintln!(
                "dropped {now} packets in the last second, {dropped} in all: raise --buffer, or --sample-sessions"
            );
        }
        let Some(min_free) = self.min_free else { return false };
        match free(&self.dir) {
            Some(free) if free < min_free => {
                let text = format!(
                    "the recording was ended because {} has only {} free (--min-free {})",
                    self.dir.display(),
                    size(free),
                    size(min_free)
                );
                self.ended.set(text).ok();
                true
            }
            _ => false,
        }
    }
}

/// Bytes free in the file system of a directory; `None` where that cannot be told.
pub fn free(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The processor time that this process has used.
pub struct Cpu {
    began: Instant,
    at_start: u64,
    lap: (Instant, u64),
}

/// What a recording cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Budget {
    /// Seconds that the processor was used, on all cores together.
    pub cpu_seconds: f64,
    /// Seconds that passed.
    pub wall_seconds: f64,
    /// Their quotient: 1 is one core.
    pub share: f64,
}

impl Cpu {
    pub fn start() -> Self {
        let (now, used) = (Instant::now(), used_ms());
        Cpu { began: now, at_start: used, lap: (now, used) }
    }

    /// Thousandths of a core used since the last call.
    fn lap(&mut self) -> u64 {
        let (now, used) = (Instant::now(), used_ms());
        let (then, before) = std::mem::replace(&mut self.lap, (now, used));
        let passed = u64::try_from(now.duration_since(then).as_millis()).unwrap_or(u64::MAX);
        used.saturating_sub(before).saturating_mul(1000) / passed.max(1)
    }

    /// What was used since the beginning.
    pub fn budget(&self) -> Budget {
        let cpu_seconds = used_ms().saturating_sub(self.at_start) as f64 / 1000.0;
        let wall_seconds = self.began.elapsed().as_secs_f64();
        Budget { cpu_seconds, wall_seconds, share: cpu_seconds / wall_seconds.max(0.001) }
    }
}

/// User and system time of this process, milliseconds; 0 where the system does not tell.
fn used_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold anything; after it the 12th and 13th fields are the times, in hundredths of a second.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks * 10
}

/// A number of bytes for people.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["T", "G", "M", "K"];
    for (unit, shift) in UNITS.iter().zip([40, 30, 20, 10]) {
        if bytes >= 1 << shift {
            return format!("{:.1}{unit}", bytes as f64 / (1_u64 << shift) as f64);
        }
    }
    bytes.to_string()
}

/// Reads a number of bytes: `500M`, `1.5G`, `5GiB`; units are powers of 1024.
pub fn parse_size(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * (1_u64 << shift) as f64;
    (bytes >= 1.0 && bytes < u64::MAX as f64).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, bytes) in [("5G", 5 << 30), ("1.5k", 1536), ("500MiB", 500 << 20), ("2tb", 2 << 40), ("17", 17)] {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for wrong in ["", "G", "5X", "-1G", "0", "1..5G", "five"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
        assert_eq!((size(5 << 30), size(17)), ("5.0G".into(), "17".into()));
    }

    #[test]
    fn the_recording_ends_when_the_disk_is_nearly_full() {
        let here = Path::new(".");
        let free = free(here).expect("a file system");
        assert!(free > 0);
        let losses = Losses::default();
        assert!(!Watch::new(here, Some(1), false).tick(&losses));
        let mut watch = Watch::new(here, Some(u64::MAX), false);
        assert!(watch.tick(&losses));
        assert!(watch.ended().get().is_some_and(|why| why.contains("--min-free")));
    }

    #[test]
    fn the_processor_time_grows() {
        let cpu = Cpu::start();
        let mut number = 0_u64;
        while cpu.began.elapsed().as_millis() < 300 {
            number = std::hint::black_box(number.wrapping_mul(31).wrapping_add(7));
        }
        let budget = cpu.budget();
        assert!(budget.cpu_seconds > 0.02 && budget.share < 64.0, "{budget:?}");
    }
}
