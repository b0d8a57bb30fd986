//! What a statement's shape says about where it belongs, before the session has its say.

use std::collections::BTreeSet;
use std::sync::Arc;

use splitproof_capture::sql::{Effect, Facts, Scope, Statement, StatementKind};
use splitproof_replay::catalog::Catalog;

use super::{Call, Determinism, Effects, Functions, Reason, Variation, determinism, system};

/// Everything known of a text, found once per shape.
#[derive(Clone, Debug)]
pub struct Profile {
    /// What the parser said, when it did not understand the text.
    pub error: Option<Arc<str>>,
    /// The statements, in order.
    pub statements: Vec<Arc<StatementProfile>>,
}

/// One statement and what it asks for, taken alone.
#[derive(Clone, Debug)]
pub struct StatementProfile {
    /// The facts of its text.
    pub facts: Statement,
    /// What it asks for.
    pub class: Class,
    /// Why.
    pub reason: Reason,
    /// What may differ each time it runs.
    pub determinism: Determinism,
    /// What it does with tables, what it calls included.
    pub effects: Effects,
    /// Tables that the bodies of the functions that it calls read.
    pub behind: BTreeSet<Arc<str>>,
    /// What PREPARE, DECLARE or EXPLAIN names.
    pub inner: Option<Arc<StatementProfile>>,
    /// Functions that it calls and of which nothing is known.
    pub unknown_functions: Vec<Arc<str>>,
    /// A function that it calls belongs to the primary.
    pub calls_primary: bool,
}

/// What a statement asks for, taken alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Any node; a replica is better.
    Read,
    /// Any node; the primary is as good.
    Either,
    /// It works on state that a system function keeps in the session.
    State,
    /// The primary.
    Primary,
    /// The session's state decides.
    Session,
}

impl Profile {
    /// The profile of a text.
    pub fn new(facts: Facts, functions: &Functions, catalog: Option<&Catalog>) -> Self {
        Profile {
            error: facts.error.map(Arc::from),
            statements: facts
                .statements
                .into_iter()
                .map(|statement| Arc::new(StatementProfile::new(statement, functions, catalog)))
                .collect(),
        }
    }

    /// Functions of which nothing is known.
    pub fn unknown_functions(&self) -> impl Iterator<Item = &Arc<str>> {
        self.statements.iter().flat_map(|statement| &statement.unknown_functions)
    }

    /// Why the answer may differ each time the text runs.
    pub fn answer_varies(&self) -> Option<&Variation> {
        self.statements.iter().find_map(|statement| statement.determinism.answer.as_ref())
    }

    /// Why what the text writes may differ each time.
    pub fn written_varies(&self) -> Option<&Variation> {
        self.statements.iter().find_map(|statement| statement.determinism.written.as_ref())
    }
}

impl StatementProfile {
    fn new(facts: Statement, functions: &Functions, catalog: Option<&Catalog>) -> Self {
        let inner = match &facts.kind {
            StatementKind::Prepare { inner, .. }
            | StatementKind::Declare { inner, .. }
            | StatementKind::SetStatement { inner }
            | StatementKind::ExecuteImmediate { inner }
            | StatementKind::Explain { inner, .. } => {
                Some(Arc::new(StatementProfile::new((**inner).clone(), functions, catalog)))
            }
            _ => None,
        };
        let (class, reason) = class(&facts, functions, catalog, inner.as_deref());
        let unknown_functions = functions
            .callees(&facts)
            .filter_map(|callee| match callee.call() {
                Call::Unknown(name) => Some(name),
                _ => None,
            })
            .collect();
        let determinism = determinism::of(&facts, functions, catalog);
        let (effects, behind) = (functions.effects(&facts, catalog), functions.behind(&facts));
        let calls_primary = demand(functions.worst(&facts)).is_some();
        StatementProfile { facts, class, reason, determinism, effects, behind, inner, unknown_functions, calls_primary }
    }

    /// What it does: SET STATEMENT and EXECUTE IMMEDIATE do what they hold.
    pub fn does(&self) -> &StatementProfile {
        match (&self.facts.kind, &self.inner) {
            (StatementKind::SetStatement { .. } | StatementKind::ExecuteImmediate { .. }, Some(inner)) => inner.does(),
            _ => self,
        }
    }
}

