//! Where a statement belongs, given the state before it.

use std::sync::Arc;

use splitproof_capture::sql::{HandlerVerb, Isolation, Relation, StatementKind, XaVerb};

use super::{DATABASE, Session};
use crate::intent::transaction::Transaction;
use crate::intent::{Class, Control, Intent, Pin, Reason, StatementProfile, Verdict};

impl Session {
    /// Where one statement belongs, given the state before it.
    pub(super) fn statement(&mut self, statement: &StatementProfile) -> Verdict {
        let statement = statement.does();
        self.imply(statement);
        if let Some(control) = control(&statement.facts.kind) {
            return self.control(control, statement);
        }
        if let Some(transaction) = &self.transaction
            && transaction.failed
        {
            let verdict = Verdict {
                pin: Some(Pin::Transaction),
                on_primary: transaction.needs_primary(),
                ..Verdict::new(Intent::Same, Reason::FailedTransaction)
            };
            return self.in_transaction(verdict);
        }
        // EXPLAIN EXECUTE works only where the statement was prepared, with ANALYZE or without.
        let statement = match &statement.inner {
            Some(inner) if matches!(inner.facts.kind, StatementKind::Execute { .. }) => inner,
            _ => statement,
        };
        let verdict = match statement.class {
            Class::Session => self.session_statement(statement),
            Class::State => set_config(statement, self.transaction.is_some()),
            Class::Primary | Class::Read | Class::Either => self.plain(statement),
        };
        let verdict = self.locked(self.tied(statement, verdict));
        self.in_transaction(verdict)
    }

    /// While a session holds table locks, it works where they are: "LOCK TABLES and UNLOCK TABLES Statements".
    fn locked(&self, verdict: Verdict) -> Verdict {
        match verdict.intent {
            Intent::Replica | Intent::Same if self.tables_locked => Verdict {
                on_primary: true,
                pin: verdict.pin.or(Some(Pin::TableLocks)),
                ..Verdict::new(Intent::Same, Reason::TableLocks)
            },
            _ => verdict,
        }
    }

    fn control(&self, control: Control, statement: &StatementProfile) -> Verdict {
        let verdict = Verdict::new(Intent::Same, Reason::TransactionControl);
        let serializable = match &statement.facts.kind {
            StatementKind::Begin(mode) if self.transaction.is_none() => {
                let isolation = mode.isolation.or(self.next.isolation).or(self.state.isolation);
                isolation == Some(Isolation::Serializable)
            }
            StatementKind::Begin(mode) | StatementKind::SetTransaction(mode) => {
                mode.isolation == Some(Isolation::Serializable)
            }
            _ => false,
        };
        let verdict = match &statement.facts.kind {
            StatementKind::PrepareTransaction | StatementKind::CommitPrepared | StatementKind::RollbackPrepared => {
                Verdict::new(Intent::Primary, Reason::TwoPhase)
            }
            StatementKind::Xa { .. } => Verdict::new(Intent::Primary, Reason::TwoPhase),
            _ if serializable => Verdict::new(Intent::Primary, self.serializable()),
            _ => verdict,
        };
        let opens = control == Control::Begin && self.transaction.is_none();
        let number = match &self.transaction {
            Some(transaction) => Some(transaction.number),
            None => opens.then_some(self.transactions + 1),
        };
        Verdict {
            pin: number.map(|_| Pin::Transaction),
            on_primary: self.transaction.as_ref().is_some_and(Transaction::needs_primary),
            transaction: number,
            control: Some(control),
            ..verdict
        }
    }

    fn serializable(&self) -> Reason {
        match self.rules.replica_refuses_serializable {
            true => Reason::Serializable,
            false => Reason::SerializableLocks,
        }
    }

