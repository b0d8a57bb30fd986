//! Dialogues of PostgreSQL sessions, and the rows that they become.

use splitproof_capture::postgresql::copy::CopyDirection;
use splitproof_capture::session::{Close, Shared};
use splitproof_capture::trace::{Engine, Kind, Outcome, TransactionStatus};

use crate::dialogue::*;

#[test]
fn a_session_from_connect_to_disconnect() {
    let dialogue = Dialogue::session()
        .client([query("SELECT a FROM t")])
        .server([columns(&["a"]), row(&["1"])])
        .server([row(&["2"]), tag("SELECT 2"), ready('I')])
        .client([terminate()])
        .close(Close::Client);
    let (rows, losses) = dialogue.run();
    assert!(losses.is_empty());
    let [connect, select, disconnect] = rows.as_slice() else { panic!("{rows:#?}") };
    assert_eq!(line(connect), "connect  ok took=1 idle");
    assert_eq!(line(disconnect), "disconnect X ok took=1");
    assert_eq!(line(select), "query Q \"SELECT a FROM t\" ok rows=2 group=0 took=2 idle");
    assert_eq!((select.session, select.seq, select.start_ns), (3, 1, START_NS + 2 * TICK_NS));
    assert_eq!((select.first_row_ns, select.end_ns()), (Some(1_000), Some(START_NS + 4 * TICK_NS)));
    assert_eq!(
        select.result_bytes,
        Some(dialogue_bytes(&[columns(&["a"]), row(&["1"]), row(&["2"]), tag("SELECT 2")]))
    );
    assert!(select.checksum_full.is_some() && select.checksum_rows.is_some() && select.checksum_rowset.is_some());
    assert!(select.shape_id.is_some());
    for row in &rows {
        assert_eq!(row.user.as_deref(), Some("shop"));
        assert_eq!(row.database.as_deref(), Some("shopdb"));
        assert_eq!(row.application.as_deref(), Some("till"));
        assert_eq!(row.client.as_deref(), Some("10.0.0.1:40000"));
        assert_eq!(row.server.as_deref(), Some("10.0.0.2:5432"));
    }
}

fn dialogue_bytes(messages: &[Vec<u8>]) -> u64 {
    messages.iter().map(|message| message.len() as u64).sum()
}

#[test]
fn the_database_defaults_to_the_user_and_passwords_are_skipped() {
    let (rows, losses) = Dialogue::raw()
        .client([startup(&[("user", "shop")])])
        .server([b"R\0\0\0\x08\0\0\0\x03".to_vec()])
        .client([password("open sesame")])
        .server([auth_ok(), ready('I')])
        .close(Close::RecordingEnded)
        .run();
    assert!(losses.is_empty());
    let [connect] = rows.as_slice() else { panic!("{rows:#?}") };
    assert_eq!(connect.database.as_deref(), Some("shop"));
    assert_eq!((connect.duration_ns, connect.transaction), (Some(3_000), Some(TransactionStatus::Idle)));
    assert!(!format!("{rows:?}").contains("sesame"));
}

#[test]
fn a_refused_client() {
    let (rows, losses) = Dialogue::raw()
        .client([startup(&[("user", "nobody")])])
        .server([error("28000", "no such role")])
        .close(Close::Server)
        .run();
    assert!(losses.is_empty());
    let [connect] = rows.as_slice() else { panic!("{rows:#?}") };
    assert_eq!(line(connect), "connect  error 28000 took=1");
    assert_eq!(connect.error_message.as_deref(), Some("no such role"));
}

#[test]
fn a_server_with_too_many_clients_speaks_first() {
    let (rows, losses) = Dialogue::raw().server([error("53300", "too many clients")]).close(Close::Server).run();
    assert!(losses.is_empty());
    assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), ["connect  error 53300 took=0"]);
}

#[test]
fn several_statements_in_one_text() {
    let text = "INSERT INTO t VALUES (1), (2); SELECT 1; UPDATE t SET a = 3 WHERE a = 1";
    let dialogue = Dialogue::session().client([query(text)]).server([
        tag("INSERT 0 2"),
        columns(&["?"]),
        row(&["1"]),
        tag("SELECT 1"),
        tag("UPDATE 1"),
        ready('I'),
    ]);
    expect(&dialogue, &[&format!("query Q \"{text}\" ok rows=1 affected=3 group=0 took=1 idle")]);
}

