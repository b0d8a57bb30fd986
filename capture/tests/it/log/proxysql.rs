//! ProxySQL's events log, in both formats.

use splitproof_capture::mysql::{ParamType, Value};
use splitproof_capture::trace::Loss::{LogParameters, LogServer, LogTruncated, Undecodable};
use splitproof_capture::trace::{Kind, Loss};

use super::files::{self, File, file};
use super::noise;
use super::scene::Log;

/// An event as version 3.0 writes it, with the keys that vary.
fn event(start_us: u64, end_us: u64, thread: u32, rest: &str) -> String {
    format!(
        "{{\"client\":\"10.0.0.{thread}:4000\",\"digest\":\"0x0000000000000001\",\"duration_us\":{},\"endtime_timestamp_us\":{end_us},\
         \"schemaname\":\"shop\",\"starttime_timestamp_us\":{start_us},\"thread_id\":{thread},\"username\":\"app\",{rest}}}\n",
        end_us - start_us
    )
}

const SECOND: u64 = 1_714_557_600_000_000;

fn session() -> String {
    let at = |offset: u64| SECOND + offset;
    let db1 = "\"hostgroup_id\":10,\"server\":\"db1:3306\",\"errno\":0";
    let db2 = "\"hostgroup_id\":20,\"server\":\"db2:3306\",\"errno\":0";
    [
        event(at(900), at(1000), 1, &format!("{db2},\"event\":\"COM_QUERY\",\"query\":\"SELECT 1\",\"rows_sent\":1")),
        // It began before the one above.
        event(at(100), at(2000), 2, &format!("{db1},\"event\":\"COM_QUERY\",\"query\":\"UPDATE t SET a = 1\",\"rows_affected\":5,\"last_gtid\":\"0-1-7\"")),
        event(at(2000), at(2000), 1, "\"hostgroup_id\":-1,\"errno\":0,\"event\":\"COM_STMT_PREPARE\",\"client_stmt_id\":3,\"query\":\"SELECT ?, ?\""),
        event(at(3000), at(3100), 1, &format!(
            "{db2},\"event\":\"COM_STMT_EXECUTE\",\"client_stmt_id\":3,\"query\":\"SELECT ?, ?\",\"parameters\":\
             [{{\"type\":\"LONG\",\"value\":\"42\"}},{{\"type\":\"NULL\",\"value\":null}}],\"rows_sent\":1"
        )),
        // Parameters are not logged; the preparation was before the log.
        event(at(3000), at(3300), 2, &format!("{db2},\"event\":\"COM_STMT_EXECUTE\",\"client_stmt_id\":9,\"query\":\"SELECT a FROM t WHERE b = ?\"")),
        event(at(4000), at(4100), 1, &format!("{db1},\"event\":\"COM_QUERY\",\"query\":\"SELECT x\",\"errno\":1054,\"error\":\"Unknown column 'x'\"").replace("\"errno\":0,", "")),
        // The number is used again.
        event(at(5000), at(5100), 1, &format!("{db1},\"event\":\"COM_STMT_PREPARE\",\"client_stmt_id\":3,\"query\":\"SELECT 7\"")),
    ]
    .concat()
}

#[test]
fn events_are_put_back_to_where_they_began() {
    let log = Log::read("proxysql-json", session());
    assert_eq!(
        log.lines(),
        [
            "1.0 connect  ok",
            "1.1 query 03 \"UPDATE t SET a = 1\" 1900 us ok",
            "0.0 connect  ok",
            "0.1 query 03 \"SELECT 1\" 100 us ok",
            "0.2 prepare 16 [3] \"SELECT ?, ?\" 0 us ok",
            "0.3 execute 17 [3] \"SELECT ?, ?\" [Some(\"*\\0\\0\\0\"), None] 100 us ok",
            "1.2 prepare 16 [9] \"SELECT a FROM t WHERE b = ?\" ok",
            "1.3 execute 17 [9] \"SELECT a FROM t WHERE b = ?\" 300 us ok",
            "0.4 query 03 \"SELECT x\" 100 us error 1054",
            "0.5 close 19 [3] ok",
            "0.6 prepare 16 [3] \"SELECT 7\" 100 us ok",
        ]
    );
    let update = log.of(Kind::Query)[0];
    assert_eq!(update.node.as_deref(), Some("10 db1:3306"));
    assert_eq!((update.affected, update.position.as_deref()), (Some(5), Some("0-1-7")));
    assert_eq!((update.user.as_deref(), update.database.as_deref()), (Some("app"), Some("shop")));
    assert_eq!(update.client.as_deref(), Some("10.0.0.2:4000"));
    assert_eq!(log.of(Kind::Query)[1].node.as_deref(), Some("20 db2:3306"));
    assert_eq!(log.of(Kind::Prepare)[0].node.as_deref(), Some("-1"), "ProxySQL answered by itself");
    let execute = log.of(Kind::Execute)[0];
    let types: Vec<_> = execute.param_types.iter().flatten().map(|kind| ParamType(*kind as u16)).collect();
    let value = execute.params[0].value.as_deref().expect("a value");
    assert_eq!(Value::decode(types[0], value), Some(Value::Int(42)));
    assert!(log.of(Kind::Execute)[1].truncated, "its parameters are not told");
    assert_eq!(log.losses(), [(Loss::LogParameters, 1)]);
}

