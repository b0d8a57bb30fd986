//! The slow log of MySQL, MariaDB and Percona Server.

use splitproof_capture::log::Settings;
use splitproof_capture::trace::{Kind, Loss};

use super::mysql_slow_files::FILES;
use super::scene::Log;
use super::{files, noise};

/// Written by MariaDB 10.11.19 for the client of `mariadb-10.11-general.log`, with `long_query_time = 0`.
const MARIADB: &[u8] = include_bytes!("data/mariadb-10.11-slow.log");

/// Percona Server 8.0, with log_slow_verbosity = full.
const PERCONA: &str = "\
/usr/sbin/mysqld, Version: 8.0.15-5 (Percona Server (GPL), Release '5', Revision 'f8a9e99'). started with:
Tcp port: 3306  Unix socket: /var/run/mysqld/mysqld.sock
Time                 Id Command    Argument
# Time: 2024-05-01T10:00:05.000000Z
# User@Host: app[app] @ web1 [10.0.0.1]  Id:     8
# Schema: shop  Last_errno: 0  Killed: 0
# Query_time: 0.500000  Lock_time: 0.000100  Rows_sent: 0  Rows_examined: 0  Rows_affected: 1
# Bytes_sent: 12
use shop;
SET last_insert_id=6,insert_id=7,timestamp=1714557604;
INSERT INTO orders (item)
# of today
VALUES (1);
# Time: 2024-05-01T10:00:06.000000Z
# User@Host: app[app] @ web1 [10.0.0.1]  Id:     9
# Schema: shop  Last_errno: 0  Killed: 0
# Query_time: 3.000000  Lock_time: 0.000100  Rows_sent: 12  Rows_examined: 0  Rows_affected: 0
SET timestamp=1714557603;
SELECT * FROM orders;
# Time: 2024-05-01T10:00:07.000000Z
# User@Host: app[app] @ web1 [10.0.0.1]  Id:     8
# Schema: archive  Last_errno: 1146  Killed: 0
# Query_time: 0.000100  Lock_time: 0.000100  Rows_sent: 0  Rows_examined: 0  Rows_affected: 0
use archive;
SET timestamp=1714557607;
SELECT * FROM nothing;
# Time: 2024-05-01T10:00:08.000000Z
# User@Host: app[app] @ web1 [10.0.0.1]  Id:     8
# Schema: archive  Last_errno: 1317  Killed: 1317
# Query_time: 0.700000  Lock_time: 0.000100  Rows_sent: 0  Rows_examined: 0  Rows_affected: 0
SET timestamp=1714557607;
SELECT SLEEP(9);
# Time: 2024-05-01T10:00:09.000000Z
# User@Host: app[app] @ web1 [10.0.0.1]  Id:     8
# Schema: archive  Last_errno: 0  Killed: 0
# Query_time: 0.000001  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0  Rows_affected: 0
SET timestamp=1714557609;
# administrator command: Quit;
# Time: 2024-05-01T10:00:09.500000Z
# User@Host: app[app] @ web1 [10.0.0.1]  Id:     9
# Schema: shop  Last_errno: 0  Killed: 0
# Query_time: 0.000001  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0  Rows_affected: 0
SET timestamp=1714557609;
# administrator command: Prepare;
# Time: 2024-05-01T10:00:10.000000Z
# User@Host: [SQL_SLAVE] @  []  Id:     2
# Schema: shop  Last_errno: 0  Killed: 0
# Query_time: 0.000001  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0  Rows_affected: 0
SET timestamp=1714557609;
BEGIN;
";

#[test]
fn statements_are_put_back_to_where_they_began() {
    let log = Log::read("mysql-slow", PERCONA);
    assert_eq!(
        log.lines(),
        [
            "1.0 connect  ok",
            "1.1 query 03 \"SELECT * FROM orders\" 3000000 us ok",
            "0.0 connect  ok",
            "0.1 query 03 \"INSERT INTO orders (item)\\n# of today\\nVALUES (1)\" 500000 us ok",
            // No entry tells how the session came to its other database.
            "0.2 init_db 02 ok",
            "0.3 query 03 \"SELECT * FROM nothing\" 100 us error 1146",
            "0.4 query 03 \"SELECT SLEEP(9)\" 700000 us cancelled 1317",
            "0.5 disconnect 01 1 us ok",
        ]
    );
    let insert = log.rows.iter().find(|row| row.affected == Some(1)).expect("the INSERT");
    assert_eq!(insert.start_ns, 1_714_557_604_500_000_000);
    assert_eq!((insert.rows, insert.last_insert_id), (Some(0), Some(7)));
    assert_eq!((insert.user.as_deref(), insert.client.as_deref()), (Some("app"), Some("10.0.0.1")));
    assert_eq!(insert.database.as_deref(), Some("shop"));
    assert!(insert.joined_midway);
    assert_eq!(log.of(Kind::InitDb)[0].database.as_deref(), Some("archive"));
    // The header and the replica; the preparation has no text.
    assert_eq!(log.losses(), [(Loss::LogServer, 2), (Loss::LogStatement, 1)]);
}

