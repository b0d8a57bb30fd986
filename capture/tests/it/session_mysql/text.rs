//! Texts: results, errors, LOAD DATA LOCAL, and what changes the session.

use splitproof_capture::mysql::session_state::Change;
use splitproof_capture::mysql::{Capabilities, Code, OkPacket, Query, SessionState, Status};
use splitproof_capture::mysql::{Content, Kind, ParamType, Parameter};
use splitproof_capture::trace::TransactionStatus;

use crate::dialogue::mysql::*;

#[test]
fn counts_state_and_errors() {
    let insert = OkPacket {
        affected: 2,
        last_insert_id: 41,
        status: Status::IN_TRANS,
        warnings: 3,
        info: b"Records: 2  Duplicates: 0  Warnings: 3",
        ..OkPacket::default()
    };
    let dialogue = Dialogue::with(NEW)
        .client([query("\0\x01INSERT INTO t VALUES (1), (2)")])
        .server([answer([ok_with(insert)])])
        .client([query("\0\x01SELECT 1/")])
        .server([answer([error(1064, "You have an error in your SQL syntax")])])
        .client([query("\0\x01SELECT SLEEP(9)")])
        .server([answer([count(1), column(), error(1317, "Query execution was interrupted")])]);
    expect(
        &dialogue,
        &[
            "query 03 \"INSERT INTO t VALUES (1), (2)\" ok affected=2 id=41 warnings=3 took=1 open no-autocommit",
            "query 03 \"SELECT 1/\" error 1064 took=1",
            "query 03 \"SELECT SLEEP(9)\" cancelled 1317 took=1",
        ],
    );
    assert_eq!(dialogue.rows()[1].error_message.as_deref(), Some("You have an error in your SQL syntax"));
}

#[test]
fn several_results() {
    let more = Status::AUTOCOMMIT | Status::MORE_RESULTS;
    let text = "SELECT 1; UPDATE t SET a = 1; SELECT 2 FROM t WHERE FALSE";
    let update = ok_with(OkPacket { affected: 4, status: more, ..OkPacket::default() });
    let dialogue = Dialogue::session().client([query(text)]).server([
        answer([count(1), column(), eof(), row("1"), eof_with(more)]),
        at(6, &update),
        answer([count(1), column(), eof(), eof()]),
    ]);
    expect(&dialogue, &[&format!("query 03 \"{text}\" ok rows=1 affected=4 took=1 idle")]);
}

#[test]
fn checksums_tell_rows_order_and_completion_apart() {
    let run = |rows: [&str; 2]| {
        let answer = answer([count(1), column(), eof(), row(rows[0]), row(rows[1]), eof()]);
        Dialogue::session().client([query("SELECT a FROM t")]).server([answer]).rows().remove(0)
    };
    let (a, b, c) = (run(["1", "2"]), run(["2", "1"]), run(["1", "3"]));
    assert_ne!(a.checksum_rows, b.checksum_rows);
    assert_eq!(a.checksum_rowset, b.checksum_rowset);
    assert_ne!(a.checksum_rowset, c.checksum_rowset);
    // The same rows without EOF packets are the same answer.
    let new = answer([count(1), column(), row("1"), row("2"), end()]);
    let new = Dialogue::with(NEW).client([query("\0\x01SELECT a FROM t")]).server([new]).rows().remove(0);
    assert_eq!((new.checksum_full, new.checksum_rows), (a.checksum_full, a.checksum_rows));
    let one = |affected| {
        Dialogue::session().client([query("DELETE FROM t")]).server([answer([ok_affected(affected)])]).rows().remove(0)
    };
    assert_eq!(one(1).checksum_rows, one(2).checksum_rows);
    assert_ne!(one(1).checksum_full, one(2).checksum_full);
}

