//! Answers, packet by packet.

use super::*;
use crate::mysql::testing::{hex, usual};

/// With EOF packets.
const OLD: Capabilities = Capabilities::ASSUMED;
/// One column, and a description of a column; its content is not looked at.
const COUNT: &str = "01";
const COLUMN: &str = "03646566 00 00 00 0161 00 0c 3f00 01000000 03 0000 00 0000";
const ROW: &str = "0131";
const BINARY: &str = "00 00 01000000";
const EOF: &str = "fe 0000 0200";
const EOF_MORE: &str = "fe 0000 0a00";
const EOF_CURSOR: &str = "fe 0000 4200";
const END: &str = "fe 00 00 0200 0000";
const END_MORE: &str = "fe 00 00 0a00 0000";
const END_CURSOR: &str = "fe 00 00 4200 0000";
const OK: &str = "00 01 00 0200 0000";
const OK_MORE: &str = "00 01 00 0a00 0000";
const ERR: &str = "ff 4804 23 4859303030 6e6f";
const PROGRESS: &str = "ff ffff 01 02 03 50c300 04 636f7079";

/// Names of what `packets` are; the answer must be complete with the last, and not before.
fn read(mut exchange: Exchange, packets: &[&str]) -> String {
    let mut names = Vec::new();
    for packet in packets {
        assert!(!exchange.is_complete(), "before {packet}, after {names:?}");
        let payload = hex(packet);
        names.push(name(exchange.next(&payload).unwrap()));
    }
    assert!(exchange.is_complete(), "after {names:?}");
    let before = exchange.clone();
    assert!(exchange.next(&hex(OK)).is_err() && exchange.next(&hex(ERR)).is_err());
    assert_eq!(exchange, before, "what cannot stand here changes nothing");
    names.join(" ")
}

