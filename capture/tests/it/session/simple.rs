//! The simple protocol, and calls outside SQL.

use splitproof_capture::session::Close;
use splitproof_capture::trace::Outcome;

use crate::dialogue::postgresql::*;

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
        assert_eq!(row.server.as_deref(), Some("10.0.0.2:4000"));
    }
}

fn dialogue_bytes(messages: &[Vec<u8>]) -> u64 {
    messages.iter().map(|message| message.len() as u64).sum()
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
