//! What is known of MySQL's and MariaDB's own functions, variables and schemas.

use std::sync::Arc;

use splitproof_capture::sql::Relation;
use splitproof_capture::sql::mysql::{Builtin, builtin};

use super::{Call, Variation};

/// What a built-in function does; `None` for any other name, which is a stored or loadable function.
pub(super) fn call(name: &str) -> Option<Call> {
    let shared = || Arc::<str>::from(name);
    Some(match builtin(name)? {
        Builtin::Pure => Call::Pure,
        Builtin::ChangesNothing => Call::ChangesNothing(shared()),
        Builtin::UserLock => Call::AdvisoryLock(shared()),
        Builtin::SequenceValue => Call::SequenceValue(shared()),
        Builtin::System => Call::System(shared()),
    })
}

/// Why two calls of a built-in function give different answers, for those whose answer does not come from the data.
pub(super) fn variation(name: &str, args: u16) -> Option<Variation> {
    Some(match name {
        "curdate" | "current_date" | "current_time" | "current_timestamp" | "curtime" | "localtime"
        | "localtimestamp" | "now" | "sysdate" | "utc_date" | "utc_time" | "utc_timestamp" => Variation::Time,
        "unix_timestamp" if args == 0 => Variation::Time,
        // With a seed the numbers repeat.
        "rand" if args == 0 => Variation::Random,
        "random_bytes" | "sys_guid" | "uuid" | "uuid_short" | "uuid_v4" | "uuid_v7" => Variation::Random,
        "nextval" | "lastval" | "setval" => Variation::Sequence,
        "last_insert_id" if args == 0 => Variation::GeneratedKey,
        "connection_id" | "ps_current_thread_id" | "ps_thread_id" => Variation::Session,
        "is_free_lock"
        | "is_used_lock"
        | "load_file"
        | "master_gtid_wait"
        | "master_pos_wait"
        | "source_pos_wait"
        | "version"
        | "wait_for_executed_gtid_set"
        | "binlog_gtid_pos" => Variation::Server,
        _ if name.starts_with("wsrep_") => Variation::Server,
        _ => return None,
    })
}

/// Why a system variable has another value each time, or on each server.
pub(super) fn variable_variation(name: &str) -> Option<Variation> {
    Some(match name {
        "timestamp" => Variation::Time,
        "last_insert_id" | "identity" => Variation::GeneratedKey,
        "pseudo_thread_id" | "rand_seed1" | "rand_seed2" | "proxy_user" => Variation::Session,
        "datadir" | "hostname" | "port" | "read_only" | "report_host" | "report_port" | "server_id" | "server_uuid"
        | "server_uid" | "socket" | "super_read_only" | "tmpdir" | "pid_file" | "version" => Variation::Server,
        _ if ["gtid_", "log_", "relay_log", "slave_", "replica_", "wsrep_", "general_log", "slow_query_log"]
            .iter()
            .any(|family| name.starts_with(family)) =>
        {
            Variation::Server
        }
        _ => return None,
    })
}

/// True for a table in which every server shows itself. `information_schema` shows the data's definitions too, which
/// are the same everywhere, and any node may tell them.
pub(super) fn is_server_view(relation: &Relation) -> bool {
    relation.schema.as_deref().is_some_and(|schema| {
        ["information_schema", "performance_schema", "sys"].iter().any(|own| schema.eq_ignore_ascii_case(own))
    })
}

pub(super) fn is_system_schema(schema: &str) -> bool {
    ["information_schema", "mysql", "performance_schema", "sys"].iter().any(|own| schema.eq_ignore_ascii_case(own))
}

/// True for what SHOW shows of the server itself.
pub(super) fn shows_server(name: &str) -> bool {
    const SHOWN: &[&str] = &["engine", "events", "locales", "open", "processlist", "profile", "profiles", "status"];
    SHOWN.contains(&name)
        || [
            "binary log",
            "binlog",
            "engine ",
            "master",
            "slave",
            "replica",
            "relaylog",
            "open ",
            "all slaves",
            "table status",
        ]
        .iter()
        .any(|family| name.starts_with(family))
}