fn class(
    facts: &Statement,
    functions: &Functions,
    catalog: Option<&Catalog>,
    inner: Option<&StatementProfile>,
) -> (Class, Reason) {
    if matches!(facts.kind, StatementKind::SetVariables) && facts.effect == Effect::Session {
        // SET may call functions and lock rows like any query.
        let demand = facts.row_lock.map(Reason::RowLock).or_else(|| demand(functions.worst(facts)));
        return demand.map_or((Class::Session, Reason::NotRouted), |reason| (Class::Primary, reason));
    }
    match facts.effect {
        Effect::Read if matches!(facts.kind, StatementKind::Xa { .. }) => return (Class::Primary, Reason::TwoPhase),
        Effect::Read | Effect::Lock | Effect::Write | Effect::Utility => {}
        Effect::Session | Effect::Transaction => return (Class::Session, Reason::NotRouted),
    }
    if facts.effect == Effect::Read {
        return read(facts, functions, catalog);
    }
    let reason = match &facts.kind {
        StatementKind::Explain { .. } => inner.map_or(Reason::Writes, |inner| inner.reason.clone()),
        StatementKind::CopyTo { server_side: true } => Reason::ServerFile,
        StatementKind::Maintain { name } => Reason::Maintains(name.as_str().into()),
        StatementKind::LockTable | StatementKind::LockTables | StatementKind::UnlockTables => Reason::TableLock,
        StatementKind::Block => Reason::Compound,
        StatementKind::Unknown => Reason::TextInVariable,
        StatementKind::Kill { .. } => Reason::Maintains("kill".into()),
        StatementKind::SetVariables => server_setting(facts),
        _ if facts.state.server_file => Reason::ServerFile,
        StatementKind::Call | StatementKind::Do => Reason::Procedure,
        StatementKind::Notify { .. } => Reason::Notifies,
        _ if facts.into => Reason::SelectInto,
        StatementKind::Create { .. }
        | StatementKind::Drop
        | StatementKind::Rename { .. }
        | StatementKind::Define { .. } => Reason::Defines,
        StatementKind::Select | StatementKind::CopyTo { .. } => match facts.row_lock {
            _ if facts.modifying_cte => Reason::ModifyingCte,
            Some(lock) => Reason::RowLock(lock),
            None => Reason::Writes,
        },
        _ => Reason::Writes,
    };
    (Class::Primary, reason)
}

/// A statement whose text only reads: what it calls and what it reads decide.
fn read(facts: &Statement, functions: &Functions, catalog: Option<&Catalog>) -> (Class, Reason) {
    let harmless = match functions.worst(facts) {
        Call::SessionState(name) => return (Class::State, Reason::SessionState(setting(facts).unwrap_or(name))),
        Call::ChangesNothing(name) => Some(Reason::ChangesNothing(name)),
        Call::OnlyReads(name) => Some(Reason::BodyReads(name)),
        Call::Pure => None,
        demanding => return (Class::Primary, demand(demanding).unwrap_or(Reason::Writes)),
    };
    if let Some(name) = unlogged(facts, &functions.behind(facts), catalog) {
        return (Class::Primary, Reason::Unlogged(name));
    }
    if let Some(reason) = harmless {
        return (Class::Either, reason);
    }
    let plan_only = matches!(facts.kind, StatementKind::Show { .. } | StatementKind::Explain { analyze: false, .. });
    if plan_only {
        return (Class::Either, Reason::ReadsServer);
    }
    if facts.reads.is_empty() && !facts.state.system_variables.is_empty() {
        return (Class::Either, Reason::ReadsServer);
    }
    let view = facts.reads.iter().find(|table| system::is_server_view(functions.engine(), table));
    match view {
        Some(view) => (Class::Either, Reason::ServerView(view.name.as_str().into())),
        None => (Class::Read, Reason::Read),
    }
}

/// Why a call belongs to the primary, if it does.
fn demand(call: Call) -> Option<Reason> {
    match call {
        Call::Unknown(name) => Some(Reason::UnknownFunction(name)),
        Call::Volatile(name) => Some(Reason::VolatileFunction(name)),
        Call::System(name) => Some(Reason::SystemFunction(name)),
        Call::AdvisoryLock(name) => Some(Reason::AdvisoryLock(name)),
        Call::SequenceValue(name) => Some(Reason::SequenceValue(name)),
        Call::Undeclared(name, why) => Some(Reason::Undeclared(name, why)),
        Call::SessionState(_) | Call::ChangesNothing(_) | Call::OnlyReads(_) | Call::Pure => None,
    }
}

/// SET GLOBAL or PERSIST.
fn server_setting(facts: &Statement) -> Reason {
    let mut global =
        facts.state.assignments.iter().filter(|assignment| matches!(assignment.scope, Scope::Global | Scope::Persist));
    global.next().map_or(Reason::Writes, |assignment| Reason::ServerSetting(assignment.name.as_str().into()))
}

/// The name of the one setting that set_config() changes.
fn setting(facts: &Statement) -> Option<Arc<str>> {
    facts.settings.first()?.name.as_deref().map(Arc::from)
}

fn unlogged(facts: &Statement, behind: &BTreeSet<Arc<str>>, catalog: Option<&Catalog>) -> Option<Arc<str>> {
    let unlogged = catalog?.relations.iter().filter(|relation| relation.persistence == 'u');
    let mut read = unlogged.filter(|relation| {
        behind.contains(&*relation.name)
            || facts.reads.iter().any(|table| {
                table.name == relation.name && table.schema.as_ref().is_none_or(|schema| *schema == relation.schema)
            })
    });
    read.next().map(|relation| relation.name.as_str().into())
}
