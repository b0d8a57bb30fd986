//! Findings as all reports show them: a kind, how often in either run, and the shapes that show it.

use serde::Serialize;

use crate::comparison::{AccidentalPrimaryRead, Comparison, Judged, SplitTransaction, Writer};

/// One kind of finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headline {
    /// Name of the finding, and of its metric.
    pub name: &'static str,
    /// The name in words.
    pub title: &'static str,
    /// What it means and what it does to users.
    pub meaning: &'static str,
    /// True when it goes unnoticed without this report.
    pub silent: bool,
    /// How often in the candidate.
    pub candidate: u64,
    /// How often in the baseline; `None` without evidence there.
    pub baseline: Option<u64>,
    /// The shapes that show it, those that the baseline lacks first, then those that got much worse.
    pub lines: Vec<Line>,
}

impl Headline {
    /// True when the candidate shows it more often than the baseline, or in a shape where the baseline does not.
    pub fn is_worse(&self) -> bool {
        self.candidate > self.baseline.unwrap_or(0) || self.lines.iter().any(Line::is_new)
    }
}

/// One shape that shows a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// How often in the candidate.
    pub count: u64,
    /// How often in the baseline; `None` without evidence there.
    pub baseline: Option<u64>,
    /// The shape, or the statements of a transaction.
    pub shape: String,
    /// Where it ran and what came of it.
    pub detail: String,
    /// A request to look at: session and number in the candidate's trace.
    pub example: String,
}

impl Line {
    /// True when the baseline does not show it.
    pub fn is_new(&self) -> bool {
        self.count > 0 && self.baseline == Some(0)
    }

    /// True when the baseline shows it much more rarely: less than half as often, and by more than a few.
    pub fn is_worse(&self) -> bool {
        const FEW: u64 = 5;
        self.baseline.is_some_and(|baseline| baseline > 0 && self.count > baseline * 2 && self.count - baseline > FEW)
    }

    /// The word for it, empty where it is much as in the baseline.
    pub fn mark(&self) -> &'static str {
        match (self.is_new(), self.is_worse()) {
            (true, _) => "new",
            (_, true) => "worse",
            _ => "",
        }
    }
}

/// Every kind of finding that the candidate shows.
pub fn headlines(comparison: &Comparison) -> Vec<Headline> {
    let (candidate, baseline) = (&comparison.candidate, &comparison.baseline);
    let count = |of: fn(&Judged) -> u64| baseline.run.has_evidence.then(|| of(baseline));
    let all = [
        Headline {
            name: "write_leakage",
            title: "Write leakage",
            meaning: "belongs to the primary and ran on a replica: an error at best, lost locks or diverging data at worst",
            silent: candidate.write_leakage.iter().any(|finding| finding.refused < finding.requests),
            candidate: candidate.write_leakage.iter().map(|finding| finding.requests).sum(),
            baseline: count(|run| run.write_leakage.iter().map(|finding| finding.requests).sum()),
            lines: candidate.write_leakage.iter().map(|finding| Line {
                count: finding.requests,
                baseline: finding.baseline,
                shape: finding.shape.text.clone(),
                detail: leak_detail(finding.refused, &finding.errors, &finding.nodes, &finding.reason),
                example: key(finding.example.session, finding.example.seq),
            }).collect(),
        },
        Headline {
            name: "split_transactions",
            title: "Split transactions",
            meaning: "statements of one transaction ran on different nodes: no common snapshot, and own writes are not seen",
            silent: true,
            candidate: candidate.split_transactions.iter().map(|finding| finding.transactions).sum(),
            baseline: count(|run| run.split_transactions.iter().map(|finding| finding.transactions).sum()),
            lines: candidate.split_transactions.iter().map(|finding| Line {
                count: finding.transactions,
                baseline: finding.baseline,
                shape: steps(finding),
                detail: if finding.without_begin { "a statement ran on a node that got no BEGIN" } else { "" }.to_owned(),
                example: key(finding.example.session, finding.example.seq),
            }).collect(),
        },
        Headline {
            name: "accidental_primary_reads",
            title: "Accidental primary reads",
            meaning: "could have run on a replica and ran on the primary: nothing fails, and the replica idles",
            silent: true,
            candidate: candidate.accidental_primary_reads.iter().map(|finding| finding.requests).sum(),
            baseline: count(|run| run.accidental_primary_reads.iter().map(|finding| finding.requests).sum()),
            lines: candidate.accidental_primary_reads.iter().map(|finding| Line {
                count: finding.requests,
                baseline: finding.baseline,
                shape: finding.shape.text.clone(),
                detail: primary_time(finding),
                example: key(finding.example.session, finding.example.seq),
            }).collect(),
        },
        Headline {
            name: "stale_reads",
            title: "Stale reads",
            meaning: "a replica answered before it had applied a commit on the tables that were read",
            silent: true,
            candidate: candidate.stale_reads.iter().map(|finding| finding.requests).sum(),
            baseline: count(|run| run.stale_reads.iter().map(|finding| finding.requests).sum()),
            lines: candidate.stale_reads.iter().map(|finding| Line {
                count: finding.requests,
                baseline: finding.baseline,
                shape: finding.shape.text.clone(),
                detail: format!(
                    "{} of {} replica reads; {} session's write missed; lag {:.1} / {:.1} / {:.1} ms (least, median, most), ± {:.1} ms",
                    finding.requests, finding.replica_reads,
                    whose(finding.writer),
                    finding.lag_ms[0], finding.lag_ms[1], finding.lag_ms[2], finding.uncertainty_ms
                ),
                example: key(finding.example.session, finding.example.seq),
            }).collect(),
        },
        Headline {
            name: "session_state_missed",
            title: "Session state that missed a node",
            meaning: "a node served a session without state that the session had set",
            silent: true,
            candidate: candidate.session_state_missed.iter().map(|finding| finding.requests).sum(),
            baseline: count(|run| run.session_state_missed.iter().map(|finding| finding.requests).sum()),
            lines: candidate.session_state_missed.iter().map(|finding| Line {
                count: finding.requests,
                baseline: finding.baseline,
                shape: finding.shape.text.clone(),
                detail: format!("missed {}; then served: {}", finding.missed.join(", "), super::shorten(&finding.served.sql, 80)),
                example: key(finding.example.session, finding.example.seq),
            }).collect(),
        },
        Headline {
            name: "duplicated_writes",
            title: "Duplicated writes",
            meaning: "a write ran more often than it was asked for",
            silent: true,
            candidate: candidate.duplicated_writes.iter().map(|finding| finding.executions).sum(),
            baseline: count(|run| run.duplicated_writes.iter().map(|finding| finding.executions).sum()),
            lines: candidate.duplicated_writes.iter().map(|finding| Line {
                count: finding.executions,
                baseline: finding.baseline,
                shape: finding.shape.text.clone(),
                detail: format!("on {}", finding.nodes.join(", ")),
                example: key(finding.example.session, finding.example.seq),
            }).collect(),
        },
        answers(comparison),
    ];
    let mut found: Vec<Headline> = all.into_iter().filter(|headline| headline.candidate > 0).collect();
    for headline in &mut found {
        headline.lines.sort_by_key(|line| (!line.is_new(), !line.is_worse()));
    }
    found
}

