//! Which view an export is of.

use serde::{Deserialize, Serialize};
use splitproof_capture::trace::Engine;

/// A view that counts statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// PostgreSQL's `pg_stat_statements`.
    PgStatStatements,
    /// `performance_schema.events_statements_summary_by_digest` of MySQL and MariaDB.
    PerformanceSchema,
    /// `stats_mysql_query_digest` of ProxySQL.
    ProxySql,
}

/// The columns of a view that are used. Each may have several names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    pub text: &'static [&'static str],
    pub calls: &'static [&'static str],
    pub time: &'static [&'static str],
    /// How many of the time's units make a millisecond.
    pub per_ms: f64,
    /// Those that together name a row.
    pub key: &'static [&'static str],
    /// False for statements that ran inside a function.
    pub top: Option<&'static str>,
    pub hostgroup: Option<&'static str>,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Kind] = &[Kind::PgStatStatements, Kind::PerformanceSchema, Kind::ProxySql];

    /// The view's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::PgStatStatements => "pg_stat_statements",
            Kind::PerformanceSchema => "events_statements_summary_by_digest",
            Kind::ProxySql => "stats_mysql_query_digest",
        }
    }

    /// Whose statements it counts.
    pub fn engine(self) -> Engine {
        match self {
            Kind::PgStatStatements => Engine::Postgresql,
            Kind::PerformanceSchema | Kind::ProxySql => Engine::Mysql,
        }
    }

    pub(super) fn columns(self) -> Columns {
        match self {
            Kind::PgStatStatements => Columns {
                text: &["query"],
                calls: &["calls"],
                // Up to version 12 planning was not told apart.
                time: &["total_exec_time", "total_time"],
                per_ms: 1.0,
                key: &["userid", "dbid", "queryid", "toplevel"],
                top: Some("toplevel"),
                hostgroup: None,
            },
            Kind::PerformanceSchema => Columns {
                text: &["digest_text"],
                calls: &["count_star"],
                time: &["sum_timer_wait"],
                per_ms: 1e9,
                key: &["schema_name", "digest"],
                top: None,
                hostgroup: None,
            },
            Kind::ProxySql => Columns {
                text: &["digest_text"],
                calls: &["count_star"],
                time: &["sum_time"],
                per_ms: 1e3,
                key: &["hostgroup", "schemaname", "username", "client_address", "digest"],
                top: None,
                hostgroup: Some("hostgroup"),
            },
        }
    }
}
