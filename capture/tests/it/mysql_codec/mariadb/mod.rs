//! Our own client and a real MariaDB. That every command is answered as expected and that nothing is left over behind an
//! answer shows that the codec has the server's idea of where messages end.

pub mod client;
mod digest;
pub mod server;

use splitproof_capture::mysql::bulk::{BulkFlags, BulkValue};
use splitproof_capture::mysql::session_state::Change;
use splitproof_capture::mysql::{
    BulkExecute, Capabilities, ChangeUser, Code, Command, Content, ErrPacket, Execute, ExecuteFlags, Kind, LongData,
    OkPacket, ParamType, Parameter, PrepareOk, Query, Secret, Status, Value,
};

use self::client::{Client, Seen};
use self::server::Server;
use super::written;

const MORE: Capabilities =
    Capabilities(Capabilities::MULTI_STATEMENTS.0 | Capabilities::SESSION_TRACK.0 | Capabilities::LOCAL_FILES.0);

#[test]
fn every_command_with_every_form_of_answer() {
    let Some(server) = Server::start() else {
        crate::skipped(1, "MariaDB is not installed");
        return;
    };
    let mut client = Client::connect(&server.socket(), MORE);
    let setup = "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20), b BLOB);
        CREATE PROCEDURE shop.two() BEGIN SELECT 1; SELECT 2, 3; END;
        CREATE PROCEDURE shop.out_one(OUT x INT) SET x = 7";
    assert_eq!(query(&mut client, setup).line(), "ok*4");
    let eof = Capabilities::DEPRECATE_EOF;
    let cache = Capabilities::MARIADB_CACHE_METADATA;
    let extended = Capabilities::MARIADB_EXTENDED_METADATA | Capabilities::MARIADB_PROGRESS;
    let bulk = Capabilities::MARIADB_BULK;
    let compress = Capabilities::COMPRESS;
    for more in [Capabilities(0), eof, cache, eof | cache | extended | bulk, compress, eof | compress | bulk] {
        let mut client = Client::connect(&server.socket(), MORE | more);
        assert!(client.capabilities.contains(more), "{more:?} of {:?}", client.server);
        let expect = |with_eof: &str| match more.contains(eof) {
            true => with_eof.replace(" columns-end", "").replace(" parameters-end", ""),
            false => with_eof.to_owned(),
        };
        texts(&mut client, &expect);
        prepared(&mut client, &expect);
        cursors(&mut client, &expect);
        if more.contains(bulk) {
            bulk_execution(&mut client);
        }
        long_payloads(&mut client);
        session(&mut client);
        the_rest(&mut client);
    }
}

pub fn query(client: &mut Client, sql: &str) -> Seen {
    client.ask(&Command::Query(Query::new(sql.as_bytes())))
}

fn ok<'a>(client: &Client, payload: &'a [u8]) -> OkPacket<'a> {
    OkPacket::decode(payload, client.capabilities).unwrap()
}

fn texts(client: &mut Client, expect: &dyn Fn(&str) -> String) {
    assert_eq!(query(client, "USE shop").line(), "ok");
    let seen = query(client, "SELECT 42, NULL, '', CAST('x' AS BINARY(2)) UNION ALL SELECT 1, 2, 'b', 'c'");
    assert_eq!(seen.line(), expect("count column*4 columns-end row*2 end"));
    let row = [Some(b"42".to_vec()), None, Some(vec![]), Some(b"x\0".to_vec())];
    assert_eq!(seen.rows[0], row);
    let seen = query(client, "INSERT INTO t (a) VALUES ('one'), ('two')");
    let answer = ok(client, seen.last());
    assert_eq!((answer.affected, answer.info), (2, &b"Records: 2  Duplicates: 0  Warnings: 0"[..]));
    assert!(answer.last_insert_id > 0 && answer.status.contains(Status::AUTOCOMMIT));
    let seen = query(client, "SELECT 1; DO 1; SELECT 2; SELECT nothing; SELECT 3");
    assert_eq!(seen.line(), expect("count column columns-end row end ok count column columns-end row end err"));
    assert_eq!(ErrPacket::decode(seen.last()).map(|error| error.code), Ok(1054));
    let seen = query(client, "CALL two()");
    let results = "count column columns-end row end count column*2 columns-end row end ok";
    assert_eq!(seen.line(), expect(results));
    assert_eq!(query(client, "SELECT 1 FROM t WHERE FALSE").line(), expect("count column columns-end end"));
    // The file is given by the client whatever its name is.
    client.file = b"7001\tfrom a file\n7002\t\\N\n".to_vec();
    let seen = query(client, "LOAD DATA LOCAL INFILE 'any' REPLACE INTO TABLE t (id, a)");
    assert_eq!(seen.line(), "file ok");
    assert_eq!(query(client, "DELETE FROM t").line(), "ok");
}

