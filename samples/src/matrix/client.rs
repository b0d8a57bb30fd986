//! One connection of a session on the stage, whatever the engine.

use anyhow::{Result, bail};
use splitproof_capture::checksum::Checksums;
use splitproof_capture::mysql::Kind;
use splitproof_capture::trace::Engine;

use crate::sandbox::DATABASE;
use crate::shop::Role;
use crate::shop::client::Client as Postgresql;
use crate::shop::wire::Wire as Mysql;

/// A connection.
#[derive(Debug)]
pub enum Client {
    /// To PostgreSQL.
    Postgresql(Postgresql),
    /// To MariaDB.
    Mysql(Mysql),
}

impl Client {
    /// Connects to a port on 127.0.0.1.
    pub async fn connect(engine: Engine, port: u16) -> Result<Self> {
        Ok(match engine {
            Engine::Postgresql => Self::Postgresql(Postgresql::connect(port, "shop", DATABASE, "matrix").await?),
            Engine::Mysql => Self::Mysql(Mysql::connect(port, Role::Shop).await?),
        })
    }

    /// Runs a statement: as a text, or with a parameter as a prepared statement of the protocol. With MariaDB that is a number,
    /// and a result of such a statement is one column of numbers.
    pub async fn run(&mut self, sql: &str, param: Option<&str>) -> Result<()> {
        let error = match (self, param) {
            (Self::Postgresql(client), None) => client.query(sql).await?.error,
            (Self::Postgresql(client), Some(param)) => {
                client.parse("", sql, &[])?.bind("", "", &[Some(param)])?.execute("", 0)?;
                client.sync().await?.error
            }
            (Self::Mysql(client), None) => client.query(sql).await?.error.map(number),
            (Self::Mysql(client), Some(param)) => {
                let statement = client.prepare(sql).await?;
                let answer = client.execute(statement, param.parse()?, &[Kind::LONG]).await?;
                client.close(statement).await?;
                answer.error.map(number)
            }
        };
        match error {
            None => Ok(()),
            Some((code, message)) => bail!("{sql}: error {code} {message}"),
        }
    }

    /// The checksum of the rows that a text answers, as the recorder takes it of a single result set.
    pub async fn checksum(&mut self, sql: &str) -> Result<u128> {
        let (rows, error) = match self {
            Self::Postgresql(client) => client.query(sql).await.map(|answer| (answer.bodies, answer.error))?,
            Self::Mysql(client) => client.query(sql).await.map(|answer| (answer.bodies, answer.error.map(number)))?,
        };
        if let Some((code, message)) = error {
            bail!("{sql}: error {code} {message}");
        }
        let mut sums = Checksums::new();
        rows.iter().for_each(|row| sums.row(row));
        sums.end_result(&[]);
        Ok(sums.digest().rows)
    }

    /// Says goodbye.
    pub async fn quit(self) -> Result<()> {
        match self {
            Self::Postgresql(client) => client.terminate().await.map(drop)?,
            Self::Mysql(client) => client.quit().await.map(drop)?,
        }
        Ok(())
    }
}

fn number(code: u16) -> (String, String) {
    (code.to_string(), String::new())
}
