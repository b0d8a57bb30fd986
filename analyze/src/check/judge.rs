//! What is wrong about a case, given where its statements ran. Pure: evidence comes in, findings come out.

use std::collections::HashMap;

use splitproof_capture::trace::Role;

use super::{Case, Finding, FindingKind, Step};
use crate::intent::{Control, Intent, Judge, Pin, Reason, RequestView, Session, Verdict};

/// What is expected of one statement.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Where it belongs: as the fixture says, or as the judgement says where the fixture leaves it out.
    pub intent: Intent,
    /// Roles that may serve it as well.
    pub allowed: Vec<Intent>,
    /// The judgement.
    pub verdict: Verdict,
}

impl Expected {
    /// True when fixture and judgement agree on where the statement belongs.
    pub fn is_agreed(&self) -> bool {
        let either = self.allowed.contains(&Intent::Primary);
        self.intent == self.verdict.intent && (self.intent != Intent::Replica || either == self.verdict.either)
    }

    fn permits(&self, role: Role) -> bool {
        let own = match role {
            Role::Primary => Intent::Primary,
            Role::Replica => Intent::Replica,
        };
        match self.intent {
            Intent::Primary | Intent::Replica => self.intent == own || self.allowed.contains(&own),
            Intent::Unknown => role == Role::Primary,
            Intent::Same | Intent::All | Intent::None => true,
        }
    }
}

/// Where one statement ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// The nodes, as indices into the pair's, without repetition.
    pub nodes: Vec<usize>,
    /// SQLSTATE or number of the error that the client got.
    pub error: Option<String>,
}

/// What is expected of each statement of a case.
pub fn expectations(case: &Case, judge: &mut Judge) -> Vec<Expected> {
    let mut session = Session::new();
    let mut expect = |step: &Step| {
        let mut request = RequestView::query(&step.sql);
        if step.error.is_some() {
            request.outcome = splitproof_capture::trace::Outcome::Error;
        }
        let verdict = session.judge(judge, &request);
        let mut allowed = step.allowed.clone();
        if step.safe.is_none() && verdict.either {
            allowed.push(Intent::Primary);
        }
        Expected { intent: step.safe.unwrap_or(verdict.intent), allowed, verdict }
    };
    case.session.iter().map(&mut expect).collect()
}

/// What is wrong about a case whose statements ran here. `nodes` gives name and role of each node.
pub fn judge(case: &Case, expected: &[Expected], executed: &[Executed], nodes: &[(String, Role)]) -> Vec<Finding> {
    let steps = Steps { case, expected, executed, nodes };
    let mut findings = Vec::new();
    steps.places(&mut findings);
    steps.transactions(&mut findings);
    steps.pins(&mut findings);
    steps.settings(&mut findings);
    steps.outcomes(&mut findings);
    findings.sort_by_key(|finding| finding.statement);
    findings
}

struct Steps<'a> {
    case: &'a Case,
    expected: &'a [Expected],
    executed: &'a [Executed],
    nodes: &'a [(String, Role)],
}

impl<'a> Steps<'a> {
    fn iter(&self) -> impl Iterator<Item = (usize, &'a Step, &'a Expected, &'a Executed)> {
        let all = self.case.session.iter().zip(self.expected).zip(self.executed).enumerate();
        all.map(|(index, ((step, expected), executed))| (index, step, expected, executed))
    }

    fn role(&self, node: usize) -> Option<Role> {
        self.nodes.get(node).map(|(_, role)| *role)
    }

    fn names(&self, nodes: &[usize]) -> String {
        let names: Vec<_> =
            nodes.iter().filter_map(|&node| self.nodes.get(node)).map(|(name, _)| name.as_str()).collect();
        if names.is_empty() { "no node".to_owned() } else { names.join(" and ") }
    }

    /// Safety and completeness: each statement alone.
    fn places(&self, findings: &mut Vec<Finding>) {
        for (statement, _, expected, executed) in self.iter() {
            if executed.nodes.is_empty() {
                // A router may answer by itself that the transaction has failed.
                if expected.intent != Intent::None && expected.verdict.reason != Reason::FailedTransaction {
                    let message =
                        "no node was seen running it: it was not sent on, or the node that ran it is not watched";
                    findings.push(Finding { kind: FindingKind::Unseen, statement, message: message.to_owned() });
                }
                continue;
            }
            let wrong = |role: Role| {
                let wrong = executed.nodes.iter().copied().filter(|&node| self.role(node) == Some(role));
                if expected.permits(role) { Vec::new() } else { wrong.collect::<Vec<_>>() }
            };
            let (leaked, kept) = (wrong(Role::Replica), wrong(Role::Primary));
            if !leaked.is_empty() {
                let mut message = format!("ran on {}: {}", self.names(&leaked), expected.verdict.reason);
                if let Some(code) = &executed.error {
                    message.push_str(&format!("; the answer was {}", name(code)));
                }
                findings.push(Finding { kind: FindingKind::WriteLeakage, statement, message });
            }
            if !kept.is_empty() {
                let message = format!("ran on {}: {}", self.names(&kept), expected.verdict.reason);
                findings.push(Finding { kind: FindingKind::AccidentalPrimaryRead, statement, message });
            }
        }
    }

