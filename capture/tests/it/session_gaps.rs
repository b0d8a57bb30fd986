//! Sessions of which not everything was recorded.

use splitproof_capture::session::Close;
use splitproof_capture::trace::Loss;

use crate::dialogue::postgresql::*;

fn select_one() -> [Vec<u8>; 4] {
    [columns(&["?"]), row(&["1"]), tag("SELECT 1"), ready('I')]
}

#[test]
fn joined_midway_before_a_request() {
    let dialogue = Dialogue::midway().client([query("SELECT 1")]).server(select_one()).close(Close::Client);
    expect_with_losses(
        &dialogue,
        &["query Q \"SELECT 1\" ok rows=1 group=0 took=1 idle midway", "disconnect  ok took=0 midway"],
        "joined_midway=1",
    );
}

#[test]
fn joined_midway_in_an_answer() {
    let rest = b"of a row".to_vec();
    let passed = rest.len() + tag("SELECT 9").len() + ready('I').len();
    let dialogue = Dialogue::midway()
        .server([rest, tag("SELECT 9"), ready('I')])
        .client([bind("", "s1"), execute("", 0), sync()])
        .server([bound(), row(&["1"]), tag("SELECT 1"), ready('I')])
        .client([query("SELECT 1")])
        .server(select_one());
    expect_with_losses(
        &dialogue,
        &[
            "execute BES s:s1 p: ok rows=1 group=0 took=1 idle midway",
            "query Q \"SELECT 1\" ok rows=1 group=1 took=1 idle midway",
        ],
        &format!("resync={passed} joined_midway=1 unknown_statement=1"),
    );
}

#[test]
fn joined_midway_in_a_request() {
    let (rest, answer) = (b"1 FROM t\0".to_vec(), select_one().concat());
    let passed = rest.len() + answer.len();
    let dialogue = Dialogue::midway().client([rest]).server([answer]).client([query("SELECT 1")]).server(select_one());
    expect_with_losses(
        &dialogue,
        &["query Q \"SELECT 1\" ok rows=1 group=0 took=1 idle midway"],
        &format!("resync={passed} joined_midway=1"),
    );
}

#[test]
fn a_session_that_never_becomes_readable_has_no_rows() {
    let dialogue = Dialogue::midway().client([b"\x01\x02".to_vec()]).server([b"\x03".to_vec()]).close(Close::Client);
    expect_with_losses(&dialogue, &[], "resync=3 joined_midway=1");
}

#[test]
fn a_gap_in_the_answer() {
    let rest = tag("SELECT 900").len() + ready('I').len();
    let dialogue = Dialogue::session()
        .client([parse("s", "SELECT 2", &[]), sync()])
        .server([parsed(), ready('I')])
        .client([query("SELECT * FROM big")])
        .server([columns(&["a"]), row(&["1"])])
        .server_gap(1448)
        .server([tag("SELECT 900"), ready('I')])
        .client([bind("", "s"), execute("", 0), sync()])
        .server([bound(), row(&["2"]), tag("SELECT 1"), ready('I')])
        .client([query("SELECT 1")])
        .server(select_one());
    expect_with_losses(
        &dialogue,
        &[
            "prepare PS s:s \"SELECT 2\" ok group=0 took=1 idle",
            "query Q \"SELECT * FROM big\" unfinished group=1 truncated",
            // What the client sent is known all along, and with it what its statement is.
            "execute BES s:s p: \"SELECT 2\" ok rows=1 group=2 took=1 idle gap-before",
            "query Q \"SELECT 1\" ok rows=1 group=3 took=1 idle",
        ],
        &format!("gap=1448 resync={rest}"),
    );
}

