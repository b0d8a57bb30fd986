//! What ProxySQL does with SET.
//!
//! It takes most session variables for itself, answers, and sets them on every connection that the session uses. What it cannot take locks the
//! session to the hostgroup where the statement runs (`mysql-set_query_lock_on_hostgroup`).

use splitproof_capture::sql::mysql::{Mode, facts};
use splitproof_capture::sql::{Scope, StatementKind};

/// What becomes of a SET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Set {
    /// ProxySQL answers, and sets it where the session goes.
    Kept,
    /// `SET autocommit`, alone or among others.
    Autocommit(bool),
    /// It is sent on, and locks the session to its hostgroup.
    Locks(&'static str),
}

/// Variables that ProxySQL tracks (`mysql_tracked_variables`), and those that it takes and ignores.
const TRACKED: &[&str] = &[
    "aurora_read_replica_read_committed",
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "character_set_client",
    "character_set_connection",
    "character_set_database",
    "character_set_results",
    "collation_connection",
    "default_storage_engine",
    "default_tmp_storage_engine",
    "foreign_key_checks",
    "group_concat_max_len",
    "group_replication_consistency",
    "gtid_next",
    "innodb_lock_wait_timeout",
    "innodb_strict_mode",
    "innodb_table_locks",
    "interactive_timeout",
    "join_buffer_size",
    "lc_messages",
    "lc_time_names",
    "lock_wait_timeout",
    "log_slow_filter",
    "long_query_time",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_sort_length",
    "max_statement_time",
    "net_buffer_length",
    "net_read_timeout",
    "net_write_timeout",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "optimizer_use_condition_selectivity",
    "profiling",
    "query_cache_type",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "session_track_gtids",
    "session_track_schema",
    "session_track_system_variables",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_generate_invisible_primary_key",
    "sql_log_bin",
    "sql_mode",
    "sql_quote_show_create",
    "sql_require_primary_key",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "tx_read_only",
    "unique_checks",
    "wait_timeout",
    "wsrep_osu_method",
    "wsrep_sync_wait",
];

/// Those among them whose value must be a number.
const NUMERIC: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "group_concat_max_len",
    "innodb_lock_wait_timeout",
    "join_buffer_size",
    "lock_wait_timeout",
    "long_query_time",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_sort_length",
    "max_statement_time",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "sort_buffer_size",
    "timestamp",
    "tmp_table_size",
    "wsrep_sync_wait",
];

/// What becomes of a text whose digest begins with SET.
pub fn set(sql: &str) -> Set {
    let facts = facts(sql, &Mode::default());
    let [statement] = facts.statements.as_slice() else {
        return Set::Locks("several statements with a SET");
    };
    match &statement.kind {
        StatementKind::SetTransaction(_) | StatementKind::SetCharacteristics(_) => return Set::Kept,
        StatementKind::SetVariables => {}
        // SET PASSWORD, SET ROLE, SET STATEMENT ... FOR
        _ => return Set::Locks("a SET that ProxySQL does not understand"),
    }
    let mut autocommit = None;
    for assignment in &statement.state.assignments {
        let name = assignment.name.as_str();
        let value = assignment.value.as_deref();
        let expression = value.is_none_or(|value| value.contains('@'));
        match (assignment.scope, name) {
            (Scope::User, _) => return Set::Locks("a user variable"),
            (Scope::Global | Scope::Persist, _) => return Set::Locks("a variable that is not the session's"),
            (_, "names" | "character_set" | "charset") if !expression => {}
            (_, "autocommit") => match value.map(str::to_ascii_lowercase).as_deref() {
                Some("0" | "off" | "false") => autocommit = Some(false),
                Some("1" | "on" | "true") => autocommit = Some(true),
                _ => return Set::Locks("autocommit with a value that is not plain"),
            },
            (_, "sql_mode") => {
                if foreign_variable(sql) {
                    return Set::Locks("sql_mode from another variable");
                }
            }
            (_, name) if NUMERIC.contains(&name) => {
                let number =
                    value.is_some_and(|value| value.parse::<f64>().is_ok() || value.eq_ignore_ascii_case("default"));
                if !number {
                    return Set::Locks("a number that is not written out");
                }
            }
            (_, name) if TRACKED.contains(&name) => {
                if expression {
                    return Set::Locks("a value from another variable");
                }
            }
            _ => return Set::Locks("a variable that ProxySQL does not track"),
        }
    }
    match autocommit {
        Some(on) => Set::Autocommit(on),
        None if statement.state.assignments.is_empty() => Set::Locks("a SET that ProxySQL does not understand"),
        None => Set::Kept,
    }
}

/// Whether a text has a variable other than `@@sql_mode`.
fn foreign_variable(sql: &str) -> bool {
    let lower = sql.to_ascii_lowercase();
    let mut rest = lower.as_str();
    while let Some(at) = rest.find('@') {
        let here = rest.get(at..).unwrap_or_default();
        let own = ["@@sql_mode", "@@session.sql_mode", "@@local.sql_mode"].iter().find(|own| here.starts_with(**own));
        match own {
            Some(own) => rest = here.get(own.len()..).unwrap_or_default(),
            None => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_and_what_locks() {
        for sql in [
            "SET NAMES utf8mb4",
            "SET NAMES utf8 COLLATE utf8_general_ci",
            "SET sql_mode = 'STRICT_ALL_TABLES'",
            "SET SESSION sql_mode=CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')",
            "SET time_zone = '+00:00', foreign_key_checks = 0",
            "SET @@session.wait_timeout = 28800",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET CHARACTER SET utf8",
        ] {
            assert_eq!(set(sql), Set::Kept, "{sql}");
        }
        for sql in [
            "SET @a = 5",
            "SET GLOBAL max_connections = 10",
            "SET SESSION max_allowed_packet = 1",
            "SET sql_mode = @old_mode",
            "SET time_zone = @tz",
            "SET long_query_time = @x",
            "SET sql_mode = '', @a = 1",
            "SET SQL_MODE='ANSI'; SELECT 1",
            "SET PASSWORD = 'x'",
        ] {
            assert!(matches!(set(sql), Set::Locks(_)), "{sql}: {:?}", set(sql));
        }
        assert_eq!(set("SET autocommit=0"), Set::Autocommit(false));
        assert_eq!(set("SET NAMES utf8, @@session.autocommit = ON"), Set::Autocommit(true));
    }
}
