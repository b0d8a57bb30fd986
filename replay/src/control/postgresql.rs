//! A control connection to PostgreSQL.

use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls, Statement};

use super::{DriverError, Identity, Lineage};
use crate::pair::{Passwords, Role, Url};

/// A control connection to PostgreSQL.
#[derive(Debug)]
pub struct PostgresqlControl {
    client: Client,
    task: JoinHandle<()>,
    /// The question for the time, prepared so that an answer takes one round trip.
    time: OnceCell<Statement>,
}

impl PostgresqlControl {
    pub(super) async fn open(url: &Url, passwords: &Passwords) -> Result<Self, DriverError> {
        let (client, connection) = url.postgresql_control(passwords).connect(NoTls).await?;
        // An error of the connection reaches the caller through the client's next question.
        let task = tokio::spawn(async move { drop(connection.await) });
        Ok(PostgresqlControl { client, task, time: OnceCell::new() })
    }

    /// The connection, to ask it something.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Our own questions must not wait for a lock for ever, nor be counted as slow statements of the traffic.
    pub(super) async fn set_up(&self) -> Result<(), DriverError> {
        Ok(self.client.batch_execute("SET statement_timeout = '30s'; SET lock_timeout = '5s'").await?)
    }

    pub(super) async fn identity(&self) -> Result<Identity, DriverError> {
        let sql = "SELECT pg_is_in_recovery(), system_identifier, current_setting('server_version') FROM \
                   pg_control_system()";
        let row = self.client.query_one(sql, &[]).await?;
        let role = if row.try_get(0)? { Role::Replica } else { Role::Primary };
        Ok(Identity { role, lineage: Lineage::System(row.try_get(1)?), version: row.try_get(2)? })
    }

    pub(super) async fn time_us(&self) -> Result<i64, DriverError> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
        let statement = self.time.get_or_try_init(|| self.client.prepare(sql)).await?;
        Ok(self.client.query_one(statement, &[]).await?.try_get(0)?)
    }
}

impl Drop for PostgresqlControl {
    fn drop(&mut self) {
        self.task.abort();
    }
}