#[test]
fn an_error_in_a_text() {
    let dialogue = Dialogue::session()
        .client([query("BEGIN")])
        .server([tag("BEGIN"), ready('T')])
        .client([query("SELECT 1; SELECT 1/0")])
        .server([columns(&["?"]), row(&["1"]), tag("SELECT 1"), error("22012", "division by zero"), ready('E')])
        .client([query("ROLLBACK")])
        .server([tag("ROLLBACK"), ready('I')]);
    expect(
        &dialogue,
        &[
            "query Q \"BEGIN\" ok group=0 took=1 open",
            "query Q \"SELECT 1; SELECT 1/0\" error 22012 rows=1 group=1 took=1 failed",
            "query Q \"ROLLBACK\" ok group=2 took=1 idle",
        ],
    );
    let (rows, _) = dialogue.run();
    assert!(rows.iter().filter(|row| row.outcome == Outcome::Error).all(|row| row.checksum_full.is_none()));
}

#[test]
fn an_empty_text_and_a_notice() {
    let dialogue = Dialogue::session()
        .client([query(";")])
        .server([empty_query(), ready('I')])
        .client([query("DROP TABLE IF EXISTS t")])
        .server([notice("table \"t\" does not exist, skipping"), tag("DROP TABLE"), ready('I')]);
    expect(
        &dialogue,
        &[
            "query Q \";\" ok group=0 took=1 idle",
            "query Q \"DROP TABLE IF EXISTS t\" ok warnings=1 group=1 took=1 idle",
        ],
    );
}

#[test]
fn the_unnamed_statement_in_one_group() {
    let dialogue = Dialogue::session()
        .client([
            parse("", "SELECT $1", &[23]),
            bind_with("", "", &[1], &[Some(b"\0\0\0\x05")], &[1]),
            describe_portal(""),
            execute("", 0),
            sync(),
        ])
        .server([parsed(), bound(), columns(&["?"]), row(&["5"]), tag("SELECT 1"), ready('I')]);
    expect(
        &dialogue,
        &[
            "prepare P s: \"SELECT $1\" ok group=0 took=1 idle",
            "execute BDES s: p: \"SELECT $1\" ok rows=1 group=0 took=1 idle",
        ],
    );
    let (rows, _) = dialogue.run();
    let execute = rows.last().unwrap();
    assert_eq!(execute.param_types.as_deref(), Some(&[23][..]));
    assert_eq!(execute.shape_id, rows[1].shape_id);
    assert_eq!((execute.params[0].type_id, execute.params[0].binary), (23, true));
    assert_eq!((execute.param_formats.as_slice(), execute.result_formats.as_slice()), (&[1][..], &[1][..]));
    assert_eq!(execute.row_limit, Some(0));
    assert!(rows[1].checksum_rows.is_none(), "a Parse has no result to compare");
}