#[test]
fn a_session_of_the_same_number_from_elsewhere_is_another() {
    let query = "\"hostgroup_id\":1,\"server\":\"s\",\"event\":\"COM_QUERY\",\"query\":\"SELECT 1\"";
    let later = event(SECOND + 5, SECOND + 6, 1, query).replace("10.0.0.1:4000", "10.0.0.1:4001");
    let log = Log::read("proxysql-json", event(SECOND, SECOND + 1, 1, query) + &later);
    assert_eq!(log.of(Kind::Query).iter().map(|row| row.session).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn bytes_that_json_cannot_hold_are_told() {
    let query = "\"hostgroup_id\":1,\"server\":\"s\",\"event\":\"COM_QUERY\",\"query\":\"SELECT '\u{fffd}'\"";
    let log = Log::read("proxysql-json", event(SECOND, SECOND + 1, 1, query));
    assert!(log.of(Kind::Query)[0].truncated);
    assert_eq!(log.losses(), [(Loss::LogText, 1)]);
}

#[test]
fn passwords_are_masked() {
    let query = "\"hostgroup_id\":1,\"server\":\"s\",\"event\":\"COM_QUERY\",\"query\":\"SET PASSWORD = 'secret'\"";
    let log = Log::read("proxysql-json", event(SECOND, SECOND + 1, 1, query));
    assert!(!format!("{:?}", log.rows).contains("secret"));
}

#[test]
fn objects_that_somebody_laid_out_anew() {
    let query = "\"hostgroup_id\":1,\"server\":\"s\",\"event\":\"COM_QUERY\",\"query\":\"SELECT 1\"";
    let one = event(SECOND, SECOND + 1, 1, query);
    let pretty = one.replace(",\"", ",\n  \"").replacen('{', "{\n  ", 1).replace("}\n", "\n}");
    let log = Log::read("proxysql-json", format!("{pretty}{pretty}\n{}{one}", one.trim_end()));
    assert_eq!(log.of(Kind::Query).len(), 4);
    assert_eq!(log.losses(), []);
}

#[test]
fn what_is_no_event_is_counted() {
    let one = event(
        SECOND,
        SECOND + 1,
        1,
        "\"hostgroup_id\":1,\"server\":\"s\",\"event\":\"COM_QUERY\",\"query\":\"SELECT 1\"",
    );
    let text = format!(
        "{one}{{\"client\":\"10\n{one}{}\n{{\"event\":\"PGSQL_SIMPLE_QUERY\"}}\nnoise\n{}",
        "{\"event\":\"MySQL_Client_Quit\",\"thread_id\":1}",
        &one[..one.len() - 10]
    );
    let log = Log::read("proxysql-json", text);
    assert_eq!(log.of(Kind::Query).len(), 2);
    // The two that are cut; PostgreSQL's, and what is no JSON.
    assert_eq!(log.losses(), [(Loss::LogMessage, 1), (Loss::LogTruncated, 2), (Loss::LogMalformed, 2)]);
    assert!(log.ended.damaged.iter().any(|problem| problem.to_string().contains("PostgreSQL")));
}

/// Counted by hand: an event is a line.
const JSON: &[File] = &[
    file("sysown-proxysql-issues/issue-3622.jsonl", "execute 1, prepare 1", 1, 0, &[]),
    // Session 4 comes twice, from clients of different addresses.
    file("web/v2.5plus-2024.jsonl", "query 3", 3, 0, &[]),
    file("web/v3-fluentbit-2026.jsonl", "query 1", 1, 0, &[]),
];

#[test]
fn third_party_events_in_json() {
    files::check("proxysql-json", "proxysql", JSON);
}

const KINDS: &str = "execute 1, prepare 1, query 5";

/// Read field by field by another program, which knew each file's layout. One execution; its parameters are logged since 3.0.1.
/// The truncated files lack the end of their last query. A file since 3.0.1 begins with a record about itself.
const BINARY: &[File] = &[
    file("events-2.0.6-to-2.4.5.bin", KINDS, 3, 0, &[(Loss::LogParameters, 1)]),
    file("events-2.4.6-to-2.5.2.bin", KINDS, 3, 0, &[(Loss::LogParameters, 1)]),
    file("events-2.5.3-to-2.7.bin", KINDS, 3, 0, &[(Loss::LogParameters, 1)]),
    file("events-3.0.1plus.bin", KINDS, 3, 0, &[(Loss::LogServer, 1)]),
];

const FIRST: &[File] = &[file("blog-ssrf-1.4-2018.bin", "query 1", 1, 0, &[])];

/// The same without the end of the last query, of which 48 or 49 bytes are there.
const CUT: &[File] = &[
    cut("events-2.0.6-to-2.4.5.truncated.bin", &[(Undecodable, 48), (LogTruncated, 1), (LogParameters, 1)]),
    cut("events-2.4.6-to-2.5.2.truncated.bin", &[(Undecodable, 48), (LogTruncated, 1), (LogParameters, 1)]),
    cut("events-2.5.3-to-2.7.truncated.bin", &[(Undecodable, 49), (LogTruncated, 1), (LogParameters, 1)]),
    cut("events-3.0.1plus.truncated.bin", &[(Undecodable, 49), (LogServer, 1), (LogTruncated, 1)]),
];

const fn cut(path: &'static str, losses: &'static [(Loss, u64)]) -> File {
    file(path, "execute 1, prepare 1, query 4", 3, 0, losses)
}

/// Every file of the corpus that is read here.
pub fn files() -> impl Iterator<Item = &'static str> {
    JSON.iter().chain(BINARY).chain(FIRST).chain(CUT).map(|file| file.path)
}

#[test]
fn constructed_events_in_binary() {
    files::check("proxysql-binary", "proxysql/constructed-binary", BINARY);
    files::check("proxysql-binary", "proxysql/web", FIRST);
}

#[test]
fn a_binary_log_that_is_cut_gives_what_it_holds() {
    files::check("proxysql-binary", "proxysql/constructed-binary", CUT);
}

/// Version 2.5.3: as JSON's, and the same session.
fn binary() -> Vec<u8> {
    fn string(out: &mut Vec<u8>, text: &str) {
        out.push(u8::try_from(text.len()).expect("short"));
        out.extend(text.as_bytes());
    }
    let mut log = Vec::new();
    let queries = ["SELECT 1", "UPDATE t SET a = 'caf\u{e9}'", "COMMIT"];
    for (index, sql) in queries.into_iter().cycle().take(30).enumerate() {
        let mut body = vec![0, u8::try_from(index % 4).expect("small")];
        for text in ["app", "shop", "10.0.0.1:4000"] {
            string(&mut body, text);
        }
        body.push(7);
        string(&mut body, "db1:3306");
        for time in [SECOND + 10 * index as u64, SECOND + 10 * index as u64 + 5] {
            body.push(0xfe);
            body.extend(time.to_le_bytes());
        }
        body.extend([1, 0, 2, 0]);
        string(&mut body, sql);
        log.extend((body.len() as u64 + 1).to_le_bytes());
        log.extend(body);
    }
    log
}

#[test]
fn binary_events_after_damage_are_found_again() {
    let whole = binary();
    let log = Log::read("proxysql-binary", &whole);
    assert_eq!(log.of(Kind::Query).len(), 30);
    let row = log.of(Kind::Query)[1];
    assert_eq!((row.rows, row.affected, row.duration_ns), (Some(2), Some(1), Some(5000)));
    assert_eq!(row.node.as_deref(), Some("7 db1:3306"));
    // The length of a record, and bytes of two others.
    let mut damaged = whole.clone();
    damaged[0] ^= 4;
    let middle = whole.len() / 2;
    damaged[middle..middle + 150].fill(0xff);
    let log = Log::read("proxysql-binary", &damaged);
    assert_eq!(log.ended.losses.get(Loss::LogTruncated), 1, "the first");
    assert_eq!(log.ended.losses.get(Loss::LogMalformed), 1, "those in the middle");
    assert!(log.of(Kind::Query).len() >= 26, "{}", log.of(Kind::Query).len());
    assert!(log.ended.losses.get(Loss::Undecodable) >= 150);
}

#[test]
fn a_file_that_goes_on_as_json() {
    let json = event(
        SECOND,
        SECOND + 1,
        1,
        "\"hostgroup_id\":1,\"server\":\"s\",\"event\":\"COM_QUERY\",\"query\":\"SELECT 1\"",
    );
    let log = Log::read("proxysql-binary", [binary(), json.clone().into_bytes(), binary()].concat());
    assert_eq!(log.of(Kind::Query).len(), 61);
    assert_eq!(log.losses(), []);
    let log = Log::read("proxysql-binary", json);
    assert!(log.ended.damaged.iter().any(|problem| problem.to_string().contains("proxysql-json")));
    let log = Log::read("proxysql-json", binary());
    assert!(log.ended.damaged.iter().any(|problem| problem.to_string().contains("proxysql-binary")));
}

#[test]
fn damaged_logs() {
    noise::check("proxysql-json", &[session().as_bytes()]);
    noise::check("proxysql-binary", &[&binary()]);
}
