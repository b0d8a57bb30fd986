//! What the report of a comparison says, as far as the matrix reads it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Deserialize;

/// What `splitproof-analyze compare` can find, by the names of its metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[clap(rename_all = "snake_case")]
pub enum Finding {
    /// A statement that belongs to the primary ran on a replica.
    WriteLeakage,
    /// The primary served a read that a replica may serve.
    AccidentalPrimaryReads,
    /// A transaction ran on two nodes.
    SplitTransactions,
    /// A session's setting missed a node.
    SessionStateMissed,
    /// A write ran more often than it was asked for.
    DuplicatedWrites,
    /// A write ran that nobody asked for.
    RouterMadeWrites,
    /// A read missed a commit.
    StaleReads,
    /// An answer differs because the node was behind.
    StaleAnswers,
    /// An answer differs though both nodes were current.
    Mismatches,
    /// The candidate answered with an error.
    AnswerErrors,
    /// An answer could not be compared, or its difference not be explained.
    UnverifiedAnswers,
    /// It is not known where a request ran.
    Unattributed,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.to_possible_value();
        f.pad(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// One entry of a report.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What was found.
    pub finding: Finding,
    /// The shapes that show it, by their ids; of a transaction, all its statements.
    pub shapes: BTreeSet<String>,
    /// How many requests.
    pub requests: u64,
    /// One of them.
    pub example: String,
}

#[derive(Debug, Deserialize)]
struct Document {
    comparison: Comparison,
}

#[derive(Debug, Deserialize)]
struct Comparison {
    candidate: Judged,
    answers: Answers,
    metrics: std::collections::BTreeMap<String, f64>,
}

#[derive(Debug, Deserialize)]
struct Judged {
    write_leakage: Vec<Line>,
    accidental_primary_reads: Vec<Line>,
    split_transactions: Vec<Split>,
    session_state_missed: Vec<Line>,
    duplicated_writes: Vec<Line>,
    router_made: Vec<Made>,
    stale_reads: Vec<Line>,
}

#[derive(Debug, Deserialize)]
struct Line {
    shape: Shape,
    #[serde(alias = "executions")]
    requests: u64,
    example: Example,
}

#[derive(Debug, Deserialize)]
struct Split {
    transactions: u64,
    statements: Vec<Statement>,
    example: Example,
}

#[derive(Debug, Deserialize)]
struct Statement {
    shape: Shape,
}

#[derive(Debug, Deserialize)]
struct Made {
    shape: Shape,
    executions: Vec<(String, u64)>,
    writes: bool,
    sql: String,
}

#[derive(Debug, Deserialize)]
struct Answers {
    shapes: Vec<ShapeAnswers>,
}

#[derive(Debug, Deserialize)]
struct ShapeAnswers {
    shape: Shape,
    examples: Vec<AnswerExample>,
}

#[derive(Debug, Deserialize)]
struct AnswerExample {
    class: String,
    reason: String,
    requests: u64,
    baseline_only: bool,
    candidate: Example,
}

#[derive(Debug, Deserialize)]
struct Shape {
    id: String,
}

#[derive(Debug, Deserialize)]
struct Example {
    sql: String,
}

/// Everything that a report blames on the candidate.
pub fn read(report: &Path) -> Result<Vec<Entry>> {
    let text = std::fs::read_to_string(report).with_context(|| format!("cannot read {}", report.display()))?;
    let document: Document = serde_json::from_str(&text).with_context(|| report.display().to_string())?;
    let Comparison { candidate, answers, metrics } = document.comparison;
    let mut entries = Vec::new();
    for (finding, lines) in [
        (Finding::WriteLeakage, candidate.write_leakage),
        (Finding::AccidentalPrimaryReads, candidate.accidental_primary_reads),
        (Finding::SessionStateMissed, candidate.session_state_missed),
        (Finding::DuplicatedWrites, candidate.duplicated_writes),
        (Finding::StaleReads, candidate.stale_reads),
    ] {
        entries.extend(lines.into_iter().map(|line| Entry {
            finding,
            shapes: [line.shape.id].into(),
            requests: line.requests,
            example: line.example.sql,
        }));
    }
    entries.extend(candidate.split_transactions.into_iter().map(|split| Entry {
        finding: Finding::SplitTransactions,
        shapes: split.statements.into_iter().map(|statement| statement.shape.id).collect(),
        requests: split.transactions,
        example: split.example.sql,
    }));
    entries.extend(candidate.router_made.into_iter().filter(|made| made.writes).map(|made| Entry {
        finding: Finding::RouterMadeWrites,
        shapes: [made.shape.id].into(),
        requests: made.executions.iter().map(|(_, count)| count).sum(),
        example: made.sql,
    }));
    for of_shape in answers.shapes {
        for example in of_shape.examples.into_iter().filter(|example| !example.baseline_only) {
            let finding = match example.class.as_str() {
                "mismatch" => Finding::Mismatches,
                "stale" | "missing" => Finding::StaleAnswers,
                "error" => Finding::AnswerErrors,
                "unverified" => Finding::UnverifiedAnswers,
                // The workload races with itself, or may answer differently each time: no fault of a router.
                _ => continue,
            };
            entries.push(Entry {
                finding,
                shapes: [of_shape.shape.id.clone()].into(),
                requests: example.requests,
                example: format!("{} ({})", example.candidate.sql, example.reason),
            });
        }
    }
    let unattributed = metrics.get("unattributed").copied().unwrap_or(f64::NAN);
    if unattributed != 0.0 {
        let example = format!("{unattributed} requests");
        let finding = Finding::Unattributed;
        entries.push(Entry { finding, shapes: BTreeSet::new(), requests: unattributed as u64, example });
    }
    Ok(entries)
}
