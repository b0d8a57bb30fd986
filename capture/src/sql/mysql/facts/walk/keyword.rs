//! What a word begins, ends or tells.

use super::super::words::NILADIC;
use super::{Clause, Walker};
use crate::sql::mysql::lexer::Kind;
use crate::sql::{Function, RowLock};

impl Walker<'_, '_> {
    pub(super) fn word(&mut self, at: usize) -> usize {
        let source = self.source;
        let Some(tok) = source.toks.get(at) else { return at + 1 };
        if tok.named || tok.kind != Kind::Word {
            return at + 1;
        }
        let lower = source.text(at).to_ascii_lowercase();
        let clause = self.clause();
        if clause == Clause::Start && !source.is_any(at, &["select", "values", "value", "table", "with"]) {
            self.set_clause(Clause::Expression);
        }
        let base = self.frames.len() == 1;
        let query = self.frames.last().is_some_and(|frame| frame.query);
        let tables = matches!(clause, Clause::Tables { .. } | Clause::On);
        match lower.as_str() {
            "select" => self.begin_query(Clause::Expression),
            "values" | "value" if clause == Clause::Start => self.begin_query(Clause::Expression),
            "table" if clause == Clause::Start => self.begin_query(Clause::Tables { expect: true }),
            "with" if clause == Clause::Start => {
                let recursive = source.is(at + 1, "recursive");
                if recursive {
                    self.announce(at + 2);
                }
                self.set_clause(Clause::With { recursive: false, expect: true });
                return at + 1 + usize::from(recursive);
            }
            "from" if query => self.set_clause(Clause::Tables { expect: true }),
            "join" | "straight_join" if tables => self.set_clause(Clause::Tables { expect: true }),
            "on" if tables && source.is(at + 1, "duplicate") => self.set_clause(Clause::Expression),
            "on" if tables => self.set_clause(Clause::On),
            "use" | "force" | "ignore" if tables => return self.index_hint(at),
            "set" if base && tables => {
                self.at_set = true;
                self.set_clause(Clause::Expression);
            }
            "where" | "having" | "group" | "window" | "procedure" | "returning" if query => {
                self.found.returning |= lower == "returning" && base;
                self.set_clause(Clause::Expression);
            }
            "returning" if base => self.found.returning = true,
            "order" if query && source.is(at + 1, "by") => {
                self.set_clause(Clause::Expression);
                self.innermost(|frame| frame.ordered = true);
            }
            "limit" if query => {
                self.set_clause(Clause::Expression);
                self.innermost(|frame| frame.limited = true);
            }
            "fetch" if query && source.is_any(at + 1, &["first", "next"]) => {
                self.set_clause(Clause::Expression);
                self.innermost(|frame| frame.limited = true);
            }
            "union" | "except" | "intersect" if query || clause == (Clause::Tables { expect: false }) => {
                self.end_query()
            }
            "minus" if query && source.is_any(at + 1, &["select", "all", "distinct"]) => self.end_query(),
            "sql_calc_found_rows" => self.found.state.found_rows = true,
            "for" if query => return self.for_lock(at),
            "lock" if query && source.is(at + 1, "in") && source.is(at + 2, "share") => {
                self.lock(RowLock::Share);
                self.set_clause(Clause::Expression);
                return self.wait(at + 4);
            }
            "into" if query => return self.into(at + 1),
            "next" | "previous" if source.is(at + 1, "value") && source.is(at + 2, "for") => {
                let function = if lower == "next" { "nextval" } else { "lastval" };
                self.functions.push(Function { schema: None, name: function.to_owned(), args: 1 });
                self.sequence(function, at + 3);
                return at + 4;
            }
            word if NILADIC.contains(&word)
                && source.kind(at + 1) != Some(Kind::Open)
                && !self.found.surroundings.contains(&lower) =>
            {
                self.found.surroundings.push(lower);
            }
            _ => {}
        }
        at + 1
    }
}