#[test]
fn what_a_client_of_mariadb_sent() {
    let log = Log::read("mysql-slow", MARIADB);
    let texts: Vec<_> =
        log.of(Kind::Query).iter().map(|row| (row.session, row.sql.as_deref().expect("a text"))).collect();
    assert_eq!(
        texts,
        [
            (0, "create database if not exists shop"),
            (0, "create user if not exists app@localhost identified by '***'"),
            (0, "insert into t(b) values ('x')\n,\t('y'),\n\n('z')"),
            (0, "select * from t where a=1 and b='it\\'s \\\\ \\n x'"),
            (0, "insert into t(b) values ('long data part1 part2')"),
            (0, "select * from nosuch"),
            (0, "select 1"),
            (1, "select sleep(1.2)"),
            (1, "select 1"),
        ]
    );
    let of =
        |text: &str| *log.of(Kind::Query).iter().find(|row| row.sql.as_deref() == Some(text)).expect("the request");
    let sleep = of("select sleep(1.2)");
    // MariaDB's times are of the start: the general log has the statement in the second 9:14:12, and the next in 9:14:13.
    assert_eq!(sleep.start_ns, 1_796_030_052_000_000_000);
    assert_eq!(sleep.duration_ns, Some(1_200_162_000));
    assert_eq!((sleep.rows, sleep.affected), (Some(1), Some(0)));
    let next = log.of(Kind::Query).into_iter().rfind(|row| row.sql.as_deref() == Some("select 1")).expect("the last");
    assert_eq!(Some(next.start_ns), sleep.end_ns(), "one after another");
    assert_eq!(of("select * from nosuch").database.as_deref(), Some("shop"));
    assert_eq!(of("create database if not exists shop").database, None);
    // With the time in UTC, nobody needs the zone.
    assert!(log.ended.damaged.is_empty(), "{:?}", log.ended.damaged);
    assert_eq!(log.losses(), [(Loss::LogServer, 1)]);
    assert!(log.rows.iter().all(|row| !format!("{row:?}").contains("secret")));
}

#[test]
fn use_is_the_servers_or_the_clients() {
    let head = "# User@Host: a[a] @ h []\n# Thread_id: 1  Schema: \n# Query_time: 0.1  Lock_time: 0\n";
    let text = format!("{head}use db;\nSELECT 1;\n{head}SET timestamp=1714557609;\nuse other;\n{head}use third;\n");
    let log = Log::read("mysql-slow", text);
    let texts: Vec<_> = log.of(Kind::Query).iter().filter_map(|row| row.sql.as_deref()).collect();
    assert_eq!(texts, ["SELECT 1", "use other", "use `third`"]);
    let databases: Vec<_> = log.of(Kind::Query).iter().filter_map(|row| row.database.as_deref()).collect();
    assert_eq!(databases, ["db", "other", "third"]);
    assert_eq!(log.of(Kind::InitDb).len(), 0);
}

#[test]
fn a_sample_is_told() {
    let text = "# Time: 2024-05-01T10:00:05.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1  Lock_time: 0\n\
                # Log_slow_rate_type: query  Log_slow_rate_limit: 100\nSELECT 1;\n";
    let log = Log::read("mysql-slow", text);
    assert!(log.ended.damaged.iter().any(|problem| problem.to_string().contains("one statement or session in 100")));
}

#[test]
fn the_zone_of_old_logs_is_the_users() {
    let settings = Settings { zone: Some("+02:00".parse().expect("a zone")), ..Settings::default() };
    let text = b"# Time: 071015 21:43:52\n# User@Host: a[a] @ h []\n# Query_time: 2  Lock_time: 0\nSELECT 1;\n";
    let log = Log::with("mysql-slow", &settings, &[text]);
    assert_eq!(log.of(Kind::Query)[0].start_ns, 1_192_477_430_000_000_000, "19:43:50 UTC");
    assert!(log.ended.damaged.is_empty());
}

#[test]
fn what_is_cut_is_counted() {
    let whole = "# Time: 2024-05-01T10:00:05.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1  Lock_time: 0\nSELECT 1;\n";
    for cut in [
        // In the statement, in its last line, before the statement.
        &whole[..whole.len() - 4],
        &whole[..whole.len() - 2],
        &whole[..whole.len() - 10],
        &whole[..50],
    ] {
        let log = Log::read("mysql-slow", format!("{whole}{cut}"));
        assert_eq!(log.of(Kind::Query).len(), 1, "{cut:?}");
        assert_eq!(log.losses(), [(Loss::LogTruncated, 1)], "{cut:?}");
    }
    // Only the newline is missing.
    let log = Log::read("mysql-slow", &whole[..whole.len() - 1]);
    assert_eq!((log.of(Kind::Query).len(), log.losses().len()), (1, 0));
}

#[test]
fn third_party_logs() {
    files::check("mysql-slow", "mysql-slowlog", FILES);
}

#[test]
fn damaged_logs() {
    noise::check("mysql-slow", &[MARIADB, PERCONA.as_bytes()]);
}
