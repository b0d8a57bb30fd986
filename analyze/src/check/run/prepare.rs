//! The fixture's database, made ready on the primary and replayed by the replicas.

use std::time::{Duration, Instant};

use splitproof_capture::trace::Role;
use splitproof_replay::catalog::Catalog;
use splitproof_replay::control::{Control, Identity};
use splitproof_replay::pair::Node;
use tokio_postgres::Client;

use super::{CheckError, Plan};

/// How long a replica may take to replay the setup.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is asked.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Makes the database if it is not there, runs the setup as the user of the cases, waits for the replicas, and gives the
/// database's catalogue.
pub(super) async fn prepare(
    plan: &Plan,
    controls: &[(Control, Identity)],
    user: &str,
    database: &str,
) -> Result<Catalog, CheckError> {
    let node = plan.pair.primary();
    let failed = |what: &'static str| {
        move |error: tokio_postgres::Error| CheckError::Prepare {
            database: database.to_owned(),
            node: node.name.clone(),
            what,
            problem: describe(&error),
        }
    };
    let primary = controls.iter().map(|(control, _)| control).find(|control| control.node().role == Role::Primary);
    if let (Some(primary), true) = (primary, plan.fixture.database.is_some()) {
        create(primary.postgresql()?, user, database).await.map_err(failed("cannot be created"))?;
    }
    let inside =
        Control::open(&Node { url: node.url.with_database(database), ..node.clone() }, &plan.passwords).await?;
    let client = inside.postgresql()?;
    let setup = async {
        client.batch_execute(&format!("SET ROLE {}", quoted(user))).await?;
        client.batch_execute(&plan.fixture.setup).await?;
        client.batch_execute("RESET ROLE").await?;
        client.query_one("SELECT pg_current_wal_insert_lsn()::text", &[]).await?.try_get::<_, String>(0)
    };
    let position = setup.await.map_err(failed("the fixture's setup fails"))?;
    for (control, _) in controls.iter().filter(|(control, _)| control.node().role == Role::Replica) {
        wait(control, &position).await?;
    }
    Ok(Catalog::snapshot(&inside).await?)
}

async fn create(client: &Client, user: &str, database: &str) -> Result<(), tokio_postgres::Error> {
    if client.query_opt("SELECT 1 FROM pg_database WHERE datname = $1", &[&database]).await?.is_some() {
        return Ok(());
    }
    client.batch_execute(&format!("CREATE DATABASE {} OWNER {}", quoted(database), quoted(user))).await
}

/// Waits until a replica has replayed up to a position.
async fn wait(replica: &Control, position: &str) -> Result<(), CheckError> {
    let began = Instant::now();
    let sql = "SELECT coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)";
    loop {
        let client = replica.postgresql()?;
        let asked = client.query_one(sql, &[&position]).await.and_then(|row| row.try_get::<_, bool>(0));
        if asked.map_err(replica.failed("ask how far it has replayed"))? {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            return Err(CheckError::Behind { node: replica.node().name.clone(), seconds: PATIENCE.as_secs() });
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

/// The server's own words, which the driver's error keeps below.
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(answer) => format!("{} (SQLSTATE {})", answer.message(), answer.code().code()),
        None => error.to_string(),
    }
}

/// A quoted identifier.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
