//! What only PostgreSQL has.

use splitproof_capture::sql::{Function, Statement};

/// System functions that change something, or that only the primary can answer.
const PRIMARY_FUNCTIONS: &[&str] = &[
    "currval",
    "lastval",
    "nextval",
    "pg_current_wal_flush_lsn",
    "pg_current_wal_insert_lsn",
    "pg_current_wal_lsn",
    "pg_current_xact_id",
    "pg_export_snapshot",
    "pg_logical_emit_message",
    "pg_notify",
    "pg_switch_wal",
    "setval",
    "txid_current",
];

/// Families of such functions: advisory locks and large objects.
const PRIMARY_FAMILIES: &[&str] = &["pg_advisory_", "pg_try_advisory_", "lo_"];

/// Whether a system function belongs to the primary.
pub(super) fn primary_only(function: &Function) -> bool {
    let name = function.name.to_ascii_lowercase();
    PRIMARY_FUNCTIONS.contains(&name.as_str()) || PRIMARY_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Whether a query sets state of the session.
pub(super) fn sets(statement: &Statement) -> bool {
    statement.settings.iter().any(|setting| setting.local != Some(true))
        || statement.functions.iter().any(|function| function.name == "setseed")
}
