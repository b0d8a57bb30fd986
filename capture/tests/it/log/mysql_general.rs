//! The general log of MySQL and MariaDB.

use splitproof_capture::log::Settings;
use splitproof_capture::trace::{Kind, Loss};

use super::files::{self, File, file};
use super::noise;
use super::scene::Log;

/// Written by MariaDB 10.11.19 for a client that sent each command once, and for logins that fail.
const MARIADB: &[u8] = include_bytes!("data/mariadb-10.11-general.log");

const MYSQL: &str = "\
/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time                 Id Command    Argument
2024-05-01T10:00:00.000001Z\t    8 Connect\tapp@10.0.0.1 on shop using SSL/TLS
2024-05-01T10:00:00.000002Z\t    8 Query\tPREPARE s FROM 'SELECT ?'
2024-05-01T10:00:00.000003Z\t    8 Prepare\tSELECT ?
2024-05-01T10:00:00.000004Z\t    8 Query\tEXECUTE s USING @a
2024-05-01T10:00:00.000005Z\t    8 Execute\tSELECT 5
2024-05-01T10:00:00.000006Z\t    8 Prepare\tSELECT a FROM t WHERE b = ?
2024-05-01T10:00:00.000007Z\t    9 Query\tUSE other
2024-05-01T10:00:00.000008Z\t    8 Execute\tSELECT a FROM t WHERE b = 'x
y'
2024-05-01T10:00:00.000009Z\t    8 Close stmt\t
2024-05-01T10:00:00.000010Z\t    9 Query\tSELECT 1
2024-05-01T10:00:00.000011Z\t    8 Reset Connection\t
2024-05-01T10:00:00.000012Z\t    8 Quit\t
2024-05-01T10:00:00.000013Z\t12345678 Binlog Dump GTID\tLog: '' Pos: 4 GTIDs: ''
";

#[test]
fn commands_become_requests() {
    let log = Log::read("mysql-general", MYSQL);
    assert_eq!(
        log.lines(),
        [
            "0.0 connect  ok",
            "0.1 query 03 \"PREPARE s FROM 'SELECT ?'\" ok",
            "0.2 query 03 \"EXECUTE s USING @a\" ok",
            "0.3 prepare 16 [1] \"SELECT a FROM t WHERE b = ?\" ok",
            "1.0 connect  ok",
            "1.1 query 03 \"USE other\" ok",
            "0.4 query 03 \"SELECT a FROM t WHERE b = 'x\\ny'\" ok",
            "0.5 close 19 [1] ok",
            "1.2 query 03 \"SELECT 1\" unfinished",
            "0.6 reset 1f ok",
            "0.7 disconnect 01 ok",
            "2.0 connect  ok",
            "2.1 other 1e unfinished",
        ]
    );
    let execution = log.of(Kind::Query)[3];
    assert_eq!(execution.start_ns, 1_714_557_600_000_008_000);
    assert_eq!(execution.user.as_deref(), Some("app"));
    assert_eq!(execution.client.as_deref(), Some("10.0.0.1"));
    assert_eq!(execution.database.as_deref(), Some("shop"));
    assert!(!execution.joined_midway);
    let midway = log.of(Kind::Query)[4];
    assert!(midway.joined_midway && midway.user.is_none());
    assert_eq!(midway.database.as_deref(), Some("other"));
    assert_eq!(log.losses(), [(Loss::LogServer, 1)]);
}