pub fn prepare(client: &mut Client, sql: &str) -> (PrepareOk, Seen) {
    let seen = client.ask(&Command::Prepare { sql: sql.as_bytes() });
    client.kinds = seen.kinds.clone();
    (PrepareOk::decode(&seen.payloads[0]).unwrap(), seen)
}

pub fn execute(client: &mut Client, statement: u32, flags: ExecuteFlags, parameters: &[Parameter<'_>]) -> Seen {
    let capabilities = client.capabilities;
    let payload = written(|out| Execute::write(out, capabilities, statement, flags, parameters, true));
    client.ask(&Command::decode(&payload, capabilities).unwrap())
}

pub fn parameter(kind: Kind, bytes: &[u8]) -> Parameter<'_> {
    Parameter { name: b"", kind: ParamType::new(kind, false), value: Content::Bytes(bytes) }
}

fn prepared(client: &mut Client, expect: &dyn Fn(&str) -> String) {
    let (answer, seen) = prepare(client, "SELECT ?, CAST(? AS DATETIME(6)), CAST(? AS TIME(6)), ?, ?");
    assert_eq!(seen.line(), expect("prepared parameter*5 parameters-end column*5 columns-end"));
    assert_eq!((answer.parameters, answer.columns), (5, 5));
    let date = [0xda, 7, 10, 17, 19, 27, 30, 1, 0, 0, 0];
    let time = [1, 2, 0, 0, 0, 19, 27, 30, 1, 0, 0, 0];
    let parameters = [
        parameter(Kind::LONGLONG, &[255; 8]),
        parameter(Kind::DATETIME, &date),
        parameter(Kind::TIME, &time),
        parameter(Kind::VAR_STRING, b"text"),
        Parameter { value: Content::Null, ..parameter(Kind::STRING, b"") },
    ];
    for turn in 0..3 {
        let seen = execute(client, answer.statement, ExecuteFlags::default(), &parameters);
        let described = expect("count column*5 columns-end row end");
        // With the cache the columns are left out when they are as before.
        let cached = expect("count columns-end row end");
        assert!(seen.line() == described || (turn > 0 && seen.line() == cached), "{}", seen.line());
        client.kinds = seen.kinds.clone();
        let shown: Vec<_> = seen.rows[0]
            .iter()
            .zip(&seen.kinds)
            .map(|(value, kind)| {
                let value = value.as_deref().map(|value| Value::decode(ParamType::new(*kind, false), value).unwrap());
                value.map(|value| value.to_string())
            })
            .collect();
        let expected =
            ["-1", "2010-10-17 19:27:30.000001", "-67:27:30.000001", "text"].map(|text| Some(text.to_owned()));
        assert_eq!(shown, [&expected[..], &[None]].concat());
    }
    assert_eq!(client.ask(&Command::Close { statement: answer.statement }).line(), "");

    // Long data, which is forgotten by a reset.
    let (answer, seen) = prepare(client, "INSERT INTO t (a, b) VALUES (?, ?)");
    assert_eq!(seen.line(), expect("prepared parameter*2 parameters-end"));
    for data in [&b"long "[..], b"data"] {
        let part = LongData { statement: answer.statement, parameter: 1, data };
        assert_eq!(client.ask(&Command::LongData(part)).line(), "");
    }
    let long = Parameter { value: Content::Long, ..parameter(Kind::BLOB, b"") };
    let seen = execute(client, answer.statement, ExecuteFlags::default(), &[parameter(Kind::STRING, b"x"), long]);
    assert_eq!(ok(client, seen.last()).affected, 1);
    assert_eq!(query(client, "SELECT b FROM t WHERE a = 'x'").rows, [[Some(b"long data".to_vec())]]);
    assert_eq!(client.ask(&Command::Reset { statement: answer.statement }).line(), "ok");
    assert_eq!(client.ask(&Command::Close { statement: answer.statement }).line(), "");
    let seen = execute(client, answer.statement, ExecuteFlags::default(), &[]);
    assert_eq!(ErrPacket::decode(seen.last()).unwrap().code, 1243, "unknown statement");

    let (answer, _) = prepare(client, "CALL out_one(?)");
    let seen = execute(client, answer.statement, ExecuteFlags::default(), &[parameter(Kind::LONG, &[0; 4])]);
    assert_eq!(seen.line(), expect("count column columns-end row end ok"));
    assert_eq!(seen.rows, [[Some(vec![7, 0, 0, 0])]]);
    assert_eq!(client.ask(&Command::Prepare { sql: b"no statement" }).line(), "err");
}

