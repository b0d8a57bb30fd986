//! Whether a trace can be replayed, and what of it cannot.

use serde::Serialize;
use splitproof_capture::trace::{Loss, Manifest, Outcome};

use super::count::Counts;

/// Whether the replay would do what the clients did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing known speaks against it.
    Fit,
    /// Some requests are missing or cannot be sent.
    InPart,
    /// The replay would send nothing, or something else.
    NotFit,
}

/// The verdict and its reasons.
#[derive(Serialize)]
pub struct Fitness {
    pub verdict: Verdict,
    pub reasons: Vec<String>,
}

impl Fitness {
    pub fn of(manifest: &Manifest, counts: &Counts) -> Self {
        let losses = &manifest.table.losses;
        let mut against = Vec::new();
        if manifest.run.is_some() {
            against.push("it is a run: replay the recording that it repeats".to_string());
        }
        if manifest.table.requests == 0 {
            against.push("it holds no request".to_string());
        }
        if counts.redacted > 0 {
            against.push(format!("{} requests are redacted: what they ask for is in no database", counts.redacted));
        }
        let mut parts = Vec::new();
        let mut part = |count: u64, what: &str| {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        };
        part(
            counts.midway.len() as u64,
            "sessions began before the recording: their settings, transactions and prepared statements are not known",
        );
        part(counts.unknown_user.len() as u64, "of these have no user: give one as [defaults] in pair.toml");
        part(counts.without_text, "requests have no text and are not sent");
        part(counts.truncated, "requests are incomplete");
        part(counts.passwords, "texts set a password, which is not recorded, and are not sent");
        part(counts.gap_before, "requests follow a gap, so that requests before them may be missing");
        part(
            counts.outcomes.get(&Outcome::Unfinished).copied().unwrap_or(0),
            "requests have no answer to compare with: the recording ended, or has a gap",
        );
        part(losses.get(Loss::Encrypted), "sessions were encrypted and are missing, and their load with them");
        part(losses.get(Loss::OtherEngine), "sessions of another engine are missing");
        part(losses.get(Loss::KernelDropped), "packets were dropped while recording");
        part(losses.get(Loss::SampledOut), "sessions were left out by --sample-sessions, and their load with them");
        if manifest.rebuilt {
            parts.push("what was lost while recording is not known".into());
        } else if manifest.stopped {
            parts.push(super::stopped(manifest).into());
        } else if !manifest.complete {
            parts.push("the recording is still running, or was killed: its end is missing".into());
        }
        let verdict = match (against.is_empty(), parts.is_empty()) {
            (false, _) => Verdict::NotFit,
            (true, false) => Verdict::InPart,
            (true, true) => Verdict::Fit,
        };
        against.extend(parts);
        Fitness { verdict, reasons: against }
    }
}
