//! Sessions that are older than the recording.

use splitproof_capture::session::Close;

use crate::dialogue::mysql::*;

fn select_new() -> Vec<u8> {
    answer([count(1), column(), row("1"), end()])
}

const SELECT: &str = "query 03 \"SELECT 1\" ok rows=1 took=1 idle midway";

#[test]
fn eof_packets_are_learned_from_the_first_result() {
    for (before, first) in [("", select_one()), ("\0\x01", select_new())] {
        let text = format!("{before}SELECT 1");
        let dialogue = Dialogue::midway()
            .client([query(&text)])
            .server([first.clone()])
            .client([query(&text)])
            .server([first])
            .close(Close::Client);
        expect_with_losses(&dialogue, &[SELECT, SELECT, "disconnect  ok took=0 midway"], "joined_midway=1");
    }
}

#[test]
fn a_prepared_statement_may_end_with_its_parameters() {
    let prepare = || prepare("DELETE FROM t WHERE a = ?");
    let line = "prepare 16 s:1 \"DELETE FROM t WHERE a = ?\" ok took=1 midway";
    // With an EOF packet, and without: only the next command tells.
    let old = Dialogue::midway().client([prepare()]).server([answer([prepared(1, 1, 0), column(), eof()])]);
    let old = old.client([ping()]).server([answer([ok()])]);
    let ping = "ping 0e ok affected=0 took=1 idle midway";
    expect_with_losses(&old, &[&line.replace("took=1", "took=1 idle"), ping], "joined_midway=1");
    let new = Dialogue::midway().client([prepare()]).server([answer([prepared(1, 1, 0), column()])]);
    let new = new.client([command(b"\x0e")]).server([answer([ok()])]);
    expect_with_losses(&new, &[line, ping], "joined_midway=1");
}

#[test]
fn joined_in_an_answer() {
    let rest = [&b"of a row"[..], &at(9, &eof())].concat();
    let dialogue = Dialogue::midway()
        .server([rest.clone()])
        .client([execute(4, b"")])
        .server([answer([ok_affected(1)])])
        .client([query("SELECT 1")])
        .server([select_one()]);
    expect_with_losses(
        &dialogue,
        &["execute 17 s:4 ok affected=1 copied=1 took=1 idle midway", SELECT],
        &format!("resync={} joined_midway=1 unknown_statement=1", rest.len()),
    );
}

#[test]
fn joined_between_request_and_answer_of_another() {
    // The answer to what was asked before begins with a higher number than the first answer to the ping could.
    let stale = [at(4, &row("1")), at(5, &eof())].concat();
    let dialogue =
        Dialogue::midway().client([ping()]).server([stale.clone()]).client([query("SELECT 1")]).server([select_one()]);
    expect_with_losses(
        &dialogue,
        &["ping 0e unfinished truncated midway", &SELECT.replace(" midway", " gap-before midway")],
        &format!("resync={} joined_midway=1", stale.len()),
    );
}

#[test]
fn joined_in_a_request() {
    let rest = b" FROM t WHERE a = 1 AND b = 2".to_vec();
    let passed = rest.len() + select_one().len();
    let dialogue =
        Dialogue::midway().client([rest]).server([select_one()]).client([query("SELECT 1")]).server([select_one()]);
    expect_with_losses(&dialogue, &[SELECT], &format!("resync={passed} joined_midway=1"));
}

#[test]
fn only_the_first_packets_of_tcp_are_missing() {
    let dialogue = Dialogue { midway: true, ..Dialogue::session() };
    let (rows, _) = dialogue.run();
    assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), ["connect  ok took=2 idle midway"]);
    assert_eq!(rows[0].user.as_deref(), Some("shop"));
}

#[test]
fn what_never_becomes_readable_has_no_rows() {
    let dialogue = Dialogue::midway().client([b"\x01\x02".to_vec()]).server([b"\x03".to_vec()]).close(Close::Client);
    expect_with_losses(&dialogue, &[], "resync=3 joined_midway=1");
}