fn cursors(client: &mut Client, expect: &dyn Fn(&str) -> String) {
    let (answer, _) = prepare(client, "SELECT seq FROM seq_1_to_5");
    let seen = execute(client, answer.statement, ExecuteFlags::READ_ONLY, &[]);
    // With EOF packets the one behind the columns tells that there is a cursor.
    let opened = ["count column cursor", "count cursor"];
    assert!(opened.contains(&seen.line().as_str()), "{}", seen.line());
    let fetch = Command::Fetch { statement: answer.statement, rows: 3 };
    let seen = client.ask(&fetch);
    assert_eq!(seen.line(), "row*3 end");
    assert!(ok(client, seen.last()).status.contains(Status::CURSOR_EXISTS));
    let seen = client.ask(&fetch);
    assert_eq!((seen.line().as_str(), seen.rows.len()), ("row*2 end", 2));
    assert!(ok(client, seen.last()).status.contains(Status::LAST_ROW_SENT));
    assert_eq!(client.ask(&fetch).line(), "err");
    // Where no cursor is asked for, the rows come at once.
    let seen = execute(client, answer.statement, ExecuteFlags::default(), &[]);
    assert!(
        [expect("count column columns-end row*5 end"), expect("count columns-end row*5 end")].contains(&seen.line())
    );
}

fn bulk_execution(client: &mut Client) {
    let (answer, _) = prepare(client, "INSERT INTO t (a, b) VALUES (?, ?)");
    let types = [ParamType::new(Kind::STRING, false), ParamType::new(Kind::LONG, false)];
    let rows = [[BulkValue::Bytes(b"bulk"), BulkValue::Bytes(&[7, 0, 0, 0])], [BulkValue::Null, BulkValue::Default]];
    let rows = rows.iter().map(|row| &row[..]);
    let payload = written(|out| BulkExecute::write(out, answer.statement, BulkFlags::SEND_TYPES, &types, rows));
    let seen = client.ask(&Command::decode(&payload, client.capabilities).unwrap());
    assert_eq!((seen.line().as_str(), ok(client, seen.last()).affected), ("ok", 2));
    assert_eq!(query(client, "SELECT b FROM t WHERE a = 'bulk'").rows, [[Some(b"7".to_vec())]]);
    assert_eq!(query(client, "DELETE FROM t").line(), "ok");
}

fn long_payloads(client: &mut Client) {
    let seen = query(client, "SELECT REPEAT('x', 16777215), 1");
    assert!(seen.rows[0][0].as_ref().is_some_and(|text| text.len() == 16_777_215) && seen.rows[0][1].is_some());
    let sql = format!("SELECT LENGTH('{}')", "y".repeat(1 << 24));
    assert_eq!(query(client, &sql).rows, [[Some(b"16777216".to_vec())]]);
}

