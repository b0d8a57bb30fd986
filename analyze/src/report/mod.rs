//! Reports of a comparison, for people and for machines.
//!
//! - [`Report`]: what there is to report; [`Exporter`]: one way to do it
//! - [`Terminal`], [`Json`], [`Html`], [`Junit`]: the ways
//! - [`Headline`]: a kind of finding with its shapes, as all of them show it
//!
//! Each answers in the same order: ship or not; why; which shapes; what is not known.

mod chart;
mod headline;
mod html;
mod json;
mod junit;
mod terminal;

use std::io;

pub use headline::{Headline, Line, headlines};
pub use html::Html;
pub use json::Json;
pub use junit::Junit;
pub use terminal::Terminal;

use crate::comparison::Comparison;
use crate::gate::{Decision, Verdict};

/// What there is to report.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What was found.
    pub comparison: &'a Comparison,
    /// What the gate says of it.
    pub verdict: &'a Verdict,
}

impl Report<'_> {
    /// The decision in words. A prediction is no test of the router: where nothing speaks against it, a replay has the last word.
    pub fn words(&self) -> &'static str {
        let predicted = self.comparison.candidate.run.simulation.is_some();
        match self.verdict.decision {
            Decision::Pass if predicted => "nothing found in the prediction: confirm it with a replay",
            Decision::Fail if predicted => "don't ship: the prediction fails",
            decision => decision.words(),
        }
    }
}

/// One form of report.
pub trait Exporter {
    /// Writes the report.
    fn write(&self, report: Report<'_>, out: &mut dyn io::Write) -> io::Result<()>;
}

/// The beginning of a statement on one line, at most `limit` characters.
fn shorten(sql: &str, limit: usize) -> String {
    let mut text = String::new();
    for (count, word) in sql.split_whitespace().enumerate() {
        if count > 0 {
            text.push(' ');
        }
        text.push_str(word);
        if text.chars().count() > limit {
            let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
            short.push('…');
            return short;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::shorten;

    #[test]
    fn long_statements_end_with_an_ellipsis_within_the_limit() {
        assert_eq!(shorten("select\n  1", 20), "select 1");
        let short = shorten("select aäöü from a_long_table", 10);
        assert_eq!(short.chars().count(), 10);
        assert!(short.ends_with('…'));
    }
}