#[test]
fn requests_during_a_lost_answer_are_kept_without_theirs() {
    let lost = select_one().concat();
    let passed = 3 + lost.len();
    let dialogue = Dialogue::session()
        .client([query("SELECT 'a'")])
        .server_gap(100)
        .server([b"abc".to_vec()])
        .client([query("SELECT 'sent without waiting'")])
        .server([lost])
        .client([query("SELECT 1")])
        .server(select_one());
    expect_with_losses(
        &dialogue,
        &[
            "query Q \"SELECT 'a'\" unfinished group=0 truncated",
            "query Q \"SELECT 'sent without waiting'\" unfinished group=1 truncated gap-before",
            "query Q \"SELECT 1\" ok rows=1 group=2 took=1 idle gap-before",
        ],
        &format!("gap=100 resync={passed}"),
    );
}

#[test]
fn a_gap_in_the_request() {
    let (rest, answer) = (b"nd of a text\0".to_vec(), select_one().concat());
    let passed = rest.len() + answer.len();
    let dialogue = Dialogue::session()
        .client([parse("s", "SELECT 2", &[]), sync()])
        .server([parsed(), ready('I')])
        .client_gap(500)
        .client([rest])
        .server([answer])
        .client([bind("", "s"), execute("", 0), sync()])
        .server([bound(), row(&["2"]), tag("SELECT 1"), ready('I')]);
    expect_with_losses(
        &dialogue,
        &[
            "prepare PS s:s \"SELECT 2\" ok group=0 took=1 idle",
            // The gap may have held a Close and another Parse of the name.
            "execute BES s:s p: ok rows=1 group=1 took=1 idle gap-before",
        ],
        &format!("gap=500 resync={passed} unknown_statement=1"),
    );
}

#[test]
fn a_gap_during_a_copy() {
    let rest = [tag("COPY 2"), ready('I')].concat();
    let passed = rest.len();
    let dialogue = Dialogue::session()
        .client([query("COPY t FROM STDIN")])
        .server_gap(8)
        .client([copy_data("1\n"), copy_data("2\n"), copy_done()])
        .server([rest])
        .client([query("SELECT 1")])
        .server(select_one());
    expect_with_losses(
        &dialogue,
        &[
            "query Q \"COPY t FROM STDIN\" unfinished group=0 truncated",
            "query Q \"SELECT 1\" ok rows=1 group=1 took=1 idle gap-before",
        ],
        &format!("gap=8 resync={passed}"),
    );
}

#[test]
fn a_gap_during_the_start() {
    let dialogue = Dialogue::raw()
        .client([startup(&[("user", "shop")])])
        .server_gap(300)
        .client([password("sesame")])
        .server([ready('I')])
        .client([query("SELECT 1")])
        .server(select_one())
        .close(Close::Client);
    let (rows, losses) = dialogue.run();
    assert_eq!(losses.get(Loss::UnexpectedMessage), 0);
    let lines: Vec<_> = rows.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "connect  unfinished truncated",
            "query Q \"SELECT 1\" ok rows=1 group=0 took=1 idle gap-before",
            "disconnect  ok took=0",
        ]
    );
    assert_eq!(rows[1].user.as_deref(), Some("shop"));
}

#[test]
fn bytes_that_are_no_message_lose_the_place_and_it_is_found_again() {
    let garbage = b"\xff\xfe no message".to_vec();
    let undecodable = garbage.len();
    let dialogue = Dialogue::session()
        .client([query("SELECT 'a'")])
        .server([garbage])
        .server([ready('I')])
        .client([query("SELECT 1")])
        .server(select_one());
    expect_with_losses(
        &dialogue,
        &[
            "query Q \"SELECT 'a'\" unfinished group=0 truncated",
            "query Q \"SELECT 1\" ok rows=1 group=1 took=1 idle gap-before",
        ],
        &format!("resync=6 undecodable={undecodable}"),
    );
}

#[test]
fn a_message_cut_by_the_end_is_counted() {
    let mut half = query("SELECT 1");
    half.truncate(7);
    let dialogue = Dialogue::session().client([half]).close(Close::Reset);
    expect_with_losses(&dialogue, &["disconnect  ok took=0"], "undecodable=7");
}
