//! How sessions end, and messages out of place.

use splitproof_capture::session::Close;

use crate::dialogue::postgresql::*;

#[test]
fn what_a_broken_connection_leaves_is_lost() {
    let dialogue = Dialogue::session()
        .client([bind("", ""), execute("", 0)])
        .server([bound(), tag("INSERT 0 1")])
        .client([sync(), query("COMMIT")])
        .close(Close::Reset);
    expect_with_losses(
        &dialogue,
        &[
            // Complete, but its implicit transaction never was.
            "execute BES s: p: lost affected=1 group=0",
            "query Q \"COMMIT\" lost group=1",
            "disconnect  lost took=0",
        ],
        "unknown_statement=1",
    );
}

#[test]
fn what_the_end_of_the_recording_leaves_is_unfinished() {
    let dialogue = Dialogue::session()
        .client([query("SELECT 1")])
        .server([columns(&["?"]), row(&["1"])])
        .close(Close::RecordingEnded);
    expect(&dialogue, &["query Q \"SELECT 1\" unfinished group=0"]);
}

/// Found by fuzzing: the number of such a request was given away, and no row had it.
#[test]
fn a_goodbye_is_a_row_once_and_also_before_the_session_is_ready() {
    let dialogue = Dialogue::raw().client([startup(&[("user", "shop")]), terminate()]).close(Close::Client);
    expect(&dialogue, &["connect  lost", "disconnect X lost took=1"]);
    let dialogue = Dialogue::session().client([terminate(), terminate(), query("SELECT 1")]).close(Close::Client);
    let (rows, _) = dialogue.run();
    let mut seqs: Vec<u32> = rows.iter().map(|row| row.seq).collect();
    seqs.sort_unstable();
    assert_eq!(seqs, [0, 1, 2], "connect, disconnect, query");
    expect_with_losses(
        &dialogue,
        &["disconnect X lost took=1", "query Q \"SELECT 1\" lost group=0"],
        "unexpected_message=1",
    );
}

#[test]
fn a_server_that_shuts_down_says_so() {
    let dialogue = Dialogue::session().server([error("57P01", "terminating connection")]).close(Close::Server);
    expect(&dialogue, &["disconnect  error 57P01 took=0"]);
}

#[test]
fn messages_that_the_protocol_does_not_allow_are_counted() {
    let dialogue = Dialogue::session()
        .server([ready('I'), parsed(), row(&["stray"])])
        .client([copy_data("stray"), password("stray")])
        .client([query("SELECT 1")])
        .server([parsed(), columns(&["?"]), row(&["1"]), tag("SELECT 1"), ready('I')]);
    expect_with_losses(&dialogue, &["query Q \"SELECT 1\" ok rows=1 group=0 took=1 idle"], "unexpected_message=6");
}
