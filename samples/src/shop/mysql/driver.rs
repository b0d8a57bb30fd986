//! A client on a comfortable library, [`mysql_async`]: what an application of today sends.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use bytes::Bytes;
use futures::StreamExt;
use mysql_async::prelude::{Protocol, Queryable};
use mysql_async::{Conn, OptsBuilder, Params, QueryResult, Row, Statement, Value};

use super::Answer;
use crate::sandbox::DATABASE;
use crate::shop::session::Role;

/// Why a client cannot go on. What a server refuses is an `Answer`.
pub type Broken = mysql_async::Error;

/// One connection.
#[derive(Debug)]
pub struct Driver {
    conn: Conn,
    prepared: BTreeMap<&'static str, Statement>,
    requests: u64,
}

impl Driver {
    /// Connects. The library asks the server for two settings before it is ready.
    pub async fn connect(port: u16, role: Role) -> Result<Self, Broken> {
        let attributes = [("program_name".to_owned(), role.application().to_owned())];
        let options = OptsBuilder::default()
            .ip_or_hostname("127.0.0.1")
            .tcp_port(port)
            // Else the library would notice that the server is near, and walk around a router.
            .prefer_socket(false)
            .user(Some(role.user()))
            .db_name(Some(DATABASE))
            .connect_attributes(attributes.into())
            // Statements live as long as this client keeps them, not as long as the library likes.
            .stmt_cache_size(0);
        Ok(Self { conn: Conn::new(options).await?, prepared: BTreeMap::new(), requests: 2 })
    }

    /// Requests sent so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Runs a text, which may hold several statements, in the text protocol.
    pub async fn query(&mut self, sql: &str) -> Result<Answer, Broken> {
        self.requests += 1;
        match self.conn.query_iter(sql).await {
            Ok(results) => read(results).await,
            Err(error) => refused(error),
        }
    }

    /// Runs a text that loads a file of the client's; `data` is what stands in the file.
    pub async fn load(&mut self, sql: &str, data: String) -> Result<Answer, Broken> {
        self.conn.set_infile_handler(async move { Ok(futures::stream::iter([Ok(Bytes::from(data))]).boxed()) });
        self.query(sql).await
    }

    /// Runs a statement in the binary protocol. It is prepared once and then kept.
    pub async fn execute(&mut self, sql: &'static str, params: impl Into<Params>) -> Result<Answer, Broken> {
        let statement = match self.prepared.entry(sql) {
            Entry::Occupied(kept) => kept.into_mut(),
            Entry::Vacant(place) => {
                self.requests += 1;
                place.insert(self.conn.prep(sql).await?)
            }
        };
        self.requests += 1;
        match self.conn.exec_iter(&*statement, params).await {
            Ok(results) => read(results).await,
            Err(error) => refused(error),
        }
    }

    /// Prepares a statement, runs it for several rows in one go, as MariaDB can, and forgets it.
    pub async fn execute_for(&mut self, sql: &str, rows: Vec<Params>) -> Result<Answer, Broken> {
        self.requests += 3;
        let statement = self.conn.prep(sql).await?;
        let answer = match self.conn.exec_batch(&statement, rows).await {
            Ok(()) => Answer::default(),
            Err(error) => refused(error)?,
        };
        self.conn.close(statement).await?;
        Ok(answer)
    }

    /// Prepares a statement, runs it once, and forgets it.
    pub async fn execute_once(&mut self, sql: &str, params: impl Into<Params>) -> Result<Answer, Broken> {
        self.requests += 3;
        let statement = self.conn.prep(sql).await?;
        let answer = match self.conn.exec_iter(&statement, params).await {
            Ok(results) => read(results).await?,
            Err(error) => refused(error)?,
        };
        self.conn.close(statement).await?;
        Ok(answer)
    }

    /// Asks whether the server is there, and for a session as new, as a pool does before it lends a connection.
    pub async fn recycle(&mut self) -> Result<(), Broken> {
        self.requests += 2;
        self.conn.ping().await?;
        // The server forgets the statements as well.
        self.prepared.clear();
        self.conn.reset().await.map(drop)
    }

    /// Says goodbye.
    pub async fn quit(self) -> Result<u64, Broken> {
        self.conn.disconnect().await?;
        Ok(self.requests + 1)
    }
}

/// Reads every result to its end.
async fn read<P: Protocol>(mut results: QueryResult<'_, 'static, P>) -> Result<Answer, Broken> {
    let mut answer = Answer::default();
    while !results.is_empty() {
        match results.collect::<Row>().await {
            Ok(rows) => answer.rows(rows.len(), rows.first().and_then(|row| row.as_ref(0)).and_then(text)),
            Err(error) => return refused(error),
        }
    }
    Ok(answer)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        _ => None,
    }
}

fn refused(error: Broken) -> Result<Answer, Broken> {
    match error {
        Broken::Server(error) => Ok(Answer::refused(error.code)),
        error => Err(error),
    }
}
