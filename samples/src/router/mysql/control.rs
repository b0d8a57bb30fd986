//! The router's own questions to the servers: positions and lag.
//!
//! MariaDB tells its position as a GTID list, and a replica waits for one with `MASTER_GTID_WAIT`. MySQL tells a set of
//! GTIDs, and waits with `WAIT_FOR_EXECUTED_GTID_SET`.

use std::sync::Arc;
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Pool, PoolConstraints, PoolOpts};
use tokio::sync::OnceCell;

use crate::router::config::Config;
use crate::router::node::{NodeId, Nodes, PRIMARY};
use crate::router::position::Unasked;

/// Connections per server: so many reads wait at a time.
const MOST: usize = 64;

/// Connections to each server, opened when they are needed.
#[derive(Debug)]
pub struct Control {
    user: String,
    password: Option<String>,
    pools: Vec<OnceCell<Pool>>,
    mariadb: OnceCell<bool>,
}

impl Control {
    /// Nothing is opened yet.
    pub fn new(config: &Config, nodes: usize) -> Self {
        let user = config.control.user.clone().unwrap_or_else(|| "root".to_owned());
        let pools = (0..nodes).map(|_| OnceCell::new()).collect();
        Control { password: config.password(&user).map(str::to_owned), user, pools, mariadb: OnceCell::new() }
    }

    /// The position behind everything that the primary has committed.
    pub async fn primary(&self, nodes: &Nodes) -> Result<Arc<str>, Unasked> {
        let question = if self.is_mariadb(nodes).await? {
            "SELECT @@GLOBAL.gtid_binlog_pos"
        } else {
            "SELECT REPLACE(@@GLOBAL.gtid_executed, '\\n', '')"
        };
        let position: Option<String> = self.ask(nodes, PRIMARY, question).await?;
        Ok(position.unwrap_or_default().into())
    }

    /// Waits until a replica has applied everything up to a position.
    pub async fn wait(&self, nodes: &Nodes, node: NodeId, position: &str, patience: Duration) -> Result<bool, Unasked> {
        if position.is_empty() {
            return Ok(true);
        }
        let seconds = patience.as_secs_f64();
        let question = if self.is_mariadb(nodes).await? {
            format!("SELECT MASTER_GTID_WAIT('{position}', {seconds:.3})")
        } else {
            format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{position}', {seconds:.3})")
        };
        Ok(self.ask::<i64>(nodes, node, &question).await? == Some(0))
    }

    /// How far a replica is behind.
    pub async fn lag(&self, nodes: &Nodes, node: NodeId) -> Result<Duration, Unasked> {
        let question = if self.is_mariadb(nodes).await? { "SHOW SLAVE STATUS" } else { "SHOW REPLICA STATUS" };
        let mut connection = self.connection(nodes, node).await?;
        let row: Option<mysql_async::Row> = connection.query_first(question).await.map_err(unasked)?;
        let row = row.ok_or_else(|| Unasked("it is no replica".to_owned()))?;
        let column = |name: &str| row.columns_ref().iter().position(|column| column.name_str() == name);
        let at = column("Seconds_Behind_Master").or_else(|| column("Seconds_Behind_Source"));
        let seconds: Option<u64> = at.and_then(|at| row.get_opt(at)).and_then(Result::ok).flatten();
        seconds.map(Duration::from_secs).ok_or_else(|| Unasked("it does not replicate".to_owned()))
    }

    async fn is_mariadb(&self, nodes: &Nodes) -> Result<bool, Unasked> {
        let ask = async {
            let version: Option<String> = self.ask(nodes, PRIMARY, "SELECT VERSION()").await?;
            Ok(version.unwrap_or_default().contains("MariaDB"))
        };
        self.mariadb.get_or_try_init(|| ask).await.copied()
    }

    /// The only value of a question's only row.
    async fn ask<T>(&self, nodes: &Nodes, node: NodeId, question: &str) -> Result<Option<T>, Unasked>
    where
        T: mysql_async::prelude::FromValue + Send + 'static,
    {
        let mut connection = self.connection(nodes, node).await?;
        let value: Option<Option<T>> = connection.query_first(question).await.map_err(unasked)?;
        Ok(value.flatten())
    }

    async fn connection(&self, nodes: &Nodes, node: NodeId) -> Result<Conn, Unasked> {
        let unknown = || Unasked("there is no such server".to_owned());
        let address = &nodes.get(node).ok_or_else(unknown)?.control;
        let pool = self.pools.get(node).ok_or_else(unknown)?;
        let open = async {
            let (host, port) = address.rsplit_once(':').ok_or_else(|| Unasked(format!("{address}: no port")))?;
            let port = port.parse().map_err(|_| Unasked(format!("{address}: no port")))?;
            let constraints = PoolConstraints::new(0, MOST).ok_or_else(unknown)?;
            let pool = PoolOpts::new().with_constraints(constraints).with_reset_connection(false);
            let options = OptsBuilder::default().ip_or_hostname(host).tcp_port(port).user(Some(&self.user));
            // Else it would look for the server's socket and go round a tap.
            let options = options.pass(self.password.as_deref()).prefer_socket(false).pool_opts(pool);
            Ok(Pool::new(options))
        };
        pool.get_or_try_init(|| open).await?.get_conn().await.map_err(unasked)
    }
}

fn unasked(error: mysql_async::Error) -> Unasked {
    Unasked(error.to_string())
}
