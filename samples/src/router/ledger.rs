//! What a session's statements leave behind: its state, and the settings that its other servers must repeat.

use std::sync::Arc;

use splitproof_capture::sql::{Discard, Effect, Statement, StatementKind, TransactionMode};

use super::fault;
use super::history::History;
use super::need::{self, Need};
use super::node::NodeId;
use super::route::{Ask, Router};
use super::state::{How, State};

/// A session's books; `R` repeats on one server what another one did.
#[derive(Debug)]
pub struct Ledger<R> {
    /// What the session holds.
    pub state: State,
    /// What it has set.
    pub history: History<R>,
    /// What the open transaction did, as far as it may have to be repeated.
    pub done: Vec<R>,
    /// A transaction that a fault runs a second time.
    pub duplicate: Option<Vec<R>>,
    /// Savepoints, and how many settings were made before them.
    marks: Vec<(String, u64)>,
}

impl<R: Clone> Ledger<R> {
    /// Of a session that has just begun.
    pub fn new(state: State) -> Self {
        Ledger { state, history: History::default(), done: Vec::new(), duplicate: None, marks: Vec::new() }
    }

    /// The session was made as new.
    pub fn reset(&mut self) {
        *self = Ledger::new(self.state.fresh());
    }

    /// Statements that belong together ended well on `node`. `repeat` does the same on another server, and `sql` is
    /// their text where they came as one. Gives what the session's other servers must repeat at once.
    pub fn apply(
        &mut self,
        router: &Router,
        repeat: Option<R>,
        sql: Option<&str>,
        statements: &[Arc<Statement>],
        node: NodeId,
    ) -> Vec<R> {
        let needs: Vec<Need> =
            statements.iter().map(|statement| need::of(statement, &self.state, &router.config).need).collect();
        let writes = statements
            .iter()
            .zip(&needs)
            .any(|(statement, need)| *need == Need::Primary && !matches!(statement.kind, StatementKind::Begin(_)));
        let mut elsewhere = Vec::new();
        for statement in statements {
            elsewhere.extend(self.end_chained(router, statement, node));
            self.state.apply(statement, node);
            self.mark(statement);
            if let (StatementKind::Prepare { name, inner }, Some(sql)) = (&statement.kind, sql) {
                let sql: Arc<str> = sql.into();
                self.state.prepare(name.clone(), vec![Arc::new((**inner).clone())], Arc::clone(&sql), How::Sql(sql));
            }
        }
        match &mut self.state.transaction {
            Some(transaction) => {
                transaction.wrote |= writes;
                transaction.fresh &= statements.iter().all(|statement| {
                    matches!(statement.kind, StatementKind::Begin(_) | StatementKind::SetTransaction(_))
                });
                if let Some(repeat) = &repeat
                    && (transaction.fresh || fault::repeats_commit(&router.faults))
                {
                    self.done.push(repeat.clone());
                }
            }
            None => self.state.wrote |= writes,
        }
        if needs.contains(&Need::Everywhere) && fault::keeps_setting(&router.faults, statements) {
            match repeat {
                Some(repeat) if needs.iter().all(|need| *need == Need::Everywhere) => {
                    elsewhere.extend(self.set(repeat, statements));
                }
                _ => self.state.pinned = Some("a setting that cannot be repeated by itself"),
            }
        }
        elsewhere
    }

    /// Follows what the server says about the transaction after a unit: whether one is open, and whether one that is
    /// over was committed. Gives what the other servers must repeat.
    pub fn follow(&mut self, router: &Router, open: bool, committed: bool, node: NodeId, ask: &Ask) -> Vec<R> {
        match (open, self.state.transaction.is_some()) {
            (false, true) => self.end(router, committed),
            (true, false) => {
                self.state.begin(node, TransactionMode::default());
                if let Some(transaction) = &mut self.state.transaction {
                    transaction.fresh = false;
                    transaction.wrote = ask.any(|statement| statement.effect == Effect::Write);
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Remembers a setting; gives it back to be repeated at once, outside a transaction.
    fn set(&mut self, repeat: R, statements: &[Arc<Statement>]) -> Vec<R> {
        let everything = StatementKind::Discard { what: Discard::All };
        if statements.iter().any(|statement| statement.kind == everything) {
            self.history.clear();
            return vec![repeat];
        }
        let pending = self.state.transaction.is_some() && self.state.reverts_settings();
        self.history.push(key(statements), repeat.clone(), pending);
        if pending { Vec::new() } else { vec![repeat] }
    }

    /// A savepoint keeps the settings before it.
    fn mark(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Savepoint { name } => self.marks.push((name.clone(), self.history.mark())),
            StatementKind::RollbackTo { name } => {
                if let Some((_, mark)) = self.marks.iter().rfind(|(known, _)| known == name) {
                    self.history.roll_back(*mark);
                }
            }
            _ => {}
        }
    }

    /// AND CHAIN: one transaction ends and the next begins, though the status stays the same.
    fn end_chained(&mut self, router: &Router, statement: &Statement, node: NodeId) -> Vec<R> {
        let (committed, chain) = match statement.kind {
            StatementKind::Commit { chain } => (true, chain),
            StatementKind::Rollback { chain } => (false, chain),
            _ => return Vec::new(),
        };
        let modes = self.state.transaction.as_ref().map(|transaction| transaction.modes).filter(|_| chain);
        let Some(modes) = modes else { return Vec::new() };
        let elsewhere = self.end(router, committed);
        self.state.begin(node, TransactionMode { read_only: Some(modes.read_only), isolation: Some(modes.isolation) });
        if let Some(transaction) = &mut self.state.transaction {
            transaction.fresh = false;
        }
        elsewhere
    }

    /// The transaction is over; gives the settings that it made.
    fn end(&mut self, router: &Router, committed: bool) -> Vec<R> {
        let wrote = self.state.transaction.as_ref().is_some_and(|transaction| transaction.wrote);
        let done = std::mem::take(&mut self.done);
        if committed && wrote && fault::repeats_commit(&router.faults) {
            self.duplicate = Some(done);
        }
        self.marks.clear();
        self.state.end(committed);
        if committed {
            return self.history.commit();
        }
        self.history.roll_back(0);
        Vec::new()
    }
}

/// What a setting replaces.
fn key(statements: &[Arc<Statement>]) -> Option<String> {
    let [statement] = statements else { return None };
    Some(match &statement.kind {
        StatementKind::Set { name, .. } | StatementKind::Reset { name: Some(name) } => name.clone(),
        StatementKind::Reset { name: None } => "RESET ALL".to_owned(),
        StatementKind::Use { .. } => "database".to_owned(),
        StatementKind::SetVariables => {
            let names: Vec<&str> = statement.state.assignments.iter().map(|set| set.name.as_str()).collect();
            names.join(",")
        }
        kind => match statement.settings.as_slice() {
            [setting] => setting.name.as_ref()?.to_lowercase(),
            _ => format!("{kind:?}"),
        },
    })
}
