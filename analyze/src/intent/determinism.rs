//! Why an answer may differ from one run to the next though no data differ.

use std::fmt;
use std::sync::Arc;

use splitproof_capture::sql::{Effect, Statement, StatementKind};
use splitproof_replay::catalog::{Catalog, VaryingDefault};

use super::{Functions, system};

/// What the catalogue says of a column whose keys the server generates (MySQL and MariaDB).
const AUTO_INCREMENT: &str = "auto_increment";

/// What may differ each time a statement runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Determinism {
    /// Why its answer may differ.
    pub answer: Option<Variation>,
    /// Why what it writes may differ.
    pub written: Option<Variation>,
}

/// A source of different results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Variation {
    /// The clock.
    Time,
    /// Random numbers.
    Random,
    /// A sequence.
    Sequence,
    /// A key that an insert generated.
    GeneratedKey,
    /// The session: its process, its client port, its transaction number.
    Session,
    /// The server that answers.
    Server,
    /// LIMIT, OFFSET or DISTINCT ON without an ORDER BY, or a sample.
    ArbitraryRows,
    /// A query plan or its timing.
    Plan,
    /// A volatile or unknown function.
    Function(Arc<str>),
    /// The default of a column, as table and column.
    Default(Arc<str>),
    /// The key of a column (MySQL and MariaDB), as table and column: one is generated where the statement gives NULL or 0.
    AskedKey(Arc<str>),
}

impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variation::Time => f.write_str("it depends on the clock"),
            Variation::Random => f.write_str("it is random"),
            Variation::Sequence => f.write_str("it draws from a sequence"),
            Variation::GeneratedKey => f.write_str("it tells a generated key"),
            Variation::Session => f.write_str("it depends on the session"),
            Variation::Server => f.write_str("it depends on the server that answers"),
            Variation::ArbitraryRows => f.write_str("which rows come is not fixed by an ORDER BY"),
            Variation::Plan => f.write_str("it shows a query plan"),
            Variation::Function(name) => write!(f, "{name}() may give anything"),
            Variation::Default(column) => write!(f, "the default of {column} differs each time"),
            Variation::AskedKey(column) => write!(f, "the key generated for {column} differs each time"),
        }
    }
}

/// What may differ when this statement runs.
pub(super) fn of(statement: &Statement, functions: &Functions, catalog: Option<&Catalog>) -> Determinism {
    let called = called(statement, functions);
    let default = || filled_default(statement, catalog);
    let writes = matches!(statement.effect, Effect::Write);
    let answers = match &statement.kind {
        StatementKind::Explain { .. } => return Determinism { answer: Some(Variation::Plan), written: called },
        // What a variable is set to is written, though into the session.
        StatementKind::SetVariables => return Determinism { answer: None, written: called },
        StatementKind::Show { name } => {
            let of_server = system::shows_server(functions.engine(), name);
            return Determinism { answer: of_server.then_some(Variation::Server), written: None };
        }
        StatementKind::Insert
        | StatementKind::Replace
        | StatementKind::Update
        | StatementKind::Delete
        | StatementKind::Merge => statement.returning,
        StatementKind::Select | StatementKind::CopyTo { .. } | StatementKind::Call => true,
        _ => false,
    };
    let answer = source(statement, functions);
    Determinism {
        answer: if answers { answer.or_else(|| statement.returning.then(default).flatten()) } else { None },
        written: if writes { called.or_else(default) } else { None },
    }
}

/// Why the values that a statement finds may differ, whatever becomes of them.
pub(super) fn source(statement: &Statement, functions: &Functions) -> Option<Variation> {
    called(statement, functions).or_else(|| statement.arbitrary_rows.then_some(Variation::ArbitraryRows))
}

fn called(statement: &Statement, functions: &Functions) -> Option<Variation> {
    let of_calls = functions
        .callees(statement)
        .filter_map(|callee| system::variation(functions.engine(), callee.function).or_else(|| callee.variation()));
    let of_surroundings = statement.surroundings.iter().filter_map(|word| match word.as_str() {
        "tablesample" => Some(Variation::ArbitraryRows),
        "current_user" | "current_role" | "session_user" | "current_catalog" | "current_schema" => None,
        _ => Some(Variation::Time),
    });
    let of_variables = statement.state.system_variables.iter().filter_map(|name| system::variable_variation(name));
    let of_views = statement.reads.iter().filter(|table| system::is_server_view(functions.engine(), table));
    of_calls.chain(of_surroundings).chain(of_variables).chain(of_views.map(|_| Variation::Server)).next()
}

/// A written table whose columns may be filled by a default that varies.
fn filled_default(statement: &Statement, catalog: Option<&Catalog>) -> Option<Variation> {
    let inserts = matches!(
        statement.kind,
        StatementKind::Insert
            | StatementKind::Replace
            | StatementKind::LoadData { .. }
            | StatementKind::Merge
            | StatementKind::CopyFrom
    ) || statement.modifying_cte;
    let updates = matches!(statement.kind, StatementKind::Update);
    let fills = |default: &VaryingDefault| {
        // ON UPDATE CURRENT_TIMESTAMP
        inserts || updates && default.expression.to_ascii_lowercase().contains("on update")
    };
    let written = |default: &VaryingDefault| {
        statement.writes.iter().any(|table| {
            table.name == default.table && table.schema.as_ref().is_none_or(|schema| *schema == default.schema)
        })
    };
    let variation = |default: &VaryingDefault| {
        let column: Arc<str> = format!("{}.{}", default.table, default.column).into();
        let given = statement.given.iter().any(|given| given.eq_ignore_ascii_case(&default.column));
        match given && !statement.modifying_cte {
            false => Some(Variation::Default(column)),
            true => (default.expression == AUTO_INCREMENT).then_some(Variation::AskedKey(column)),
        }
    };
    let defaults = catalog?.varying_defaults.iter().filter(|default| fills(default) && written(default));
    let mut variations = defaults.filter_map(variation);
    let first = variations.next()?;
    match first {
        // Another column varies in any case.
        Variation::AskedKey(_) => variations.find(|other| matches!(other, Variation::Default(_))).or(Some(first)),
        first => Some(first),
    }
}