    /// A statement on data.
    fn plain(&self, statement: &StatementProfile) -> Verdict {
        let facts = &statement.facts;
        let behind: Vec<Relation> =
            statement.behind.iter().map(|name| Relation { schema: None, name: name.to_string() }).collect();
        let temporary = facts
            .reads
            .iter()
            .chain(&facts.writes)
            .chain(&behind)
            .find_map(|relation| Some((relation, self.state.temporary(relation, self.rules)?)));
        if let Some((relation, temporary)) = temporary {
            let name: Arc<str> = relation.name.as_str().into();
            let only_temporary =
                facts.writes.iter().all(|relation| self.state.temporary(relation, self.rules).is_some());
            let creates = matches!(facts.kind, StatementKind::Create { .. });
            if !creates
                && only_temporary
                && (statement.class != Class::Primary
                    || statement.reason == Reason::Writes
                    || statement.reason == Reason::Defines
                    || matches!(statement.reason, Reason::Maintains(_)))
            {
                let reason = Reason::TemporaryTable(name.clone());
                return Verdict {
                    pin: Some(Pin::TemporaryTable(name)),
                    on_primary: temporary.on_primary,
                    ..Verdict::new(Intent::Same, reason)
                };
            }
        }
        // Catalogues show the session's own temporary objects.
        if statement.class == Class::Read
            && self.rules.temporary_schema
            && let Some((name, temporary)) = self.state.temporary.first_key_value()
            && facts.reads.iter().any(lists_objects)
        {
            let name: Arc<str> = name.as_str().into();
            let reason = Reason::TemporaryTable(name.clone());
            let pin = Some(Pin::TemporaryTable(name));
            return Verdict { pin, on_primary: temporary.on_primary, ..Verdict::new(Intent::Same, reason) };
        }
        let makes_temporary = matches!(facts.kind, StatementKind::Create { temporary: true, .. });
        let verdict = match statement.class {
            _ if makes_temporary && self.rules.temporary_on_replica && harmless(statement) => {
                Verdict { either: true, ..Verdict::new(Intent::Replica, Reason::MakesTemporary) }
            }
            _ if matches!(facts.kind, StatementKind::UnlockTables) => Verdict {
                on_primary: self.tables_locked,
                pin: self.tables_locked.then_some(Pin::TableLocks),
                ..Verdict::new(Intent::Same, Reason::TableLocks)
            },
            // Only the node on which the session drew the value knows it, and that can only be the primary.
            _ if matches!(statement.reason, Reason::SequenceValue(_)) => {
                Verdict { on_primary: true, ..Verdict::new(Intent::Same, statement.reason.clone()) }
            }
            Class::Read | Class::Either => Verdict {
                either: statement.class == Class::Either,
                ..Verdict::new(Intent::Replica, statement.reason.clone())
            },
            _ => Verdict::new(Intent::Primary, statement.reason.clone()),
        };
        let pin = match (&facts.kind, &statement.reason) {
            (StatementKind::Create { temporary: true, .. }, _) => {
                facts.writes.first().map(|table| Pin::TemporaryTable(table.name.as_str().into()))
            }
            (StatementKind::LockTables, _) => Some(Pin::TableLocks),
            (_, Reason::AdvisoryLock(_)) => Some(Pin::AdvisoryLock),
            (_, Reason::SequenceValue(_)) => Some(Pin::Sequence),
            _ => None,
        };
        Verdict { pin: pin.or(verdict.pin.clone()), ..verdict }
    }

