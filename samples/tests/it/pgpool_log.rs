//! pgpool's own log of what it sent to which node (`log_per_node_statement`). Only tests read it.

use std::collections::BTreeMap;

/// How often each statement was sent to each node: by text, then by node id.
pub type Sent = BTreeMap<(String, usize), u64>;

/// What clients asked, and what pgpool asked by itself.
#[derive(Debug, Default)]
pub struct Log {
    /// Statements that a client may have sent: executions only, no Parse and no Bind.
    pub statements: Sent,
    /// pgpool's own look-ups and clean-ups.
    pub own: Sent,
}

/// Reads lines like `… LOG:  DB node id: 1 backend pid: 7 statement: SELECT 1`. In the extended protocol the text stands
/// behind `Parse: `, `Bind: ` or `Execute: `, and Describe and Close stand there as `D message` and `C message`.
pub fn read(log: &str) -> Log {
    let mut read = Log::default();
    for line in log.lines() {
        let Some((_, rest)) = line.split_once("LOG:  DB node id: ") else { continue };
        let (node, rest) = rest.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        let (_, statement) = rest.split_once("statement: ").unwrap_or_else(|| panic!("{line}"));
        // Nothing is executed by these.
        if statement.starts_with("Parse: ") || statement.starts_with("Bind: ") || is_message(statement) {
            continue;
        }
        let text = statement.strip_prefix("Execute: ").unwrap_or(statement);
        let of = if is_own(text) { &mut read.own } else { &mut read.statements };
        *of.entry((text.to_owned(), node.parse().unwrap())).or_default() += 1;
    }
    read
}

/// A message without a text of its own: its type and the word `message`.
fn is_message(statement: &str) -> bool {
    statement.strip_suffix(" message").is_some_and(|kind| kind.len() == 1)
}

/// What pgpool asks by itself: its catalog look-ups name the catalog's schema, and it resets a connection whose client
/// has left. The shop's clients do neither.
fn is_own(text: &str) -> bool {
    text.contains("pg_catalog.") || text.trim() == "DISCARD ALL" || text == "SELECT version()"
}

#[test]
fn lines_of_both_protocols_are_told_from_its_own() {
    let log = "2026-01-01 10:00:00.000: pid 5: LOG:  DB node id: 1 backend pid: 7 statement: SELECT 1\n\
               2026-01-01 10:00:00.000: pid 5: LOG:  DB node id: 0 backend pid: 8 statement: Parse: SELECT $1\n\
               2026-01-01 10:00:00.000: pid 5: LOG:  DB node id: 0 backend pid: 8 statement: Execute: SELECT $1\n\
               2026-01-01 10:00:00.000: pid 5: LOG:  DB node id: 0 backend pid: 8 statement: D message\n\
               2026-01-01 10:00:00.000: pid 5: LOG:  DB node id: 0 backend pid: 8 statement:  DISCARD ALL\n\
               2026-01-01 10:00:00.000: pid 5: LOG:  something else\n";
    let read = read(log);
    let expected = [(("SELECT $1".to_owned(), 0), 1), (("SELECT 1".to_owned(), 1), 1)];
    assert_eq!(read.statements.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(read.own.len(), 1);
}
