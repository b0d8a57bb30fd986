//! One control connection.

use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

use super::ControlError;
use crate::pair::{Node, Passwords, Role};

/// What a node says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Primary or replica, now.
    pub role: Role,
    /// Identifier that a primary shares with its physical copies alone.
    pub system: i64,
    /// `server_version`, such as `15.7 (Debian 15.7-0+deb12u1)`.
    pub version: String,
}

/// A control connection to a node.
#[derive(Debug)]
pub struct Control {
    node: Node,
    client: Client,
    task: JoinHandle<()>,
}

impl Control {
    /// Connects to a node.
    pub async fn open(node: &Node, passwords: &Passwords) -> Result<Self, ControlError> {
        let failed = |source| ControlError::Connect { node: node.name.clone(), url: node.url.to_string(), source };
        let (client, connection) = node.url.control(passwords).connect(NoTls).await.map_err(failed)?;
        // An error of the connection reaches the caller through the client's next question.
        let task = tokio::spawn(async move { drop(connection.await) });
        let control = Control { node: node.clone(), client, task };
        // Our own questions must not wait for a lock for ever, nor be counted as slow statements of the traffic.
        control.run("set up the control connection", "SET statement_timeout = '30s'; SET lock_timeout = '5s'").await?;
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

    /// Asks the node who it is.
    pub async fn identity(&self) -> Result<Identity, ControlError> {
        let sql = "SELECT pg_is_in_recovery(), system_identifier, current_setting('server_version') FROM \
                   pg_control_system()";
        let read = async {
            let row = self.client.query_one(sql, &[]).await?;
            let role = if row.try_get(0)? { Role::Replica } else { Role::Primary };
            Ok(Identity { role, system: row.try_get(1)?, version: row.try_get(2)? })
        };
        read.await.map_err(self.failed("ask for its role"))
    }

    /// Makes an error of a question out of the driver's error.
    pub fn failed(&self, what: &'static str) -> impl FnOnce(tokio_postgres::Error) -> ControlError {
        move |source| ControlError::Query { node: self.node.name.clone(), url: self.node.url.to_string(), what, source }
    }

    async fn run(&self, what: &'static str, sql: &str) -> Result<(), ControlError> {
        self.client.batch_execute(sql).await.map_err(self.failed(what))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
    }
}
