//! Sessions of which bytes are missing.

use splitproof_capture::session::Close;

use crate::dialogue::mysql::*;

#[test]
fn a_gap_in_the_answer() {
    let rest = [&b"nd of a row"[..], &at(9, &eof())].concat();
    let dialogue = Dialogue::session()
        .client([prepare("SELECT 2")])
        .server([answer([prepared(1, 0, 1), column(), eof()])])
        .client([query("SELECT * FROM big")])
        .server([answer([count(1), column(), eof(), row("1")])])
        .server_gap(1448)
        .server([rest.clone()])
        .client([execute(1, b"")])
        .server([answer([count(1), column(), eof(), b"\0\0\x011".to_vec(), eof()])])
        .client([query("SELECT 1")])
        .server([select_one()]);
    expect_with_losses(
        &dialogue,
        &[
            "prepare 16 s:1 \"SELECT 2\" ok took=1 idle",
            "query 03 \"SELECT * FROM big\" unfinished truncated",
            "execute 17 s:1 \"SELECT 2\" ok rows=1 took=1 idle gap-before",
            "query 03 \"SELECT 1\" ok rows=1 took=1 idle",
        ],
        &format!("gap=1448 resync={}", rest.len()),
    );
}

#[test]
fn a_gap_in_the_request() {
    let rest = b"nd of a text".to_vec();
    let passed = rest.len() + answer([ok()]).len();
    let dialogue = Dialogue::session()
        .client([prepare("DELETE FROM t WHERE a = ?")])
        .server([answer([prepared(1, 1, 0), column(), eof()])])
        .client([execute(1, b"\0\x01\x03\0\x05\0\0\0")])
        .server([answer([ok_affected(1)])])
        .client_gap(500)
        .client([rest])
        .server([answer([ok()])])
        // Statements are known still, but which types were sent last is not.
        .client([execute(1, b"\0\0\x06\0\0\0")])
        .server([answer([ok_affected(1)])])
        .client([execute(1, b"\0\x01\x03\0\x07\0\0\0")])
        .server([answer([ok_affected(1)])]);
    let text = "\"DELETE FROM t WHERE a = ?\"";
    expect_with_losses(
        &dialogue,
        &[
            &format!("prepare 16 s:1 {text} ok took=1 idle"),
            &format!("execute 17 s:1 {text} ok affected=1 took=1 idle"),
            &format!("execute 17 s:1 {text} ok affected=1 copied=1 took=1 idle gap-before"),
            &format!("execute 17 s:1 {text} ok affected=1 took=1 idle"),
        ],
        &format!("gap=500 resync={passed} unknown_parameters=1"),
    );
}

#[test]
fn what_is_missing_of_the_server_may_be_older_than_the_command_that_was_found() {
    // Both sides lost some of an exchange, and the server's part is told only when its next bytes come.
    let whole = Dialogue::session()
        .client_gap(500)
        .client([query("SELECT 1")])
        .server_gap(4203)
        .server([select_one()])
        .client([query("SELECT 1")])
        .server([select_one()]);
    let line = "query 03 \"SELECT 1\" ok rows=1 took=1 idle";
    // The gap takes one step of the dialogue, too.
    let first = "query 03 \"SELECT 1\" ok rows=1 took=2 idle gap-before";
    expect_with_losses(&whole, &[first, line], "gap=4703");
    // Part of the answer is missing: what comes does not begin with its number.
    let rest = [at(4, &row("1")), at(5, &eof())].concat();
    let cut = Dialogue::session()
        .client_gap(500)
        .client([query("SELECT 1")])
        .server_gap(60)
        .server([rest.clone()])
        .client([query("SELECT 1")])
        .server([select_one()]);
    let lost = "query 03 \"SELECT 1\" unfinished truncated gap-before";
    expect_with_losses(&cut, &[lost, &format!("{line} gap-before")], &format!("gap=560 resync={}", rest.len()));
}

#[test]
fn a_gap_during_the_start() {
    let dialogue = Dialogue::raw()
        .server([greeting("8.0.36", NEW)])
        .client([response(NEW, "shop", "shopdb")])
        .server_gap(30)
        .client([at(3, b"sesame")])
        .server([at(4, &ok())])
        .client([query("\0\x01SELECT 1")])
        .server([answer([count(1), column(), row("1"), end()])])
        .close(Close::Client);
    let passed = at(3, b"sesame").len() + at(4, &ok()).len();
    expect_with_losses(
        &dialogue,
        &[
            "connect  unfinished truncated",
            "query 03 \"SELECT 1\" ok rows=1 took=1 idle gap-before",
            "disconnect  ok took=0",
        ],
        &format!("gap=30 resync={passed}"),
    );
    assert_eq!(dialogue.rows()[0].user.as_deref(), Some("shop"));
}

#[test]
fn a_gap_in_a_file_of_the_client() {
    let dialogue = Dialogue::session()
        .client([query("LOAD DATA LOCAL INFILE 'f' INTO TABLE t")])
        .server([at(1, b"\xfbf")])
        .client([at(2, b"1\n")])
        .server_gap(7)
        .client([at(3, b"2\n"), at(4, b"")])
        .server([at(5, &ok_affected(2))])
        .client([ping()])
        .server([answer([ok()])]);
    let passed = at(3, b"2\n").len() + at(4, b"").len() + at(5, &ok_affected(2)).len();
    expect_with_losses(
        &dialogue,
        &[
            "copy 03 \"LOAD DATA LOCAL INFILE 'f' INTO TABLE t\" unfinished copied=1 truncated",
            "ping 0e ok affected=0 took=1 idle gap-before",
        ],
        &format!("gap=7 resync={passed}"),
    );
}

#[test]
fn bytes_that_are_no_answer_lose_the_place_and_it_is_found_again() {
    let garbage = at(1, b"\x21\x22 no answer");
    let dialogue = Dialogue::session()
        .client([ping()])
        .server([garbage.clone()])
        .client([query("SELECT 1")])
        .server([select_one()]);
    expect_with_losses(
        &dialogue,
        &["ping 0e unfinished truncated", "query 03 \"SELECT 1\" ok rows=1 took=1 idle gap-before"],
        &format!("undecodable={}", garbage.len()),
    );
}

#[test]
fn packets_that_nobody_asked_for_are_counted() {
    let dialogue = Dialogue::session()
        .server([at(1, &row("stray"))])
        .client([at(3, b"stray")])
        .client([ping()])
        .server([answer([ok()])]);
    expect_with_losses(&dialogue, &["ping 0e ok affected=0 took=1 idle"], "unexpected_message=2");
}
