//! A control connection to MySQL or MariaDB.

use std::time::Duration;

use mysql_async::prelude::{FromValue, Queryable};
use mysql_async::{Conn, Row};
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use super::{DriverError, Identity, Lineage};
use crate::pair::{Passwords, Role, Url};

/// The driver has no limit of its own for connecting.
const CONNECT: Duration = Duration::from_secs(10);

/// A syntax error: the server is of a version that has another word for it.
const PARSE_ERROR: u16 = 1064;

/// The first statement of every control connection, by which it is known in a general log that holds it.
pub(crate) const OPENING: &str = "SELECT @@version /* the control connection of splitproof */";

/// Which of the two families of servers it is: they share a protocol, and differ in replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// MariaDB.
    Mariadb,
    /// MySQL, or Percona Server.
    Mysql,
}

/// A control connection to MySQL or MariaDB.
#[derive(Debug)]
pub struct MysqlControl {
    connection: Mutex<Conn>,
    thread: u32,
    family: Family,
    version: String,
}

impl MysqlControl {
    pub(super) async fn open(url: &Url, passwords: &Passwords) -> Result<Self, DriverError> {
        let connecting = Conn::new(url.mysql_control(passwords));
        let mut connection = timeout(CONNECT, connecting).await.map_err(|_| DriverError::Silent)??;
        let row = connection.query_first::<Row, _>(OPENING).await?;
        let version = required(row.as_ref(), "@@version", text)?;
        let family = if version.contains("MariaDB") { Family::Mariadb } else { Family::Mysql };
        Ok(MysqlControl { thread: connection.id(), connection: Mutex::new(connection), family, version })
    }

    /// Our own questions must not wait for a lock for ever. Times are told in UTC, which has no hour twice. Where the user may
    /// say so, our questions stay out of the general log, which may be the evidence.
    pub(super) async fn set_up(&self) -> Result<(), DriverError> {
        let limit = match self.family {
            Family::Mariadb => "max_statement_time = 30",
            Family::Mysql => "max_execution_time = 30000",
        };
        let mut connection = self.connection.lock().await;
        connection.query_drop(format!("SET SESSION {limit}, lock_wait_timeout = 5, time_zone = '+00:00'")).await?;
        match connection.query_drop("SET SESSION sql_log_off = 1").await {
            Ok(()) | Err(mysql_async::Error::Server(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Which family of servers it is.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The server's number for this connection, by which it stands in the general log.
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Asks for rows.
    pub async fn rows(&self, sql: &str) -> Result<Vec<Row>, DriverError> {
        Ok(self.connection.lock().await.query(sql).await?)
    }

    /// Asks for one row.
    pub async fn row(&self, sql: &str) -> Result<Row, DriverError> {
        self.connection.lock().await.query_first(sql).await?.ok_or(DriverError::Empty)
    }

    /// Asks for rows, and hands each on as it comes, until nobody takes them any more. Nothing else can be asked meanwhile.
    pub(crate) async fn stream(&self, sql: &str, to: mpsc::Sender<Row>) -> Result<(), DriverError> {
        let mut connection = self.connection.lock().await;
        let mut rows = connection.query_iter(sql).await?;
        while let Some(row) = rows.next().await? {
            if to.send(row).await.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// From here on statements of ours may take as long as they need.
    pub(crate) async fn unlimited(&self) -> Result<(), DriverError> {
        self.run(match self.family {
            Family::Mariadb => "SET SESSION max_statement_time = 0",
            Family::Mysql => "SET SESSION max_execution_time = 0",
        })
        .await
    }

    /// Runs a statement.
    pub async fn run(&self, sql: &str) -> Result<(), DriverError> {
        Ok(self.connection.lock().await.query_drop(sql).await?)
    }

    /// Asks who it is. A server that replicates from another and yet takes writes can be either end of a circle: it is
    /// what `pair.toml` says.
    pub(crate) async fn identity(&self, declared: Role) -> Result<Identity, DriverError> {
        let server = match self.family {
            Family::Mariadb => "CONCAT('server_id ', @@GLOBAL.server_id)",
            Family::Mysql => "@@GLOBAL.server_uuid",
        };
        let row = self.row(&format!("SELECT {server} AS server, @@GLOBAL.read_only AS read_only")).await?;
        let read_only = is_on(&required(Some(&row), "read_only", text)?);
        let sources = self.sources().await?;
        let role = match (sources.is_empty(), read_only) {
            (true, _) => Role::Primary,
            (false, true) => Role::Replica,
            (false, false) => declared,
        };
        let lineage = Lineage::Replication { server: required(Some(&row), "server", text)?, sources, read_only };
        Ok(Identity { role, lineage, version: self.version.clone() })
    }

    /// The servers that it replicates from.
    pub async fn sources(&self) -> Result<Vec<String>, DriverError> {
        let mut rows = match self.family {
            Family::Mariadb => self.rows("SHOW ALL SLAVES STATUS").await,
            Family::Mysql => self.rows("SHOW REPLICA STATUS").await,
        };
        if let Err(DriverError::Mysql(error)) = &rows
            && matches!(&**error, mysql_async::Error::Server(error) if error.code == PARSE_ERROR)
        {
            rows = self.rows("SHOW SLAVE STATUS").await;
        }
        rows?.iter().map(|row| source(row, self.family)).collect()
    }

    pub(super) async fn time_us(&self) -> Result<i64, DriverError> {
        let row = self.row("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) AS now").await?;
        required(Some(&row), "now", value)
    }
}

/// A source as [`Lineage::Replication`] names it. Its number is not known before the first contact.
fn source(row: &Row, family: Family) -> Result<String, DriverError> {
    let named = |names: [&str; 2]| match text(row, names[0]) {
        Ok(Some(found)) => Ok(Some(found)),
        _ => text(row, names[1]),
    };
    let known = match family {
        Family::Mariadb => text(row, "Master_Server_Id")?.filter(|id| id != "0").map(|id| format!("server_id {id}")),
        Family::Mysql => named(["Source_UUID", "Master_UUID"])?.filter(|uuid| !uuid.is_empty()),
    };
    if let Some(known) = known {
        return Ok(known);
    }
    let host = named(["Source_Host", "Master_Host"])?.unwrap_or_default();
    let port = named(["Source_Port", "Master_Port"])?.unwrap_or_default();
    Ok(format!("{host}:{port}, which it has not reached yet"))
}

/// The value of a variable that is off, on, or on to some degree.
pub(crate) fn is_on(value: &str) -> bool {
    !(value == "0" || value.eq_ignore_ascii_case("OFF"))
}

/// A column as text; `None` is NULL. What is not UTF-8 is replaced.
pub(crate) fn text(row: &Row, name: &str) -> Result<Option<String>, DriverError> {
    let bytes: Option<Vec<u8>> = value(row, name)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// A column as a value; `None` is NULL.
pub(crate) fn value<T: FromValue>(row: &Row, name: &str) -> Result<Option<T>, DriverError> {
    match row.get_opt::<Option<T>, &str>(name) {
        Some(Ok(value)) => Ok(value),
        Some(Err(_)) | None => Err(DriverError::Column(name.to_owned())),
    }
}

/// A column that is not NULL.
pub(crate) fn required<T>(
    row: Option<&Row>,
    name: &str,
    read: impl Fn(&Row, &str) -> Result<Option<T>, DriverError>,
) -> Result<T, DriverError> {
    read(row.ok_or(DriverError::Empty)?, name)?.ok_or_else(|| DriverError::Column(name.to_owned()))
}
