//! pgpool-II's log.

use std::collections::BTreeMap;

use splitproof_capture::log::Settings;
use splitproof_capture::trace::{Kind, Loss, Outcome};

use super::files::{self, File, file};
use super::noise;
use super::scene::Log;

/// Written by pgpool-II 4.3.5 in front of a primary (node 0) and a standby (node 1), with `log_client_messages`, `log_statement`,
/// `log_per_node_statement`, `log_connections` and `log_disconnections`, for psql, pgbench and a client of raw messages.
const PGPOOL: &[u8] = include_bytes!("data/pgpool-4.3.log");

fn utc() -> Settings {
    Settings { zone: Some("UTC".parse().expect("a zone")), ..Settings::default() }
}

/// The fixture without the entries whose first line holds a text.
fn without(text: &str) -> Vec<u8> {
    let log = std::str::from_utf8(PGPOOL).expect("text");
    let mut leaves_out = false;
    let stays = |line: &&str| {
        let goes_on = line.starts_with('\t') || line.contains(": DETAIL:  ");
        leaves_out = if goes_on { leaves_out } else { line.contains(text) };
        !leaves_out
    };
    log.split_inclusive('\n').filter(stays).collect::<String>().into_bytes()
}

fn kinds(log: &Log) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for row in &log.rows {
        *kinds.entry(row.kind.to_string()).or_default() += 1;
    }
    kinds
}

#[test]
fn every_message_of_the_clients_is_there_once() {
    let log = Log::with("pgpool", &utc(), &[PGPOOL]);
    // grep -c of each message in the file. Ten executions of an unnamed or named portal, and one that goes on with it; seven
    // descriptions belong to what they describe, and all Syncs but one to what they end. Of the eleven clients eight said goodbye.
    let expected = [
        ("close", 2),
        ("connect", 11),
        ("copy", 2),
        ("disconnect", 11),
        ("execute", 10),
        ("fetch", 1),
        ("other", 1),
        ("prepare", 8),
        ("query", 30),
    ];
    assert_eq!(kinds(&log), expected.map(|(kind, count)| (kind.to_owned(), count)).into());
    assert_eq!(log.ended.statistics.made_up, 0);
    // 298 lines of LOG and three of ERROR begin an entry.
    assert_eq!(log.ended.statistics.entries, 301);
    let errors: Vec<_> = log
        .rows
        .iter()
        .filter(|row| row.outcome == Outcome::Error)
        .map(|row| (row.kind.to_string(), row.error_message.as_deref().unwrap_or_default()))
        .collect();
    let expected = [
        ("query", "column \"bogus\" does not exist"),
        ("query", "division by zero"),
        ("execute", "column \"bogus\" does not exist"),
        ("connect", "database \"nodb\" does not exist"),
    ];
    assert_eq!(errors, expected.map(|(kind, message)| (kind.to_owned(), message)));
    assert!(log.ended.damaged.is_empty(), "{:?}", log.ended.damaged);
}

#[test]
fn where_each_statement_went() {
    let log = Log::with("pgpool", &utc(), &[PGPOOL]);
    let node = |sql: &str| {
        let row = log.rows.iter().find(|row| row.sql.as_deref() == Some(sql) && row.kind != Kind::Prepare);
        row.unwrap_or_else(|| panic!("{sql}")).node.as_deref()
    };
    assert_eq!(node("insert into t values (1,'a\nb');"), Some("0"));
    assert_eq!(node("select 1/0;"), Some("1"));
    assert_eq!(node("set client_min_messages=warning;"), Some("0,1"), "both must know");
    assert_eq!(node("select b from t where a = $1;"), Some("1"));
    assert_eq!(node("update t set b = 'y' where a = $1;"), Some("0"));
    // pgpool's own questions are none of the client's.
    assert!(log.rows.iter().all(|row| !row.sql.as_deref().unwrap_or_default().contains("pg_class")));
    assert!(log.rows.iter().all(|row| row.sql.as_deref() != Some("DISCARD ALL")));
    assert!(!format!("{:?}", log.rows).contains("geheim"), "a password");
}

#[test]
fn the_extended_protocol_message_by_message() {
    let log = Log::with("pgpool", &utc(), &[PGPOOL]);
    let session = log.rows.iter().find(|row| row.statement.as_deref() == Some("s1")).expect("its session").session;
    let prefix = format!("{session}.");
    let lines: Vec<_> =
        log.lines().into_iter().filter_map(|line| Some(line.strip_prefix(&prefix)?.to_owned())).collect();
    assert_eq!(
        lines,
        [
            "0 connect  ok",
            "1 prepare PD [s1] \"select a from t where a > $1\" ok",
            "2 execute BEH [s1] \"select a from t where a > $1\" ok",
            "3 fetch E \"select a from t where a > $1\" ok",
            "4 close C ok",
            "5 close CS [s1] ok",
            "6 prepare P [] \"select bogus\" ok",
            "7 execute BES [] \"select bogus\" error",
            "8 prepare P [] \"insert into t values(100,$1)\" ok",
            "9 execute BE [] \"insert into t values(100,$1)\" ok",
            "10 prepare P [] \"select 1\" ok",
            "11 execute BES [] \"select 1\" ok",
            "12 other S ok",
            "13 disconnect  ok",
        ]
    );
    let of: Vec<_> = log.rows.iter().filter(|row| row.session == session).collect();
    let groups: Vec<_> = of.iter().skip(1).map(|row| row.pipeline_group).collect();
    assert_eq!(groups.iter().flatten().copied().collect::<Vec<_>>(), [0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 3]);
    let execute = of[2];
    assert_eq!(
        (execute.user.as_deref(), execute.database.as_deref()),
        (Some("postgres"), Some("postgres")),
        "told at the end"
    );
    assert_eq!((execute.application.as_deref(), execute.client.as_deref()), (Some("pyapp"), Some("127.0.0.1:47502")));
    assert!(execute.truncated && !of[11].truncated, "parameters are not told");
    // Three of the executions above, and the six of pgbench: the row limit and the values are in no log.
    let without = log.rows.iter().filter(|row| row.kind == Kind::Execute && row.truncated).count() as u64;
    assert_eq!(log.ended.losses.get(Loss::LogParameters), without);
}