#[test]
fn what_a_client_of_mariadb_sent() {
    let log = Log::read("mysql-general", MARIADB);
    let of_five: Vec<_> = log.lines().into_iter().filter(|line| line.starts_with("0.")).collect();
    assert_eq!(
        of_five,
        [
            "0.0 connect  ok",
            "0.1 query 03 \"create database if not exists shop\" ok",
            "0.2 query 03 \"create user if not exists app@localhost identified by '***'\" ok",
            "0.3 query 03 \"create user if not exists app@'127.0.0.1' identified by '***'\" ok",
            "0.4 query 03 \"grant all on shop.* to app@localhost\" ok",
            "0.5 query 03 \"grant all on shop.* to app@'127.0.0.1'\" ok",
            "0.6 init_db 02 ok",
            "0.7 query 03 \"create table if not exists t (a int primary key auto_increment, b text)\" ok",
            "0.8 query 03 \"insert into t(b) values ('x')\\n,\\t('y'),\\n\\n('z')\" ok",
            "0.9 prepare 16 [1] \"select * from t where a=? and b=?\" ok",
            "0.10 query 03 \"select * from t where a=1 and b='it\\\\'s \\\\\\\\ \\\\n x'\" ok",
            "0.11 query 03 \"select * from t where a=2 and b=NULL\" ok",
            "0.12 prepare 16 [2] \"insert into t(b) values (?)\" ok",
            "0.13 query 03 \"insert into t(b) values ('long data part1 part2')\" ok",
            // It was the second one that the client reset, and the first one that it closed.
            "0.14 close 19 [1] ok",
            "0.15 prepare 16 [3] \"select a from t\" ok",
            "0.16 query 03 \"select a from t\" ok",
            // The third one; the fetch before it is not logged.
            "0.17 close 19 [2] ok",
            "0.18 query 03 \"prepare s from 'select ?+1'\" ok",
            "0.19 query 03 \"set @a=5\" ok",
            "0.20 query 03 \"execute s using @a\" ok",
            "0.21 query 03 \"deallocate prepare s\" ok",
            "0.22 query 03 \"execute immediate 'select 1+?' using 7\" ok",
            // The ping before it is not logged.
            "0.23 other 09 ok",
            "0.24 other 0a ok",
            "0.25 other 0d ok",
            "0.26 other 07 ok",
            "0.27 other 04 ok",
            "0.28 query 03 \"create user zz@localhost identified by '***'\" ok",
            "0.29 query 03 \"set password for zz@localhost = password('***')\" ok",
            "0.30 query 03 \"select bogus syntax here from\" ok",
            "0.31 query 03 \"select * from nosuch\" ok",
            "0.32 query 03 \"\" ok",
            "0.33 query 03 \"delimiter\" ok",
            "0.34 query 03 \"/* comment */ select 1 -- x\" ok",
            "0.35 query 03 \"select 1\" ok",
            "0.36 query 03 \"create procedure if not exists p() begin insert into t(b) values('in p'); select \
             count(*) from t; end\" ok",
            "0.37 query 03 \"kill query 1\" ok",
            // The reset before it is not logged.
            "0.38 change_user 11 ok",
            "0.39 query 03 \"select current_user()\" ok",
            "0.40 query 03 \"use mysql\" error 1044",
            "0.41 query 03 \"use shop\" ok",
            "0.42 init_db 02 error 1044",
            "0.43 change_user 11 error 1045",
            "0.44 disconnect 01 ok",
        ]
    );
    let others: Vec<_> = log.lines().into_iter().filter(|line| !line.starts_with("0.")).collect();
    assert_eq!(
        others,
        [
            "1.0 connect  error 1045",
            "2.0 connect  error 1045",
            "3.0 connect  error 1044",
            "4.0 connect  ok",
            "4.1 query 03 \"select 'é \u{fffd}'\" unfinished",
            "5.0 connect  ok",
            "5.1 query 03 \"select sleep(1.2)\" ok",
            "5.2 query 03 \"select 1\" ok",
            "5.3 disconnect 01 ok",
            "6.0 connect  ok",
        ]
    );
    // The header, and a reset of a statement that the log does not name.
    assert_eq!(log.losses(), [(Loss::LogServer, 1), (Loss::LogStatement, 1)]);
    let fields = log.rows.iter().find(|row| row.messages == "04").expect("a field list");
    assert_eq!(fields.copy_data.concat(), b"t\0");
    let raw = log.of(Kind::Query).into_iter().find_map(|row| row.sql_raw.clone()).expect("bytes that are no text");
    assert_eq!(&raw[..], b"select '\xc3\xa9 \xff'");
}

#[test]
fn no_password_enters_a_trace() {
    let log = Log::read("mysql-general", MARIADB);
    for row in &log.rows {
        let text = format!("{row:?}");
        assert!(!text.contains("secret") && !text.contains("geheim"), "{text}");
    }
}

