//! The result on a terminal.

use std::fmt::Write;

use super::{CaseReport, CheckReport, FindingKind, Property};

/// The result as text: what is wrong case by case, then the totals.
pub fn render(report: &CheckReport) -> String {
    let mut out = String::new();
    for case in report.cases.iter().filter(|case| !case.is_right()) {
        // Writing to a String cannot fail.
        write_case(&mut out, case).ok();
    }
    write_totals(&mut out, report).ok();
    out
}

fn write_case(out: &mut String, case: &CaseReport) -> std::fmt::Result {
    writeln!(out, "{}: {}", case.id, case.why)?;
    if let Some(problem) = &case.broken {
        writeln!(out, "    could not be run: {problem}")?;
    }
    for finding in &case.findings {
        let sql = case.statements.get(finding.statement).map_or("", |statement| statement.sql.as_str());
        writeln!(out, "    {}: {}", finding.kind.as_str(), one_line(sql))?;
        writeln!(out, "        {}", finding.message)?;
    }
    for statement in case.statements.iter().filter(|statement| statement.disputed.is_some()) {
        let disputed = statement.disputed.as_deref().unwrap_or("");
        writeln!(
            out,
            "    note: the fixture says {}, the pair's catalogue {disputed}: {}",
            statement.intent,
            one_line(&statement.sql)
        )?;
    }
    Ok(())
}

fn write_totals(out: &mut String, report: &CheckReport) -> std::fmt::Result {
    let statements: usize = report.cases.iter().map(|case| case.statements.len()).sum();
    writeln!(
        out,
        "{} cases, {statements} statements, {:.1} s: {} right, {} wrong",
        report.cases.len(),
        report.seconds,
        report.passed(),
        report.cases.len() - report.passed()
    )?;
    for (property, name) in
        [(Property::Safety, "safety"), (Property::Coherence, "coherence"), (Property::Completeness, "completeness")]
    {
        match report.broken_cases(property) {
            0 => writeln!(out, "  {name:<12} holds")?,
            1 => writeln!(out, "  {name:<12} broken in 1 case")?,
            count => writeln!(out, "  {name:<12} broken in {count} cases")?,
        }
    }
    let counts = report.counts();
    for kind in FindingKind::ALL {
        if let Some(count) = counts.get(kind) {
            writeln!(out, "  {count:>4} {}", kind.as_str())?;
        }
    }
    Ok(())
}

fn one_line(sql: &str) -> String {
    let words: Vec<_> = sql.split_whitespace().collect();
    words.join(" ")
}
