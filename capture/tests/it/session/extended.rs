//! The extended protocol: statements, portals, pipelines.

use splitproof_capture::trace::{Kind, Loss};

use crate::dialogue::postgresql::*;

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

#[test]
fn a_name_that_sql_took_away_stands_for_nothing_any_more() {
    for gone in ["DEALLOCATE a", "deallocate prepare A", "DEALLOCATE ALL", "DISCARD ALL"] {
        let dialogue = Dialogue::session()
            .client([parse("a", "SELECT 1", &[]), sync()])
            .server([parsed(), ready('I')])
            .client([query(gone)])
            .server([tag("DEALLOCATE"), ready('I')])
            .client([bind("", "a"), execute("", 0), sync()])
            .server([error("26000", "prepared statement \"a\" does not exist"), ready('I')]);
        let (rows, losses) = dialogue.run();
        assert_eq!(rows.last().and_then(|row| row.sql.as_deref()), None, "{gone}");
        assert_eq!(losses.get(Loss::UnknownStatement), 1, "{gone}");
    }
}

#[test]
fn a_deallocate_that_failed_takes_nothing_away() {
    let dialogue = Dialogue::session()
        .client([query("PREPARE a AS SELECT 1")])
        .server([tag("PREPARE"), ready('I')])
        .client([parse("", "DEALLOCATE a; ", &[]), bind("", ""), execute("", 0), sync()])
        .server([parsed(), error("25P02", "current transaction is aborted"), ready('I')])
        .client([bind("", "a"), execute("", 0), sync()])
        .server([bound(), tag("SELECT 0"), ready('I')]);
    let (rows, losses) = dialogue.run();
    assert!(losses.is_empty(), "{losses:?}");
    assert_eq!(rows.last().and_then(|row| row.sql.as_deref()), Some("SELECT 1"));
}
