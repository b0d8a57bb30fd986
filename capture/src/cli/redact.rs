//! Taking the values out of a trace.

use splitproof_capture::redact;
use splitproof_capture::trace::{Loss, Manifest};

use super::Done;
use super::plan::Redact;
use super::summary::Summary;

/// Writes the redacted trace and prints the summary.
pub fn run(plan: Redact) -> anyhow::Result<Done> {
    let Redact { trace, key, output } = plan;
    let manifest = redact::redact(&trace, &output.dir, output.existing, key)?;
    let problems: Vec<String> = left_out(&manifest).into_iter().collect();
    Summary::new(&output.dir, &manifest, &problems).print(output.json)?;
    Ok(Done::from_problems(&problems))
}

/// Texts that are missing from a redacted trace.
pub fn left_out(manifest: &Manifest) -> Option<String> {
    let count = manifest.table.losses.get(Loss::Redacted);
    (count > 0).then(|| {
        format!("{count} requests were kept without their text or data, because their values could not be told apart with certainty")
    })
}
