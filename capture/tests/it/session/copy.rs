//! COPY in both protocols and both directions.

use splitproof_capture::postgresql::copy::CopyDirection;

use crate::dialogue::postgresql::*;

#[test]
fn copy_in_by_simple_query() {
    let dialogue = Dialogue::session()
        .client([query("COPY t FROM STDIN")])
        .server([copy_start(CopyDirection::In)])
        .client([copy_data("1\n"), copy_data("2\n"), copy_done()])
        .server([tag("COPY 2"), ready('I')]);
    expect(&dialogue, &["copy Qc \"COPY t FROM STDIN\" ok affected=2 copied=2 group=0 took=3 idle"]);
    let (rows, _) = dialogue.run();
    let data: Vec<_> = rows[1].copy_data.iter().map(|data| &data[..]).collect();
    assert_eq!(data, [b"1\n", b"2\n"]);
}

#[test]
fn copy_in_that_the_client_gives_up() {
    let dialogue = Dialogue::session()
        .client([query("COPY t FROM STDIN")])
        .server([copy_start(CopyDirection::In)])
        .client([copy_data("1\n"), copy_fail("no more")])
        .server([error("57014", "COPY from stdin failed: no more"), ready('I')]);
    expect(&dialogue, &["copy Qf \"COPY t FROM STDIN\" cancelled 57014 copied=1 group=0 took=3 idle"]);
}

#[test]
fn copy_in_that_the_server_ends_while_data_is_on_its_way() {
    let dialogue = Dialogue::session()
        .client([query("COPY t FROM STDIN")])
        .server([copy_start(CopyDirection::In)])
        .client([copy_data("x\n")])
        .server([error("22P02", "invalid input"), ready('I')])
        .client([copy_data("2\n"), copy_done(), query("SELECT 1")])
        .server([columns(&["?"]), row(&["1"]), tag("SELECT 1"), ready('I')]);
    expect(
        &dialogue,
        &[
            "copy Q \"COPY t FROM STDIN\" error 22P02 copied=1 group=0 took=3 idle",
            "query Q \"SELECT 1\" ok rows=1 group=1 took=1 idle",
        ],
    );
}

#[test]
fn copy_in_by_the_extended_protocol_as_libpq_does_it() {
    // libpq sends Sync with Execute; the server reads over it during the COPY, and libpq sends another one after.
    let dialogue = Dialogue::session()
        .client([parse("", "COPY t FROM STDIN", &[]), bind("", ""), describe_portal(""), execute("", 0), sync()])
        .server([parsed(), bound(), no_data(), copy_start(CopyDirection::In)])
        .client([copy_data("1\n")])
        .client([copy_done(), sync()])
        .server([tag("COPY 1"), ready('I')])
        .client([sync()])
        .server([ready('I')]);
    expect(
        &dialogue,
        &[
            "prepare P s: \"COPY t FROM STDIN\" ok group=0 took=1 idle",
            "copy BDEScS s: p: \"COPY t FROM STDIN\" ok affected=1 copied=1 group=0 took=4 idle",
            "other S ok group=1 took=1 idle",
        ],
    );
}

#[test]
fn copy_in_by_the_extended_protocol_that_fails() {
    let dialogue = Dialogue::session()
        .client([parse("", "COPY t FROM STDIN", &[]), bind("", ""), execute("", 0), sync()])
        .server([parsed(), bound(), copy_start(CopyDirection::In)])
        .client([copy_data("x\n"), copy_done(), sync()])
        .server([error("22P02", "invalid input"), ready('I')])
        .client([sync()])
        .server([ready('I')]);
    expect(
        &dialogue,
        &[
            "prepare P s: \"COPY t FROM STDIN\" ok group=0 took=1 idle",
            "copy BEScS s: p: \"COPY t FROM STDIN\" error 22P02 copied=1 group=0 took=3 idle",
            "other S ok group=1 took=1 idle",
        ],
    );
}

#[test]
fn copy_out_is_hashed_like_rows() {
    let copy = |data: [&str; 2]| {
        Dialogue::session().client([query("COPY t TO STDOUT")]).server([
            copy_start(CopyDirection::Out),
            server_copy_data(data[0]),
            server_copy_data(data[1]),
            server_copy_done(),
            tag("COPY 2"),
            ready('I'),
        ])
    };
    expect(&copy(["1\n", "2\n"]), &["copy Q \"COPY t TO STDOUT\" ok rows=2 group=0 took=1 idle"]);
    let (a, b) = (copy(["1\n", "2\n"]).run().0, copy(["2\n", "1\n"]).run().0);
    assert_ne!(a[1].checksum_rows, b[1].checksum_rows);
    assert_eq!(a[1].checksum_rowset, b[1].checksum_rowset);
}

#[test]
fn replication_runs_both_ways() {
    let dialogue = Dialogue::session()
        .client([query("START_REPLICATION 0/0")])
        .server([copy_start(CopyDirection::Both), server_copy_data("wal")])
        .client([copy_data("status")])
        .server([server_copy_data("more wal")])
        .client([copy_done()])
        .server([server_copy_done(), tag("START_REPLICATION"), ready('I')]);
    expect(&dialogue, &["copy Qc \"START_REPLICATION 0/0\" ok rows=2 copied=1 group=0 took=5 idle"]);
}

#[test]
fn several_copies_in_one_text_keep_their_data_apart() {
    let dialogue = Dialogue::session()
        .client([query("COPY a FROM STDIN; COPY b FROM STDIN; COPY c FROM STDIN")])
        .server([copy_start(CopyDirection::In)])
        .client([copy_data("1\n"), copy_data("2\n"), copy_done()])
        .server([tag("COPY 2"), copy_start(CopyDirection::In)])
        .client([copy_done()])
        .server([tag("COPY 0"), copy_start(CopyDirection::In)])
        .client([copy_data("3\n"), copy_fail("no more")])
        .server([error("57014", "COPY from stdin failed: no more"), ready('I')]);
    let (rows, losses) = dialogue.run();
    assert!(losses.is_empty(), "{losses:?}");
    assert_eq!((rows.len(), &*rows[1].messages), (2, "Qccf"));
    assert_eq!((rows[1].copy_data.len(), &rows[1].copy_lengths[..]), (3, &[2, 0, 1][..]));
    assert_eq!(rows[1].copy_failure.as_deref(), Some("no more"));
}