#[test]
fn a_file_of_the_client() {
    let text = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t";
    let dialogue = Dialogue::session()
        .client([query(text)])
        .server([at(1, b"\xfbf")])
        .client([at(2, b"1\n2\n"), at(3, b"3\n"), at(4, b"")])
        .server([at(5, &ok_affected(3))])
        .client([ping()])
        .server([answer([ok()])]);
    expect(
        &dialogue,
        &[&format!("copy 03 \"{text}\" ok affected=3 copied=2 took=3 idle"), "ping 0e ok affected=0 took=1 idle"],
    );
    assert_eq!(*dialogue.rows()[0].copy_data[0], *b"1\n2\n");
}

#[test]
fn query_attributes_are_parameters_with_names() {
    let attribute =
        |name, text| Parameter { name, kind: ParamType::new(Kind::VAR_STRING, false), value: Content::Bytes(text) };
    let mut payload = Vec::new();
    let attributes = [attribute(b"traceparent", b"00-ab"), attribute(b"null", b"")];
    Query::write(&mut payload, NEW, &attributes, b"SELECT 1").unwrap();
    assert_eq!(payload[0], Code::QUERY.0);
    let dialogue =
        Dialogue::with(NEW).client([command(&payload)]).server([answer([count(1), column(), row("1"), end()])]);
    expect(&dialogue, &["query 03 \"SELECT 1\" ok rows=1 took=1 idle"]);
    let row = &dialogue.rows()[0];
    assert_eq!(row.param_names, ["traceparent".into(), "null".into()] as [Box<str>; 2]);
    assert_eq!((row.params[0].type_id, row.params[0].value.as_deref()), (253, Some(&b"00-ab"[..])));
    assert!(row.params[0].binary && row.params[1].value.as_deref() == Some(b""));
}

#[test]
fn the_database_moves() {
    let dialogue = Dialogue::session()
        .client([query("USE `other`")])
        .server([answer([ok()])])
        .client([query("use missing")])
        .server([answer([error(1049, "Unknown database")])])
        .client([command(b"\x02third")])
        .server([answer([ok()])])
        .client([command(b"\x02missing")])
        .server([answer([error(1049, "Unknown database")])]);
    let rows = dialogue.rows();
    let databases: Vec<_> = rows.iter().map(|row| row.database.as_deref().unwrap()).collect();
    assert_eq!(databases, ["other", "other", "third", "third"]);
    assert_eq!(rows[2].kind.as_str(), "init_db");
}

#[test]
fn session_tracking_tells_database_and_position() {
    let changes = SessionState::bytes([
        Change::Schema(b"tracked"),
        Change::SystemVariable { name: b"last_gtid", value: b"0-1-42" },
    ]);
    let ok = OkPacket {
        status: Status::AUTOCOMMIT | Status::SESSION_STATE_CHANGED,
        session: SessionState::from_bytes(&changes).unwrap(),
        ..OkPacket::default()
    };
    let dialogue = Dialogue::with(NEW).client([query("\0\x01CALL p()")]).server([answer([ok_with(ok)])]);
    expect(&dialogue, &["query 03 \"CALL p()\" ok affected=0 at=0-1-42 took=1 idle"]);
    assert_eq!(dialogue.rows()[0].database.as_deref(), Some("tracked"));
}

#[test]
fn sql_mode_decides_what_a_text_is() {
    // With ANSI_QUOTES the quoted part is a name, which belongs to the shape; otherwise it is a literal, which does not.
    let shapes = |first: &str| {
        let dialogue = Dialogue::session()
            .client([query(first)])
            .server([answer([ok()])])
            .client([query("SELECT \"a\" FROM t")])
            .server([select_one()])
            .client([query("SELECT \"b\" FROM t")])
            .server([select_one()]);
        let rows = dialogue.rows();
        (rows[1].shape_id, rows[2].shape_id)
    };
    let (a, b) = shapes("SET NAMES utf8mb4");
    assert_eq!(a, b);
    let (a, b) = shapes("SET SESSION sql_mode = 'STRICT_ALL_TABLES,ANSI_QUOTES'");
    assert_ne!(a, b);
}

