//! PostgreSQL's csvlog.

use splitproof_capture::trace::{Kind, Loss};

use super::scene::Log;

/// A record as version 14 writes it. `tag`, `severity`, `code` and `rest` (message and what follows) vary.
fn record(second: u32, session: &str, severity: &str, code: &str, message: &str, detail: &str) -> String {
    let quoted =
        |text: &str| if text.is_empty() { String::new() } else { format!("\"{}\"", text.replace('"', "\"\"")) };
    format!(
        "2021-01-22 10:00:{second:02}.500 UTC,\"app\",\"shop\",77,\"10.0.0.1:5000\",{session},1,\"SELECT\",\
         2021-01-21 08:00:00 UTC,1/2,0,{severity},{code},{},{},,,,,,,,\"web\",\"client backend\",,0\n",
        quoted(message),
        quoted(detail)
    )
}

fn log(second: u32, session: &str, message: &str) -> String {
    record(second, session, "LOG", "00000", message, "")
}

#[test]
fn a_statement_that_took_long_is_put_back_to_where_it_began() {
    let text = [
        log(10, "a.1", "duration: 100.000 ms  statement: SELECT 'quick'"),
        log(11, "b.2", "duration: 5000.000 ms  statement: SELECT 'slow'"),
    ];
    let log = Log::read("postgresql-csv", text.concat());
    assert_eq!(
        log.lines(),
        [
            "1.0 connect  ok",
            "1.1 query Q \"SELECT 'slow'\" 5000000 us ok",
            "0.0 connect  ok",
            "0.1 query Q \"SELECT 'quick'\" 100000 us ok"
        ]
    );
    let slow = log.of(Kind::Query)[0];
    assert_eq!(slow.start_ns, 1_611_309_606_500_000_000, "10:00:11.5 less five seconds");
    assert_eq!(slow.user.as_deref(), Some("app"));
    assert_eq!(slow.database.as_deref(), Some("shop"));
    assert_eq!(slow.application.as_deref(), Some("web"));
    assert_eq!(slow.client.as_deref(), Some("10.0.0.1:5000"));
    assert!(slow.joined_midway, "the session began a day before the log");
}

#[test]
fn a_quote_that_is_never_closed_costs_its_record_only() {
    let whole = log(10, "a.1", "statement: SELECT 1");
    let cut = &whole[..whole.find("SELECT 1").expect("there")];
    let text = format!("{whole}{cut}\n{whole}noise of another program\n{whole}{cut}");
    let log = Log::read("postgresql-csv", text);
    assert_eq!(log.of(Kind::Query).len(), 3);
    assert_eq!(log.losses(), [(Loss::LogTruncated, 2), (Loss::LogMalformed, 1)]);
}