fn session(client: &mut Client) {
    let changes = |client: &Client, seen: &Seen| -> Vec<String> {
        ok(client, seen.last()).session.iter().map(|change| format!("{change:?}")).collect()
    };
    query(client, "SET session_track_system_variables = 'autocommit,sql_mode,last_gtid', session_track_schema = ON");
    query(client, "SET session_track_transaction_info = CHARACTERISTICS, session_track_state_change = ON");
    let seen = query(client, "SET autocommit = 0");
    assert_eq!(ok(client, seen.last()).session.variable(b"autocommit"), Some(&b"OFF"[..]));
    assert!(!ok(client, seen.last()).status.contains(Status::AUTOCOMMIT));
    let seen = query(client, "SET autocommit = 1, sql_mode = 'ANSI_QUOTES'");
    assert_eq!(ok(client, seen.last()).session.variable(b"sql_mode"), Some(&b"ANSI_QUOTES"[..]));
    let tracked = changes(client, &seen);
    assert!(ok(client, seen.last()).session.iter().any(|change| change == Change::StateChange(b"1")), "{tracked:?}");
    let seen = client.ask(&Command::InitDb { database: b"mysql" });
    assert_eq!(ok(client, seen.last()).session.schema(), Some(&b"mysql"[..]));
    let seen = query(client, "START TRANSACTION READ ONLY");
    assert!(ok(client, seen.last()).status.contains(Status::IN_TRANS | Status::IN_TRANS_READONLY));
    let seen_changes = changes(client, &seen);
    assert!(
        ok(client, seen.last())
            .session
            .iter()
            .any(|change| matches!(change, Change::TransactionState(state) if state.len() == 8)),
        "{seen_changes:?}"
    );
    assert!(
        ok(client, seen.last()).session.iter().any(
            |change| matches!(change, Change::TransactionCharacteristics(text) if text.starts_with(b"START TRANSACTION"))
        ),
        "{seen_changes:?}"
    );
    query(client, "COMMIT");
    let seen = query(client, "INSERT INTO shop.t (a) VALUES ('gtid')");
    let gtid = ok(client, seen.last()).session.gtid().map(<[u8]>::to_vec);
    let current = query(client, "SELECT @@last_gtid").rows[0][0].clone();
    assert!(gtid.is_some() && gtid == current, "{gtid:?} {current:?}");
    assert_eq!(client.ask(&Command::ResetConnection).line(), "ok");
    let seen = query(client, "SELECT @@session_track_system_variables");
    assert!(!seen.rows[0][0].as_ref().is_some_and(|names| names.starts_with(b"autocommit,sql_mode")));
}

fn the_rest(client: &mut Client) {
    client.ask(&Command::InitDb { database: b"shop" });
    assert_eq!(client.ask(&Command::Ping).line(), "ok");
    assert_eq!(client.ask(&Command::Statistics).line(), "statistics");
    assert_eq!(client.ask(&Command::FieldList { table: b"t", pattern: b"%" }).line(), "column*3 columns-end");
    assert_eq!(client.ask(&Command::FieldList { table: b"nothing", pattern: b"" }).line(), "err");
    assert_eq!(client.ask(&Command::SetOption { option: 1 }).line(), "ok");
    assert_eq!(query(client, "DO 1; DO 2").line(), "err", "several statements are not allowed now");
    assert_eq!(client.ask(&Command::SetOption { option: 0 }).line(), "ok");
    assert_eq!(query(client, "DO 1; DO 2").line(), "ok*2");
    assert_eq!(client.ask(&Command::ProcessKill { connection: 99_999_999 }).line(), "err");
    assert_eq!(client.ask(&Command::InitDb { database: b"nothing" }).line(), "err");
    for code in [Code::DEBUG, Code::SLEEP, Code::TIME, Code(0x77)] {
        let line = client.ask(&Command::Other { code, body: b"" }).line();
        assert!(["ok", "err"].contains(&line.as_str()), "{code:?}: {line}");
    }
    let seen = client.ask(&Command::Other { code: Code::PROCESS_INFO, body: b"" });
    assert!(seen.line().starts_with("count column") && seen.line().ends_with("end"), "{}", seen.line());
    for plugin in [&b"mysql_native_password"[..], b"another_method"] {
        let change = ChangeUser {
            user: b"root",
            proof: Secret(b""),
            database: b"shop",
            collation: Some(45),
            plugin: Some(plugin),
            attributes: None,
        };
        let line = client.ask(&Command::ChangeUser(change)).line();
        assert!(["ok", "switch ok"].contains(&line.as_str()), "{line}");
    }
    assert_eq!(query(client, "SELECT DATABASE()").rows, [[Some(b"shop".to_vec())]]);
    client.ask(&Command::Quit);
}
