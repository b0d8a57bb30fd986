//! What is known of PostgreSQL's own functions and views beside their declared volatility.

use std::sync::Arc;

use splitproof_replay::catalog::Volatility;

use super::{Call, Variation};

/// Names by volatility, made from a fresh cluster by `postgresql_functions.sql`.
pub(in crate::intent) const TABLE: &str = include_str!("postgresql_functions.txt");

/// Declared volatile, and yet they change nothing and work on a replica. The names of later versions are included.
const CHANGE_NOTHING: &[&str] = &[
    "clock_timestamp",
    "current_query",
    "gen_random_uuid",
    "pg_blocking_pids",
    "pg_collation_actual_version",
    "pg_control_checkpoint",
    "pg_control_init",
    "pg_control_recovery",
    "pg_control_system",
    "pg_current_logfile",
    "pg_database_collation_actual_version",
    "pg_database_size",
    "pg_get_backend_memory_contexts",
    "pg_get_multixact_members",
    "pg_get_shmem_allocations",
    "pg_get_wal_replay_pause_state",
    "pg_get_wal_resource_managers",
    "pg_hba_file_rules",
    "pg_ident_file_mappings",
    "pg_indexes_size",
    "pg_is_in_recovery",
    "pg_is_wal_replay_paused",
    "pg_jit_available",
    "pg_last_wal_receive_lsn",
    "pg_last_wal_replay_lsn",
    "pg_last_xact_replay_timestamp",
    "pg_lock_status",
    "pg_ls_archive_statusdir",
    "pg_ls_dir",
    "pg_ls_logdir",
    "pg_ls_logicalmapdir",
    "pg_ls_logicalsnapdir",
    "pg_ls_replslotdir",
    "pg_ls_tmpdir",
    "pg_ls_waldir",
    "pg_partition_ancestors",
    "pg_partition_tree",
    "pg_prepared_xact",
    "pg_read_binary_file",
    "pg_read_file",
    "pg_relation_size",
    "pg_safe_snapshot_blocking_pids",
    "pg_show_all_file_settings",
    "pg_sleep",
    "pg_sleep_for",
    "pg_sleep_until",
    "pg_stat_clear_snapshot",
    "pg_stat_file",
    "pg_stat_force_next_flush",
    "pg_stat_get_recovery_prefetch",
    "pg_stat_have_stats",
    "pg_table_size",
    "pg_tablespace_size",
    "pg_total_relation_size",
    "random",
    "random_normal",
    "timeofday",
    "ts_rewrite",
    "uuidv4",
    "uuidv7",
];

/// Functions of the contrib modules uuid-ossp and pgcrypto, of which the same is true where they are written in C.
const MODULES_CHANGE_NOTHING: &[&str] =
    &["gen_random_bytes", "gen_salt", "uuid_generate_v1", "uuid_generate_v1mc", "uuid_generate_v4"];

/// Declared stable, and yet a replica refuses them: they give the transaction a number.
const ASSIGN_TRANSACTION: &[&str] = &["pg_current_xact_id", "txid_current"];

/// What a function of this name and declared volatility does.
pub(super) fn call(name: &str, volatility: Volatility) -> Call {
    let shared = || Arc::<str>::from(name);
    match (name, volatility) {
        ("set_config" | "setseed", _) => Call::SessionState(shared()),
        ("currval" | "lastval", _) => Call::SequenceValue(shared()),
        _ if is_advisory(name) => Call::AdvisoryLock(shared()),
        _ if assigns_transaction(name) => Call::System(shared()),
        (_, Volatility::Volatile) if changes_nothing(name) => Call::ChangesNothing(shared()),
        (_, Volatility::Volatile) => Call::System(shared()),
        (_, Volatility::Immutable | Volatility::Stable) => Call::Pure,
    }
}

