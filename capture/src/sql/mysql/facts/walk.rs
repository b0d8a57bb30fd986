//! What stands inside a statement at any depth: tables, functions, variables, locks.
//!
//! One pass over the tokens with a stack of our own, so that no nesting can exhaust the thread's. Each parenthesis is a
//! frame that knows whether it is a query and whether it is at its table references. The pass does not check the
//! grammar: of a statement that the server would refuse it finds what such tokens mean elsewhere.

use super::super::lexer::Kind;
use super::tokens::Source;
use super::words::{NILADIC, NO_FUNCTION};
use crate::sql::{Follows, Function, LockWait, Relation, RowLock, Statement};

/// Where in a query a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clause {
    /// At its beginning, or after UNION.
    Start,
    /// Where expressions stand.
    Expression,
    /// At table references; `expect` before one.
    Tables { expect: bool },
    /// In the condition of a join: a comma or JOIN leads back to the table references.
    On,
    /// In a list of common table expressions; `expect` before a name.
    With { recursive: bool, expect: bool },
    /// Where only names stand that mean nothing here.
    Names,
}

/// A table reference.
#[derive(Debug)]
pub(super) struct Reference {
    pub relation: Relation,
    pub alias: Option<String>,
    /// True outside of every subquery.
    pub direct: bool,
}

#[derive(Debug)]
struct Frame {
    clause: Clause,
    /// A SELECT, TABLE or VALUES began here.
    query: bool,
    ordered: bool,
    limited: bool,
    /// True for the outermost frame and the parentheses around its table references.
    direct: bool,
    /// Common table expressions whose names hold here and below.
    names: Vec<String>,
    /// The common table expression that this frame defines.
    defines: Option<String>,
    /// The function whose arguments stand here, and how many commas came.
    function: Option<usize>,
    commas: u16,
    opened: usize,
}

impl Frame {
    fn new(clause: Clause, direct: bool, opened: usize) -> Self {
        Frame {
            clause,
            query: false,
            ordered: false,
            limited: false,
            direct,
            names: Vec::new(),
            defines: None,
            function: None,
            commas: 0,
            opened,
        }
    }
}

/// Walks over parts of one statement.
pub(super) struct Walker<'s, 'a> {
    source: &'s Source<'a>,
    /// Where the part that it walks over begins.
    start: usize,
    frames: Vec<Frame>,
    pub references: Vec<Reference>,
    pub functions: Vec<Function>,
    pub found: Statement,
    /// Set once a sequence has drawn a value.
    pub draws: bool,
    /// True once the outermost frame has come to SET after its table references.
    pub at_set: bool,
}

impl<'s, 'a> Walker<'s, 'a> {
    /// `found` is the statement in which to note what is found.
    pub fn new(source: &'s Source<'a>, found: Statement) -> Self {
        Walker {
            source,
            start: 0,
            frames: vec![Frame::new(Clause::Start, true, usize::MAX)],
            references: Vec::new(),
            functions: Vec::new(),
            found,
            draws: false,
            at_set: false,
        }
    }

    /// Walks over the tokens `from..to`, beginning at this clause of the outermost frame.
    pub fn run(&mut self, mut from: usize, mut to: usize, clause: Clause) {
        // Parentheses around the whole change nothing.
        while clause == Clause::Start && from < to {
            let Some(tok) = self.source.toks.get(from) else { break };
            if tok.kind != Kind::Open || tok.close + 1 != to {
                break;
            }
            from += 1;
            to -= 1;
        }
        self.start = from;
        self.frames.truncate(1);
        if let Some(base) = self.frames.last_mut() {
            base.clause = clause;
            base.query |= matches!(clause, Clause::Tables { .. });
        }
        let mut at = from;
        while at < to {
            at = self.step(at, to);
        }
        while self.frames.len() > 1 {
            self.close(to);
        }
        if let Some(base) = self.frames.last_mut() {
            self.found.arbitrary_rows |= base.query && base.limited && !base.ordered;
            self.found.ordered = base.ordered;
            base.limited = false;
        }
    }

    /// The clause of the innermost frame.
    fn clause(&self) -> Clause {
        self.frames.last().map_or(Clause::Expression, |frame| frame.clause)
    }

    fn set_clause(&mut self, clause: Clause) {
        if let Some(frame) = self.frames.last_mut() {
            frame.clause = clause;
        }
    }

    fn innermost(&mut self, change: impl FnOnce(&mut Frame)) {
        if let Some(frame) = self.frames.last_mut() {
            change(frame);
        }
    }

