//! Statements of a PostgreSQL log become requests that can be sent again.

use splitproof_capture::trace::{Kind, Loss};

use super::scene::{Log, stderr};

#[test]
fn statements_are_told_before_they_run_or_afterwards() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", "LOG:  statement: SELECT 1"),
            (10_050, "aaaa.1", "LOG:  duration: 50.000 ms"),
            (10_200, "aaaa.1", "LOG:  duration: 100.000 ms  statement: SELECT 2"),
            (10_300, "aaaa.1", "LOG:  statement: SELECT 3"),
        ]),
    );
    assert_eq!(
        log.lines(),
        [
            "0.0 connect  ok",
            "0.1 query Q \"SELECT 1\" 50000 us ok",
            "0.2 query Q \"SELECT 2\" 100000 us ok",
            "0.3 query Q \"SELECT 3\" unfinished"
        ]
    );
    let starts: Vec<i64> = log.rows.iter().map(|row| row.start_ns - log.rows[0].start_ns).collect();
    assert_eq!(starts, [0, 0, 100_000_000, 300_000_000], "before it ran, or when it ended less how long it took");
    assert_eq!(log.ended.statistics.made_up, 1);
}

#[test]
fn parse_bind_and_execute_are_a_prepare_and_an_execute_of_one_group() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", "LOG:  duration: 0.200 ms  parse <unnamed>: SELECT $1"),
            (10_001, "aaaa.1", "LOG:  duration: 0.300 ms  bind <unnamed>/c: SELECT $1"),
            (10_001, "aaaa.1", "DETAIL:  parameters: $1 = 'it''s'"),
            (10_002, "aaaa.1", "LOG:  duration: 0.500 ms  execute <unnamed>/c: SELECT $1"),
            (10_002, "aaaa.1", "DETAIL:  parameters: $1 = 'it''s'"),
        ]),
    );
    assert_eq!(
        log.lines(),
        [
            "0.0 connect  ok",
            "0.1 prepare P [] \"SELECT $1\" 200 us ok",
            "0.2 execute BDES [] \"SELECT $1\" [Some(\"it's\")] 800 us ok"
        ]
    );
    let [_, prepare, execute] = &log.rows[..] else { panic!("{:?}", log.rows) };
    assert_eq!(prepare.pipeline_group, execute.pipeline_group);
    assert_eq!(execute.portal.as_deref(), Some("c"));
    let param = &execute.params[0];
    assert_eq!((param.type_id, param.binary), (0, false), "text of a type that is not known");
    assert_eq!((log.ended.statistics.opened, log.ended.statistics.joined), (2, 1));
}

#[test]
fn a_parse_without_its_execution_ends_its_group() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", "LOG:  duration: 0.200 ms  parse s: SELECT 1"),
            (10_001, "aaaa.1", "LOG:  duration: 0.200 ms  parse t: SELECT 2"),
            (10_002, "aaaa.1", "LOG:  statement: COMMIT"),
            (10_003, "aaaa.1", "LOG:  duration: 0.500 ms  execute s: SELECT 1"),
        ]),
    );
    let groups: Vec<_> = log.rows.iter().map(|row| (row.messages.as_str(), row.pipeline_group)).collect();
    assert_eq!(groups, [("", None), ("PS", Some(0)), ("PS", Some(1)), ("Q", Some(2)), ("BDES", Some(3))]);
}

#[test]
fn an_execution_whose_bind_alone_was_slow_is_an_execution() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", "LOG:  duration: 900.000 ms  bind s: SELECT $1"),
            (10_000, "aaaa.1", "DETAIL:  parameters: $1 = '7'"),
            (12_000, "aaaa.1", "LOG:  duration: 1.000 ms  statement: COMMIT"),
        ]),
    );
    assert_eq!(log.lines()[2], "0.2 execute BDES [s] \"SELECT $1\" [Some(\"7\")] ok", "how long it took is not told");
}

