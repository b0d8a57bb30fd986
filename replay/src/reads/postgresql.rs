//! What is proven to be a read on PostgreSQL.

use splitproof_capture::sql::postgresql::facts;
use splitproof_capture::sql::{Effect, Statement, StatementKind};

use crate::catalog::{Catalog, Volatility};

/// Proves statements to be reads, with the pair's catalogue.
#[derive(Debug)]
pub struct Rules {
    catalog: Catalog,
}

impl Rules {
    /// With the functions and views of this catalogue.
    pub fn new(catalog: Catalog) -> Self {
        Rules { catalog }
    }

    /// True when every statement of the text is proven.
    pub fn prove(&self, sql: &str) -> bool {
        let facts = facts(sql);
        facts.error.is_none() && facts.statements.iter().all(|statement| self.is_harmless(statement))
    }

    fn is_harmless(&self, statement: &Statement) -> bool {
        let kind = &statement.kind;
        match statement.effect {
            Effect::Read => self.only_reads(statement),
            Effect::Transaction => !matches!(
                kind,
                StatementKind::PrepareTransaction | StatementKind::CommitPrepared | StatementKind::RollbackPrepared
            ),
            Effect::Session => match kind {
                StatementKind::Set { .. }
                | StatementKind::SetCharacteristics(_)
                | StatementKind::Reset { .. }
                | StatementKind::Show { .. }
                | StatementKind::Discard { .. }
                | StatementKind::Deallocate { .. }
                | StatementKind::Fetch { .. }
                | StatementKind::CloseCursor { .. } => true,
                StatementKind::Declare { inner, .. } => self.is_harmless(inner),
                _ => false,
            },
            Effect::Write | Effect::Lock | Effect::Utility => false,
        }
    }

    fn only_reads(&self, statement: &Statement) -> bool {
        let stable = |schema: Option<&str>, name: &str| {
            matches!(self.catalog.volatility(schema, name), Some(Volatility::Immutable | Volatility::Stable))
        };
        let is_view = |schema: Option<&str>, name: &str| {
            self.catalog.relations.iter().any(|relation| {
                relation.kind == 'v' && relation.name == name && schema.is_none_or(|schema| relation.schema == schema)
            })
        };
        statement.row_lock.is_none()
            && !statement.modifying_cte
            && !statement.into
            && !statement.partial
            && statement.settings.is_empty()
            && statement.writes.is_empty()
            && statement.functions.iter().all(|function| stable(function.schema.as_deref(), &function.name))
            // A view may call a function that writes.
            && !statement.reads.iter().any(|table| is_view(table.schema.as_deref(), &table.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Function, FunctionKind, Relation};

    fn reads() -> Rules {
        let function = |name: &str, volatility| Function {
            schema: "public".to_owned(),
            name: name.to_owned(),
            args: String::new(),
            volatility,
            kind: FunctionKind::Function,
            returns_set: false,
            language: "sql".to_owned(),
            definition: None,
        };
        let relation = Relation { schema: "public".to_owned(), name: "report".to_owned(), kind: 'v', persistence: 'p' };
        Rules::new(Catalog {
            functions: vec![function("price", Volatility::Stable), function("audit", Volatility::Volatile)],
            relations: vec![relation],
            ..Catalog::default()
        })
    }

    #[test]
    fn only_what_is_proven_passes() {
        let reads = reads();
        for sql in [
            "SELECT * FROM orders WHERE id = 1",
            "SELECT price(id) FROM orders",
            "BEGIN",
            "BEGIN; SELECT 1; COMMIT",
            "SET search_path TO shop",
            "SHOW search_path",
            "DECLARE c CURSOR FOR SELECT * FROM orders",
        ] {
            assert!(reads.prove(sql), "{sql}");
        }
        for sql in [
            "INSERT INTO orders VALUES (1)",
            "SELECT * FROM orders FOR UPDATE",
            "SELECT audit(id) FROM orders",
            "SELECT unknown(id) FROM orders",
            "SELECT * FROM report",
            "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone",
            "SELECT * INTO copy FROM orders",
            "SELECT set_config('a.b', 'c', false)",
            "SELECT 1; DELETE FROM orders",
            "COMMIT PREPARED 'x'",
            "CALL audit()",
            "not sql",
        ] {
            assert!(!reads.prove(sql), "{sql}");
        }
    }
}