    /// A statement on state of the session.
    fn session_statement(&self, statement: &StatementProfile) -> Verdict {
        let all = |name: &str| Verdict::new(Intent::All, Reason::SessionState(name.into()));
        match &statement.facts.kind {
            // Ends with the transaction, so that only the node of the transaction needs it.
            StatementKind::Set { local: true, .. } => shapes_transaction(),
            StatementKind::Set { name, .. } => all(name),
            StatementKind::Reset { name } => all(name.as_deref().unwrap_or("every setting")),
            StatementKind::SetCharacteristics(_) => all("the mode of later transactions"),
            StatementKind::Discard { .. } => all("what DISCARD drops"),
            StatementKind::Deallocate { name: None } => all("what DEALLOCATE ALL drops"),
            StatementKind::Prepare { name, .. } => {
                let name: Arc<str> = name.as_str().into();
                self.made(statement, Pin::Prepared(name.clone()), Reason::Prepared(name))
            }
            StatementKind::Declare { name, .. } => {
                let name: Arc<str> = name.as_str().into();
                self.made(statement, Pin::Cursor(name.clone()), Reason::Cursor(name))
            }
            StatementKind::Execute { name } => {
                let shared: Arc<str> = name.as_str().into();
                match self.prepared.get(name) {
                    Some(prepared) => self.used(prepared, Pin::Prepared(shared.clone()), Reason::Prepared(shared)),
                    None => Verdict {
                        pin: Some(Pin::Prepared(shared.clone())),
                        ..Verdict::new(Intent::Primary, Reason::UnknownOrigin(shared))
                    },
                }
            }
            StatementKind::Fetch { name } => {
                let shared: Arc<str> = name.as_str().into();
                match self.cursors.get(name) {
                    Some(cursor) => Verdict {
                        on_primary: self.needs_primary(&cursor.query),
                        pin: Some(Pin::Cursor(shared.clone())),
                        ..Verdict::new(Intent::Same, Reason::Cursor(shared))
                    },
                    None => Verdict {
                        pin: Some(Pin::Cursor(shared.clone())),
                        ..Verdict::new(Intent::Primary, Reason::UnknownOrigin(shared))
                    },
                }
            }
            StatementKind::Deallocate { name: Some(name) } => {
                let name: Arc<str> = name.as_str().into();
                let pin = Some(Pin::Prepared(name.clone()));
                Verdict { pin, ..Verdict::new(Intent::Same, Reason::Prepared(name)) }
            }
            StatementKind::CloseCursor { name } => {
                let name: Arc<str> = name.as_deref().unwrap_or("ALL").into();
                let pin = Some(Pin::Cursor(name.clone()));
                Verdict { pin, ..Verdict::new(Intent::Same, Reason::Cursor(name)) }
            }
            StatementKind::Listen { .. } | StatementKind::Unlisten { .. } => {
                Verdict { pin: Some(Pin::Listen), ..Verdict::new(Intent::Primary, Reason::Listens) }
            }
            StatementKind::SetVariables => self.assignment(statement),
            StatementKind::Use { .. } => all(DATABASE),
            StatementKind::Handler { table, verb } => {
                let name: Arc<str> = format!("handler {table}").into();
                let verdict = Verdict {
                    pin: Some(Pin::Cursor(name.clone())),
                    ..Verdict::new(Intent::Same, Reason::Cursor(name))
                };
                match verb {
                    // Any node may open it.
                    HandlerVerb::Open => Verdict { either: true, intent: Intent::Replica, ..verdict },
                    HandlerVerb::Read | HandlerVerb::Close => verdict,
                }
            }
            // Signals and diagnostics touch no data.
            StatementKind::GetDiagnostics | StatementKind::Signal => {
                Verdict { either: true, ..Verdict::new(Intent::Replica, Reason::ReadsServer) }
            }
            _ => all("session state"),
        }
    }

    /// PREPARE and DECLARE: any node may hold them, unless what they name belongs to the primary.
    fn made(&self, statement: &StatementProfile, pin: Pin, reason: Reason) -> Verdict {
        let verdict = match &statement.inner {
            Some(inner) if self.needs_primary(inner) => {
                let inner = self.plain(inner);
                Verdict { on_primary: true, ..Verdict::new(inner.intent.max(Intent::Same), inner.reason) }
            }
            _ => Verdict::new(Intent::Same, reason),
        };
        Verdict { pin: Some(pin), ..verdict }
    }

    /// EXECUTE does what was prepared, where it was prepared.
    fn used(&self, prepared: &StatementProfile, pin: Pin, reason: Reason) -> Verdict {
        let verdict = self.plain(prepared);
        let verdict = match verdict.intent {
            Intent::Primary => verdict,
            _ => Verdict { on_primary: verdict.on_primary, ..Verdict::new(Intent::Same, reason) },
        };
        Verdict { pin: Some(pin), ..verdict }
    }

    fn needs_primary(&self, statement: &StatementProfile) -> bool {
        let verdict = self.plain(statement);
        verdict.intent == Intent::Primary || verdict.on_primary
    }