/// True for a volatile system function that any node may run.
fn changes_nothing(name: &str) -> bool {
    CHANGE_NOTHING.binary_search(&name).is_ok() || name.starts_with("pg_stat_get_")
}

/// The same for functions of well-known modules, wherever they are installed.
pub(in crate::intent) fn module_changes_nothing(name: &str) -> bool {
    MODULES_CHANGE_NOTHING.binary_search(&name).is_ok()
}

/// True for a system function that belongs to the primary though it is declared stable.
fn assigns_transaction(name: &str) -> bool {
    ASSIGN_TRANSACTION.binary_search(&name).is_ok()
}

/// True for the functions on advisory locks.
fn is_advisory(name: &str) -> bool {
    name.starts_with("pg_advisory_") || name.starts_with("pg_try_advisory_")
}

/// True for a function that runs a query which stands in its arguments, or reads a table that they name.
pub(super) fn reads_any(name: &str) -> bool {
    ["cursor_to_xml", "database_to_xml", "query_to_xml", "schema_to_xml", "table_to_xml", "ts_rewrite", "ts_stat"]
        .iter()
        .any(|family| name.starts_with(family))
}

/// True for a view in which every server shows itself: its sessions, its statistics, its settings.
pub(super) fn is_server_view(name: &str) -> bool {
    const VIEWS: &[&str] = &[
        "pg_backend_memory_contexts",
        "pg_config",
        "pg_cursors",
        "pg_file_settings",
        "pg_hba_file_rules",
        "pg_ident_file_mappings",
        "pg_locks",
        "pg_prepared_statements",
        "pg_replication_slots",
        "pg_settings",
        "pg_shmem_allocations",
    ];
    VIEWS.binary_search(&name).is_ok() || name.starts_with("pg_stat_") || name.starts_with("pg_statio_")
}

/// Why two calls of a system function give different answers, for those whose answer does not come from the data.
pub(super) fn variation(name: &str, args: u16) -> Option<Variation> {
    Some(match name {
        "age" if args == 1 => Variation::Time,
        "clock_timestamp" | "now" | "statement_timestamp" | "timeofday" | "transaction_timestamp" | "uuidv7" => {
            Variation::Time
        }
        "gen_random_bytes" | "gen_random_uuid" | "gen_salt" | "random" | "random_normal" | "uuid_generate_v1"
        | "uuid_generate_v1mc" | "uuid_generate_v4" | "uuidv4" => Variation::Random,
        "nextval" | "currval" | "lastval" | "pg_sequence_last_value" => Variation::Sequence,
        "inet_client_addr"
        | "inet_client_port"
        | "pg_backend_pid"
        | "pg_my_temp_schema"
        | "pg_export_snapshot"
        | "pg_current_snapshot"
        | "pg_current_xact_id"
        | "pg_current_xact_id_if_assigned"
        | "txid_current"
        | "txid_current_if_assigned"
        | "txid_current_snapshot" => Variation::Session,
        "inet_server_addr"
        | "inet_server_port"
        | "pg_blocking_pids"
        | "pg_conf_load_time"
        | "pg_database_size"
        | "pg_indexes_size"
        | "pg_is_in_recovery"
        | "pg_is_wal_replay_paused"
        | "pg_lock_status"
        | "pg_postmaster_start_time"
        | "pg_relation_size"
        | "pg_table_size"
        | "pg_tablespace_size"
        | "pg_total_relation_size"
        | "pg_safe_snapshot_blocking_pids"
        | "pg_stat_file" => Variation::Server,
        _ if ["pg_control_", "pg_current_wal_", "pg_last_", "pg_ls_", "pg_stat_get_"]
            .iter()
            .any(|family| name.starts_with(family)) =>
        {
            Variation::Server
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_searched_are_sorted() {
        for list in [CHANGE_NOTHING, MODULES_CHANGE_NOTHING, ASSIGN_TRANSACTION] {
            assert!(list.is_sorted(), "{list:?}");
        }
    }
}
