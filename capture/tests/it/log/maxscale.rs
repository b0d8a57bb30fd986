//! MaxScale's query log.

use std::io::Cursor;
use std::path::PathBuf;

use splitproof_capture::log::{Format, Settings};
use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Kind, Loss, Request};

use super::files::{self, File, file};
use super::noise;
use super::scene::{self, Log};

/// Version 24.02 with every column that matters: of two sessions in one file, written when a query has ended.
const UNIFIED: &str = "\
Session,Date,User@Host,Reply_time,Query,Default_db,Total_reply_time,Num_rows,Num_warnings,Error_msg,Server
7,2024-05-01 10:00:02,app@10.0.0.1,2,SELECT 1, 2,shop,3,1,0,,db2,COM_QUERY
8,2024-05-01 10:00:00,app@10.0.0.1,0,UPDATE t SET a = 'x, y' WHERE b = 1,shop,2500,0,1,,db1,COM_QUERY
7,2024-05-01 10:00:02,app@10.0.0.1,2,SELECT x, y,other,4,0,0,Unknown column 'x' in 'field list', or so,db2,COM_QUERY
7,2024-05-01 10:00:03,app@10.0.0.1,2,SELECT a FROM t WHERE b = ?,other,4,0,0,,db1,COM_STMT_PREPARE
7,2024-05-01 10:00:03,app@10.0.0.1,2,SELECT a FROM t WHERE b = 5,other,4,9,0,,db2,COM_STMT_EXECUTE
8,2024-05-01 10:00:04,app@10.0.0.1,1,SET PASSWORD = 'secret',(none),1,0,0,,db1,COM_QUERY
";

fn utc() -> Settings {
    Settings { zone: Some("UTC".parse().expect("a zone")), ..Settings::default() }
}

#[test]
fn queries_are_put_back_to_where_they_began() {
    let log = Log::with("maxscale-qla", &utc(), &[UNIFIED.as_bytes()]);
    assert_eq!(
        log.lines(),
        [
            "1.0 connect  ok",
            "1.1 query 03 \"UPDATE t SET a = 'x, y' WHERE b = 1\" 2500000 us ok",
            "0.0 connect  ok",
            "0.1 query 03 \"SELECT 1, 2\" 3000 us ok",
            "0.2 init_db 02 ok",
            "0.3 query 03 \"SELECT x, y\" 4000 us error",
            "0.4 prepare 16 \"SELECT a FROM t WHERE b = ?\" 4000 us ok",
            "0.5 query 03 \"SELECT a FROM t WHERE b = 5\" 4000 us ok",
            "1.2 query 03 \"SET PASSWORD = '***'\" 1000 us ok",
        ]
    );
    assert!(log.ended.damaged.is_empty(), "{:?}", log.ended.damaged);
    let update = log.of(Kind::Query)[0];
    assert_eq!(update.start_ns, 1_714_557_600_000_000_000, "the second of the query's arrival");
    assert_eq!((update.node.as_deref(), update.rows, update.warnings), (Some("db1"), Some(0), Some(1)));
    assert_eq!(update.first_row_ns, Some(0));
    assert_eq!((update.user.as_deref(), update.client.as_deref()), (Some("app"), Some("10.0.0.1")));
    assert_eq!(update.database.as_deref(), Some("shop"));
    let failed = log.of(Kind::Query)[2];
    assert_eq!(failed.error_message.as_deref(), Some("Unknown column 'x' in 'field list', or so"));
    assert_eq!(failed.database.as_deref(), Some("other"));
    // Stamps have seconds: what follows in the same one begins when the one before it has ended.
    assert_eq!(failed.start_ns, 1_714_557_602_003_000_000);
    assert_eq!(log.losses(), []);
}

#[test]
fn a_file_of_one_session_is_named_by_its_number() {
    let file = |number: u32, second: u32| {
        let text = format!("Date,User@Host,Query\n2024-05-01 10:00:{second:02},app@h,SELECT {number}\n");
        (PathBuf::from(format!("qla.{number}")), Box::new(Cursor::new(text.into_bytes())) as Box<dyn std::io::Read>)
    };
    let format = Format::from_name("maxscale-qla").expect("the format");
    let mut rows: Vec<Request> = Vec::new();
    let ended = format.read(&utc(), vec![file(4, 30), file(5, 10)], &Shared::new(format.engine()), &mut rows);
    assert_eq!(ended.contradiction(rows.len() as u64), None);
    // They overlap, as sessions do.
    assert!(ended.overlapping.is_empty());
    scene::in_order(&mut rows);
    let sessions: Vec<_> = rows.iter().filter(|row| row.kind == Kind::Query).map(|row| row.session).collect();
    assert_eq!(sessions, [1, 0]);
}