#[test]
fn null_is_not_empty_and_formats_hold_for_each() {
    let (rows, _) = Dialogue::session()
        .client([
            parse("s", "SELECT $1, $2, $3", &[]),
            bind_with("", "s", &[0, 1, 0], &[None, Some(b""), Some(b"x")], &[]),
            execute("", 0),
            sync(),
        ])
        .server([parsed(), bound(), row(&["a"]), tag("SELECT 1"), ready('I')])
        .run();
    let params = &rows.last().unwrap().params;
    let values: Vec<_> = params.iter().map(|param| param.value.as_deref()).collect();
    assert_eq!(values, [None, Some(&b""[..]), Some(b"x")]);
    assert_eq!(params.iter().map(|param| param.binary).collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn a_named_statement_is_prepared_once_and_its_types_are_learned() {
    let dialogue = Dialogue::session()
        .client([parse("s1", "SELECT a FROM t WHERE id = $1", &[]), describe_statement("s1"), sync()])
        .server([parsed(), param_types(&[20]), columns(&["a"]), ready('I')])
        .client([bind_with("", "s1", &[], &[Some(b"7")], &[]), execute("", 0), sync()])
        .server([bound(), row(&["x"]), tag("SELECT 1"), ready('I')])
        .client([close_statement("s1"), sync()])
        .server([closed(), ready('I')])
        .client([bind("", "s1"), execute("", 0), sync()])
        .server([error("26000", "prepared statement \"s1\" does not exist"), ready('I')]);
    expect_with_losses(
        &dialogue,
        &[
            "prepare PDS s:s1 \"SELECT a FROM t WHERE id = $1\" ok group=0 took=1 idle",
            "execute BES s:s1 p: \"SELECT a FROM t WHERE id = $1\" ok rows=1 group=1 took=1 idle",
            "close CS s:s1 ok group=2 took=1 idle",
            "execute BES s:s1 p: error 26000 group=3 took=1 idle",
        ],
        "unknown_statement=1",
    );
    let (rows, _) = dialogue.run();
    assert_eq!(rows[2].params[0].type_id, 20);
    assert_eq!(rows[2].param_types.as_deref(), Some(&[][..]));
    assert_eq!(rows[1].rows, None, "a description is no rows");
    // One text, shared by all rows.
    assert!(std::sync::Arc::ptr_eq(rows[1].sql.as_ref().unwrap(), rows[2].sql.as_ref().unwrap()));
}

#[test]
fn prepare_then_flush_then_describe() {
    let dialogue = Dialogue::session()
        .client([parse("s", "SELECT 1", &[]), flush()])
        .server([parsed()])
        .client([describe_statement("s"), flush()])
        .server([param_types(&[]), columns(&["?"])])
        .client([sync()])
        .server([ready('I')]);
    expect(&dialogue, &["prepare PHDHS s:s \"SELECT 1\" ok group=0 took=3 idle"]);
}

#[test]
fn an_error_in_the_middle_of_a_group_skips_the_rest() {
    let dialogue = Dialogue::session()
        .client([
            parse("a", "INSERT INTO t VALUES (1)", &[]),
            bind("", "a"),
            execute("", 0),
            parse("b", "INSERT INTO t VALUES ('x')", &[]),
            bind("", "b"),
            execute("", 0),
            parse("c", "INSERT INTO t VALUES (3)", &[]),
            bind("", "c"),
            execute("", 0),
            sync(),
            bind("", "c"),
            execute("", 0),
            sync(),
        ])
        .server([parsed(), bound(), tag("INSERT 0 1"), parsed(), bound(), error("22P02", "invalid input"), ready('I')])
        .server([error("26000", "prepared statement \"c\" does not exist"), ready('I')])
        .client([bind("", "a"), execute("", 0), sync()])
        .server([bound(), tag("INSERT 0 1"), ready('I')])
        .client([bind("", "c"), execute("", 0), sync()])
        .server([error("26000", "prepared statement \"c\" does not exist"), ready('I')]);
    expect_with_losses(
        &dialogue,
        &[
            "prepare P s:a \"INSERT INTO t VALUES (1)\" ok group=0 took=1 idle",
            "execute BE s:a p: \"INSERT INTO t VALUES (1)\" ok affected=1 group=0 took=1 idle",
            "prepare P s:b \"INSERT INTO t VALUES ('x')\" ok group=0 took=1 idle",
            "execute BE s:b p: \"INSERT INTO t VALUES ('x')\" error 22P02 group=0 took=1 idle",
            "prepare P s:c \"INSERT INTO t VALUES (3)\" skipped group=0 idle",
            "execute BES s:c p: \"INSERT INTO t VALUES (3)\" skipped group=0 idle",
            // Sent before the client knew, and refused by the server for lack of the statement.
            "execute BES s:c p: \"INSERT INTO t VALUES (3)\" error 26000 group=1 took=2 idle",
            "execute BES s:a p: \"INSERT INTO t VALUES (1)\" ok affected=1 group=2 took=1 idle",
            // The skipped Parse is undone, so the name means nothing any more.
            "execute BES s:c p: error 26000 group=3 took=1 idle",
        ],
        "unknown_statement=1",
    );
}

#[test]
fn a_failed_commit_belongs_to_the_sync() {
    let dialogue = Dialogue::session()
        .client([bind("", ""), execute("", 0), sync()])
        .server([bound(), tag("INSERT 0 1"), error("23503", "foreign key"), ready('I')])
        .client([sync()])
        .server([ready('I')]);
    expect_with_losses(
        &dialogue,
        &["execute BES s: p: error 23503 affected=1 group=0 took=1 idle", "other S ok group=1 took=1 idle"],
        "unknown_statement=1",
    );
}

#[test]
fn a_suspended_portal_is_fetched_from() {
    let dialogue = Dialogue::session()
        .client([query("BEGIN")])
        .server([tag("BEGIN"), ready('T')])
        .client([parse("", "SELECT * FROM t", &[]), bind("c1", ""), execute("c1", 2), sync()])
        .server([parsed(), bound(), row(&["1"]), row(&["2"]), suspended(), ready('T')])
        .client([execute("c1", 2), sync()])
        .server([row(&["3"]), tag("SELECT 1"), ready('T')])
        .client([close_portal("c1"), sync()])
        .server([closed(), ready('T')])
        .client([query("COMMIT")])
        .server([tag("COMMIT"), ready('I')]);
    expect(
        &dialogue,
        &[
            "query Q \"BEGIN\" ok group=0 took=1 open",
            "prepare P s: \"SELECT * FROM t\" ok group=1 took=1 open",
            "execute BES s: p:c1 \"SELECT * FROM t\" ok rows=2 group=1 took=1 open",
            "fetch ES s: p:c1 \"SELECT * FROM t\" ok rows=1 group=2 took=1 open",
            "close CS p:c1 ok group=3 took=1 open",
            "query Q \"COMMIT\" ok group=4 took=1 idle",
        ],
    );
    let (rows, _) = dialogue.run();
    let limits: Vec<_> = rows.iter().filter_map(|row| row.row_limit).collect();
    assert_eq!(limits, [2, 2]);
}

#[test]
fn portals_die_with_their_transaction_but_not_those_sent_ahead() {
    let dialogue = Dialogue::session()
        .client([parse("s", "SELECT 1", &[]), bind("p", "s"), sync(), bind("q", "s"), execute("q", 1), flush()])
        .server([parsed(), bound(), ready('I')])
        .server([bound(), row(&["1"]), suspended()])
        .client([execute("q", 1), sync()])
        .server([row(&["1"]), suspended(), ready('I')])
        .client([execute("p", 0), sync()])
        .server([error("34000", "portal \"p\" does not exist"), ready('I')]);
    expect_with_losses(
        &dialogue,
        &[
            "prepare P s:s \"SELECT 1\" ok group=0 took=1 idle",
            "execute BS s:s p:p \"SELECT 1\" ok group=0 took=1 idle",
            "execute BEH s:s p:q \"SELECT 1\" ok rows=1 group=1 took=2 idle",
            "fetch ES s:s p:q \"SELECT 1\" ok rows=1 group=1 took=1 idle",
            "fetch ES p:p error 34000 group=2 took=1 idle",
        ],
        "unknown_statement=1",
    );
}

#[test]
fn copy_in_by_simple_query() {
    let dialogue = Dialogue::session()
        .client([query("COPY t FROM STDIN")])
        .server([copy_start(CopyDirection::In)])
        .client([copy_data("1\n"), copy_data("2\n"), copy_done()])
        .server([tag("COPY 2"), ready('I')]);
    expect(&dialogue, &["copy Qc \"COPY t FROM STDIN\" ok affected=2 group=0 took=3 idle"]);
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
    expect(&dialogue, &["copy Qf \"COPY t FROM STDIN\" cancelled 57014 group=0 took=3 idle"]);
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
            "copy Q \"COPY t FROM STDIN\" error 22P02 group=0 took=3 idle",
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
            "copy BDEScS s: p: \"COPY t FROM STDIN\" ok affected=1 group=0 took=4 idle",
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
            "copy BEScS s: p: \"COPY t FROM STDIN\" error 22P02 group=0 took=3 idle",
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
    expect(&dialogue, &["copy Qc \"START_REPLICATION 0/0\" ok rows=2 group=0 took=5 idle"]);
}

#[test]
fn a_call_outside_sql() {
    let dialogue = Dialogue::session()
        .client([function_call(954, &[Some(b"\0\0\0\x01"), None])])
        .server([call_result(Some(b"\0\0\0\x02")), ready('I')])
        .client([function_call(954, &[])])
        .server([error("42883", "no such function"), ready('I')]);
    expect(&dialogue, &["call F s:954 ok rows=1 group=0 took=1 idle", "call F s:954 error 42883 group=1 took=1 idle"]);
    let (rows, _) = dialogue.run();
    assert_eq!(rows[1].params[1].value, None);
    assert!(rows[1].params[0].binary);
}

#[test]
fn a_cancel_names_its_session_and_not_its_key() {
    let shared = Shared::new(Engine::Postgresql);
    Dialogue::session().run_with(&shared, |bytes| vec![bytes]);
    let cancelling = Dialogue::raw().client([cancel(7, b"sesame!!")]).close(Close::Server);
    let (rows, losses) = cancelling.run_with(&shared, |bytes| vec![bytes]);
    assert!(losses.is_empty());
    assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), ["cancel  ok took=1"]);
    assert_eq!(rows[0].params[0].value.as_deref(), Some(&b"3"[..]));
    assert!(!format!("{rows:?}").contains("sesame"));

    let dialogue = Dialogue::session().client([query("SELECT pg_sleep(9)")]).server([
        columns(&["pg_sleep"]),
        error("57014", "canceling statement due to user request"),
        ready('I'),
    ]);
    expect(&dialogue, &["query Q \"SELECT pg_sleep(9)\" cancelled 57014 group=0 took=1 idle"]);
}