/// Answers that are wrong, which only the two runs together show. Where the baseline's node was behind, the candidate's answer is
/// the better one, and no finding.
fn answers(comparison: &Comparison) -> Headline {
    use crate::comparison::AnswerClass::{Error, Mismatch, Missing, Stale};
    let mut lines = Vec::new();
    let mut silent = false;
    for shape in &comparison.answers.shapes {
        for example in shape.examples.iter().filter(|example| !example.baseline_only) {
            if !matches!(example.class, Mismatch | Stale | Missing | Error) {
                continue;
            }
            silent |= example.class != Error;
            lines.push(Line {
                count: example.requests,
                baseline: None,
                shape: shape.shape.text.clone(),
                detail: format!("{}: {}", example.class, example.reason),
                example: key(example.candidate.session, example.candidate.seq),
            });
        }
    }
    Headline {
        name: "different_answers",
        title: "Different answers",
        meaning: "the candidate answered a recorded request otherwise than the baseline, for a reason that is the router's",
        silent,
        candidate: lines.iter().map(|line| line.count).sum(),
        baseline: None,
        lines,
    }
}

fn whose(writer: Writer) -> &'static str {
    match writer {
        Writer::Own => "its own",
        Writer::SameClient => "the same user's other",
        Writer::Other => "another",
    }
}

fn primary_time(finding: &AccidentalPrimaryRead) -> String {
    let eligible = format!("{} of {} eligible", finding.requests, finding.eligible);
    match (finding.primary_ms, finding.share) {
        (Some(ms), Some(share)) => format!("{eligible}; {ms:.1} ms on the primary, {:.1} % of its time", share * 100.0),
        _ => format!("{eligible}; how long they took there is not known"),
    }
}

fn leak_detail(refused: u64, errors: &[(String, u64)], nodes: &[String], reason: &str) -> String {
    let mut detail = format!("on {}; {reason}", nodes.join(", "));
    if refused > 0 {
        detail.push_str(&format!("; {refused} refused as read-only"));
    }
    for (code, count) in errors.iter().filter(|(code, _)| !crate::findings::READ_ONLY.contains(&code.as_str())) {
        detail.push_str(&format!("; {count} failed with {code}"));
    }
    detail
}

/// The statements of a transaction with their nodes.
fn steps(finding: &SplitTransaction) -> String {
    let steps: Vec<String> = finding
        .statements
        .iter()
        .map(|statement| format!("{} @{}", super::shorten(&statement.shape.text, 60), statement.nodes.join("+")))
        .collect();
    steps.join(" ; ")
}

fn key(session: u64, seq: u32) -> String {
    format!("session {session} request {seq}")
}