    fn step(&mut self, at: usize, to: usize) -> usize {
        let Some(kind) = self.source.kind(at) else { return to };
        let clause = self.clause();
        match kind {
            Kind::Open => return self.open(at),
            Kind::Close => self.close(at),
            _ if clause == Clause::Names => {}
            Kind::Word if matches!(clause, Clause::With { .. }) => return self.with(at),
            Kind::Quoted if matches!(clause, Clause::With { expect: true, .. }) => return self.with(at),
            Kind::Word | Kind::Quoted | Kind::Dot if clause == (Clause::Tables { expect: true }) => {
                return self.table(at);
            }
            Kind::Word => return self.word(at),
            Kind::Comma => self.comma(),
            Kind::Variable => self.variable(at),
            Kind::System => return self.system(at),
            _ => {}
        }
        if clause == Clause::Start && kind != Kind::Close {
            self.set_clause(Clause::Expression);
        }
        at + 1
    }

    fn comma(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        frame.commas = frame.commas.saturating_add(1);
        frame.clause = match frame.clause {
            Clause::Tables { .. } | Clause::On => Clause::Tables { expect: true },
            Clause::With { recursive, .. } => Clause::With { recursive, expect: true },
            clause => clause,
        };
    }

    fn open(&mut self, at: usize) -> usize {
        let direct = self.frames.last().is_some_and(|frame| frame.direct);
        let mut frame = Frame::new(Clause::Start, false, at);
        match self.clause() {
            Clause::Names | Clause::Tables { expect: false } | Clause::With { expect: true, .. } => {
                frame.clause = Clause::Names;
            }
            Clause::Tables { expect: true } => {
                frame.clause = Clause::Tables { expect: true };
                frame.direct = direct;
                self.set_clause(Clause::Tables { expect: false });
                if self.source.is_any(at + 1, &["select", "with", "values", "table"]) {
                    frame.clause = Clause::Start;
                    frame.direct = false;
                }
            }
            Clause::With { .. } => {
                frame.defines = at.checked_sub(2).and_then(|at| self.defined(at));
                if !at.checked_sub(1).is_some_and(|before| self.source.is(before, "as")) {
                    frame.clause = Clause::Names;
                }
            }
            Clause::Start | Clause::Expression | Clause::On => {
                let (function, clause) = self.function(at);
                frame.function = function;
                frame.clause = clause.unwrap_or(Clause::Start);
            }
        }
        self.frames.push(frame);
        at + 1
    }

    /// The name of the common table expression before AS, with or without its columns.
    fn defined(&self, at: usize) -> Option<String> {
        let open = match self.source.kind(at)? {
            Kind::Close => (0..at).rev().find(|&open| self.source.toks.get(open).is_some_and(|tok| tok.close == at))?,
            _ => return self.source.name(at),
        };
        self.source.name(open.checked_sub(1)?)
    }

