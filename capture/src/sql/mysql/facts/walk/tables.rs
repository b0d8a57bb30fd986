//! Table references, and the names that WITH gives.

use super::super::tokens::Cursor;
use super::super::words::AFTER_TABLE;
use super::{Clause, Frame, Reference, Walker};
use crate::sql::mysql::lexer::Kind;
use crate::sql::{Function, Relation};

impl Walker<'_, '_> {
    /// A common table expression's name, or the statement after the list.
    pub(super) fn with(&mut self, at: usize) -> usize {
        let Clause::With { recursive, expect } = self.clause() else { return at + 1 };
        if expect {
            // RECURSIVE makes all names of the list known in all its queries.
            if recursive && let (Some(name), Some(frame)) = (self.source.name(at), self.frames.last_mut()) {
                frame.names.push(name);
            }
            self.set_clause(Clause::With { recursive, expect: false });
            return at + 1;
        }
        if self.source.is_any(at, &["select", "table", "values", "update", "delete", "insert", "replace"]) {
            self.set_clause(Clause::Start);
            return at;
        }
        at + 1
    }

    /// Makes the names of WITH RECURSIVE known before their queries are read: each may name any other.
    pub(super) fn announce(&mut self, mut at: usize) {
        let source = self.source;
        let close = |at: usize| source.toks.get(at).filter(|tok| tok.kind == Kind::Open).map(|tok| tok.close);
        while let Some(name) = source.name(at) {
            self.innermost(|frame| frame.names.push(name));
            at = close(at + 1).map_or(at + 1, |close| close + 1);
            if !source.is(at, "as") {
                return;
            }
            let Some(end) = close(at + 1) else { return };
            at = end + 1;
            // CYCLE columns RESTRICT
            while source.kind(at) == Some(Kind::Word) && !source.is_any(at, &["select", "update", "delete"]) {
                at += 1;
            }
            if source.kind(at) != Some(Kind::Comma) {
                return;
            }
            at += 1;
        }
    }

    /// The name of the common table expression before AS, with or without its columns.
    pub(super) fn defined(&self, at: usize) -> Option<String> {
        let open = match self.source.kind(at)? {
            Kind::Close => (0..at).rev().find(|&open| self.source.toks.get(open).is_some_and(|tok| tok.close == at))?,
            _ => return self.source.name(at),
        };
        self.source.name(open.checked_sub(1)?)
    }

    /// A table reference.
    pub(super) fn table(&mut self, at: usize) -> usize {
        let source = self.source;
        if source.is_any(at, &["select", "with", "values"]) {
            self.set_clause(Clause::Start);
            return at;
        }
        if source.is(at, "lateral") || source.is(at, "oj") {
            return at + 1;
        }
        self.set_clause(Clause::Tables { expect: false });
        if source.is(at, "dual") {
            return at + 1;
        }
        if source.is(at, "json_table") && source.kind(at + 1) == Some(Kind::Open) {
            self.functions.push(Function { schema: None, name: "json_table".to_owned(), args: 2 });
            self.frames.push(Frame::new(Clause::Expression, false, at + 1));
            return at + 2;
        }
        let mut cursor = Cursor { source, at, end: source.toks.len() };
        let Ok(relation) = cursor.relation() else { return at + 1 };
        // DELETE FROM t.* USING ...
        if cursor.kind() == Some(Kind::Dot) {
            cursor.at += 2;
        }
        if cursor.eat("partition") {
            cursor.skip_parenthesis();
        }
        let mut clause = Clause::Tables { expect: false };
        if cursor.eat_all(&["for", "system_time"]) {
            self.found.state.history = true;
            cursor.eat("from");
            clause = Clause::On;
        } else if cursor.eat_all(&["for", "portion", "of"]) {
            let _ = cursor.name();
            cursor.eat("from");
            clause = Clause::On;
        }
        let alias = if cursor.eat("as") || cursor.kind() == Some(Kind::Quoted) || self.is_alias(cursor.at) {
            cursor.name().ok()
        } else {
            None
        };
        self.set_clause(clause);
        self.reference(relation, alias);
        cursor.at
    }

    fn is_alias(&self, at: usize) -> bool {
        self.source.kind(at) == Some(Kind::Word) && !self.source.is_any(at, AFTER_TABLE)
    }

    fn reference(&mut self, relation: Relation, alias: Option<String>) {
        let known = |name: &String| name.eq_ignore_ascii_case(&relation.name);
        if relation.schema.is_none() && self.frames.iter().any(|frame| frame.names.iter().any(known)) {
            return;
        }
        let direct = self.frames.last().is_some_and(|frame| frame.direct) && !self.at_set;
        self.references.push(Reference { relation, alias, direct });
    }

    /// USE, FORCE or IGNORE INDEX [FOR ...] (names): passed over but for the names.
    pub(super) fn index_hint(&mut self, at: usize) -> usize {
        let mut cursor = Cursor { source: self.source, at: at + 1, end: self.source.toks.len() };
        if !cursor.eat_any(&["index", "key"]) {
            return at + 1;
        }
        if cursor.eat("for") && !cursor.eat("join") {
            cursor.eat_any(&["order", "group"]);
            cursor.eat("by");
        }
        self.set_clause(Clause::Tables { expect: false });
        cursor.at
    }
}
