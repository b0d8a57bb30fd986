//! What `splitproof-analyze compare` writes, as far as the tests read it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde::Deserialize;

use crate::tools;

/// A comparison with its exit code.
pub struct Verdict {
    /// The exit code.
    pub code: i32,
    /// The JSON report.
    pub report: Report,
    /// Every request of the candidate, judged.
    pub requests: Vec<Judged>,
    /// The columns that those have in their file.
    pub columns: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct Report {
    pub verdict: Decision,
    pub findings: Vec<Headline>,
    pub comparison: Comparison,
}

#[derive(Debug, Deserialize)]
pub struct Decision {
    pub decision: String,
    pub conditions: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
pub struct Condition {
    pub metric: String,
    pub status: String,
}

#[derive(Debug, Deserialize)]
pub struct Headline {
    pub name: String,
    pub lines: Vec<Line>,
}

#[derive(Debug, Deserialize)]
pub struct Line {
    pub count: u64,
    pub baseline: Option<u64>,
    pub shape: String,
}

#[derive(Debug, Deserialize)]
pub struct Comparison {
    pub baseline: Side,
    pub candidate: Side,
    pub answers: Answers,
    pub metrics: BTreeMap<String, f64>,
}

#[derive(Debug, Deserialize)]
pub struct Side {
    pub write_leakage: Vec<Leakage>,
    pub accidental_primary_reads: Vec<PrimaryRead>,
    pub split_transactions: Vec<Split>,
    pub stale_reads: Vec<StaleRead>,
}

#[derive(Debug, Deserialize)]
pub struct Leakage {
    pub shape: Shape,
    pub requests: u64,
    pub refused: u64,
    pub errors: Vec<(String, u64)>,
    pub nodes: Vec<String>,
    pub baseline: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct PrimaryRead {
    pub shape: Shape,
    pub requests: u64,
    pub baseline: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct Split {
    pub baseline: Option<u64>,
    pub statements: Vec<Statement>,
}

#[derive(Debug, Deserialize)]
pub struct Statement {
    pub shape: Shape,
    pub intent: String,
    pub nodes: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct StaleRead {
    pub requests: u64,
    pub lag_ms: [f64; 3],
}

#[derive(Debug, Deserialize)]
pub struct Answers {
    pub counts: BTreeMap<String, u64>,
    pub shapes: Vec<ShapeAnswers>,
    pub nondeterministic: Vec<Nondeterministic>,
}

#[derive(Debug, Deserialize)]
pub struct ShapeAnswers {
    pub shape: Shape,
    pub counts: BTreeMap<String, u64>,
}

#[derive(Debug, Deserialize)]
pub struct Nondeterministic {
    pub shape: Shape,
    pub why: String,
    pub differ: u64,
}

#[derive(Debug, Deserialize)]
pub struct Shape {
    pub text: String,
}

/// A request of a run, judged.
#[derive(Debug, Default)]
pub struct Judged {
    pub session: u64,
    pub seq: u32,
    pub start_ns: i64,
    pub sql: Option<String>,
    /// Where it ran; empty when that is not known, or it executes nothing.
    pub nodes: Vec<String>,
    pub needed: bool,
    pub staleness: Option<String>,
    pub lag_ns: Option<i64>,
}

impl Verdict {
    /// Compares two runs as the demo does; `place` is where the reports go.
    pub fn of(baseline: &Path, candidate: &Path, place: &Path) -> Self {
        let _ = std::fs::remove_dir_all(place);
        std::fs::create_dir_all(place).unwrap();
        let (json, requests, gate) = (place.join("report.json"), place.join("requests"), tools::sample("gate.yaml"));
        let ended = tools::run(
            "analyze",
            [
                "compare".as_ref(),
                baseline.as_os_str(),
                candidate.as_os_str(),
                "--gate".as_ref(),
                gate.as_os_str(),
                "--json".as_ref(),
                json.as_os_str(),
                "--requests".as_ref(),
                requests.as_os_str(),
            ],
        );
        // On a busy machine latencies may not be judged (2); the report is there all the same.
        let code = ended.code.filter(|code| (0..=2).contains(code)).unwrap_or_else(|| panic!("{ended:?}"));
        let report = std::fs::read_to_string(&json).unwrap_or_else(|_| panic!("{ended:?}"));
        let report = serde_json::from_str(&report).unwrap_or_else(|error| panic!("{}: {error}", json.display()));
        let (requests, columns) = judged(&requests.join("candidate.parquet"));
        Verdict { code, report, requests, columns }
    }

    /// The value of a metric.
    #[track_caller]
    pub fn metric(&self, name: &str) -> f64 {
        *self.report.comparison.metrics.get(name).unwrap_or_else(|| panic!("{name} was not measured"))
    }

    /// Whether the condition on a metric holds.
    #[track_caller]
    pub fn holds(&self, metric: &str) -> bool {
        let condition = self.report.verdict.conditions.iter().find(|condition| condition.metric == metric);
        condition.unwrap_or_else(|| panic!("no condition on {metric}")).status == "held"
    }
}

fn judged(path: &Path) -> (Vec<Judged>, Vec<String>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let columns = reader.metadata().file_metadata().schema().get_fields();
    let columns = columns.iter().map(|column| column.name().to_owned()).collect();
    let mut requests = Vec::new();
    for row in reader.get_row_iter(None).unwrap() {
        let mut judged = Judged::default();
        for (name, field) in row.unwrap().get_column_iter() {
            match (name.as_str(), field) {
                ("session", Field::Long(number)) => judged.session = number.cast_unsigned(),
                ("seq", Field::Long(number)) => judged.seq = u32::try_from(*number).unwrap(),
                ("start_ns", Field::Long(number)) => judged.start_ns = *number,
                ("sql", Field::Str(text)) => judged.sql = Some(text.clone()),
                ("nodes", Field::Str(names)) => judged.nodes = names.split('+').map(str::to_owned).collect(),
                ("needed", Field::Bool(needed)) => judged.needed = *needed,
                ("staleness", Field::Str(word)) => judged.staleness = Some(word.clone()),
                ("lag_ns", Field::Long(number)) => judged.lag_ns = Some(*number),
                _ => {}
            }
        }
        requests.push(judged);
    }
    assert!(!requests.is_empty(), "{} holds no requests", path.display());
    (requests, columns)
}