#[test]
fn a_notice_is_no_error() {
    let log = Log::with("pgpool", &utc(), &[PGPOOL]);
    let dropped =
        log.rows.iter().find(|row| row.sql.as_deref() == Some("drop table if exists nosuch;")).expect("the DROP");
    assert_eq!((dropped.outcome, dropped.warnings), (Outcome::Ok, Some(1)));
    assert_eq!(dropped.error_message, None);
}

#[test]
fn the_same_requests_from_statements_alone() {
    // As without log_client_messages.
    let log = Log::with("pgpool", &utc(), &[&without("message from frontend.")[..]]);
    let kinds = kinds(&log);
    // The name of a statement is not told, so that two of pgbench's are prepared again where its texts alternate; and what
    // goes on with a portal cannot be told from an execution of it.
    assert_eq!((kinds["query"], kinds["copy"], kinds["prepare"], kinds["execute"]), (30 + 8, 2, 8 + 2, 10 + 1));
    assert_eq!(log.ended.statistics.made_up, 2);
    // What resets a connection after its client cannot be told from what the client sent: eight times DISCARD ALL.
    let resets = log.rows.iter().filter(|row| row.sql.as_deref() == Some("DISCARD ALL")).count();
    assert_eq!(resets, 8);
}

#[test]
fn the_same_requests_from_the_nodes_alone() {
    let text = String::from_utf8(without("message from frontend.")).expect("text");
    let lines = text.split_inclusive('\n').filter(|line| !line.contains("LOG:  statement: "));
    let log = Log::with("pgpool", &utc(), &[lines.collect::<String>().as_bytes()]);
    let row =
        log.rows.iter().find(|row| row.sql.as_deref() == Some("set client_min_messages=warning;")).expect("the SET");
    assert_eq!(row.node.as_deref(), Some("0,1"));
    assert!(log.rows.iter().all(|row| !row.sql.as_deref().unwrap_or_default().contains("pg_class")));
    let executes = log.of(Kind::Execute);
    assert_eq!(
        executes.iter().filter(|row| row.sql.as_deref() == Some("update t set b = 'y' where a = $1;")).count(),
        3
    );
}

/// NOTICE lines of psql's output, grouped where a text comes for several nodes one after another; counted by a script that knows
/// nothing else of the format. Everything between them is the client's output: one entry each time.
const NOTICES: &[File] = &[
    file("loadbalance_expected1-r.txt", "query 9", 1, 0, &[(Loss::LogMalformed, 10)]),
    file("loadbalance_expected1-s.txt", "query 9", 1, 0, &[(Loss::LogMalformed, 10)]),
    file("loadbalance_expected2-r.txt", "query 2", 1, 0, &[(Loss::LogMalformed, 3)]),
    file("loadbalance_expected3-s.txt", "query 6", 1, 0, &[(Loss::LogMalformed, 7)]),
    file("loadbalance_expected5-r.txt", "query 1", 1, 0, &[(Loss::LogMalformed, 2)]),
    file("loadbalance_expected6-r.txt", "query 21", 1, 0, &[(Loss::LogMalformed, 21)]),
    file("loadbalance_expected6-s.txt", "query 21", 1, 0, &[(Loss::LogMalformed, 21)]),
    // With an error, as psql shows it.
    file("loadbalance_expected7-r.txt", "query 24", 1, 0, &[(Loss::LogMessage, 1), (Loss::LogMalformed, 25)]),
    file("loadbalance_expected7-s.txt", "query 24", 1, 0, &[(Loss::LogMessage, 1), (Loss::LogMalformed, 25)]),
    file("loadbalance_expected8-s.txt", "query 24", 1, 0, &[(Loss::LogMessage, 1), (Loss::LogMalformed, 25)]),
    file("loadbalance_expected9-s.txt", "query 7", 1, 0, &[(Loss::LogMalformed, 8)]),
];

/// Counted by hand.
const FILES: &[File] = &[
    // A complaint about a statement that the file does not hold.
    file("web/error_message-2024.log", "", 0, 0, &[(Loss::LogMessage, 1)]),
    // One Parse, two executions of it; four Syncs and two descriptions belong to them.
    file("web/log_client_messages-4.0-2018.log", "execute 2, prepare 1", 1, 0, &[(Loss::LogParameters, 2)]),
    file("web/syslog-2018.log", "query 2", 1, 0, &[]),
];

/// Every file of the corpus that is read here.
pub fn files() -> impl Iterator<Item = &'static str> {
    FILES.iter().chain(NOTICES).map(|file| file.path)
}

#[test]
fn third_party_logs() {
    files::check("pgpool", "pgpool-log", FILES);
    files::check("pgpool", "pgpool-log/pgpool-pgpool2", NOTICES);
}

#[test]
fn damaged_logs() {
    noise::check("pgpool", &[PGPOOL]);
}
