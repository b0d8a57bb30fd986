//! PostgreSQL's jsonlog.

use splitproof_capture::trace::{Kind, Loss};

use super::scene::Log;

/// An object as version 15 writes it.
fn object(ms: u32, rest: &str) -> String {
    format!(
        "{{\"timestamp\":\"2021-01-22 10:00:00.{ms:03} UTC\",\"user\":\"app\",\"dbname\":\"shop\",\"pid\":77,\
         \"remote_host\":\"10.0.0.1\",\"remote_port\":5000,\"session_id\":\"600aa22a.4d\",\"line_num\":1,\"ps\":\"SELECT\",\
         \"session_start\":\"2021-01-22 09:00:00 UTC\",\"error_severity\":\"LOG\",{rest},\
         \"application_name\":\"web\",\"backend_type\":\"client backend\",\"query_id\":-9223372036854775808}}\n"
    )
}

#[test]
fn every_key_that_matters_is_read() {
    let text = [
        object(
            500,
            "\"message\":\"duration: 20.000 ms  execute s/c: SELECT $1\",\"detail\":\"parameters: $1 = 'a\\n\\tb'\"",
        ),
        object(600, "\"message\":\"division by zero\",\"statement\":\"SELECT 1/0\",\"state_code\":\"22012\"")
            .replace("\"LOG\"", "\"ERROR\""),
    ];
    let log = Log::read("postgresql-json", text.concat());
    assert_eq!(
        log.lines()[1..],
        [
            "0.1 prepare P [s] \"SELECT $1\" ok",
            "0.2 execute BDES [s] \"SELECT $1\" [Some(\"a\\n\\tb\")] 20000 us ok",
            "0.3 query Q \"SELECT 1/0\" error 22012"
        ]
    );
    let row = log.of(Kind::Execute)[0];
    assert_eq!(row.client.as_deref(), Some("10.0.0.1:5000"));
    assert_eq!(row.application.as_deref(), Some("web"));
    assert_eq!((row.user.as_deref(), row.database.as_deref()), (Some("app"), Some("shop")));
    assert_eq!(row.start_ns, 1_611_309_600_480_000_000);
}

#[test]
fn lines_that_are_no_entries_are_counted() {
    let whole = object(500, "\"message\":\"statement: SELECT 1\"");
    let text = format!("{whole}{}\nnoise\n{{\"other\":1}}\n\n{whole}{}", &whole[..100], &whole[..whole.len() - 2]);
    let log = Log::read("postgresql-json", text);
    assert_eq!(log.of(Kind::Query).len(), 2);
    assert_eq!(log.losses(), [(Loss::LogTruncated, 2), (Loss::LogMalformed, 1), (Loss::LogForeign, 1)]);
}

#[test]
fn cloud_native_exports_are_put_back_in_order() {
    let record = |ms: u32, number: u32, message: &str| {
        format!(
            "{{\"level\":\"info\",\"logger\":\"postgres\",\"record\":{{\"log_time\":\"2021-01-22 10:00:00.{ms:03} UTC\",\
             \"user_name\":\"app\",\"database_name\":\"shop\",\"process_id\":\"7\",\"connection_from\":\"[local]\",\
             \"session_id\":\"600aa22a.7\",\"session_line_num\":\"{number}\",\"error_severity\":\"LOG\",\
             \"sql_state_code\":\"00000\",\"message\":\"{message}\",\"backend_type\":\"client backend\"}}}}\n"
        )
    };
    let text = [
        record(9, 4, "disconnection: session time: 0:00:00.001 user=app database=shop host=[local]"),
        record(8, 3, "duration: 0.100 ms  statement: SELECT 1"),
        record(7, 2, "connection authorized: user=app database=shop"),
        record(7, 1, "connection received: host=[local]"),
    ];
    let log = Log::read("postgresql-json", text.concat());
    let kinds: Vec<_> = log.rows.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, [Kind::Connect, Kind::Query, Kind::Disconnect]);
    assert_eq!((log.losses(), log.ended.statistics.made_up), (vec![], 0));
}

#[test]
fn text_lines_in_the_wrapper_of_a_cloud_or_of_docker() {
    let cloud = |ms: u32, text: &str| {
        format!("{{\"insertId\":\"x\",\"textPayload\":\"{text}\",\"timestamp\":\"2021-01-22T10:00:00.{ms:03}Z\"}}\n")
    };
    let text = [
        cloud(2, "\\tFROM t"),
        cloud(1, "[7]: [1-1] db=shop,user=app LOG:  duration: 0.100 ms  statement: SELECT 1"),
        cloud(3, "[7]: [2-1] db=shop,user=app LOG:  duration: 0.100 ms  statement: SELECT 2"),
    ];
    let log = Log::read("postgresql-json", text.concat());
    let texts: Vec<_> = log.of(Kind::Query).iter().filter_map(|row| row.sql.as_deref()).collect();
    assert_eq!(texts, ["SELECT 1\nFROM t", "SELECT 2"]);
    assert_eq!(log.of(Kind::Query)[0].start_ns, 1_611_309_600_000_900_000, "to the microsecond");

    let docker =
        |text: &str| format!("{{\"log\":\"{text}\",\"stream\":\"stderr\",\"time\":\"2021-01-22T10:00:00.5Z\"}}\n");
    let text = [
        docker("2021-01-22 10:00:00.000 UTC [7] app@shop LOG:  statement: SELECT"),
        docker(" 1\\n"),
        docker("\\tFROM t\\n"),
    ];
    let log = Log::read("postgresql-json", text.concat());
    assert_eq!(log.of(Kind::Query)[0].sql.as_deref(), Some("SELECT 1\nFROM t"));
}