#[test]
fn what_was_prepared_unseen_is_prepared_before_its_first_execution() {
    let execute =
        |ms, name: &str, sql: &str| (ms, "aaaa.1", format!("LOG:  duration: 0.100 ms  execute {name}: {sql}"));
    let other = |ms, sql: &str| (ms, "aaaa.1", format!("LOG:  duration: 0.100 ms  statement: {sql}"));
    let lines = [
        execute(1000, "s", "SELECT 1"),
        execute(1001, "s", "SELECT 1"),
        execute(1002, "s", "SELECT 2"),
        execute(1003, "<unnamed>", "SELECT 3"),
        execute(1004, "<unnamed>", "SELECT 3"),
        other(1005, "DEALLOCATE s"),
        execute(1006, "s", "SELECT 2"),
        other(1007, "DISCARD ALL"),
        execute(1008, "s", "SELECT 2"),
        other(1009, "PREPARE p AS SELECT 4"),
        execute(1010, "p", "PREPARE p AS SELECT 4"),
    ];
    let lines: Vec<_> = lines.iter().map(|(ms, session, line)| (*ms, *session, line.as_str())).collect();
    let log = Log::read("postgresql-stderr", stderr(&lines));
    let told: Vec<String> = log
        .rows
        .iter()
        .skip(1)
        .map(|row| format!("{} {}", row.messages, row.statement.as_deref().or(row.sql.as_deref()).unwrap_or("-")))
        .collect();
    let expected = [
        "P s",
        "BDES s",
        "BDES s", // once
        "C s",
        "P s",
        "BDES s", // another text: somebody closed it
        "P ",
        "BDES ",
        "P ",
        "BDES ", // the one without a name each time
        "Q DEALLOCATE s",
        "P s",
        "BDES s",
        "Q DISCARD ALL",
        "P s",
        "BDES s",
        "Q PREPARE p AS SELECT 4",
        "BDES p", // SQL prepared it
    ];
    assert_eq!(told, expected);
    for pair in log.rows.windows(2).filter(|pair| pair[0].kind == Kind::Prepare || pair[0].kind == Kind::Close) {
        assert_eq!(pair[0].pipeline_group, pair[1].pipeline_group);
        assert_eq!(pair[0].duration_ns, None, "this tells what is made up");
    }
}

#[test]
fn errors_belong_to_the_statement_that_was_logged() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", "LOG:  statement: SELECT 1/0"),
            (10_020, "aaaa.1", "ERROR:  22012: division by zero"),
            (10_020, "aaaa.1", "STATEMENT:  SELECT 1/0"),
            (10_100, "aaaa.1", "ERROR:  relation \"t\" does not exist at character 15"),
            (10_100, "aaaa.1", "STATEMENT:  SELECT * FROM t"),
            (10_200, "aaaa.1", "LOG:  statement: SELECT pg_sleep(9)"),
            (11_200, "aaaa.1", "ERROR:  canceling statement due to statement timeout"),
            (11_200, "aaaa.1", "STATEMENT:  SELECT pg_sleep(9)"),
        ]),
    );
    assert_eq!(
        log.lines()[1..],
        [
            "0.1 query Q \"SELECT 1/0\" 20000 us error 22012",
            "0.2 query Q \"SELECT * FROM t\" error",
            "0.3 query Q \"SELECT pg_sleep(9)\" 1000000 us cancelled"
        ]
    );
    let messages: Vec<_> = log.of(Kind::Query).iter().filter_map(|row| row.error_message.as_deref()).collect();
    assert_eq!(messages[..2], ["division by zero", "relation \"t\" does not exist"]);
    assert_eq!((log.ended.statistics.entries, log.losses()), (5, vec![]));
}

#[test]
fn a_statement_that_a_user_cancelled_is_cancelled_again() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", "LOG:  statement: SELECT pg_sleep(9)"),
            (10_500, "aaaa.1", "ERROR:  canceling statement due to user request"),
            (10_500, "aaaa.1", "STATEMENT:  SELECT pg_sleep(9)"),
        ]),
    );
    assert_eq!(log.lines().last().map(String::as_str), Some("1.0 cancel  [Some(\"0\")] ok"));
    let cancel = log.of(Kind::Cancel)[0];
    assert_eq!(cancel.start_ns - log.of(Kind::Query)[0].start_ns, 500_000_000);
}

