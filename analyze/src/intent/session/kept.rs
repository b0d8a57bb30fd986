//! What a statement of MySQL or MariaDB leaves in its session for later ones, and what it takes from there: user
//! variables, the last insert id, the rows and warnings of the statement before.
//!
//! A user variable that was set by SET to a constant is state that every server may have seen. One that a query filled
//! lives where the query ran, and so does what the session remembers of its statements. "User-Defined Variables",
//! "Information Functions" and "SHOW WARNINGS Statement" of the MySQL manual.

use std::collections::HashMap;
use std::sync::Arc;

use splitproof_capture::sql::{Follows, Scope, StatementKind};

use super::Session;
use crate::intent::{Intent, Pin, Reason, StatementProfile, Verdict};

/// Names that are remembered for one session.
const NAMES: usize = 1_000;

/// What earlier statements left where they ran. `true` stands for the primary, `false` for a node that is not known.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// User variables that a query filled.
    variables: HashMap<String, bool>,
    /// LAST_INSERT_ID()
    insert_id: bool,
    /// The statement before, for its rows and warnings.
    before: bool,
}

impl Kept {
    /// Takes note of a statement that ran with this verdict.
    pub fn ran(&mut self, statement: &StatementProfile, verdict: &Verdict, ok: bool) {
        let (kind, state) = (&statement.facts.kind, &statement.facts.state);
        let on_primary = verdict.intent == Intent::Primary || verdict.on_primary;
        // Diagnostic statements leave the diagnostics as they are.
        if !state.follows.contains(&Follows::Diagnostics) {
            self.before = on_primary;
        }
        if !ok {
            return;
        }
        let sets_id = statement.facts.functions.iter().any(|call| call.name == "last_insert_id" && call.args > 0);
        if sets_id || matches!(kind, StatementKind::Insert | StatementKind::Replace | StatementKind::LoadData { .. }) {
            self.insert_id = on_primary;
        }
        for name in &state.variables_written {
            if verdict.intent == Intent::All {
                self.variables.remove(name);
                continue;
            }
            if self.variables.len() >= NAMES {
                self.variables.clear();
            }
            self.variables.insert(name.clone(), on_primary);
        }
    }

    /// What a statement takes from an earlier one: whether that ran on the primary, what it is tied to, and why.
    fn taken(&self, statement: &StatementProfile) -> Option<(bool, Pin, Reason)> {
        let state = &statement.facts.state;
        let of_before = state.follows.iter().find_map(|follows| {
            let (on_primary, what) = match follows {
                Follows::LastInsertId => (self.insert_id, "the last insert id"),
                Follows::FoundRows => (self.before, "the rows found before"),
                Follows::RowCount => (self.before, "the row count"),
                Follows::Diagnostics => (self.before, "the warnings"),
                Follows::Profile => (self.before, "the profile"),
                // The function that asks for it says so.
                Follows::SequenceValue => return None,
            };
            let pin = if *follows == Follows::LastInsertId { Pin::InsertId } else { Pin::Before };
            Some((on_primary, pin, Reason::Follows(what)))
        });
        let of_variable = || {
            let mut known = state.variables_read.iter().filter_map(|name| Some((name, *self.variables.get(name)?)));
            let (name, on_primary) = known.next()?;
            let name = Arc::<str>::from(name.as_str());
            Some((on_primary, Pin::Variable(name.clone()), Reason::Variable(name)))
        };
        of_before.or_else(of_variable)
    }
}

impl Session {
    /// What the statement takes from earlier ones, and leaves for later ones, makes of its verdict.
    pub(super) fn tied(&self, statement: &StatementProfile, verdict: Verdict) -> Verdict {
        let verdict = match (self.kept.taken(statement), verdict.intent) {
            (None, _) | (_, Intent::None | Intent::Unknown) => verdict,
            (Some((_, pin, _)), Intent::Primary) => Verdict { pin: verdict.pin.or(Some(pin)), ..verdict },
            (Some((on_primary, pin, reason)), Intent::Replica | Intent::Same | Intent::All) => Verdict {
                on_primary: verdict.on_primary || on_primary,
                pin: Some(pin),
                ..Verdict::new(Intent::Same, reason)
            },
        };
        let leaves = match statement.facts.state.variables_written.first() {
            Some(name) if verdict.intent != Intent::All => Some(Pin::Variable(name.as_str().into())),
            _ => None,
        };
        match (leaves, verdict.intent) {
            // Where the value is wanted later is not known yet, so that the primary wastes nothing.
            (Some(pin), Intent::Replica) => Verdict { pin: Some(pin), either: true, ..verdict },
            (Some(pin), _) => Verdict { pin: verdict.pin.or(Some(pin)), ..verdict },
            (None, _) => verdict,
        }
    }

    /// SET of variables. A user variable whose value a server computes is filled where that server is; everything else
    /// is state that every server must see.
    pub(super) fn assignment(&self, statement: &StatementProfile) -> Verdict {
        let facts = &statement.facts;
        let assignments = &facts.state.assignments;
        let computed = !facts.reads.is_empty() || statement.determinism.written.is_some();
        if computed && assignments.iter().all(|assignment| assignment.scope == Scope::User) {
            return Verdict { either: true, ..Verdict::new(Intent::Replica, Reason::Read) };
        }
        let name = match assignments.first() {
            Some(assignment) if assignment.scope == Scope::User => format!("@{}", assignment.name),
            Some(assignment) => assignment.name.clone(),
            None => "session state".to_owned(),
        };
        Verdict::new(Intent::All, Reason::SessionState(name.into()))
    }
}
