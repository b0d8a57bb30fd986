//! The result of a check.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Finding, FindingKind};

/// One of the three properties of a right router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// No write reaches a replica.
    Safety,
    /// Every eligible read can reach a replica.
    Completeness,
    /// A transaction never splits, and state is where it is used.
    Coherence,
}

/// The result of a check. As JSON it is what `--format json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The version of this structure as JSON.
    pub version: u32,
    /// The fixture.
    pub fixture: String,
    /// The router's address.
    pub router: String,
    /// The nodes, each as name and role.
    pub nodes: Vec<(String, String)>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The cases, in order.
    pub cases: Vec<CaseReport>,
}

/// The result of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// Its name.
    pub id: String,
    /// Why it is in the fixture.
    pub why: String,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// How often it was run: a read that the primary served is tried again, since routers spread reads.
    pub tries: u32,
    /// Its statements, in order, as the last try ran them.
    pub statements: Vec<StatementReport>,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// Why it could not be run to its end.
    pub broken: Option<String>,
}

/// One statement of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementReport {
    /// The text.
    pub sql: String,
    /// Where it belongs.
    pub intent: String,
    /// The nodes that ran it.
    pub nodes: Vec<String>,
    /// SQLSTATE of its answer.
    pub error: Option<String>,
    /// Set where the fixture's place differs from what the pair's catalogue gives: that place, and why.
    pub disputed: Option<String>,
}

impl CheckReport {
    /// The version that [`CheckReport::version`] holds.
    pub const VERSION: u32 = 1;

    /// Cases in which nothing is wrong.
    pub fn passed(&self) -> usize {
        self.cases.iter().filter(|case| case.is_right()).count()
    }

    /// Findings by kind, each kind with its count.
    pub fn counts(&self) -> BTreeMap<FindingKind, usize> {
        let mut counts = BTreeMap::new();
        for finding in self.cases.iter().flat_map(|case| &case.findings) {
            *counts.entry(finding.kind).or_default() += 1;
        }
        counts
    }

    /// Cases with a finding against this property.
    pub fn broken_cases(&self, property: Property) -> usize {
        let breaks = |case: &&CaseReport| case.findings.iter().any(|found| found.kind.property() == Some(property));
        self.cases.iter().filter(breaks).count()
    }

    /// The exit code: 0 when every case is right, 1 when a property is broken, 2 when nothing is known to be broken
    /// but some case could not be judged.
    pub fn exit_code(&self) -> u8 {
        let mut findings = self.cases.iter().flat_map(|case| &case.findings);
        if findings.any(|finding| finding.kind.property().is_some()) {
            1
        } else if self.cases.iter().all(CaseReport::is_right) {
            0
        } else {
            2
        }
    }
}

impl CaseReport {
    /// True when nothing is wrong and it ran to its end.
    pub fn is_right(&self) -> bool {
        self.findings.is_empty() && self.broken.is_none()
    }
}
