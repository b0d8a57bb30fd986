//! The router's own questions to the servers: positions and lag.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::router::config::Config;
use crate::router::node::{NodeId, Nodes, PRIMARY};
use crate::router::position::Unasked;

/// How long a server may take to let the router in.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at a replica that has not arrived yet; doubled up to the longest.
const SHORTEST: Duration = Duration::from_micros(500);
const LONGEST: Duration = Duration::from_millis(10);

/// A replica without anything to apply does not lag, however old its last transaction is.
const LAG: &str = "SELECT CASE WHEN pg_last_wal_receive_lsn() IS NOT DISTINCT FROM pg_last_wal_replay_lsn() THEN 0 \
                   ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END";

const FLUSHED: &str = "SELECT pg_current_wal_flush_lsn()";

/// Whether an LSN is the end of a page of 8 KiB.
fn ends_page(lsn: &str) -> bool {
    let low = lsn.rsplit('/').next().and_then(|low| u32::from_str_radix(low, 16).ok());
    low.is_some_and(|low| low.is_multiple_of(8192))
}

/// One connection per server, opened when it is needed.
#[derive(Debug)]
pub struct Control {
    user: String,
    password: Option<String>,
    database: String,
    clients: Vec<Mutex<Option<Arc<Client>>>>,
}

impl Control {
    /// Nothing is opened yet.
    pub fn new(config: &Config, nodes: usize) -> Self {
        let user = config.control.user.clone().unwrap_or_else(|| "postgres".to_owned());
        Control {
            password: config.password(&user).map(str::to_owned),
            user,
            database: config.control.database.clone().unwrap_or_else(|| "postgres".to_owned()),
            clients: (0..nodes).map(|_| Mutex::new(None)).collect(),
        }
    }

    /// The end of what the primary has flushed: every commit that was answered lies before it, unless its session
    /// turned synchronous_commit off.
    ///
    /// The log is flushed in pages where nobody waits for it, so that a page can end within a record whose rest follows with the
    /// next commit. A replica cannot apply half a record and would not arrive there; a commit of our own completes it.
    pub async fn primary(&self, nodes: &Nodes) -> Result<Arc<str>, Unasked> {
        let flushed = self.ask(nodes, PRIMARY, FLUSHED).await?;
        if !ends_page(&flushed) {
            return Ok(flushed.into());
        }
        self.ask(nodes, PRIMARY, "SELECT pg_logical_emit_message(true, 'splitproof-router', '')").await?;
        self.ask(nodes, PRIMARY, FLUSHED).await.map(Arc::from)
    }

    /// Waits until a replica has applied everything up to an LSN.
    pub async fn wait(&self, nodes: &Nodes, node: NodeId, lsn: &str, patience: Duration) -> Result<bool, Unasked> {
        let question = format!("SELECT pg_last_wal_replay_lsn() >= '{lsn}'");
        let deadline = Instant::now() + patience;
        let mut pause = SHORTEST;
        loop {
            if self.ask(nodes, node, &question).await? == "t" {
                return Ok(true);
            }
            if Instant::now() + pause > deadline {
                return Ok(false);
            }
            tokio::time::sleep(pause).await;
            pause = LONGEST.min(pause * 2);
        }
    }

    /// How far a replica is behind.
    pub async fn lag(&self, nodes: &Nodes, node: NodeId) -> Result<Duration, Unasked> {
        let seconds = self.ask(nodes, node, LAG).await?;
        let seconds: f64 = seconds.parse().map_err(|_| Unasked(format!("the lag is {seconds:?}, not a number")))?;
        Ok(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX))
    }

    /// The only value of a question's only row.
    async fn ask(&self, nodes: &Nodes, node: NodeId, question: &str) -> Result<String, Unasked> {
        let client = self.client(nodes, node).await?;
        let rows = client.simple_query(question).await.map_err(|error| Unasked(describe(&error)))?;
        let value = rows.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        value.ok_or_else(|| Unasked(format!("no answer to {question}")))
    }

    async fn client(&self, nodes: &Nodes, node: NodeId) -> Result<Arc<Client>, Unasked> {
        let unknown = || Unasked("there is no such server".to_owned());
        let address = &nodes.get(node).ok_or_else(unknown)?.control;
        let mut slot = self.clients.get(node).ok_or_else(unknown)?.lock().await;
        if let Some(client) = slot.as_ref().filter(|client| !client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        let (host, port) = address.rsplit_once(':').ok_or_else(|| Unasked(format!("{address}: no port")))?;
        let mut config = tokio_postgres::Config::new();
        config.host(host).user(&self.user).dbname(&self.database).application_name("splitproof-router");
        config.port(port.parse().map_err(|_| Unasked(format!("{address}: no port")))?).connect_timeout(PATIENCE);
        if let Some(password) = &self.password {
            config.password(password);
        }
        let (client, connection) = config.connect(NoTls).await.map_err(|error| Unasked(describe(&error)))?;
        // It ends with the client; what went wrong is told to whoever asks.
        tokio::spawn(async move { drop(connection.await) });
        let client = Arc::new(client);
        *slot = Some(Arc::clone(&client));
        Ok(client)
    }
}

fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_page_is_recognised() {
        assert!(ends_page("0/3002000") && ends_page("A/0"));
        assert!(!ends_page("0/3002028") && !ends_page("nonsense"));
    }
}
