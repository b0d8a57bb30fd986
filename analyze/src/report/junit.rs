//! JUnit XML, for the test view of a CI system: one test case per condition of the gate.

use std::io;

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use super::{Exporter, Report, headlines};
use crate::gate::{Checked, Status};

/// One suite, one case per condition. A condition that could not be measured is an error, a broken one a failure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Junit;

impl Exporter for Junit {
    fn write(&self, report: Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let mut suite = TestSuite::new("gate");
        for checked in &report.verdict.conditions {
            suite.add_test_case(case(checked, report));
        }
        let mut document = Document::new("splitproof-analyze compare");
        document.add_test_suite(suite);
        document.serialize(out).map_err(io::Error::other)
    }
}

fn case(checked: &Checked, report: Report<'_>) -> TestCase {
    let status = match checked.status {
        Status::Held => TestCaseStatus::success(),
        Status::Broken => failed(NonSuccessKind::Failure, checked, report),
        Status::Unmeasured => failed(NonSuccessKind::Error, checked, report),
    };
    let mut case = TestCase::new(checked.condition.metric.as_str(), status);
    case.set_classname("splitproof.gate");
    case
}

fn failed(kind: NonSuccessKind, checked: &Checked, report: Report<'_>) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(checked.to_string());
    let shapes: Vec<String> = headlines(report.comparison)
        .iter()
        .filter(|headline| checked.condition.metric.starts_with(headline.name))
        .flat_map(|headline| &headline.lines)
        .map(|line| format!("{} x {}\n    {}; {}", line.count, line.shape, line.detail, line.example))
        .collect();
    if !shapes.is_empty() {
        status.set_description(shapes.join("\n"));
    }
    status
}
