//! What a server logged is replayed, to the same data and the same outcomes. Parameters have no types in a log: the server infers
//! them.

use std::path::PathBuf;

use splitproof_capture::log::{Format, Settings};
use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Engine, Kind, Options, Outcome, Reader, Request, Writer};
use splitproof_samples::Sandbox;
use tokio_postgres::NoTls;

use crate::replay::{direct, run};

/// Everything that the clients change.
const STATE: &str = "SELECT count(*), md5(string_agg(note::text, '|' ORDER BY id)) FROM note";

async fn client(port: u16, first: i64) {
    let config = format!("host=127.0.0.1 port={port} user=postgres dbname=shop application_name=c{first}");
    let (mut client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    // Their types are known to the client, which sends them in the binary format.
    let insert = "INSERT INTO note VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let insert = client.prepare(insert).await.unwrap();
    for id in first..first + 10 {
        let text = Some(format!("it's {id}\n\t\\ \"é\", $2 = 'x'")).filter(|_| id % 3 > 0);
        let blob = Some(&b"\x00\xff'"[..]).filter(|_| id % 2 > 0);
        let list = vec![Some(id as i32), None, Some(-7)];
        client.execute(&insert, &[&id, &text, &(id as i32), &0.1_f64, &(id % 2 == 0), &blob, &list]).await.unwrap();
    }
    client
        .execute(&insert, &[&first, &"", &1_i32, &f64::NAN, &true, &None::<&[u8]>, &None::<Vec<i32>>])
        .await
        .unwrap_err();
    let update = "UPDATE note SET a = a + $1, t = coalesce(t, $2) WHERE id BETWEEN $3 AND $4";
    client.execute(update, &[&5_i32, &"", &first, &(first + 3)]).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    transaction.execute("DELETE FROM note WHERE id = $1", &[&(first + 1)]).await.unwrap();
    transaction.rollback().await.unwrap();
    client.batch_execute("UPDATE note SET f = 2 WHERE f = 0.1 AND b; SELECT 1").await.unwrap();
    client.batch_execute("SELECT 1/0").await.unwrap_err();
    drop((insert, client));
    connection.await.unwrap().unwrap();
}

#[test]
fn a_log_is_replayed_to_the_same_data() {
    let home = crate::home();
    let mut sandbox = Sandbox::create(home.path().join("pair")).unwrap();
    sandbox.up().unwrap();
    let primary = sandbox.primary();
    primary
        .sql("shop", "CREATE TABLE note (id bigint PRIMARY KEY, t text, a int, f float8, b bool, y bytea, l int[])")
        .unwrap();
    let settings = [
        "log_line_prefix = '%m [%c] %u@%d '",
        "log_connections = on",
        "log_disconnections = on",
        "log_min_duration_statement = 0",
    ];
    for setting in settings {
        primary.sql("postgres", &format!("ALTER SYSTEM SET {setting}")).unwrap();
    }
    sandbox.snapshot().unwrap();
    let (primary, port) = (sandbox.primary(), sandbox.ports().primary);
    let before = std::fs::read(primary.log()).unwrap().len();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // One after the other, since the order between sessions is not the log's to keep.
    runtime.block_on(async {
        for first in [0, 100] {
            client(port, first).await;
        }
    });
    // The server writes of a session's end on its own time.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let log = std::fs::read(primary.log()).unwrap().split_off(before);
    let after = primary.sql("shop", STATE).unwrap();

    let (format, trace) = (Format::PostgresqlStderr, home.path().join("trace"));
    let shared = Shared::new(Engine::Postgresql);
    let mut writer = Writer::create(&trace, Options::new(Engine::Postgresql, "log")).unwrap();
    let log: Vec<(PathBuf, Box<dyn std::io::Read>)> = vec![("log".into(), Box::new(std::io::Cursor::new(log)))];
    let ended = format.read(&Settings::default(), log, &shared, &mut writer);
    assert!(ended.damaged.is_empty(), "{:?}", ended.damaged);
    writer.finish(&ended.losses).unwrap();
    let recorded = rows(&trace);
    let executed: Vec<_> = recorded.iter().filter(|row| row.kind == Kind::Execute).collect();
    // Ten inserts, one that failed, two of which the client did not keep the statement.
    assert_eq!(executed.len(), 2 * 13, "{executed:?}");
    assert!(executed.iter().all(|row| row.params.iter().all(|param| param.type_id == 0 && !param.binary)));

    sandbox.restore().unwrap();
    assert_ne!(sandbox.primary().sql("shop", STATE).unwrap(), after);
    let order = direct(&sandbox, &trace, &home.path().join("run"));
    let summary = runtime.block_on(run(&order)).unwrap();
    assert_eq!((summary.sent, summary.not_sent_total(), summary.lost_sessions), (summary.recorded, 0, 0), "{summary}");
    assert_eq!(sandbox.primary().sql("shop", STATE).unwrap(), after);
    let mut repeated = rows(&order.run);
    repeated.sort_by_key(|row| (row.recorded_session, row.recorded_seq));
    let mut recorded = recorded;
    recorded.sort_by_key(|row| (row.session, row.seq));
    let outcomes = |rows: &[Request]| rows.iter().map(|row| (row.kind, row.outcome)).collect::<Vec<_>>();
    assert_eq!(outcomes(&repeated), outcomes(&recorded));
    assert_eq!(recorded.iter().filter(|row| row.outcome == Outcome::Error).count(), 4);
}

fn rows(trace: &std::path::Path) -> Vec<Request> {
    Reader::open(trace).unwrap().requests().map(|row| row.unwrap()).collect()
}
