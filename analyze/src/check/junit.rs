//! The result for CI.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::{CaseReport, CheckReport};

/// The result as a JUnit report: one test per case. A broken property is a failure, a case that could not be judged an
/// error.
pub fn render(report: &CheckReport) -> Result<String, SerializeError> {
    let mut junit = Report::new("splitproof-analyze check");
    junit.set_time(seconds(report.seconds));
    let mut suite = TestSuite::new(report.fixture.clone());
    suite.set_time(seconds(report.seconds));
    suite.add_test_cases(report.cases.iter().map(test_case));
    junit.add_test_suite(suite);
    junit.to_string()
}

fn test_case(case: &CaseReport) -> TestCase {
    let judged = case.findings.iter().find(|finding| finding.kind.property().is_some());
    let mut status = match (judged, case.findings.first(), &case.broken) {
        (Some(finding), ..) => failed(NonSuccessKind::Failure, finding.kind.as_str()),
        (None, Some(finding), _) => failed(NonSuccessKind::Error, finding.kind.as_str()),
        (None, None, Some(_)) => failed(NonSuccessKind::Error, "could not be run"),
        (None, None, None) => TestCaseStatus::success(),
    };
    if !case.is_right() {
        let mut lines = vec![case.why.clone()];
        for finding in &case.findings {
            let sql = case.statements.get(finding.statement).map_or("", |statement| statement.sql.as_str());
            lines.push(format!("{}: {sql}: {}", finding.kind.as_str(), finding.message));
        }
        lines.extend(case.broken.clone());
        status.set_message(lines.get(1).cloned().unwrap_or_default());
        status.set_description(lines.join("\n"));
    }
    let mut test = TestCase::new(case.id.clone(), status);
    test.set_classname("splitproof.check");
    test.set_time(seconds(case.seconds));
    test
}

fn failed(kind: NonSuccessKind, name: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(name);
    status
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}
