//! Calls of functions, sequences, and what asks for the statement before.

use super::super::words::NO_FUNCTION;
use super::{Clause, Walker};
use crate::sql::mysql::lexer::Kind;
use crate::sql::{Follows, Function, Relation};

impl Walker<'_, '_> {
    /// The function whose arguments begin at `at`, if one does, or the clause to read the parenthesis in.
    pub(super) fn function(&mut self, at: usize) -> (Option<usize>, Option<Clause>) {
        let Some(before) = at.checked_sub(1).filter(|&before| before >= self.start) else { return (None, None) };
        let Some(name) = self.source.name(before) else { return (None, None) };
        let qualified = before >= 2 && self.source.kind(before - 1) == Some(Kind::Dot);
        let schema = if qualified { self.source.name(before - 2) } else { None };
        let quoted = self.source.kind(before) == Some(Kind::Quoted);
        if !qualified && before >= 1 && self.source.is(before - 1, "as") {
            // The alias of a table with its columns, or the type of a CAST.
            return (None, Some(Clause::Names));
        }
        let lower = name.to_lowercase();
        if !qualified && !quoted && NO_FUNCTION.contains(&lower.as_str()) {
            let names = matches!(lower.as_str(), "using" | "match" | "partition");
            return (None, names.then_some(Clause::Names));
        }
        if matches!(lower.as_str(), "nextval" | "lastval" | "setval") && !qualified {
            self.sequence(&lower, at + 1);
        }
        // Built-in functions are known in any case; stored ones are too.
        self.functions.push(Function { schema, name: lower, args: 0 });
        (Some(self.functions.len() - 1), None)
    }

    /// The arguments of a function have ended, and are this many.
    pub(super) fn end_function(&mut self, function: usize, args: u16) {
        let Some(function) = self.functions.get_mut(function) else { return };
        function.args = args;
        let follows = match (function.schema.is_none(), function.name.as_str(), args) {
            (true, "last_insert_id", 0) => Follows::LastInsertId,
            (true, "found_rows", 0) => Follows::FoundRows,
            (true, "row_count", 0) => Follows::RowCount,
            _ => return,
        };
        self.follows(follows);
    }

    /// A sequence that is named at `at`.
    pub(super) fn sequence(&mut self, function: &str, at: usize) {
        let Some(first) = self.source.name(at) else { return };
        let relation = match self.source.kind(at + 1) {
            Some(Kind::Dot) => match self.source.name(at + 2) {
                Some(name) => Relation { schema: Some(first), name },
                None => return,
            },
            _ => Relation { schema: None, name: first },
        };
        if function == "lastval" {
            self.follows(Follows::SequenceValue);
            self.found.reads.push(relation);
        } else {
            self.draws = true;
            self.found.writes.push(relation);
        }
    }

    pub(super) fn follows(&mut self, follows: Follows) {
        if !self.found.state.follows.contains(&follows) {
            self.found.state.follows.push(follows);
        }
    }
}
