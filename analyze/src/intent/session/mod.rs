//! One client connection's state.
//!
//! - `verdict`: where a statement belongs, given the state before it
//! - `apply`: what a statement that ended well does to the state
//! - `implied`: transactions that open and end without a word (MySQL and MariaDB)
//! - `kept`: user variables, the last insert id, warnings: what lives where an earlier statement ran (MySQL and MariaDB)

mod apply;
mod implied;
mod kept;
mod verdict;

use std::collections::HashMap;
use std::sync::Arc;

use splitproof_capture::sql::TransactionMode;
use splitproof_capture::trace::{Kind, Outcome, TransactionStatus};

use super::revertible::Revertible;
use super::rules::Rules;
use super::transaction::Transaction;
use super::{Intent, Judge, Pin, Profile, Reason, RequestView, StatementProfile, Verdict};
use kept::Kept;

/// What USE and the command behind it set.
const DATABASE: &str = "the default database";

/// The server has rolled the transaction back: a deadlock (MySQL and MariaDB, "How to Minimize and Handle Deadlocks").
const DEADLOCK: &str = "1213";

/// Judges the requests of one connection, in order.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// The engine's.
    rules: Rules,
    state: Revertible,
    transaction: Option<Transaction>,
    /// Explicit transactions so far.
    transactions: u32,
    /// What SET TRANSACTION said of the next transaction.
    next: TransactionMode,
    /// autocommit = 0: a transaction is open from the first statement on.
    manual_commit: bool,
    /// LOCK TABLES holds some.
    tables_locked: bool,
    kept: Kept,
    prepared: HashMap<String, Arc<StatementProfile>>,
    cursors: HashMap<String, Cursor>,
    /// What the server reported at the end of a pipeline group, to be believed when the group is over.
    reported: Option<(Option<u32>, TransactionStatus)>,
}

#[derive(Clone, Debug)]
struct Cursor {
    query: Arc<StatementProfile>,
    hold: bool,
    /// The transaction that declared it, for as long as that is open.
    declared_in: Option<u32>,
}

impl Session {
    /// A connection that has just begun, or was joined midway.
    pub fn new() -> Self {
        Session::default()
    }

    /// Where the next request belongs.
    pub fn judge(&mut self, judge: &mut Judge, request: &RequestView<'_>) -> Verdict {
        self.rules = Rules::of(judge.engine());
        self.believe_report(request.pipeline_group);
        let verdict = match request.kind {
            Kind::Query | Kind::Execute | Kind::Copy => match request.sql {
                Some(sql) => self.text(judge.profile(request.shape_id, sql), request),
                None => self.without_text(request),
            },
            Kind::Fetch => {
                let portal = Arc::from(request.portal.unwrap_or(""));
                let pinned = Verdict { pin: Some(Pin::Portal(portal)), ..Verdict::new(Intent::Same, Reason::Portal) };
                self.in_transaction(pinned)
            }
            Kind::Call => self.in_transaction(Verdict::new(Intent::Primary, Reason::FastPath)),
            Kind::Prepare | Kind::Close => {
                self.name(judge, request);
                Verdict::new(Intent::None, Reason::NotRouted)
            }
            Kind::Connect | Kind::Disconnect | Kind::Cancel | Kind::Ping | Kind::Other => {
                Verdict::new(Intent::None, Reason::NotRouted)
            }
            Kind::InitDb => Verdict::new(Intent::All, Reason::SessionState(DATABASE.into())),
            Kind::Reset | Kind::ChangeUser => {
                Verdict::new(Intent::All, Reason::SessionState(request.kind.as_str().into()))
            }
        };
        if let Some(status) = request.transaction {
            self.reported = Some((request.pipeline_group, status));
        }
        if request.pipeline_group.is_none() {
            self.believe_report(None);
        }
        if let Some(autocommit) = request.autocommit {
            self.manual_commit = !autocommit;
        }
        if matches!(request.kind, Kind::Reset | Kind::ChangeUser) && request.outcome == Outcome::Ok {
            *self = Session { rules: self.rules, transactions: self.transactions, ..Session::new() };
        }
        verdict
    }

    /// SQL's EXECUTE finds what the protocol prepared, since both share their names.
    fn name(&mut self, judge: &mut Judge, request: &RequestView<'_>) {
        let Some(name) = request.statement.filter(|name| !name.is_empty() && request.outcome == Outcome::Ok) else {
            return;
        };
        self.prepared.remove(name);
        if let (Kind::Prepare, Some(sql)) = (request.kind, request.sql)
            && let [statement] = judge.profile(request.shape_id, sql).statements.as_slice()
        {
            self.prepared.insert(name.to_owned(), Arc::clone(statement));
        }
    }

    fn without_text(&mut self, request: &RequestView<'_>) -> Verdict {
        let verdict = Verdict::new(Intent::Unknown, Reason::NoText);
        self.ended_badly(request);
        self.in_transaction(verdict)
    }

    /// What an error does to the transaction around it.
    fn ended_badly(&mut self, request: &RequestView<'_>) {
        if !matches!(request.outcome, Outcome::Error | Outcome::Cancelled) {
            return;
        }
        if self.rules.errors_fail_transactions {
            self.fail();
        } else if request.error_code == Some(DEADLOCK) {
            self.end(false, false);
        }
    }

    fn text(&mut self, profile: Arc<Profile>, request: &RequestView<'_>) -> Verdict {
        // A text that failed leaves no trace but a failed transaction: the server runs it as one unit.
        let before = (profile.statements.len() > 1 && request.outcome != Outcome::Ok).then(|| self.clone());
        let mut verdict: Option<Verdict> = None;
        for statement in &profile.statements {
            let next = self.statement(statement);
            let ok = request.outcome == Outcome::Ok || before.is_some();
            self.kept.ran(statement.does(), &next, ok);
            if ok {
                self.apply(statement, &next);
            }
            verdict = Some(match verdict {
                Some(verdict) => join(verdict, next),
                None => next,
            });
        }
        if let Some(before) = before {
            *self = before;
        }
        self.ended_badly(request);
        let verdict = verdict.unwrap_or_else(|| match &profile.error {
            Some(error) => self.in_transaction(Verdict::new(Intent::Primary, Reason::Unparsable(error.clone()))),
            None => Verdict::new(Intent::None, Reason::Empty),
        });
        Verdict { profile: Some(profile), ..verdict }
    }
}

/// The verdict on a text of several statements: it goes to one place as a whole, so the most demanding one decides.
fn join(one: Verdict, other: Verdict) -> Verdict {
    let (either, on_primary) = (one.either && other.either, one.on_primary || other.on_primary);
    let (transaction, snapshot) = (other.transaction.or(one.transaction), one.snapshot || other.snapshot);
    let (mut verdict, second) = if other.intent > one.intent { (other, one) } else { (one, other) };
    if verdict.intent == Intent::Replica {
        verdict.either = either;
    }
    Verdict { on_primary, transaction, snapshot, pin: verdict.pin.or(second.pin), control: None, ..verdict }
}
