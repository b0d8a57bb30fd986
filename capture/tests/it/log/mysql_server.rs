//! A real MariaDB writes its general and its slow log for clients whose every word is known: both tell what they sent.

use std::time::Duration;

use splitproof_capture::mysql::{Capabilities, Command, Content, ExecuteFlags, Kind as Type, Parameter};
use splitproof_capture::trace::{Kind, Loss, Outcome};

use super::scene::Log;
use crate::mysql_codec::mariadb::client::Client;
use crate::mysql_codec::mariadb::server::Server;
use crate::mysql_codec::mariadb::{execute, parameter, prepare, query};

const SETTINGS: &[&str] = &[
    "--general-log",
    "--general-log-file=general.log",
    "--slow-query-log",
    "--slow-query-log-file=slow.log",
    "--long-query-time=0",
    // Without a filter everything is slow.
    "--log-slow-filter=",
    "--log-output=FILE",
];

/// What the first client asks before it prepares, one text after the other.
const FIRST: &[&str] = &[
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(40))",
    "INSERT INTO t VALUES\n\t(1, 'it''s'),\n\n  (2, 'é; # no comment')\n-- the end",
    "SELECT nothing FROM t",
    "/* c */ UPDATE t SET b = '# Time: 261130  9:14:11' WHERE a = 2",
];
const PREPARED: &str = "SELECT b FROM t WHERE a > ? AND b <> ?";
/// Its executions, with the values as the server writes them.
const EXECUTED: &[&str] =
    &["SELECT b FROM t WHERE a > -7 AND b <> 'x\\'y\\\\z\\n'", "SELECT b FROM t WHERE a > 1 AND b <> NULL"];
const SLOW: &str = "SELECT SLEEP(2.5)";
/// What the second client asks while the first one sleeps.
const MEANWHILE: &[&str] = &["BEGIN", "SELECT 'meanwhile' FROM shop.t", "COMMIT"];

/// Asks everything, and returns the two logs.
fn record() -> Option<(Vec<u8>, Vec<u8>)> {
    let server = Server::start_with(SETTINGS)?;
    let mut first = Client::connect(&server.socket(), Capabilities::default());
    let mut second = Client::connect(&server.socket(), Capabilities::default());
    for sql in FIRST {
        query(&mut first, sql);
    }
    let (statement, _) = prepare(&mut first, PREPARED);
    let number = (-7_i32).to_le_bytes();
    let values = [parameter(Type::LONG, &number), parameter(Type::VAR_STRING, b"x'y\\z\n")];
    execute(&mut first, statement.statement, ExecuteFlags::default(), &values);
    let number = 1_i32.to_le_bytes();
    let null = Parameter { value: Content::Null, ..parameter(Type::VAR_STRING, b"") };
    execute(&mut first, statement.statement, ExecuteFlags::default(), &[parameter(Type::LONG, &number), null]);
    first.ask(&Command::Close { statement: statement.statement });
    std::thread::scope(|scope| {
        scope.spawn(|| query(&mut first, SLOW));
        std::thread::sleep(Duration::from_millis(1300));
        for sql in MEANWHILE {
            query(&mut second, sql);
        }
    });
    first.ask(&Command::InitDb { database: b"mysql" });
    query(&mut first, "SELECT 'in mysql'");
    first.ask(&Command::Quit);
    second.ask(&Command::Quit);
    // The server writes of a client's end on its own time.
    std::thread::sleep(Duration::from_millis(500));
    Some((server.file("general.log"), server.file("slow.log")))
}

/// The texts of one session's rows, with a letter for what is no query.
fn asked(log: &Log, session: u64) -> Vec<String> {
    let rows = log.rows.iter().filter(|row| row.session == session);
    let text = |row: &splitproof_capture::trace::Request| match (row.kind, row.sql.as_deref(), row.database.as_deref())
    {
        (Kind::Query, Some(sql), _) => sql.to_owned(),
        (Kind::Prepare, Some(sql), _) => format!("prepare {sql}"),
        (Kind::InitDb, _, Some(database)) => format!("init_db {database}"),
        (kind, ..) => kind.to_string(),
    };
    rows.map(text).collect()
}

/// The session that asked a text.
fn session(log: &Log, sql: &str) -> u64 {
    log.rows.iter().find(|row| row.sql.as_deref() == Some(sql)).unwrap_or_else(|| panic!("{sql}")).session
}

#[test]
fn both_logs_of_mariadb_tell_what_was_sent() {
    let Some((general, slow)) = record() else {
        crate::skipped(1, "MariaDB is not installed");
        return;
    };
    let words = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let prepared = format!("prepare {PREPARED}");

    let log = Log::read("mysql-general", &general);
    let expected = [
        &["connect"],
        FIRST,
        &[&prepared],
        EXECUTED,
        &["close", SLOW, "init_db mysql", "SELECT 'in mysql'", "disconnect"],
    ];
    assert_eq!(asked(&log, session(&log, SLOW)), words(&expected.concat()));
    let expected = [&["connect"], MEANWHILE, &["disconnect"]].concat();
    assert_eq!(asked(&log, session(&log, MEANWHILE[1])), words(&expected));
    assert!(log.rows.iter().all(|row| row.user.as_deref() == Some("root") || row.joined_midway));
    // The header; the server is alone otherwise.
    assert_eq!(log.losses(), [(Loss::LogServer, 1)]);

    let log = Log::read("mysql-slow", &slow);
    // MariaDB's slow log does not tell of preparations, of the choice of a database, or of the end of a session.
    let expected = [&["connect"], FIRST, EXECUTED, &[SLOW], &["init_db mysql", "SELECT 'in mysql'"]];
    let ours = asked(&log, session(&log, SLOW));
    assert_eq!(ours, words(&expected.concat()), "{}", String::from_utf8_lossy(&slow));
    let expected = [&["connect"], MEANWHILE].concat();
    assert_eq!(asked(&log, session(&log, MEANWHILE[1])), words(&expected));
    // It was written after what the other client asked meanwhile, and began before.
    let place = |sql: &str| log.rows.iter().position(|row| row.sql.as_deref() == Some(sql)).expect("its row");
    let text = String::from_utf8_lossy(&slow);
    assert!(text.find("meanwhile").expect("its entry") < text.find("SLEEP").expect("its entry"));
    assert!(place(SLOW) < place(MEANWHILE[0]) && place(MEANWHILE[0]) < place(MEANWHILE[1]));
    let sleep = &log.rows[place(SLOW)];
    assert!((2_500_000_000..5_000_000_000).contains(&sleep.duration_ns.expect("its duration")), "{sleep:?}");
    assert!(log.rows.iter().all(|row| row.outcome == Outcome::Ok || row.sql.as_deref() == Some(FIRST[4])));
}