#[test]
fn queries_over_several_lines_and_files_without_a_header() {
    let text = "2024-05-01 10:00:00,a@h,SELECT 1\nFROM t,\n\nu\n2024-05-01 10:00:01,a@h,SELECT 2\n";
    let log = Log::with("maxscale-qla", &utc(), &[text.as_bytes()]);
    let texts: Vec<_> = log.of(Kind::Query).iter().filter_map(|row| row.sql.as_deref()).collect();
    assert_eq!(texts, ["SELECT 1\nFROM t,\n\nu", "SELECT 2"]);
    assert_eq!(log.losses(), []);
}

#[test]
fn the_form_of_version_1() {
    let log = Log::with("maxscale-qla", &utc(), &[b"07:12:56.324 7/01/2016, SELECT * FROM PRODUCTS\n"]);
    let query = log.of(Kind::Query)[0];
    assert_eq!(query.sql.as_deref(), Some("SELECT * FROM PRODUCTS"));
    assert_eq!(query.start_ns, 1_452_150_776_324_000_000, "2016-01-07");
}

#[test]
fn texts_that_are_not_what_ran_are_told() {
    let text = "Date,User@Host,Query\n2024-05-01 10:00:00,a@h,SELECT 1 -- first of all SELECT 2\n\
                2024-05-01 10:00:01,a@h,SELECT a FROM t WHERE b = ?\n";
    let log = Log::with("maxscale-qla", &utc(), &[text.as_bytes()]);
    assert!(log.of(Kind::Query).iter().all(|row| row.truncated));
    assert_eq!(log.losses(), [(Loss::LogText, 1), (Loss::LogParameters, 1)]);
}

#[test]
fn durations_that_cannot_be_milliseconds() {
    let line = |second: u32| format!("7,2024-05-01 10:00:{second:02},a@h,5000,SELECT {second}\n");
    let text: String =
        ["Session,Date,User@Host,Reply_time,Query\n".to_string()].into_iter().chain((0..50).map(line)).collect();
    let log = Log::with("maxscale-qla", &utc(), &[text.as_bytes()]);
    let told: Vec<_> = log.ended.damaged.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|what| what.contains("duration_unit=us")), "{told:?}");
    // The times stay.
    assert_eq!(log.of(Kind::Query)[49].start_ns / 1_000_000_000, 1_714_557_649);
}

#[test]
fn requests_without_a_session_that_overlap_are_of_several() {
    let text = "Date,User@Host,Reply_time,Query\n2024-05-01 10:00:00,a@h,9000,SELECT 1\n2024-05-01 10:00:02,a@h,1,SELECT 2\n\
                2024-05-01 10:00:30,a@h,1,SELECT 3\n";
    let log = Log::with("maxscale-qla", &utc(), &[text.as_bytes()]);
    assert_eq!(log.of(Kind::Query).iter().map(|row| row.session).collect::<Vec<_>>(), [0, 1, 0]);
}

#[test]
fn what_is_cut_or_strange_is_counted() {
    let text = "FROM t\nDate,User@Host,Query\n2024-05-01 10:00:00,a@h,SELECT 1\nDate,User@Host,Query,Default_db\n\
                2024-05-01 10:00:01,a@h,SELECT_2\n2024-05-01 10:00:02,a@h,SELECT 3,d\n2024-05-01 10:00:03,a@h,SEL";
    let log = Log::with("maxscale-qla", &utc(), &[text.as_bytes()]);
    assert_eq!(log.of(Kind::Query).len(), 2);
    assert_eq!(log.losses(), [(Loss::LogTruncated, 2), (Loss::LogMalformed, 1)]);
}

/// Counted by hand: a line below the header each.
pub const FILES: &[File] = &[file("sample.2", "query 1", 1, 0, &[]), file("sample.unified", "query 2", 1, 0, &[])];

#[test]
fn third_party_logs() {
    files::check("maxscale-qla", "maxscale-qla/web", FILES);
}

#[test]
fn damaged_logs() {
    noise::check("maxscale-qla", &[UNIFIED.as_bytes()]);
}