#[test]
fn encryption_refused() {
    let (rows, losses) = Dialogue::raw()
        .client([gss_request()])
        .server([b"N".to_vec()])
        .client([ssl_request()])
        .server([b"N".to_vec()])
        .client([startup(&[("user", "shop")])])
        .server([auth_ok(), ready('I')])
        .close(Close::RecordingEnded)
        .run();
    assert!(losses.is_empty());
    assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), ["connect  ok took=5 idle"]);
}

#[test]
fn encryption_refused_and_the_client_leaves() {
    let dialogue = Dialogue::raw().client([ssl_request()]).server([b"N".to_vec()]).close(Close::Client);
    let (rows, losses) = dialogue.run();
    assert!(losses.is_empty());
    assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), ["connect  lost"]);
}

#[test]
fn encrypted_sessions_are_counted_once() {
    let hello = b"\x16\x03\x01\0\x04abcd".to_vec();
    for dialogue in [
        Dialogue::raw().client([ssl_request()]).server([b"S".to_vec()]).client([hello.clone()]),
        Dialogue::raw().client([gss_request()]).server([b"G".to_vec()]).client([b"\0\0\0\x04abcd".to_vec()]),
        Dialogue::raw().client([hello.clone()]).server([hello.clone()]),
        Dialogue::midway().client([b"\x17\x03\x03\0\x04abcd".to_vec()]).server([b"\x17\x03\x03\0\x04abcd".to_vec()]),
    ] {
        let (rows, losses) = dialogue.client([hello.clone()]).server([hello.clone()]).close(Close::Client).run();
        assert_eq!(rows, []);
        assert_eq!(losses.get(splitproof_capture::trace::Loss::Encrypted), 1);
    }
}

