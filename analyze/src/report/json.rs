//! Everything as JSON.

use std::io;

use serde::Serialize;

use super::{Exporter, Headline, Report, headlines};
use crate::comparison::Comparison;
use crate::gate::Verdict;

/// One JSON object: the verdict, the findings in short, and the whole comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

#[derive(Serialize)]
struct Document<'a> {
    verdict: &'a Verdict,
    findings: Vec<Headline>,
    comparison: &'a Comparison,
}

impl Exporter for Json {
    fn write(&self, report: Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let document =
            Document { verdict: report.verdict, findings: headlines(report.comparison), comparison: report.comparison };
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    }
}
