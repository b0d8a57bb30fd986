//! Digest texts against those that the server's performance_schema computes: of the catalogue of known statements, and of
//! the corpus.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use splitproof_capture::mysql::{Capabilities, Command, ErrPacket};
use splitproof_capture::sql::mysql::{Mode, digest_text, split};

use super::client::Client;
use super::server::Server;
use super::{MORE, query};
use crate::corpus::corpus;

#[test]
fn digest_texts_are_those_of_the_server() {
    let statements = statements();
    assert!(statements.len() > 90, "{}", statements.len());
    let settings =
        ["--performance-schema=ON", "--max-digest-length=65536", "--performance-schema-max-digest-length=65536"];
    let Some(server) = Server::start_with(&settings) else {
        crate::skipped(1, "MariaDB is not installed");
        return;
    };
    let connect = || Client::connect(&server.socket(), Capabilities(MORE.0 & !Capabilities::LOCAL_FILES.0));
    let (mut watcher, mut client) = (connect(), connect());
    let silence = "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE PROCESSLIST_ID = CONNECTION_ID()";
    assert_eq!(query(&mut watcher, silence).line(), "ok");
    assert_eq!(query(&mut watcher, "CREATE DATABASE test").line(), "ok");
    let (mut equal, mut wrong, mut unparsed) = (0, Vec::new(), 0);
    for sql in &statements {
        // Whatever the statement before has set or locked is undone.
        client.ask(&Command::ResetConnection);
        query(&mut client, "USE test");
        // A statement is counted after it was answered, and before the next one is.
        client.ask(&Command::Ping);
        query(&mut watcher, "TRUNCATE performance_schema.events_statements_summary_by_digest");
        let answer = query(&mut client, sql);
        client.ask(&Command::Ping);
        let told = query(
            &mut watcher,
            "SELECT DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST IS NOT NULL",
        );
        let text =
            |row: &Vec<Option<Vec<u8>>>| String::from_utf8_lossy(row[0].as_deref().unwrap_or_default()).into_owned();
        let told: BTreeSet<String> = told.rows.iter().map(text).collect();
        // What the server cannot parse has no digest, or one of the part before the mistake.
        let refused = ErrPacket::decode(answer.last()).is_ok_and(|error| error.code == 1064);
        if told.is_empty() || refused {
            unparsed += 1;
            continue;
        }
        let mode = Mode::default();
        let pieces = split(sql, &mode);
        // The server's text of a statement that another one follows ends with their semicolon.
        let end = |at: usize| if at + 1 < pieces.len() { "; " } else { "" };
        let ours: BTreeSet<String> =
            pieces.iter().enumerate().map(|(at, one)| digest_text(one, &mode) + end(at)).collect();
        // A text with several statements ends with its first error.
        match told.is_subset(&ours) && (told.len() == ours.len() || ErrPacket::decode(answer.last()).is_ok()) {
            true => equal += 1,
            false => wrong.push(format!("{sql}\n  the server: {told:?}\n  ours:       {ours:?}")),
        }
    }
    // Not `println!`, which the test harness keeps to itself.
    writeln!(std::io::stderr(), "digests: {equal} equal, {} wrong, {unparsed} not parsed", wrong.len()).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(equal > 80, "{equal}");
}

/// The statements of the shipped catalogue, and of the corpus where it is.
fn statements() -> Vec<String> {
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples/fixtures/mysql.yaml");
    let catalogue = std::fs::read_to_string(catalogue).unwrap();
    let quoted = catalogue.split("sql: \"").skip(1).map(|rest| plain(end_of_quoted(rest)));
    let mut statements: BTreeSet<String> = quoted.collect();
    if let Some(corpus) = corpus(1) {
        for file in ["from-pcaps/distinct-statements.txt", "sysbench/oltp.sql"] {
            let text = std::fs::read_to_string(corpus.join("statements").join(file)).unwrap();
            statements.extend(text.lines().map(plain));
        }
    }
    let harmless = |sql: &String| {
        let lower = sql.to_ascii_lowercase();
        !["shutdown", "kill", "set global", "sleep(", "benchmark("].iter().any(|word| lower.contains(word))
    };
    statements.into_iter().filter(harmless).collect()
}

fn end_of_quoted(rest: &str) -> &str {
    let mut escaped = false;
    let end = rest.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    &rest[..end.unwrap_or(rest.len())]
}

/// A text without the escapes of line ends, tabs, quotes and backslashes.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => plain.push(match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            }),
            (c, false) => plain.push(c),
        }
    }
    plain
}