#[test]
fn other_protocols_are_counted_once() {
    for first in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"SSH-2.0-OpenSSH_9\r\n", b"\0\0\0\x08\0\x02\0\0"] {
        let dialogue = Dialogue::raw().client([first.to_vec()]).client([first.to_vec()]).close(Close::Client);
        expect_with_losses(&dialogue, &[], "other_protocol=1");
    }
    let mysql = b"\x4e\0\0\0\x0a8.0.33\0".to_vec();
    expect_with_losses(&Dialogue::raw().server([mysql]).close(Close::Server), &[], "other_protocol=1");
}

#[test]
fn application_name_changes() {
    let (rows, _) = Dialogue::session()
        .client([query("SET application_name = 'nightly'")])
        .server([tag("SET"), status("application_name", "nightly"), ready('I')])
        .client([query("SELECT 1")])
        .server([columns(&["?"]), row(&["1"]), tag("SELECT 1"), ready('I')])
        .run();
    assert_eq!(rows[0].application.as_deref(), Some("till"));
    assert_eq!(rows[2].application.as_deref(), Some("nightly"));
}

#[test]
fn passwords_in_statements_are_masked() {
    let (rows, _) = Dialogue::session()
        .client([
            query("ALTER ROLE bob PASSWORD 'secret'"),
            parse("", "CREATE USER eve PASSWORD 'secret'", &[]),
            sync(),
        ])
        .server([tag("ALTER ROLE"), ready('I'), parsed(), ready('I')])
        .run();
    assert_eq!(rows[1].sql.as_deref(), Some("ALTER ROLE bob PASSWORD '***'"));
    assert!(!format!("{rows:?}").contains("secret"));
}

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