#[test]
fn a_number_that_connects_again_is_another_session() {
    let text = "260101 10:00:00\t    5 Connect\ta@h on d\n\t\t    5 Query\tSELECT 1\n\
                260101 10:00:09\t    5 Connect\tb@h on d\n\t\t    5 Query\tSELECT 2\n";
    let log = Log::read("mysql-general", text);
    let lines = log.lines();
    assert_eq!(lines[1], "0.1 query 03 \"SELECT 1\" unfinished", "the server stopped before it told more");
    assert_eq!(lines[3], "1.1 query 03 \"SELECT 2\" unfinished");
    assert_eq!(log.rows[3].user.as_deref(), Some("b"));
}

#[test]
fn entries_before_the_first_time_are_of_its_second() {
    let text = "\t\t    5 Query\tSELECT 1\n\t\t    6 Query\tSELECT 2\n260101 10:00:00\t    5 Query\tSELECT 3\n";
    let log = Log::read("mysql-general", text);
    let times: Vec<_> = log.of(Kind::Query).iter().map(|row| row.start_ns - 1_767_261_600_000_000_000).collect();
    assert_eq!(times, [0, 1, 2]);
    assert!(log.ended.damaged.iter().all(|problem| problem.to_string().contains("--timezone")));
}

#[test]
fn times_have_the_zone_that_the_user_gives() {
    let settings = Settings { zone: Some("Europe/Berlin".parse().expect("a zone")), ..Settings::default() };
    let log = Log::with("mysql-general", &settings, &[b"260101 10:00:00\t    5 Query\tSELECT 1\n"]);
    assert_eq!(log.rows[0].start_ns, 1_767_258_000_000_000_000, "nine o'clock UTC");
    assert!(log.ended.damaged.is_empty());
}

#[test]
fn what_is_cut_or_strange_is_counted() {
    let text = "FROM t\nWHERE a = 1\n260101 10:00:00\t    5 Query\tSELECT 1\n\
                261301 10:00:00\t    5 Query\tin month 13\n\
                260101 10:00:01\t    5 Teleport\tx\n\
                260101 10:00:02\t    5 Query\tSELECT";
    let log = Log::read("mysql-general", text);
    assert_eq!(log.of(Kind::Query).len(), 1);
    assert_eq!(log.losses(), [(Loss::LogTruncated, 2), (Loss::LogMalformed, 2)]);
    assert_eq!(log.ended.statistics.entries, 5);
}

#[test]
fn a_file_that_the_client_sends_is_not_in_the_log() {
    let log = Log::read("mysql-general", "260101 10:00:00\t    5 Query\tLOAD DATA LOCAL INFILE 'x' INTO TABLE t\n");
    assert_eq!(log.of(Kind::Copy).len(), 1);
    assert_eq!(log.losses(), [(Loss::LogCopyData, 1)]);
}

/// Counted by `grep -c` for each command, and by hand in the files of a few lines. Header lines are an entry of the server's.
pub const FILES: &[File] = &[
    file("genlog001.txt", "connect 2, disconnect 2, init_db 1, query 2", 2, 0, &[]),
    file("genlog002.txt", "query 2", 1, 0, &[]),
    file("genlog003.txt", "connect 2, disconnect 2, init_db 1, query 2", 2, 0, &[]),
    // 12345 is denied once, in two lines.
    file("genlog004.txt", "connect 2, query 1", 3, 1, &[]),
    // grep -c: Connect 2, Query 11, of the connections 3, 4, 5 and 6.
    file("genlog005.txt", "connect 2, query 11", 4, 0, &[(Loss::LogServer, 1)]),
    // Connections 7 (its Quit only), 8 and 9; Field List is `other`.
    file("log001.txt", "connect 2, disconnect 3, init_db 1, other 1, query 4", 3, 0, &[(Loss::LogServer, 1)]),
    // The output of mysqld --help.
    file("mysqld_01_issue_58.txt", "", 0, 0, &[(Loss::LogMalformed, 1)]),
];

#[test]
fn third_party_logs() {
    files::check("mysql-general", "mysql-genlog/percona-percona-toolkit", FILES);
}

#[test]
fn damaged_logs() {
    noise::check("mysql-general", &[MARIADB, MYSQL.as_bytes()]);
}
