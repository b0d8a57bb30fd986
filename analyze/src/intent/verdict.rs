//! What the judgement says.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use splitproof_capture::sql::{State, StatementKind};
use splitproof_capture::trace::Role;

use super::{Profile, Reason};

/// Where a request belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// It is not routed: it connects, disconnects, or runs nothing.
    None,
    /// Any node may serve it.
    Replica,
    /// Where an earlier statement of the session or transaction ran.
    Same,
    /// Every server that the session uses.
    All,
    /// The primary.
    Primary,
    /// Nothing is known of it, not even its text.
    Unknown,
}

impl Intent {
    /// Every value.
    pub const ALL: &[Intent] =
        &[Intent::Primary, Intent::Replica, Intent::Same, Intent::All, Intent::None, Intent::Unknown];

    /// The word used in columns, fixtures and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Intent::None => "none",
            Intent::Replica => "replica",
            Intent::Same => "same",
            Intent::All => "all",
            Intent::Primary => "primary",
            Intent::Unknown => "unknown",
        }
    }

    /// The value of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.as_str() == word)
    }
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a statement is tied to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pin {
    /// Its transaction.
    Transaction,
    /// A temporary table of the session.
    TemporaryTable(Arc<str>),
    /// A statement prepared in SQL.
    Prepared(Arc<str>),
    /// A cursor declared in SQL.
    Cursor(Arc<str>),
    /// A portal of the extended protocol.
    Portal(Arc<str>),
    /// The session's advisory locks.
    AdvisoryLock,
    /// The session's channels.
    Listen,
    /// A sequence value that the session drew earlier.
    Sequence,
    /// The tables that LOCK TABLES holds.
    TableLocks,
    /// A user variable that a query filled.
    Variable(Arc<str>),
    /// The key that the session's last insert generated.
    InsertId,
    /// The statement before: its rows, its warnings.
    Before,
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pin::Transaction => f.write_str("transaction"),
            Pin::TemporaryTable(name) => write!(f, "temporary table {name}"),
            Pin::Prepared(name) => write!(f, "prepared statement {name}"),
            Pin::Cursor(name) => write!(f, "cursor {name}"),
            Pin::Portal(name) => write!(f, "portal \"{name}\""),
            Pin::AdvisoryLock => f.write_str("advisory lock"),
            Pin::Listen => f.write_str("LISTEN"),
            Pin::Sequence => f.write_str("sequence value"),
            Pin::TableLocks => f.write_str("table locks"),
            Pin::Variable(name) => write!(f, "user variable @{name}"),
            Pin::InsertId => f.write_str("last insert id"),
            Pin::Before => f.write_str("statement before"),
        }
    }
}

/// What a statement does to its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Opens it.
    Begin,
    /// Ends it and keeps its changes.
    Commit,
    /// Ends it and drops its changes.
    Rollback,
    /// Savepoints and modes within it.
    Inside,
}

/// How an executing node's role fits the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It may run there.
    Right,
    /// It belongs to the primary and ran on a replica.
    WriteLeakage,
    /// A replica could have served it.
    AccidentalPrimaryRead,
    /// What it depends on lives on the primary.
    Incoherent,
}

/// Where a request belongs, and why.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Where it belongs.
    pub intent: Intent,
    /// Why.
    pub reason: Reason,
    /// With intent `replica`: the primary is as good, so that serving it there wastes nothing worth a finding.
    pub either: bool,
    /// With intent `same`: what it depends on lives on the primary.
    pub on_primary: bool,
    /// What it is tied to.
    pub pin: Option<Pin>,
    /// Number of the explicit transaction within the session, from 1; the control statements belong to it.
    pub transaction: Option<u32>,
    /// In a transaction whose reads all show one state of the data, which was taken at the first of them.
    pub snapshot: bool,
    /// Set for a text that is one transaction control statement.
    pub control: Option<Control>,
    /// What the statement's shape says; `None` where there is no statement.
    pub profile: Option<Arc<Profile>>,
}

impl Verdict {
    pub(super) fn new(intent: Intent, reason: Reason) -> Self {
        Verdict {
            intent,
            reason,
            either: false,
            on_primary: false,
            pin: None,
            transaction: None,
            snapshot: false,
            control: None,
            profile: None,
        }
    }

    /// How well an execution on a node of this role fits, taken alone; whether a transaction or session held together
    /// shows only over all its statements.
    pub fn fit(&self, role: Role) -> Fit {
        match (self.intent, role) {
            (Intent::Primary, Role::Replica) => Fit::WriteLeakage,
            (Intent::Replica, Role::Primary) if !self.either => Fit::AccidentalPrimaryRead,
            // Control statements may reach more nodes than they must.
            (Intent::Same, Role::Replica) if self.on_primary && self.control.is_none() => Fit::Incoherent,
            _ => Fit::Right,
        }
    }

    /// Whether it could run on a replica if all of its session did, as in a copy of the application that is connected to one: what is tied
    /// to its session or transaction moves along.
    pub fn is_movable(&self) -> bool {
        let bound = matches!(
            self.pin,
            Some(
                Pin::TemporaryTable(_)
                    | Pin::Sequence
                    | Pin::InsertId
                    | Pin::AdvisoryLock
                    | Pin::Listen
                    | Pin::TableLocks
            )
        );
        match self.intent {
            Intent::Replica | Intent::All | Intent::None => true,
            // What depends on something that lives on the primary, such as a transaction that has written, depends on the write.
            Intent::Same => !bound && (!self.on_primary || self.control.is_some()),
            Intent::Primary | Intent::Unknown => false,
        }
    }

    /// The user variable (MySQL and MariaDB) that it sets on every server.
    pub fn variable_set(&self) -> Option<Arc<str>> {
        match (self.intent, &self.reason) {
            (Intent::All, Reason::SessionState(name)) => name.strip_prefix('@').map(Arc::from),
            _ => None,
        }
    }

    /// True when the statement reads this user variable.
    pub fn reads_variable(&self, name: &str) -> bool {
        let statements = self.profile.iter().flat_map(|profile| &profile.statements);
        let mut read = statements.flat_map(|statement| &statement.facts.state.variables_read);
        read.any(|read| read == name)
    }

    /// True when a statement makes what it is tied to, so that an earlier one of that name does not matter.
    pub fn makes(&self, pin: &Pin) -> bool {
        let mut statements =
            self.profile.iter().flat_map(|profile| &profile.statements).map(|statement| statement.does());
        match pin {
            Pin::Variable(name) => {
                let written = |state: &State| state.variables_written.iter().any(|written| **written == **name);
                statements.any(|statement| written(&statement.facts.state)) && !self.reads_variable(name)
            }
            Pin::TemporaryTable(_) => {
                statements.any(|statement| matches!(statement.facts.kind, StatementKind::Create { .. }))
            }
            _ => false,
        }
    }

    /// True for a statement (MySQL and MariaDB) whose generated key LAST_INSERT_ID() tells.
    pub fn generates_key(&self) -> bool {
        let mut statements =
            self.profile.iter().flat_map(|profile| &profile.statements).map(|statement| statement.does());
        statements.any(|statement| {
            matches!(
                statement.facts.kind,
                StatementKind::Insert | StatementKind::Replace | StatementKind::LoadData { .. }
            )
        })
    }

    /// True when the verdict rests on not knowing what the statement does.
    pub fn is_unknown(&self) -> bool {
        self.reason.is_unknown()
    }
}