#[test]
fn create_table_as_stores_rows_and_returns_none() {
    let dialogue = Dialogue::session()
        .client([query("CREATE TABLE u AS SELECT * FROM t")])
        .server([tag("SELECT 5"), ready('I')])
        .client([query("SELECT 1 WHERE false")])
        .server([columns(&["?"]), tag("SELECT 0"), ready('I')]);
    expect(
        &dialogue,
        &[
            "query Q \"CREATE TABLE u AS SELECT * FROM t\" ok affected=5 group=0 took=1 idle",
            "query Q \"SELECT 1 WHERE false\" ok rows=0 group=1 took=1 idle",
        ],
    );
}

#[test]
fn a_failed_parse_of_a_known_name_leaves_the_first_in_place() {
    let dialogue = Dialogue::session()
        .client([parse("s", "SELECT 1", &[]), sync()])
        .server([parsed(), ready('I')])
        .client([parse("s", "SELECT 2", &[]), sync()])
        .server([error("42P05", "prepared statement \"s\" already exists"), ready('I')])
        .client([bind("", "s"), execute("", 0), sync()])
        .server([bound(), row(&["1"]), tag("SELECT 1"), ready('I')]);
    let (rows, losses) = dialogue.run();
    assert!(losses.is_empty());
    assert_eq!(rows[3].kind, Kind::Execute);
    assert_eq!(rows[3].sql.as_deref(), Some("SELECT 1"));
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

#[test]
fn a_statement_that_sql_prepared_is_known_when_the_protocol_binds_it() {
    let dialogue = Dialogue::session()
        .client([query("BEGIN; PREPARE \"Find\" (int) AS SELECT name FROM users WHERE id = $1")])
        .server([tag("BEGIN"), tag("PREPARE"), ready('T')])
        .client([bind("", "Find"), execute("", 0), sync()])
        .server([bound(), tag("SELECT 0"), ready('T')]);
    let (rows, losses) = dialogue.run();
    assert!(losses.is_empty(), "{losses:?}");
    let last = rows.last().expect("rows");
    assert_eq!((last.kind, last.statement.as_deref()), (Kind::Execute, Some("Find")));
    assert_eq!(last.sql.as_deref(), Some("SELECT name FROM users WHERE id = $1"));
}

#[test]
fn a_statement_that_sql_prepared_through_the_protocol_is_known_too() {
    let dialogue = Dialogue::session()
        .client([parse("", "PREPARE find AS SELECT 1", &[]), bind("", ""), execute("", 0), sync()])
        .server([parsed(), bound(), tag("PREPARE"), ready('I')])
        .client([bind("", "find"), execute("", 0), sync()])
        .server([bound(), tag("SELECT 0"), ready('I')]);
    let (rows, losses) = dialogue.run();
    assert!(losses.is_empty(), "{losses:?}");
    assert_eq!(rows.last().and_then(|row| row.sql.as_deref()), Some("SELECT 1"));
}

#[test]
fn a_prepare_that_the_server_refused_leaves_the_name_as_it_was() {
    let dialogue = Dialogue::session()
        .client([query("PREPARE a AS SELECT 1")])
        .server([tag("PREPARE"), ready('I')])
        .client([query("PREPARE a AS SELECT 2")])
        .server([error("42P05", "prepared statement \"a\" already exists"), ready('I')])
        .client([bind("", "a"), execute("", 0), sync()])
        .server([bound(), tag("SELECT 0"), ready('I')]);
    let (rows, _) = dialogue.run();
    assert_eq!(rows.last().and_then(|row| row.sql.as_deref()), Some("SELECT 1"));
}
