//! A session is written as lines: a statement, and where it belongs.

mod bodies;
mod functions;
mod mysql;
mod session;

use std::sync::Arc;

use splitproof_capture::sql::Dialect;
use splitproof_replay::catalog::{Catalog, Function, FunctionKind, Relation, VaryingDefault, Volatility};

use super::{Intent, Judge, RequestView, Session, Verdict};

fn function(schema: &str, name: &str, volatility: Volatility, language: &str) -> Function {
    Function {
        schema: schema.to_owned(),
        name: name.to_owned(),
        args: String::new(),
        volatility,
        kind: FunctionKind::Function,
        returns_set: false,
        language: language.to_owned(),
        definition: None,
    }
}

/// A small pair: a few functions of each kind, an unlogged table, an identity column.
fn catalog() -> Catalog {
    use Volatility::{Immutable, Stable, Volatile};
    Catalog {
        functions: vec![
            function("pg_catalog", "now", Stable, "internal"),
            function("pg_catalog", "count", Immutable, "internal"),
            function("pg_catalog", "random", Volatile, "internal"),
            function("pg_catalog", "nextval", Volatile, "internal"),
            function("pg_catalog", "set_config", Volatile, "internal"),
            function("pg_catalog", "pg_advisory_lock", Volatile, "internal"),
            function("public", "audit_login", Volatile, "plpgsql"),
            function("public", "order_total", Stable, "sql"),
            function("public", "both", Stable, "sql"),
            function("audit", "both", Volatile, "sql"),
            function("public", "uuid_generate_v4", Volatile, "c"),
        ],
        relations: vec![Relation {
            schema: "public".to_owned(),
            name: "scratch".to_owned(),
            kind: 'r',
            persistence: 'u',
        }],
        varying_defaults: vec![VaryingDefault {
            schema: "public".to_owned(),
            table: "audit".to_owned(),
            column: "id".to_owned(),
            expression: "nextval".to_owned(),
        }],
        ..Catalog::default()
    }
}

fn judge() -> Judge {
    Judge::new(Dialect::Postgresql, Some(Arc::new(catalog())))
}

/// The verdict on a statement in a session of its own.
fn alone(sql: &str) -> Verdict {
    Session::new().judge(&mut judge(), &RequestView::query(sql))
}

/// Checks a session given as `statement => intent` lines.
fn session(lines: &str) {
    session_of(&mut judge(), lines);
}

/// The same for any pair.
fn session_of(judge: &mut Judge, lines: &str) {
    let mut session = Session::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (sql, expected) = line.rsplit_once("=>").expect("a line is `statement => intent`");
        let verdict = session.judge(judge, &RequestView::query(sql.trim()));
        let mut said = verdict.intent.as_str().to_owned();
        if verdict.intent == Intent::Replica && verdict.either {
            said.push_str(" either");
        }
        if verdict.intent == Intent::Same && verdict.on_primary {
            said.push_str(" primary");
        }
        assert_eq!(said, expected.trim(), "{sql}: {}\nin\n{lines}", verdict.reason);
    }
}
