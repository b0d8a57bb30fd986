//! What stands inside a statement at any depth: tables, functions, variables, locks.
//!
//! One pass over the tokens with a stack of our own, so that no nesting can exhaust the thread's. Each parenthesis is a
//! frame that knows whether it is a query and whether it is at its table references. The pass does not check the
//! grammar: of a statement that the server would refuse it finds what such tokens mean elsewhere.
//!
//! - [`Walker`]: the pass, its frames, and where a query begins and ends
//! - `keyword`: what a word begins, ends or tells; `tail`: locks and INTO behind a query
//! - `tables`: table references, and the names that WITH gives; `functions`: calls and sequences; `variables`

mod functions;
mod keyword;
mod tables;
mod tail;
mod variables;

use super::super::lexer::Kind;
use super::tokens::Source;
use crate::sql::{Function, Relation, Statement};

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

    fn close(&mut self, at: usize) {
        if self.frames.len() < 2 {
            return;
        }
        let Some(frame) = self.frames.pop() else { return };
        self.found.arbitrary_rows |= frame.query && frame.limited && !frame.ordered;
        if let Some(function) = frame.function {
            let args = if at > frame.opened + 1 { frame.commas.saturating_add(1) } else { 0 };
            self.end_function(function, args);
        }
        let Some(outer) = self.frames.last_mut() else { return };
        match frame.defines {
            Some(name) => outer.names.push(name),
            // A query in parentheses; ORDER BY or UNION may follow.
            None => outer.query |= outer.clause == Clause::Start && frame.query && frame.function.is_none(),
        }
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
}

/// Adds a name that is not there yet.
pub(super) fn write(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}
