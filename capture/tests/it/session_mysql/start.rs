//! Connecting, encryption and other protocols.

use splitproof_capture::mysql::Capabilities;
use splitproof_capture::session::Close;
use splitproof_capture::trace::Loss;

use crate::dialogue::mysql::*;

#[test]
fn a_session_from_connect_to_disconnect() {
    let dialogue = Dialogue::session()
        .client([query("SELECT a FROM t")])
        .server([answer([count(1), column(), eof(), row("1")])])
        .server([at(5, &row("2")), at(6, &eof())])
        .client([quit()])
        .close(Close::Client);
    let (rows, losses) = dialogue.run();
    assert!(losses.is_empty(), "{losses:?}");
    let [connect, select, disconnect] = rows.as_slice() else { panic!("{rows:#?}") };
    assert_eq!(line(connect), "connect  ok took=2 idle");
    assert_eq!(line(select), "query 03 \"SELECT a FROM t\" ok rows=2 took=2 idle");
    assert_eq!(line(disconnect), "disconnect 01 ok took=1");
    assert_eq!((select.session, select.seq, select.start_ns), (3, 1, START_NS + 3 * TICK_NS));
    assert_eq!((select.first_row_ns, select.end_ns()), (Some(1_000), Some(START_NS + 5 * TICK_NS)));
    let payloads = [count(1), column(), eof(), row("1"), row("2"), eof()];
    assert_eq!(select.result_bytes, Some(payloads.concat().len() as u64));
    assert!(select.checksum_full.is_some() && select.checksum_rows.is_some() && select.checksum_rowset.is_some());
    for row in &rows {
        assert_eq!((row.user.as_deref(), row.database.as_deref()), (Some("shop"), Some("shopdb")));
        assert_eq!((row.client.as_deref(), row.server.as_deref()), (Some("10.0.0.1:40000"), Some("10.0.0.2:4000")));
        assert_eq!((row.capabilities, row.collation), (Some(OLD.0), Some(45)));
    }
    assert!(!format!("{rows:?}").contains("sesame"));
}

#[test]
fn a_refused_client_and_steps_of_authentication() {
    let start = || Dialogue::raw().server([greeting("8.0.36", NEW)]).client([response(NEW, "shop", "shopdb")]);
    let refused = start().server([at(2, &error(1045, "Access denied"))]).close(Close::Server);
    expect(&refused, &["connect  error 1045 took=2"]);
    let dialogue = start()
        .server([at(2, b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0")])
        .client([at(3, b"sesame")])
        .server([at(4, b"\x01\x04")])
        .client([at(5, b"\x02")])
        .server([at(6, b"\x01-----BEGIN PUBLIC KEY-----")])
        .client([at(7, b"sesame, encrypted")])
        .server([at(8, &ok())])
        .client([ping()])
        .server([answer([ok()])]);
    let (rows, losses) = dialogue.run();
    assert!(losses.is_empty(), "{losses:?}");
    let lines: Vec<_> = rows.iter().map(line).collect();
    assert_eq!(lines, ["connect  ok took=8 idle", "ping 0e ok affected=0 took=1 idle"]);
    assert!(!format!("{rows:?}").contains("sesame"));
}

#[test]
fn a_server_that_does_not_want_to_talk() {
    // Before capabilities are agreed on there is no SQLSTATE.
    let dialogue = Dialogue::raw().server([at(0, b"\xff\x10\x04Too many connections")]).close(Close::Server);
    expect(&dialogue, &["connect  error 1040 took=0"]);
}

#[test]
fn clients_that_leave_or_are_none() {
    let greeted = || Dialogue::raw().server([greeting("5.1.53-log", OLD)]);
    expect(&greeted().close(Close::Client), &["connect  lost"]);
    expect(&greeted().close(Close::RecordingEnded), &["connect  unfinished"]);
    let stranger = b"hello, world!\r\n".to_vec();
    let dialogue = greeted().client([stranger]).server([at(1, &error(1156, "Got packets out of order"))]);
    expect_with_losses(&dialogue.close(Close::Server), &["connect  error 1156 took=2"], "undecodable=15");
}

#[test]
fn encrypted_sessions_are_counted_once() {
    let request = [&(OLD | Capabilities::SSL).base().to_le_bytes()[..], &[0, 0, 0, 1, 45], &[0; 23]].concat();
    let hello = b"\x16\x03\x01\0\x04abcd".to_vec();
    let record = b"\x17\x03\x03\0\x04abcd".to_vec();
    for dialogue in [
        Dialogue::raw().server([greeting("8.0.36", NEW | Capabilities::SSL)]).client([at(1, &request), hello.clone()]),
        Dialogue::raw().client([hello]),
        Dialogue::midway().client([record.clone()]).server([record.clone()]),
    ] {
        let (rows, losses) = dialogue.client([record.clone()]).server([record.clone()]).close(Close::Client).run();
        assert_eq!(rows, []);
        assert_eq!(losses.get(Loss::Encrypted), 1);
    }
}

#[test]
fn other_protocols_are_counted_once() {
    for first in [&b"SSH-2.0-OpenSSH_9\r\n"[..], b"R\0\0\0\x08\0\0\0\0", b"HTTP/1.1 200 OK\r\n"] {
        let dialogue = Dialogue::raw().server([first.to_vec()]).server([first.to_vec()]).close(Close::Server);
        expect_with_losses(&dialogue, &[], "other_protocol=1");
    }
    let dialogue = Dialogue::raw().client([b"GET / HTTP/1.1\r\n\r\n".to_vec()]).close(Close::Client);
    expect_with_losses(&dialogue, &[], "other_protocol=1");
}

#[test]
fn ends() {
    let asked = || Dialogue::session().client([query("COMMIT")]);
    expect(&asked().close(Close::Reset), &["query 03 \"COMMIT\" lost", "disconnect  lost took=0"]);
    expect(&asked().close(Close::RecordingEnded), &["query 03 \"COMMIT\" unfinished"]);
    let dialogue = Dialogue::session().server([at(0, &error(1053, "Server shutdown in progress"))]);
    expect(&dialogue.close(Close::Server), &["disconnect  error 1053 took=0"]);
    let mut half = query("SELECT 1");
    half.truncate(7);
    expect_with_losses(
        &Dialogue::session().client([half]).close(Close::Reset),
        &["disconnect  ok took=0"],
        "undecodable=7",
    );
}