    /// What the transaction around a statement makes of its verdict.
    pub(super) fn in_transaction(&mut self, verdict: Verdict) -> Verdict {
        let serializable = self.serializable();
        let Some(transaction) = &mut self.transaction else {
            return match verdict.intent {
                Intent::Replica
                    if self.rules.replica_refuses_serializable
                        && self.state.isolation == Some(Isolation::Serializable) =>
                {
                    Verdict::new(Intent::Primary, Reason::Serializable)
                }
                _ => verdict,
            };
        };
        let (number, snapshot) = (Some(transaction.number), transaction.keeps_snapshot(self.rules));
        transaction.wrote |= matches!(verdict.intent, Intent::Primary | Intent::Unknown) || verdict.on_primary;
        let pin = verdict.pin.clone().or(Some(Pin::Transaction));
        let verdict = match verdict.intent {
            Intent::Replica | Intent::Same if transaction.is_serializable() && verdict.control.is_none() => {
                Verdict::new(Intent::Primary, serializable)
            }
            Intent::Replica if transaction.read_only => Verdict {
                reason: if verdict.either { verdict.reason } else { Reason::ReadOnlyTransaction },
                ..Verdict { either: verdict.either, ..Verdict::new(Intent::Replica, Reason::Read) }
            },
            Intent::Replica => {
                Verdict { on_primary: transaction.needs_primary(), ..Verdict::new(Intent::Same, Reason::InTransaction) }
            }
            Intent::Same => Verdict { on_primary: verdict.on_primary || transaction.needs_primary(), ..verdict },
            Intent::Primary | Intent::Unknown | Intent::All | Intent::None => verdict,
        };
        Verdict { transaction: number, snapshot, pin, ..verdict }
    }
}

/// set_config(): like SET, or like SET LOCAL when its third argument says so.
fn set_config(statement: &StatementProfile, in_transaction: bool) -> Verdict {
    let settings = &statement.facts.settings;
    let local = !settings.is_empty() && settings.iter().all(|setting| setting.local == Some(true));
    match (local, in_transaction) {
        (true, true) => shapes_transaction(),
        // Outside a transaction it is over at once.
        (true, false) => Verdict { either: true, ..Verdict::new(Intent::Replica, Reason::ReadsServer) },
        (false, _) => Verdict::new(Intent::All, statement.reason.clone()),
    }
}

/// A setting that ends with the transaction.
fn shapes_transaction() -> Verdict {
    Verdict {
        pin: Some(Pin::Transaction),
        control: Some(Control::Inside),
        ..Verdict::new(Intent::Same, Reason::TransactionControl)
    }
}

/// True for a table or view of PostgreSQL's catalogue that lists objects of the database, a session's temporary ones included.
fn lists_objects(relation: &Relation) -> bool {
    const CATALOGUES: [&str; 14] = [
        "pg_attrdef",
        "pg_attribute",
        "pg_class",
        "pg_constraint",
        "pg_depend",
        "pg_index",
        "pg_indexes",
        "pg_namespace",
        "pg_proc",
        "pg_sequence",
        "pg_sequences",
        "pg_tables",
        "pg_type",
        "pg_views",
    ];
    match relation.schema.as_deref() {
        Some("information_schema") => true,
        None | Some("pg_catalog") => CATALOGUES.contains(&relation.name.as_str()),
        Some(_) => false,
    }
}

fn control(kind: &StatementKind) -> Option<Control> {
    Some(match kind {
        StatementKind::Begin(_) => Control::Begin,
        StatementKind::Commit { .. } | StatementKind::PrepareTransaction | StatementKind::CommitPrepared => {
            Control::Commit
        }
        StatementKind::Rollback { .. } | StatementKind::RollbackPrepared => Control::Rollback,
        StatementKind::Savepoint { .. }
        | StatementKind::Release { .. }
        | StatementKind::RollbackTo { .. }
        | StatementKind::SetTransaction(_)
        | StatementKind::SetConstraints => Control::Inside,
        StatementKind::Xa { verb } => match verb {
            XaVerb::Start => Control::Begin,
            XaVerb::End | XaVerb::Prepare => Control::Inside,
            XaVerb::Commit | XaVerb::CommitOnePhase => Control::Commit,
            XaVerb::Rollback => Control::Rollback,
            XaVerb::Recover => return None,
        },
        _ => return None,
    })
}

/// True for CREATE TEMPORARY TABLE that takes its rows from what any node has.
fn harmless(statement: &StatementProfile) -> bool {
    statement.reason == Reason::Defines && statement.facts.row_lock.is_none() && !statement.calls_primary
}
