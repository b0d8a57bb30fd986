//! The same for MySQL and MariaDB, over their driver: the fixture's database, and one case over one connection.

use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, OptsBuilder, Params, Value};
use splitproof_capture::trace::Role;
use splitproof_replay::catalog::Catalog;
use splitproof_replay::clock::Clock;
use splitproof_replay::control::{Client, Control, ControlError, DriverError, Family, Identity, MysqlControl};
use splitproof_replay::pair::{Node, Passwords};
use tokio::time::timeout;

use super::conversation::{Answer, PATIENCE, Router};
use super::{CheckError, Plan};
use crate::check::{Case, Protocol, Step};

/// How long a replica may take to apply the setup. Control connections end their statements after 30 s.
const REPLICA: Duration = Duration::from_secs(25);

/// Makes the database if it is not there, gives the user of the cases all rights to it, runs the setup, waits for the replicas, and
/// gives the pair's catalogue.
pub(super) async fn prepare(
    plan: &Plan,
    controls: &[(Control, Identity)],
    user: &str,
    database: &str,
) -> Result<Catalog, CheckError> {
    let node = plan.pair.primary();
    let failed = |what: &'static str| {
        move |error: DriverError| CheckError::Prepare {
            database: database.to_owned(),
            node: node.name.clone(),
            what,
            problem: error.to_string(),
        }
    };
    let primary = controls.iter().map(|(control, _)| control).find(|control| control.node().role == Role::Primary);
    if let (Some(primary), true) = (primary, plan.fixture.database.is_some()) {
        let create = format!("CREATE DATABASE IF NOT EXISTS {}", quoted(database));
        client(primary)?.run(&create).await.map_err(failed("cannot be created"))?;
        grant(client(primary)?, user, database).await.map_err(failed("cannot be opened to the cases' user"))?;
    }
    let inside =
        Control::open(&Node { url: node.url.with_database(database), ..node.clone() }, &plan.passwords).await?;
    let setup = async {
        let client = client_of(&inside)?;
        client.run(&plan.fixture.setup).await?;
        let position = match client.family() {
            Family::Mariadb => "SELECT @@GLOBAL.gtid_binlog_pos",
            Family::Mysql => "SELECT @@GLOBAL.gtid_executed",
        };
        column(client.row(position).await?)
    };
    let position = setup.await.map_err(failed("the fixture's setup fails"))?;
    for (control, _) in controls.iter().filter(|(control, _)| control.node().role == Role::Replica) {
        wait(control, &position).await?;
    }
    Ok(Catalog::snapshot(&inside).await?)
}

/// Gives a user all rights to the database, from wherever it may connect. Where the control connection must not do that, the user
/// may have them already; if it has not, the router will say so.
async fn grant(client: &MysqlControl, user: &str, database: &str) -> Result<(), DriverError> {
    let refused =
        |error: &DriverError| matches!(error, DriverError::Mysql(error) if matches!(**error, Error::Server(_)));
    let user = user.replace('\\', "\\\\").replace('\'', "''");
    // In a grant, `_` and `%` stand for other letters.
    let database = quoted(&database.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%"));
    let accounts = match client.rows(&format!("SELECT Host FROM mysql.user WHERE User = '{user}'")).await {
        Ok(accounts) => accounts,
        Err(error) if refused(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    for account in accounts {
        let host = column(account)?.replace('\'', "''");
        match client.run(&format!("GRANT ALL PRIVILEGES ON {database}.* TO '{user}'@'{host}'")).await {
            Err(error) if !refused(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn client_of(control: &Control) -> Result<&MysqlControl, DriverError> {
    match control.client() {
        Client::Mysql(client) => Ok(client),
        Client::Postgresql(_) => Err(DriverError::OtherEngine),
    }
}

fn client(control: &Control) -> Result<&MysqlControl, ControlError> {
    client_of(control).map_err(control.failed("ask it in MySQL's protocol"))
}

/// The only column of a row.
fn column(row: mysql_async::Row) -> Result<String, DriverError> {
    match row.get_opt::<Option<String>, usize>(0) {
        Some(Ok(text)) => Ok(text.unwrap_or_default()),
        _ => Err(DriverError::Column("1".to_owned())),
    }
}

/// Waits until a replica has applied up to a position.
async fn wait(replica: &Control, position: &str) -> Result<(), CheckError> {
    let seconds = REPLICA.as_secs();
    let client = client(replica)?;
    let position = position.replace(['\'', '\\'], "");
    let ask = match client.family() {
        Family::Mariadb => format!("SELECT CAST(MASTER_GTID_WAIT('{position}', {seconds}) AS CHAR)"),
        Family::Mysql => format!("SELECT CAST(WAIT_FOR_EXECUTED_GTID_SET('{position}', {seconds}) AS CHAR)"),
    };
    let waited = async { column(client.row(&ask).await?) };
    match waited.await.map_err(replica.failed("wait until it has applied the setup"))?.as_str() {
        "0" => Ok(()),
        _ => Err(CheckError::Behind { node: replica.node().name.clone(), seconds }),
    }
}

/// A quoted identifier.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Connects and leaves.
pub(super) async fn knock(router: &Router) -> Result<(), String> {
    connect(router).await?.disconnect().await.map_err(|error| error.to_string())
}

/// Sends a case's statements, each after the answer to the one before; with them, why it broke off.
pub(super) async fn hold(router: &Router, case: &Case) -> (Vec<Answer>, Option<String>) {
    let mut answers = Vec::with_capacity(case.session.len());
    let mut connection = match connect(router).await {
        Ok(connection) => connection,
        Err(problem) => return (answers, Some(problem)),
    };
    for step in &case.session {
        match timeout(PATIENCE, ask(router, &mut connection, case.protocol, step)).await {
            Ok(Ok(answer)) => answers.push(answer),
            Ok(Err(problem)) => return (answers, Some(format!("{problem}, at {}", step.sql))),
            Err(_) => {
                let seconds = PATIENCE.as_secs();
                return (answers, Some(format!("no answer within {seconds} s to {}", step.sql)));
            }
        }
    }
    // What goes wrong on leaving changes no answer.
    connection.disconnect().await.ok();
    (answers, None)
}

async fn connect(router: &Router) -> Result<Conn, String> {
    let password = router.password.as_ref().map(|secret| String::from_utf8_lossy(secret.bytes()).into_owned());
    let options = OptsBuilder::from_opts(router.url.mysql_control(&Passwords::default()))
        .user(Some(router.user.as_str()))
        .pass(password)
        .db_name(Some(router.database.as_str()));
    match timeout(PATIENCE, Conn::new(options)).await {
        Ok(connected) => connected.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

async fn ask(router: &Router, connection: &mut Conn, protocol: Protocol, step: &Step) -> Result<Answer, String> {
    let sent_ns = router.clock.now_ns();
    let asked = match protocol {
        Protocol::Simple => connection.query_drop(step.sql.as_str()).await,
        Protocol::Extended => connection.exec_drop(step.sql.as_str(), params(step)).await,
    };
    let error = match asked {
        Ok(()) => None,
        Err(Error::Server(error)) => Some(error.code.to_string()),
        Err(error) => return Err(error.to_string()),
    };
    Ok(Answer { sent_ns, answered_ns: router.clock.now_ns(), error })
}

fn params(step: &Step) -> Params {
    if step.params.is_empty() {
        return Params::Empty;
    }
    let value = |value: &Option<String>| value.as_ref().map_or(Value::NULL, |text| Value::Bytes(text.clone().into()));
    Params::Positional(step.params.iter().map(value).collect())
}
