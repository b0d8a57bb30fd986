//! The formats by name.

use super::maxscale;
use super::mysql;
use super::pgpool;
use super::postgresql::{self, Prefix};
use super::proxysql;
use super::{Reader, Zone};
use crate::trace::Engine;

macro_rules! formats {
    ($($(#[doc = $doc:literal])* $name:ident = $word:literal, $engine:ident;)*) => {
        /// A kind of server log.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Format { $($(#[doc = $doc])* $name,)* }

        impl Format {
            /// Every format.
            pub const ALL: &[Format] = &[$(Format::$name),*];

            /// The name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Format::$name => $word,)* }
            }

            /// The kind of server that the statements are for.
            pub fn engine(self) -> Engine {
                match self { $(Format::$name => Engine::$engine,)* }
            }

            /// What it is, for `--help`.
            pub fn meaning(self) -> &'static str {
                match self { $(Format::$name => concat!($($doc),*).trim_ascii(),)* }
            }
        }
    };
}

formats! {
    /// PostgreSQL's csvlog, of any version
    PostgresqlCsv = "postgresql-csv", Postgresql;
    /// PostgreSQL's jsonlog, also as CloudNativePG, Google Cloud SQL and Docker wrap it
    PostgresqlJson = "postgresql-json", Postgresql;
    /// PostgreSQL's text log, from stderr or syslog, with any log_line_prefix
    PostgresqlStderr = "postgresql-stderr", Postgresql;
    /// The general log of MySQL and MariaDB, of any version
    MysqlGeneral = "mysql-general", Mysql;
    /// The slow log of MySQL, MariaDB and Percona Server, of any version
    MysqlSlow = "mysql-slow", Mysql;
    /// ProxySQL's events log as JSON (mysql-eventslog_format 2)
    ProxysqlJson = "proxysql-json", Mysql;
    /// ProxySQL's events log in its binary format, of any version (mysql-eventslog_format 1)
    ProxysqlBinary = "proxysql-binary", Mysql;
    /// MaxScale's query log (QLA filter), of any version
    MaxscaleQla = "maxscale-qla", Mysql;
    /// pgpool-II's log, of log_client_messages, log_statement or log_per_node_statement
    Pgpool = "pgpool", Postgresql;
}

/// What the log itself does not tell.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The zone of times that are written without one, or with one that can be read in several ways.
    pub zone: Option<Zone>,
    /// The year in which a log begins whose times do not tell it; `None` takes the last one that is possible.
    pub year: Option<i16>,
    /// PostgreSQL: `log_line_prefix`; `None` recognises the usual ones.
    pub prefix: Option<Prefix>,
}

impl Format {
    /// The format of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Format::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// What places in it are counted in.
    pub(super) fn unit(self) -> &'static str {
        if self == Format::ProxysqlBinary { "byte" } else { "line" }
    }

    /// Something that reads it.
    pub(super) fn reader(self, settings: &Settings) -> Box<dyn Reader> {
        match self {
            Format::PostgresqlCsv => Box::new(postgresql::Csv::new(settings)),
            Format::PostgresqlJson => Box::new(postgresql::Json::new(settings)),
            Format::PostgresqlStderr => Box::new(postgresql::Stderr::new(settings)),
            Format::MysqlGeneral => Box::new(mysql::General::new(settings)),
            Format::MysqlSlow => Box::new(mysql::Slow::new(settings)),
            Format::ProxysqlJson => Box::new(proxysql::Json::new(settings)),
            Format::ProxysqlBinary => Box::new(proxysql::Binary::new(settings)),
            Format::MaxscaleQla => Box::new(maxscale::Qla::new(settings)),
            Format::Pgpool => Box::new(pgpool::Pgpool::new(settings)),
        }
    }
}
