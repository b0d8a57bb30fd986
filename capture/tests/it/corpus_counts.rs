//! How many sessions and errors each capture of the corpus holds, beside tshark's counts (`corpus_counts.tsv`).

use splitproof_capture::trace::{Engine, Outcome};

use crate::corpus::{corpus, decode};

/// Captures in which the counts differ for a known reason: ours, and why.
const DIFFERENT: &[(&str, u64, usize, &str)] = &[
    (
        "zeek-zeek/pgsql-bad-startup-message-1.pcap",
        1,
        0,
        "the error answers something that is no start-up message, and so no request",
    ),
    ("colinnewell-pcap2mysql-log/error.pcap", 1, 1, "the answer is compressed, which tshark does not undo"),
];

#[test]
fn sessions_and_errors_are_as_many_as_tshark_counts() {
    let lines = include_str!("corpus_counts.tsv").lines().filter(|line| !line.starts_with('#'));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
    let Some(corpus) = corpus(rows.len()) else { return };
    let mut wrong = Vec::new();
    for row in &rows {
        let [engine, name, port, sessions, errors] = row[..] else { panic!("{row:?}") };
        let engine = Engine::from_word(engine).expect("an engine");
        let decoded = decode(engine, &corpus.join("pcap").join(name), &[port.parse().expect("a port")]);
        let failed = |outcome| matches!(outcome, Outcome::Error | Outcome::Cancelled);
        let failed = decoded.requests.iter().filter(|request| failed(request.outcome)).count();
        let ours = (decoded.statistics.sessions, failed);
        let mut expected = (sessions.parse().expect("a number"), errors.parse().expect("a number"));
        if let Some(&(_, sessions, errors, why)) = DIFFERENT.iter().find(|(known, ..)| known == &name) {
            assert!(expected != (sessions, errors) && !why.is_empty(), "{name}: there is no difference");
            expected = (sessions, errors);
        }
        if ours != expected {
            wrong.push(format!("{name}: {ours:?} sessions and errors, expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert_eq!(rows.len(), 96);
}