fn name(answer: Answer<'_>) -> &'static str {
    match answer {
        Answer::Ok(_) => "ok",
        Answer::Err(_) => "err",
        Answer::Progress(_) => "progress",
        Answer::ColumnCount(_) => "count",
        Answer::Column => "column",
        Answer::ColumnsEnd(_) => "columns-end",
        Answer::Row => "row",
        Answer::ResultEnd(_) => "end",
        Answer::CursorOpen(_) => "cursor",
        Answer::PrepareOk(_) => "prepared",
        Answer::Parameter => "parameter",
        Answer::ParametersEnd(_) => "parameters-end",
        Answer::LocalInfile { .. } => "file",
        Answer::Statistics(_) => "statistics",
        Answer::AuthSwitch(_) => "switch",
        Answer::AuthMore(_) => "more",
        Answer::AuthNextFactor(_) => "factor",
        Answer::Event => "event",
    }
}

fn new(code: Code, capabilities: Capabilities) -> Exchange {
    Exchange::new(code, capabilities)
}

fn today() -> Capabilities {
    usual(Capabilities::default())
}

#[test]
fn simple_answers() {
    for code in [Code::QUERY, Code::PING, Code::INIT_DB, Code::STMT_RESET, Code::RESET_CONNECTION, Code::SET_OPTION] {
        assert_eq!(read(new(code, OLD), &[OK]), "ok");
        assert_eq!(read(new(code, OLD), &[ERR]), "err");
        assert_eq!(read(new(code, today()), &[PROGRESS, PROGRESS, OK]), "progress progress ok");
    }
    // Some commands are answered by EOF instead of OK.
    assert_eq!(read(new(Code::SET_OPTION, OLD), &[EOF]), "ok");
    assert_eq!(read(new(Code::DEBUG, today()), &[EOF]), "ok");
    assert_eq!(read(new(Code::STATISTICS, OLD), &["557074696d653a2031"]), "statistics");
}

#[test]
fn commands_without_answer() {
    for code in [Code::QUIT, Code::STMT_CLOSE, Code::STMT_SEND_LONG_DATA] {
        assert_eq!(read(new(code, OLD), &[]), "");
    }
}

#[test]
fn rows() {
    assert_eq!(
        read(new(Code::QUERY, OLD), &[COUNT, COLUMN, EOF, ROW, "fb", ROW, EOF]),
        "count column columns-end row row row end"
    );
    assert_eq!(read(new(Code::QUERY, today()), &[COUNT, COLUMN, ROW, END]), "count column row end");
    assert_eq!(read(new(Code::QUERY, today()), &["02", COLUMN, COLUMN, END]), "count column column end");
    assert_eq!(read(new(Code::STMT_EXECUTE, today()), &[COUNT, COLUMN, BINARY, END]), "count column row end");
    assert_eq!(read(new(Code::QUERY, OLD), &[COUNT, COLUMN, EOF, ROW, ERR]), "count column columns-end row err");
}

#[test]
fn rows_that_look_like_something_else() {
    // A first column that is empty begins like an OK packet.
    let packets = [COUNT, COLUMN, "00", "fd 010000 61", END];
    assert_eq!(read(new(Code::QUERY, today()), &packets), "count column row row end");
    // A first column of 16 MiB begins like the end of the rows.
    let mut exchange = new(Code::QUERY, today());
    exchange.next(&hex(COUNT)).unwrap();
    exchange.next(&hex(COLUMN)).unwrap();
    let mut long = vec![b'x'; 9 + (1 << 24)];
    long[..9].copy_from_slice(&hex("fe 0000000100000000"));
    assert_eq!(exchange.next(&long), Ok(Answer::Row));
    assert_eq!(exchange.next(&long[..packet::FULL]), Ok(Answer::Row), "the part in the first packet");
    assert!(!exchange.is_complete());
}

#[test]
fn several_results() {
    assert_eq!(
        read(new(Code::QUERY, today()), &[OK_MORE, COUNT, COLUMN, ROW, END_MORE, OK]),
        "ok count column row end ok"
    );
    assert_eq!(
        read(new(Code::QUERY, OLD), &[COUNT, COLUMN, EOF, EOF_MORE, COUNT, COLUMN, EOF, ROW, EOF_MORE, ERR]),
        "count column columns-end end count column columns-end row end err"
    );
}

#[test]
fn prepared_statements() {
    let both = "00 01000000 0100 0200 00 0000";
    assert_eq!(
        read(new(Code::STMT_PREPARE, OLD), &[both, COLUMN, COLUMN, EOF, COLUMN, EOF]),
        "prepared parameter parameter parameters-end column columns-end"
    );
    assert_eq!(
        read(new(Code::STMT_PREPARE, today()), &[both, COLUMN, COLUMN, COLUMN]),
        "prepared parameter parameter column"
    );
    let (neither, only_columns) = ("00 01000000 0000 0000 00 0000", "00 01000000 0100 0000 00 0000");
    let only_parameters = "00 01000000 0000 0100 00 0000";
    for capabilities in [OLD, today()] {
        assert_eq!(read(new(Code::STMT_PREPARE, capabilities), &[neither]), "prepared");
        assert_eq!(read(new(Code::STMT_PREPARE, capabilities), &[ERR]), "err");
    }
    let exchange = || new(Code::STMT_PREPARE, OLD);
    assert_eq!(read(exchange(), &[only_columns, COLUMN, EOF]), "prepared column columns-end");
    assert_eq!(read(exchange(), &[only_parameters, COLUMN, EOF]), "prepared parameter parameters-end");
    let exchange = new(Code::STMT_PREPARE, usual(Capabilities::OPTIONAL_METADATA));
    assert_eq!(read(exchange, &["00 01000000 0100 0200 00 0000 00"]), "prepared");
}

#[test]
fn cursors() {
    let open = |capabilities| new(Code::STMT_EXECUTE, capabilities).with_cursor();
    assert_eq!(read(open(OLD), &[COUNT, COLUMN, EOF_CURSOR]), "count column cursor");
    assert_eq!(read(open(today()), &[COUNT, COLUMN, END_CURSOR]), "count column cursor");
    // A server need not open one.
    assert_eq!(read(open(OLD), &[COUNT, COLUMN, EOF, BINARY, EOF]), "count column columns-end row end");
    // Rows that are fetched come without columns; their end tells that there are more.
    assert_eq!(read(new(Code::STMT_FETCH, OLD), &[BINARY, BINARY, EOF_CURSOR]), "row row end");
    assert_eq!(read(new(Code::STMT_FETCH, today()), &[END]), "end");
    assert_eq!(read(new(Code::STMT_FETCH, OLD), &[ERR]), "err");
    // Without asking for a cursor the flag means nothing.
    let exchange = new(Code::STMT_EXECUTE, OLD);
    assert_eq!(read(exchange, &[COUNT, COLUMN, EOF_CURSOR, EOF]), "count column columns-end end");
}

#[test]
fn the_command_tells_whether_there_is_a_cursor() {
    let execute = |flags| Command::decode(&[0x17, 1, 0, 0, 0, flags, 1, 0, 0, 0], OLD).map(|c| Exchange::of(&c, OLD));
    assert_eq!(execute(1), Ok(new(Code::STMT_EXECUTE, OLD).with_cursor()));
    assert_eq!(execute(8), Ok(new(Code::STMT_EXECUTE, OLD)));
}

#[test]
fn columns_left_out() {
    let cached = today() | Capabilities::MARIADB_CACHE_METADATA;
    assert_eq!(read(new(Code::STMT_EXECUTE, cached), &["01 00", BINARY, END]), "count row end");
    assert_eq!(read(new(Code::STMT_EXECUTE, cached), &["01 01", COLUMN, BINARY, END]), "count column row end");
    let old = OLD | Capabilities::MARIADB_CACHE_METADATA;
    assert_eq!(read(new(Code::STMT_EXECUTE, old), &["01 00", EOF, BINARY, EOF]), "count columns-end row end");
}

#[test]
fn field_list() {
    assert_eq!(read(new(Code::FIELD_LIST, OLD), &[COLUMN, COLUMN, EOF]), "column column columns-end");
    assert_eq!(read(new(Code::FIELD_LIST, today()), &[COLUMN, END]), "column columns-end");
    assert_eq!(read(new(Code::FIELD_LIST, OLD), &[ERR]), "err");
}

#[test]
fn local_infile() {
    let mut exchange = new(Code::QUERY, today());
    let payload = hex("fb 6461 7461");
    assert_eq!(exchange.next(&payload), Ok(Answer::LocalInfile { filename: b"data" }));
    assert!(exchange.awaits_client() && !exchange.is_complete());
    assert!(matches!(exchange.next(&hex(OK)), Ok(Answer::Ok(_))));
    assert!(!exchange.awaits_client() && exchange.is_complete());
}

#[test]
fn authentication() {
    let mut exchange = Exchange::authentication(today());
    for (packet, expected) in
        [("fe 6100 62", "switch"), ("01 04", "more"), ("01 2d2d2d", "more"), ("02 6100 62", "factor")]
    {
        assert_eq!(name(exchange.next(&hex(packet)).unwrap()), expected);
        assert!(exchange.awaits_client() && !exchange.is_complete());
    }
    let mut refused = exchange.clone();
    assert_eq!(name(refused.next(&hex(ERR)).unwrap()), "err");
    assert!(refused.is_complete() && !refused.awaits_client());
    assert_eq!(read(exchange, &[OK]), "ok");
    assert_eq!(read(Exchange::authentication(today()), &["ff 1004 546f6f"]), "err", "before capabilities");
    assert_eq!(read(new(Code::CHANGE_USER, OLD), &["fe", OK]), "switch ok");
}

#[test]
fn replication() {
    assert_eq!(read(new(Code::BINLOG_DUMP, OLD), &["00 0102", "00 03", EOF]), "event event end");
    assert_eq!(read(new(Code::BINLOG_DUMP_GTID, OLD), &[ERR]), "err");
}

#[test]
fn what_cannot_stand_there() {
    for (code, packets, last) in [
        (Code::QUERY, &[][..], ""),
        (Code::QUERY, &[], "01 02 03"),
        (Code::QUERY, &[], "fe 0000 0200"),
        (Code::QUERY, &[], "fd ffff ff"),
        (Code::QUERY, &[COUNT, COLUMN], ROW),
        (Code::QUERY, &[COUNT, COLUMN, EOF], "fe 00"),
        (Code::STMT_EXECUTE, &[COUNT, COLUMN, EOF], ROW),
        (Code::STMT_FETCH, &[], ROW),
        (Code::STMT_PREPARE, &[], ROW),
        (Code::PING, &[], ROW),
        (Code::CHANGE_USER, &[], "03"),
    ] {
        let mut exchange = new(code, OLD);
        for packet in packets {
            exchange.next(&hex(packet)).unwrap();
        }
        let before = exchange.clone();
        let error = exchange.next(&hex(last)).unwrap_err();
        assert_eq!(exchange, before, "{packets:?} {last}: {error}");
    }
}

#[test]
fn eof_is_learnt_where_the_handshake_was_not_seen() {
    let both = "00 01000000 0100 0100 00 0000";
    for (code, packets, names, deprecates) in [
        (Code::QUERY, &[COUNT, COLUMN, EOF, ROW, EOF][..], "count column columns-end row end", Some(false)),
        (Code::QUERY, &[COUNT, COLUMN, EOF, EOF], "count column columns-end end", Some(false)),
        (Code::QUERY, &[COUNT, COLUMN, ROW, END], "count column row end", Some(true)),
        (Code::QUERY, &[COUNT, COLUMN, END], "count column end", Some(true)),
        (Code::QUERY, &[OK], "ok", None),
        (Code::STMT_FETCH, &[BINARY, EOF], "row end", Some(false)),
        (Code::STMT_FETCH, &[BINARY, END], "row end", Some(true)),
        (Code::FIELD_LIST, &[COLUMN, END], "column columns-end", Some(true)),
    ] {
        let mut exchange = Exchange::joined(code);
        let seen: Vec<_> = packets.iter().map(|packet| name(exchange.next(&hex(packet)).unwrap())).collect();
        assert_eq!((seen.join(" ").as_str(), exchange.deprecates_eof()), (names, deprecates));
        assert!(exchange.is_complete());
    }
    // Behind the last description it only shows when the next packet comes.
    let mut exchange = Exchange::joined(Code::STMT_PREPARE);
    exchange.next(&hex("00 01000000 0000 0100 00 0000")).unwrap();
    exchange.next(&hex(COLUMN)).unwrap();
    assert!(exchange.may_be_complete() && !exchange.is_complete());
    assert_eq!(name(exchange.next(&hex(EOF)).unwrap()), "parameters-end");
    assert!(!exchange.may_be_complete() && exchange.is_complete());
    // A description of a column there tells that there is none.
    let mut exchange = Exchange::joined(Code::STMT_PREPARE);
    for packet in [both, COLUMN, COLUMN] {
        assert!(!exchange.is_complete());
        exchange.next(&hex(packet)).unwrap();
    }
    assert!(exchange.is_complete() && exchange.deprecates_eof() == Some(true));
}

#[test]
fn nothing_is_learnt_from_a_packet_that_cannot_stand_there() {
    for (code, packets, last) in [
        (Code::QUIT, &[][..], END),
        (Code::PING, &[OK], EOF),
        (Code::QUERY, &[COUNT, COLUMN], "fe 0000"),
        (Code::STMT_FETCH, &[BINARY], "fe 00 00 0200 00"),
        (Code::STMT_FETCH, &[BINARY], ROW),
    ] {
        let mut exchange = Exchange::joined(code);
        for packet in packets {
            exchange.next(&hex(packet)).unwrap();
        }
        let before = exchange.clone();
        let error = exchange.next(&hex(last)).unwrap_err();
        assert_eq!(exchange, before, "{code:?} {last}: {error}");
    }
}
