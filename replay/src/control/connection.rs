//! One control connection.

use splitproof_capture::trace::Engine;

use super::{ControlError, DriverError, Identity, MysqlControl, PostgresqlControl};
use crate::pair::{Node, Passwords};

/// A control connection to a node.
#[derive(Debug)]
pub struct Control {
    node: Node,
    client: Client,
}

/// The driver of the node's engine.
#[derive(Debug)]
pub enum Client {
    /// PostgreSQL.
    Postgresql(PostgresqlControl),
    /// MySQL or MariaDB.
    Mysql(MysqlControl),
}

impl Control {
    /// Connects to a node.
    pub async fn open(node: &Node, passwords: &Passwords) -> Result<Self, ControlError> {
        let open = async {
            Ok(match node.url.engine() {
                Engine::Postgresql => Client::Postgresql(PostgresqlControl::open(&node.url, passwords).await?),
                Engine::Mysql => Client::Mysql(MysqlControl::open(&node.url, passwords).await?),
            })
        };
        let client = open.await.map_err(|source| ControlError::Connect {
            node: node.name.clone(),
            url: node.url.to_string(),
            engine: node.url.engine(),
            source,
        })?;
        let control = Control { node: node.clone(), client };
        let set = match &control.client {
            Client::Postgresql(client) => client.set_up().await,
            Client::Mysql(client) => client.set_up().await,
        };
        set.map_err(control.failed("set up the control connection"))?;
        Ok(control)
    }

    /// The node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The connection, to ask it something.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The connection to a PostgreSQL server, to ask it something.
    ///
    /// # Errors
    /// [`DriverError::OtherEngine`] when the node is of another engine.
    pub fn postgresql(&self) -> Result<&tokio_postgres::Client, ControlError> {
        match &self.client {
            Client::Postgresql(client) => Ok(client.client()),
            Client::Mysql(_) => Err(self.failed("ask it in PostgreSQL's protocol")(DriverError::OtherEngine)),
        }
    }

    /// Asks the node who it is.
    pub async fn identity(&self) -> Result<Identity, ControlError> {
        let identity = match &self.client {
            Client::Postgresql(client) => client.identity().await,
            Client::Mysql(client) => client.identity(self.node.role).await,
        };
        identity.map_err(self.failed("ask for its role"))
    }

    /// Asks the node for its time, microseconds since 1970 UTC.
    pub(super) async fn time_us(&self) -> Result<i64, ControlError> {
        let time = match &self.client {
            Client::Postgresql(client) => client.time_us().await,
            Client::Mysql(client) => client.time_us().await,
        };
        time.map_err(self.failed("ask for its time"))
    }

    /// Makes an error of a question out of the driver's error.
    pub fn failed<E: Into<DriverError>>(&self, what: &'static str) -> impl FnOnce(E) -> ControlError {
        move |source| ControlError::Query {
            node: self.node.name.clone(),
            url: self.node.url.to_string(),
            what,
            source: source.into(),
        }
    }
}