    /// Coherence: a transaction's statements run on one node, which has seen its BEGIN.
    fn transactions(&self, findings: &mut Vec<Finding>) {
        let mut begun: HashMap<u32, &[usize]> = HashMap::new();
        let mut home: HashMap<u32, usize> = HashMap::new();
        for (statement, _, expected, executed) in self.iter() {
            let Some(number) = expected.verdict.transaction else { continue };
            let nodes = &executed.nodes;
            match expected.verdict.control {
                Some(Control::Begin) => {
                    begun.insert(number, nodes);
                    continue;
                }
                Some(_) => continue,
                None if expected.intent == Intent::All => continue,
                None => {}
            }
            let Some(&first) = nodes.first() else { continue };
            let home = *home.entry(number).or_insert(first);
            let message = if nodes.iter().any(|&node| node != home) {
                format!("ran on {}, and the transaction before it on {}", self.names(nodes), self.names(&[home]))
            } else if begun.get(&number).is_some_and(|begun| !begun.is_empty() && !begun.contains(&home)) {
                format!("ran on {}, which did not get the transaction's BEGIN", self.names(nodes))
            } else {
                continue;
            };
            findings.push(Finding { kind: FindingKind::SplitTransaction, statement, message });
        }
        // What shapes or ends the transaction may reach more nodes, and must reach this one.
        for (statement, _, expected, executed) in self.iter() {
            let Some(number) = expected.verdict.transaction else { continue };
            let shapes = matches!(expected.verdict.control, Some(control) if control != Control::Begin);
            if let (true, Some(home)) = (shapes && !executed.nodes.is_empty(), home.get(&number))
                && !executed.nodes.contains(home)
            {
                let (here, there) = (self.names(&executed.nodes), self.names(&[*home]));
                let message = format!("ran on {here}, and the transaction on {there}");
                findings.push(Finding { kind: FindingKind::SplitTransaction, statement, message });
            }
        }
    }

    /// Coherence: what lives on a node is used there.
    fn pins(&self, findings: &mut Vec<Finding>) {
        let mut origins: HashMap<&Pin, &[usize]> = HashMap::new();
        for (statement, _, expected, executed) in self.iter() {
            if expected.verdict.generates_key() && !executed.nodes.is_empty() {
                origins.insert(&Pin::InsertId, &executed.nodes);
            }
            let Some(pin) = &expected.verdict.pin else { continue };
            if *pin == Pin::Transaction || executed.nodes.is_empty() {
                continue;
            }
            // What a statement leaves where it runs is new each time, and what the one before left lives where that ran.
            let anew = matches!(pin, Pin::Variable(_)) && expected.verdict.makes(pin);
            let before = || {
                let ran = self.executed.get(..statement).unwrap_or_default();
                ran.iter().rev().find(|executed| !executed.nodes.is_empty()).map(|executed| &executed.nodes[..])
            };
            let origin = match pin {
                Pin::Before => before(),
                _ => origins.get(pin).copied().filter(|_| !anew),
            };
            match origin {
                None => {
                    origins.insert(pin, &executed.nodes);
                }
                Some(origin) => {
                    if executed.nodes.iter().any(|node| !origin.contains(node)) {
                        let (here, there) = (self.names(&executed.nodes), self.names(origin));
                        let message = format!("ran on {here}, and the {pin} lives on {there}");
                        findings.push(Finding { kind: FindingKind::LostState, statement, message });
                    }
                }
            }
        }
    }

    /// Coherence: a statement runs on nodes that have seen the session's settings.
    fn settings(&self, findings: &mut Vec<Finding>) {
        let mut settings: Vec<(&Reason, &[usize])> = Vec::new();
        for (statement, step, expected, executed) in self.iter() {
            if expected.intent == Intent::All {
                if resets(&step.sql) {
                    settings.clear();
                }
                settings.retain(|(reason, _)| **reason != expected.verdict.reason);
                if executed.error.is_none() && !executed.nodes.is_empty() {
                    settings.push((&expected.verdict.reason, &executed.nodes));
                }
                continue;
            }
            if expected.verdict.control.is_some() {
                continue;
            }
            for (reason, seen) in &settings {
                let Reason::SessionState(name) = reason else { continue };
                // Only what reads a user variable relies on it.
                if name.strip_prefix('@').is_some_and(|name| !expected.verdict.reads_variable(name)) {
                    continue;
                }
                let missed: Vec<_> = executed.nodes.iter().copied().filter(|node| !seen.contains(node)).collect();
                if !missed.is_empty() {
                    let (here, there) = (self.names(&missed), self.names(seen));
                    let message = format!("ran on {here}, while {name} was set on {there} only");
                    findings.push(Finding { kind: FindingKind::MissedSetting, statement, message });
                }
            }
        }
    }

    /// Errors that nothing else explains.
    fn outcomes(&self, findings: &mut Vec<Finding>) {
        let explained = findings.iter().map(|finding| finding.statement).min().unwrap_or(usize::MAX);
        for (statement, step, _, executed) in self.iter() {
            if step.error == executed.error || statement >= explained {
                continue;
            }
            let message = match (&step.error, &executed.error) {
                (Some(wanted), Some(code)) => format!("ended with {} instead of {wanted}", name(code)),
                (Some(wanted), None) => format!("ended well instead of with {}", name(wanted)),
                (None, Some(code)) => format!("ended with {}", name(code)),
                (None, None) => continue,
            };
            findings.push(Finding { kind: FindingKind::UnexpectedOutcome, statement, message });
            break;
        }
    }
}

/// An error's code with what it is: PostgreSQL's have five characters, MySQL's and MariaDB's are smaller numbers.
fn name(code: &str) -> String {
    if code.len() == 5 { format!("SQLSTATE {code}") } else { format!("error {code}") }
}

/// Statements after which no earlier setting counts.
fn resets(sql: &str) -> bool {
    matches!(splitproof_capture::sql::normalize(sql).trim_end_matches(';'), "reset all" | "discard all")
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
