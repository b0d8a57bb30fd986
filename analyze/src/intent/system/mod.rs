//! What is known of the engines' own functions and views.
//!
//! - `postgresql`: beside their declared volatility, which the catalogue tells
//! - `mysql`: everything, since there the catalogue tells nothing

mod mysql;
mod postgresql;

use splitproof_capture::sql::{Function, Relation};
use splitproof_capture::trace::Engine;
use splitproof_replay::catalog::Volatility;

use super::{Call, Variation};

pub(super) use postgresql::{TABLE, module_changes_nothing};

/// What a function of the engine's own does; `declared` is what PostgreSQL's catalogue says of it.
pub(super) fn call(engine: Engine, function: &Function, declared: Option<Volatility>) -> Option<Call> {
    match engine {
        Engine::Postgresql => declared.map(|volatility| postgresql::call(&function.name, volatility)),
        Engine::Mysql => mysql::call(&function.name),
    }
}

/// True for a function that runs a query which stands in its arguments, or reads a table that they name.
pub(super) fn reads_any(engine: Engine, function: &Function) -> bool {
    engine == Engine::Postgresql && postgresql::reads_any(&function.name)
}

/// Why two calls of a system function give different answers, for those whose answer does not come from the data.
pub(super) fn variation(engine: Engine, function: &Function) -> Option<Variation> {
    match engine {
        Engine::Postgresql => postgresql::variation(&function.name, function.args),
        Engine::Mysql if function.schema.is_some() => None,
        Engine::Mysql => mysql::variation(&function.name, function.args),
    }
}

/// Why a system variable has another value each time, or on each server.
pub(super) fn variable_variation(name: &str) -> Option<Variation> {
    mysql::variable_variation(name)
}

/// True for a view in which every server shows itself: its sessions, its statistics, its settings.
pub(super) fn is_server_view(engine: Engine, relation: &Relation) -> bool {
    match engine {
        Engine::Postgresql => {
            postgresql::is_server_view(&relation.name)
                && relation.schema.as_deref().is_none_or(|schema| schema == "pg_catalog")
        }
        Engine::Mysql => mysql::is_server_view(relation),
    }
}

/// True for what SHOW shows of the server rather than of the data or session.
pub(super) fn shows_server(engine: Engine, name: &str) -> bool {
    match engine {
        Engine::Postgresql => matches!(name, "all" | "in_hot_standby" | "transaction_read_only" | "port"),
        Engine::Mysql => mysql::shows_server(name),
    }
}

/// True for the schemas of the engine's own.
pub(super) fn is_system_schema(engine: Engine, schema: &str) -> bool {
    match engine {
        Engine::Postgresql => matches!(schema, "pg_catalog" | "information_schema"),
        Engine::Mysql => mysql::is_system_schema(schema),
    }
}