    /// The function whose arguments begin at `at`, if one does, or the clause to read the parenthesis in.
    fn function(&mut self, at: usize) -> (Option<usize>, Option<Clause>) {
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

    /// A sequence that is named at `at`.
    fn sequence(&mut self, function: &str, at: usize) {
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

    fn close(&mut self, at: usize) {
        if self.frames.len() < 2 {
            return;
        }
        let Some(frame) = self.frames.pop() else { return };
        self.found.arbitrary_rows |= frame.query && frame.limited && !frame.ordered;
        if let Some(function) = frame.function.and_then(|at| self.functions.get_mut(at)) {
            function.args = if at > frame.opened + 1 { frame.commas.saturating_add(1) } else { 0 };
            let follows = match (function.schema.is_none(), function.name.as_str(), function.args) {
                (true, "last_insert_id", 0) => Some(Follows::LastInsertId),
                (true, "found_rows", 0) => Some(Follows::FoundRows),
                (true, "row_count", 0) => Some(Follows::RowCount),
                _ => None,
            };
            follows.into_iter().for_each(|follows| self.follows(follows));
        }
        let Some(outer) = self.frames.last_mut() else { return };
        match frame.defines {
            Some(name) => outer.names.push(name),
            // A query in parentheses; ORDER BY or UNION may follow.
            None => outer.query |= outer.clause == Clause::Start && frame.query && frame.function.is_none(),
        }
    }

    fn follows(&mut self, follows: Follows) {
        if !self.found.state.follows.contains(&follows) {
            self.found.state.follows.push(follows);
        }
    }

    /// A common table expression's name, or the statement after the list.
    fn with(&mut self, at: usize) -> usize {
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

    /// A table reference.
    fn table(&mut self, at: usize) -> usize {
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
        let mut cursor = super::tokens::Cursor { source, at, end: source.toks.len() };
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
        self.source.kind(at) == Some(Kind::Word) && !self.source.is_any(at, super::words::AFTER_TABLE)
    }

    fn reference(&mut self, relation: Relation, alias: Option<String>) {
        let known = |name: &String| name.eq_ignore_ascii_case(&relation.name);
        if relation.schema.is_none() && self.frames.iter().any(|frame| frame.names.iter().any(known)) {
            return;
        }
        let direct = self.frames.last().is_some_and(|frame| frame.direct) && !self.at_set;
        self.references.push(Reference { relation, alias, direct });
    }

    fn word(&mut self, at: usize) -> usize {
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

    fn begin_query(&mut self, clause: Clause) {
        if let Some(frame) = self.frames.last_mut() {
            frame.query = true;
            frame.clause = clause;
        }
        if self.frames.len() > 1 {
            self.innermost(|frame| frame.direct = false);
        }
    }

    /// UNION and its like: the query before it ends.
    fn end_query(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            self.found.arbitrary_rows |= frame.limited && !frame.ordered;
            frame.limited = false;
            frame.ordered = false;
            frame.query = true;
            frame.clause = Clause::Start;
        }
    }

    /// Makes the names of WITH RECURSIVE known before their queries are read: each may name any other.
    fn announce(&mut self, mut at: usize) {
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

    /// USE, FORCE or IGNORE INDEX [FOR ...] (names): passed over but for the names.
    fn index_hint(&mut self, at: usize) -> usize {
        let mut cursor = super::tokens::Cursor { source: self.source, at: at + 1, end: self.source.toks.len() };
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

    fn lock(&mut self, lock: RowLock) {
        self.found.row_lock = self.found.row_lock.max(Some(lock));
    }

    /// FOR UPDATE and FOR SHARE.
    fn for_lock(&mut self, at: usize) -> usize {
        let lock = match () {
            () if self.source.is(at + 1, "update") => RowLock::Update,
            () if self.source.is(at + 1, "share") => RowLock::Share,
            () => return at + 1,
        };
        self.lock(lock);
        self.set_clause(Clause::Expression);
        let mut at = at + 2;
        if self.source.is(at, "of") {
            at += 2;
            while matches!(self.source.kind(at), Some(Kind::Dot | Kind::Comma)) {
                at += 2;
            }
        }
        self.wait(at)
    }

    /// NOWAIT, WAIT n or SKIP LOCKED.
    fn wait(&mut self, at: usize) -> usize {
        let (wait, length) = match () {
            () if self.source.is(at, "nowait") => (LockWait::NoWait, 1),
            () if self.source.is(at, "wait") => (LockWait::Limited, 2),
            () if self.source.is(at, "skip") && self.source.is(at + 1, "locked") => (LockWait::SkipLocked, 2),
            () => return at,
        };
        self.found.state.lock_wait = Some(wait);
        at + length
    }

    /// What INTO of a query names.
    fn into(&mut self, mut at: usize) -> usize {
        self.found.into = true;
        self.set_clause(Clause::Expression);
        if self.source.is_any(at, &["outfile", "dumpfile"]) {
            self.found.state.server_file = true;
            return at + 2;
        }
        loop {
            match self.source.variable(at) {
                Some(name) => write(&mut self.found.state.variables_written, name),
                // A variable of a stored program.
                None if self.source.name(at).is_some() => {}
                None => return at,
            }
            at += 1;
            if self.source.kind(at) != Some(Kind::Comma) {
                return at;
            }
            at += 1;
        }
    }

    fn variable(&mut self, at: usize) {
        let Some(name) = self.source.variable(at) else { return };
        // The host of an account is no variable.
        let account = at.checked_sub(1).is_some_and(|before| {
            matches!(self.source.kind(before), Some(Kind::Text | Kind::Quoted))
                && self.source.toks.get(before).map(|tok| tok.end) == self.source.toks.get(at).map(|tok| tok.start)
        });
        if account {
            return;
        }
        let state = &mut self.found.state;
        let set = self.source.text(at + 1) == ":=";
        write(if set { &mut state.variables_written } else { &mut state.variables_read }, name);
    }

    /// `@@[scope.]name`
    fn system(&mut self, at: usize) -> usize {
        let mut at = at + 1;
        if self.source.is_any(at, &["global", "session", "local"]) && self.source.kind(at + 1) == Some(Kind::Dot) {
            at += 2;
        }
        let Some(name) = self.source.name(at) else { return at };
        let name = name.to_lowercase();
        match name.as_str() {
            "last_insert_id" | "identity" => self.follows(Follows::LastInsertId),
            "warning_count" | "error_count" => self.follows(Follows::Diagnostics),
            _ => {}
        }
        write(&mut self.found.state.system_variables, name);
        at + 1
    }
}

/// Adds a name that is not there yet.
pub(super) fn write(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}
