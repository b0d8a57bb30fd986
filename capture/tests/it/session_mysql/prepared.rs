//! Prepared statements: parameters, long data, cursors, clients that do not wait.

use splitproof_capture::mysql::{Capabilities, Status};

use crate::dialogue::mysql::*;

/// Null bits, types sent, LONG and VAR_STRING, then the values 5 and 'ab'.
const FIVE_AB: &[u8] = b"\0\x01\x03\x80\xfd\0\x05\0\0\0\x02ab";

fn insert() -> Dialogue {
    Dialogue::session().client([prepare("INSERT INTO t VALUES (?, ?)")]).server([answer([
        prepared(7, 2, 0),
        column(),
        column(),
        eof(),
    ])])
}

const INSERT: &str = "prepare 16 s:7 \"INSERT INTO t VALUES (?, ?)\" ok took=1 idle";

#[test]
fn a_statement_is_prepared_once_and_its_types_are_remembered() {
    let dialogue = insert()
        .client([execute(7, FIVE_AB)])
        .server([answer([ok_affected(1)])])
        // The first is NULL, and no types.
        .client([execute(7, b"\x01\0\0")])
        .server([answer([ok_affected(1)])])
        .client([close_statement(7), ping()])
        .server([answer([ok()])]);
    let execute = "execute 17 s:7 \"INSERT INTO t VALUES (?, ?)\" ok affected=1 took=1 idle";
    expect(&dialogue, &[INSERT, execute, execute, "close 19 s:7 ok took=0", "ping 0e ok affected=0 took=1 idle"]);
    let rows = dialogue.rows();
    let params = |at: usize| -> Vec<_> {
        rows[at].params.iter().map(|param| (param.type_id, param.binary, param.value.as_deref())).collect()
    };
    assert_eq!(params(1), [(0x8003, true, Some(&b"\x05\0\0\0"[..])), (253, true, Some(b"ab"))]);
    assert_eq!(params(2), [(0x8003, true, None), (253, true, Some(&b""[..]))]);
    assert_eq!((rows[1].param_types.as_deref(), rows[2].param_types.as_deref()), (Some(&[0x8003, 253][..]), None));
    assert!(rows[1].param_formats.is_empty() && rows[1].result_formats.is_empty() && rows[1].param_names.is_empty());
    assert!(std::sync::Arc::ptr_eq(rows[0].sql.as_ref().unwrap(), rows[1].sql.as_ref().unwrap()), "one text for all");
}

#[test]
fn long_data_belongs_to_the_execution() {
    let dialogue = insert()
        .client([long_data(7, 1, b"ab"), long_data(7, 1, b"cd")])
        .client([execute(7, b"\0\x01\x03\0\xfc\0\x05\0\0\0")])
        .server([answer([ok_affected(1)])])
        // Sent ahead, and given up.
        .client([long_data(7, 0, b"x"), close_statement(7)]);
    expect(
        &dialogue,
        &[
            INSERT,
            "execute 181817 s:7 \"INSERT INTO t VALUES (?, ?)\" ok affected=1 took=2 idle",
            "other 18 s:7 ok copied=1 took=0",
            "close 19 s:7 ok took=0",
        ],
    );
    let row = &dialogue.rows()[1];
    assert_eq!(row.params[1].value.as_deref(), Some(&b"abcd"[..]));
    assert_eq!(row.param_formats, [0, 1]);
}

#[test]
fn a_cursor_is_fetched_from() {
    let cursor = Status::AUTOCOMMIT | Status::CURSOR_EXISTS;
    let last = Status::AUTOCOMMIT | Status::LAST_ROW_SENT;
    let binary = || b"\0\0\x05\0\0\0".to_vec();
    let fetch = || command(b"\x1c\x01\0\0\0\x02\0\0\0");
    let dialogue = Dialogue::session()
        .client([prepare("SELECT a FROM t")])
        .server([answer([prepared(1, 0, 1), column(), eof()])])
        .client([command(b"\x17\x01\0\0\0\x01\x01\0\0\0")])
        .server([answer([count(1), column(), eof_with(cursor)])])
        .client([fetch()])
        .server([answer([binary(), binary(), eof_with(cursor)])])
        .client([fetch()])
        .server([answer([binary(), eof_with(last)])])
        .client([command(b"\x1a\x01\0\0\0")])
        .server([answer([ok()])]);
    expect(
        &dialogue,
        &[
            "prepare 16 s:1 \"SELECT a FROM t\" ok took=1 idle",
            "execute 17 s:1 \"SELECT a FROM t\" ok rows=0 took=1 idle",
            "fetch 1c s:1 \"SELECT a FROM t\" ok rows=2 took=1 idle",
            "fetch 1c s:1 \"SELECT a FROM t\" ok rows=1 took=1 idle",
            "other 1a s:1 ok affected=0 took=1 idle",
        ],
    );
    let rows = dialogue.rows();
    assert_eq!((rows[1].result_formats.as_slice(), rows[2].row_limit), (&[1][..], Some(2)));
}

#[test]
fn an_unknown_statement_is_kept_with_its_bytes_and_counted() {
    let dialogue = Dialogue::session().client([execute(9, FIVE_AB)]).server([answer([ok_affected(1)])]);
    expect_with_losses(&dialogue, &["execute 17 s:9 ok affected=1 copied=1 took=1 idle"], "unknown_statement=1");
    assert_eq!(*dialogue.rows()[0].copy_data[0], *[b"\0\x01\0\0\0", FIVE_AB].concat());
}

#[test]
fn a_client_that_does_not_wait_for_the_number() {
    // As MariaDB's connectors do it: -1 is the statement prepared last.
    let dialogue = Dialogue::session()
        .client([prepare("INSERT INTO t VALUES (?, ?)"), execute(u32::MAX, FIVE_AB)])
        .server([answer([prepared(7, 2, 0), column(), column(), eof()]), answer([ok_affected(1)])]);
    expect(&dialogue, &[INSERT, "execute 17 s:4294967295 \"INSERT INTO t VALUES (?, ?)\" ok affected=1 took=1 idle"]);
    assert_eq!(dialogue.rows()[1].params.len(), 2);
}

#[test]
fn many_rows_at_once() {
    let rows = b"\x80\0\x03\0\0\x05\0\0\0\0\x06\0\0\0";
    let bulk = command(&[b"\xfa\x01\0\0\0", &rows[..]].concat());
    let dialogue = Dialogue::with(OLD | Capabilities::MARIADB_BULK)
        .client([prepare("INSERT INTO t VALUES (?)")])
        .server([answer([prepared(1, 1, 0), column(), eof()])])
        .client([bulk])
        .server([answer([ok_affected(2)])])
        // The types are those of the bulk execution.
        .client([execute(1, b"\0\0\x07\0\0\0")])
        .server([answer([ok_affected(1)])]);
    expect(
        &dialogue,
        &[
            "prepare 16 s:1 \"INSERT INTO t VALUES (?)\" ok took=1 idle",
            "execute fa s:1 \"INSERT INTO t VALUES (?)\" ok affected=2 copied=1 took=1 idle",
            "execute 17 s:1 \"INSERT INTO t VALUES (?)\" ok affected=1 took=1 idle",
        ],
    );
    assert_eq!(*dialogue.rows()[1].copy_data[0], *rows);
}