#[test]
fn a_failed_execution_has_the_parameters_of_its_context() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", "ERROR:  division by zero"),
            (10_000, "aaaa.1", "CONTEXT:  unnamed portal with parameters: $1 = '0'"),
            (10_000, "aaaa.1", "STATEMENT:  SELECT 1/$1"),
            (10_100, "aaaa.1", "ERROR:  division by zero"),
            (10_100, "aaaa.1", "STATEMENT:  SELECT 1/$1"),
        ]),
    );
    assert_eq!(
        log.lines()[1..],
        [
            "0.1 prepare P [] \"SELECT 1/$1\" ok",
            "0.2 execute BDES [] \"SELECT 1/$1\" [Some(\"0\")] error",
            "0.3 prepare P [] \"SELECT 1/$1\" ok",
            "0.4 execute BDES [] \"SELECT 1/$1\" error",
        ]
    );
    assert_eq!(log.losses(), [(Loss::LogParameters, 1)]);
    assert!(log.rows[4].truncated && !log.rows[2].truncated);
}

#[test]
fn the_data_of_a_copy_is_missed() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", "LOG:  duration: 1.000 ms  statement: COPY t FROM STDIN"),
            (10_100, "aaaa.1", "LOG:  duration: 1.000 ms  statement: COPY t TO STDOUT"),
            (10_200, "aaaa.1", "LOG:  duration: 1.000 ms  statement: COPY t FROM '/tmp/t'"),
        ]),
    );
    let kinds: Vec<_> = log.rows.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, [Kind::Connect, Kind::Copy, Kind::Copy, Kind::Query]);
    assert_eq!(log.losses(), [(Loss::LogCopyData, 1)]);
}

#[test]
fn more_rows_of_a_portal_are_a_fetch() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", "LOG:  execute S_1/C_2: SELECT 1"),
            (10_001, "aaaa.1", "LOG:  execute fetch from S_1/C_2: SELECT 1"),
        ]),
    );
    let fetch = log.of(Kind::Fetch)[0];
    assert_eq!((fetch.messages.as_str(), fetch.portal.as_deref()), ("ES", Some("C_2")));
    assert_eq!(fetch.sql.as_deref(), Some("SELECT 1"));
}

#[test]
fn passwords_never_come_out_of_a_log() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", "LOG:  statement: ALTER ROLE app PASSWORD 'secret'"),
            (10_001, "aaaa.1", "ERROR:  role \"app\" does not exist"),
            (10_001, "aaaa.1", "STATEMENT:  ALTER ROLE app PASSWORD 'secret'"),
            (10_002, "aaaa.1", "LOG:  duration: 1.000 ms  execute s: CREATE USER b PASSWORD 'secret'"),
        ]),
    );
    assert!(!format!("{:?}", log.rows).contains("secret"));
    assert_eq!(log.of(Kind::Query)[0].sql.as_deref(), Some("ALTER ROLE app PASSWORD '***'"));
}

#[test]
fn what_is_no_statement_is_counted_by_reason() {
    let log = Log::read(
        "postgresql-stderr",
        stderr(&[
            (10_000, "aaaa.1", "LOG:  duration: 1.000 ms  plan:"),
            (10_001, "aaaa.1", "WARNING:  there is no transaction in progress"),
            (10_002, "aaaa.1", "LOG:  duration: 1.000 ms"),
            (10_003, "aaaa.1", "LOG:  fastpath function call: \"lo_creat\" (OID 957)"),
            (10_004, "", "LOG:  checkpoint starting: time"),
        ]),
    );
    assert_eq!(
        log.losses(),
        [
            (Loss::LogServer, 1),
            (Loss::LogMessage, 1),
            (Loss::LogPlan, 1),
            (Loss::LogDuration, 1),
            (Loss::LogFastpath, 1)
        ]
    );
    assert!(log.rows.is_empty());
}