#[test]
fn passwords_in_texts_are_masked() {
    let dialogue = Dialogue::session()
        .client([query("ALTER USER bob IDENTIFIED BY 'secret'")])
        .server([answer([ok()])])
        .client([prepare("SET PASSWORD FOR bob = 'secret'")])
        .server([answer([prepared(1, 0, 0)])]);
    assert!(!format!("{:?}", dialogue.rows()).contains("secret"));
    expect(
        &dialogue,
        &[
            "query 03 \"ALTER USER bob IDENTIFIED BY '***'\" ok affected=0 took=1 idle",
            "prepare 16 s:1 \"SET PASSWORD FOR bob = '***'\" ok took=1",
        ],
    );
}

#[test]
fn another_user_and_a_new_session() {
    let change = [&b"\x11bob\0\x06sesameother\0"[..], &45u16.to_le_bytes(), b"mysql_native_password\0"].concat();
    let dialogue = Dialogue::session()
        .client([prepare("SELECT 1")])
        .server([answer([prepared(1, 0, 1), column(), eof()])])
        .client([command(&change)])
        .server([answer([b"\xfemysql_native_password\0abcdefghijklmnopqrst\0".to_vec()])])
        .client([at(2, b"sesame")])
        .server([at(3, &ok())])
        .client([execute(1, b"")])
        .server([answer([error(1243, "Unknown prepared statement handler")])])
        .client([command(b"\x1f")])
        .server([answer([ok()])]);
    expect_with_losses(
        &dialogue,
        &[
            "prepare 16 s:1 \"SELECT 1\" ok took=1 idle",
            "change_user 11 ok took=3 idle",
            "execute 17 s:1 error 1243 copied=1 took=1",
            "reset 1f ok affected=0 took=1 idle",
        ],
        "unknown_statement=1",
    );
    let rows = dialogue.rows();
    assert_eq!((rows[1].user.as_deref(), rows[1].database.as_deref()), (Some("bob"), Some("other")));
    assert!(!format!("{rows:?}").contains("sesame"));
}

#[test]
fn other_commands_keep_the_bytes_that_a_replay_needs() {
    let dialogue = Dialogue::session()
        .client([command(b"\x04t\0")])
        .server([answer([column(), eof()])])
        .client([command(b"\x09")])
        .server([answer([b"Uptime: 1".to_vec()])])
        .client([command(b"\x1b\0\0")])
        .server([answer([eof()])])
        // COM_REGISTER_SLAVE holds a password.
        .client([command(b"\x15\x01\0\0\0\x01h\x01u\x06secret")])
        .server([answer([ok()])]);
    expect(
        &dialogue,
        &[
            "other 04 ok copied=1 took=1 idle",
            "other 09 ok took=1",
            "other 1b ok affected=0 copied=1 took=1 idle",
            "other 15 ok affected=0 took=1 idle",
        ],
    );
    assert!(!format!("{:?}", dialogue.rows()).contains("secret"));
}

#[test]
fn transactions_as_the_server_tells_them() {
    let state = |status| ok_with(OkPacket { status, ..OkPacket::default() });
    let dialogue = Dialogue::session()
        .client([query("BEGIN")])
        .server([answer([state(Status::AUTOCOMMIT | Status::IN_TRANS)])])
        .client([query("SET autocommit = 0")])
        .server([answer([state(Status::IN_TRANS)])])
        .client([query("COMMIT")])
        .server([answer([state(Status::default())])]);
    let rows = dialogue.rows();
    let states: Vec<_> = rows.iter().map(|row| (row.transaction, row.autocommit)).collect();
    let (open, idle) = (Some(TransactionStatus::Open), Some(TransactionStatus::Idle));
    assert_eq!(states, [(open, Some(true)), (open, Some(false)), (idle, Some(false))]);
    assert!(rows.iter().all(|row| row.capabilities == Some(Capabilities::from_halves(OLD.base(), 0).0)));
}
