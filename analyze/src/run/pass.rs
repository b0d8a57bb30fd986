//! The first pass: every request of a run gets its intent, its place and its staleness.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use splitproof_capture::trace::{Kind, Outcome, Request, Role};

use super::causal::{Asked, Causal};
use super::cursor::{Cursors, Moment};
use super::open::Run;
use super::own::OwnCommits;
use super::pending::Pending;
use super::row::{Sender, row};
use super::session::{Transaction, Written, scope};
use super::snapshot::{AsOf, Snapshot};
use super::statement::Statement;
use super::taint::Taints;
use super::{Error, Statements, sweep};
use crate::attribution::{Extra, NodeIndex, Pinning, Placed, Placement, Receive, needs_execution};
use crate::comparison::{Attributed, CausalMode, Destination};
use crate::engine::{Row, RowWriter};
use crate::findings::extra::Extras;
use crate::findings::state::States;
use crate::findings::ties::Ties;
use crate::findings::transaction::Transactions;
use crate::findings::{Step, extra, shorten, state, transaction};
use crate::intent::{self, Control, Intent, Pin};
use crate::staleness::{Applied, Commit, Commits, Positions, Read, Scope, Staleness, judge};

/// Commits may be reported this much before they are visible, because a tap sees the answer before the client does.
const MARGIN_NS: i64 = 2_000_000;
/// Rows after which the order of the commits is settled and old ones are forgotten.
const SETTLE_EVERY: u32 = 64;

/// What the first pass found out about a run, beside the rows that it wrote.
pub struct Judgement {
    /// How long backend connections are kept, as far as the run shows it.
    pub pinning: Pinning,
    /// How far the evidence reached.
    pub attributed: Attributed,
    /// Executions per node.
    pub executions: Vec<u64>,
    /// Time that the primary spent on all statements, nanoseconds; `None` where its log is the evidence, which tells no durations.
    pub primary_ns: Option<u64>,
    /// Requests without their text.
    pub without_text: u64,
    /// Split transactions.
    pub transactions: transaction::Found,
    /// Missed session state.
    pub states: state::Found,
    /// Executions that no client asked for.
    pub extras: extra::Found,
    /// What each of MaxScale's causal_reads modes would have cost and prevented.
    pub causal_reads: Vec<CausalMode>,
}

/// Judges a run and writes its rows to `out`.
pub fn pass(run: &Run, statements: &mut Statements, out: &Path) -> Result<Judgement, Error> {
    let mut pinning = Pinning::Session;
    loop {
        let mut judging = Judging::new(run, statements, out)?;
        match sweep::sweep(run, pinning, &mut judging)? {
            Ok(counts) => return judging.finish(pinning, counts),
            Err(_contradiction) => pinning = pinning.weaker(),
        }
    }
}

/// What is known of one client session.
#[derive(Default)]
struct Session {
    intents: intent::Session,
    transaction: Transaction,
    snapshot: Snapshot,
    cursors: Cursors,
    own: OwnCommits,
}

struct Judging<'a> {
    run: &'a Run,
    predicted: bool,
    names: Vec<Arc<str>>,
    positions: Positions,
    statements: &'a mut Statements,
    sessions: HashMap<u64, Session>,
    transactions: Transactions,
    states: States,
    ties: Ties,
    extras: Extras,
    commits: Commits,
    taints: Taints,
    causal: Causal,
    pending: VecDeque<Pending>,
    writer: RowWriter,
    attributed: Attributed,
    without_text: u64,
    since_settled: u32,
    failed: Option<Error>,
}

impl<'a> Judging<'a> {
    fn new(run: &'a Run, statements: &'a mut Statements, out: &Path) -> Result<Self, Error> {
        let names: Vec<Arc<str>> = run.nodes().iter().map(|node| node.name.clone()).collect();
        let writer = RowWriter::create(out).map_err(|source| Error::Write { path: out.into(), source })?;
        Ok(Judging {
            run,
            predicted: run.simulation().is_some(),
            positions: run.positions()?,
            statements,
            sessions: HashMap::new(),
            transactions: Transactions::new(names.clone()),
            states: States::new(names.clone()),
            ties: Ties::default(),
            extras: Extras::new(names.clone()),
            names,
            commits: Commits::default(),
            taints: Taints::default(),
            causal: Causal::new(run.nodes()),
            pending: VecDeque::new(),
            writer,
            attributed: Attributed::default(),
            without_text: 0,
            since_settled: 0,
            failed: None,
        })
    }

    fn finish(mut self, pinning: Pinning, counts: sweep::Counts) -> Result<Judgement, Error> {
        self.settle(i64::MAX);
        if let Some(error) = self.failed {
            return Err(error);
        }
        let path = self.writer.path().to_path_buf();
        self.writer.finish().map_err(|source| Error::Write { path, source })?;
        Ok(Judgement {
            pinning,
            attributed: self.attributed,
            executions: counts.executions,
            primary_ns: counts.primary_ns,
            without_text: self.without_text,
            transactions: self.transactions.finish(),
            states: self.states.finish(),
            extras: self.extras.finish(),
            causal_reads: self.causal.finish(),
        })
    }

    fn judge(&mut self, placed: Placed) {
        let Placed { request, placement } = placed;
        let key = (request.recorded_session.unwrap_or(request.session), request.recorded_seq.unwrap_or(request.seq));
        let session = self.sessions.entry(request.session).or_default();
        let verdict = self.statements.judge(&mut session.intents, &request);
        let needed = needs_execution(&request);
        if request.kind == Kind::Prepare
            && request.outcome == Outcome::Ok
            && let Some(name) = request.statement.as_deref().filter(|name| !name.is_empty())
        {
            session.transaction.name(name, self.statements.prepared(&request));
        }
        let asked = match needed {
            true => self.statements.of(&request),
            false => Arc::new(Statement::default()),
        };
        let statement = session.transaction.resolve(asked.clone());
        let statement = match &verdict.pin {
            Some(Pin::TemporaryTable(table)) if statement.is_write() || verdict.intent == Intent::Same => {
                Arc::new(statement.without_temporary(table))
            }
            _ => statement,
        };
        self.without_text += u64::from(needed && request.sql.is_none() && request.kind != Kind::Call);
        let nodes: Option<Vec<NodeIndex>> = placement.nodes().map(Iterator::collect);
        let destination = self.destination(&placement);
        if let Some(destination) = destination {
            match destination {
                Destination::Ambiguous => self.attributed.ambiguous += 1,
                Destination::Unseen => self.attributed.unseen += 1,
                _ => self.attributed.attributed += 1,
            }
        }
        let session = self.sessions.entry(request.session).or_default();
        let earlier_writes = session.transaction.writes.clone();
        let effect = session.transaction.step(&request, &statement, verdict.control, verdict.transaction, key);
        let shape = self.statements.text(&request);
        let step = Step {
            request: &request,
            shape: &shape,
            intent: verdict.intent.as_str(),
            verdict: &verdict,
            nodes: nodes.as_deref(),
        };
        if matches!(request.kind, Kind::Reset | Kind::ChangeUser) && request.outcome == Outcome::Ok {
            self.states.end(request.session);
            self.ties.end(request.session);
        }
        let inside = verdict.transaction.is_some();
        if needed && inside {
            self.transactions.step(&step, verdict.control);
        }
        let mut lacks_state = false;
        if needed && verdict.control.is_none() {
            if request.outcome == Outcome::Ok {
                lacks_state |= self.states.step(&step, inside);
            }
            if self.ties.is_lost(&step) {
                lacks_state = true;
                // What is split inside a transaction is found there.
                if !inside {
                    self.states.pinned(&step);
                }
            }
        }
        if verdict.intent == Intent::Same && verdict.on_primary && verdict.control.is_none() {
            let elsewhere = nodes.as_deref().is_some_and(|nodes| nodes.iter().any(|&node| !self.is_primary(node)));
            lacks_state |= elsewhere;
            if elsewhere && !inside {
                self.states.pinned(&step);
            }
        }
        if let Some(committed) = effect.ended {
            self.transactions.end(request.session);
            self.states.end_transaction(request.session, committed);
        }
        self.taints.step(&request, &statement);
        let sender = Sender::of(&request, self.run.dialect(), self.run.client_tag());
        let client = sender.client.clone();
        let own = self.sessions.get(&request.session).and_then(|session| session.own.last);
        if !effect.committed.is_empty() {
            self.commit(&request, &placement, &effect.committed, client.clone());
        }
        let mut row = row(&request, key, needed, sender);
        row.intent = (verdict.intent != Intent::None).then(|| verdict.intent.as_str());
        row.reason = Some(verdict.reason.to_string().into());
        row.either = verdict.either;
        row.transaction_number = verdict.transaction.map(i64::from);
        row.destination = destination.map(Destination::as_str);
        row.nodes = nodes.as_deref().map(|nodes| self.joined(nodes));
        row.primary_ns = self.time_on(Role::Primary, &placement);
        row.replica_ns = self.time_on(Role::Replica, &placement);
        (row.movable, row.changes) = (verdict.is_movable(), statement.is_write());
        row.varies = statement.varies.clone();
        row.lacks_state = lacks_state;
        row.answer =
            if statement.ordered { request.checksum_rows } else { request.checksum_rowset }.map(u128::to_le_bytes);
        let here = self.on_replica(&request, &placement, destination);
        let reads_data = verdict.intent == Intent::Replica && needed;
        let session = self.sessions.entry(request.session).or_default();
        if reads_data && let Some(newest_ns) = session.own.newest(&statement.read_scope()) {
            row.own_fresh_ns = Some(request.start_ns.saturating_sub(newest_ns).max(0));
        }
        let causal = (reads_data && !verdict.either).then_some(own);
        let shown = here.map(|now| session.cursors.shown_by(&request, &asked, now));
        let mut read = shown.filter(|_| !statement.read_scope().is_empty());
        if let (Some(_), Some(now)) = (read, here) {
            self.own_open_write(&mut row, &request, &statement, &earlier_writes, now.start_ns);
        }
        let end_ns = request.end_ns().unwrap_or(request.start_ns);
        let mut as_of = AsOf { from_ns: request.start_ns, to_ns: end_ns };
        if let Some(session) = self.sessions.get_mut(&request.session).filter(|_| needed) {
            as_of = session.snapshot.step(&request, &verdict, &statement, !earlier_writes.is_empty(), &mut read);
        }
        let (scope, reads) = (statement.scope(), statement.read_scope());
        self.pending.push_back(Pending { row, scope, reads, read, as_of, end_ns, causal, client });
        if request.kind == Kind::Disconnect {
            self.transactions.end(request.session);
            self.states.end(request.session);
            self.ties.end(request.session);
            self.sessions.remove(&request.session);
        }
        self.since_settled += 1;
        if self.since_settled >= SETTLE_EVERY {
            self.since_settled = 0;
            self.settle(request.start_ns);
        }
    }

    fn destination(&self, placement: &Placement) -> Option<Destination> {
        if self.run.nodes().is_empty() {
            return None;
        }
        match placement {
            Placement::NotNeeded => None,
            Placement::Ambiguous(_) => Some(Destination::Ambiguous),
            Placement::Unseen => Some(Destination::Unseen),
            Placement::Decided(sites) => {
                let primary = sites.iter().any(|site| self.is_primary(site.node));
                let replica = sites.iter().any(|site| !self.is_primary(site.node));
                Some(match (primary, replica) {
                    (true, true) => Destination::Both,
                    (true, false) => Destination::Primary,
                    _ => Destination::Replica,
                })
            }
        }
    }

    fn is_primary(&self, node: NodeIndex) -> bool {
        self.run.nodes().get(node).is_some_and(|node| node.role == Role::Primary)
    }

    fn joined(&self, nodes: &[NodeIndex]) -> Arc<str> {
        crate::findings::names(nodes, &self.names).join("+").into()
    }

    /// How long the nodes of a role worked on it.
    fn time_on(&self, role: Role, placement: &Placement) -> Option<i64> {
        let nodes = self.run.nodes().iter().enumerate().filter(|(_, node)| node.role == role);
        let executions = nodes.filter_map(|(node, _)| placement.on(node));
        executions
            .map(|execution| Some(execution.end_ns?.saturating_sub(execution.start_ns)))
            .sum::<Option<i64>>()
            .filter(|&ns| ns > 0)
    }

    /// The replica that answered a statement, when only replicas did.
    fn on_replica(&self, request: &Request, placement: &Placement, destination: Option<Destination>) -> Option<Moment> {
        let Placement::Decided(sites) = placement else { return None };
        // In a prediction nothing was answered, so that nothing can be stale.
        if self.predicted {
            return None;
        }
        if destination != Some(Destination::Replica) || request.outcome != Outcome::Ok {
            return None;
        }
        let site = sites.first()?;
        let (start_ns, end_ns) = match &site.execution {
            Some(execution) => (execution.start_ns, execution.end_ns),
            None => (request.start_ns, request.end_ns()),
        };
        let end_ns = end_ns.or(request.end_ns()).unwrap_or(start_ns);
        Some(Moment { node: site.node, sent_ns: request.start_ns, start_ns, end_ns })
    }

    /// A read on a replica inside a transaction cannot see what that transaction wrote on the primary.
    fn own_open_write(
        &self,
        row: &mut Row,
        request: &Request,
        statement: &Statement,
        earlier: &[Written],
        start_ns: i64,
    ) {
        let reads = statement.read_scope();
        if let Some(written) = earlier.iter().find(|written| written.changed.touches(&reads)) {
            row.staleness = Some("stale");
            row.own = true;
            row.any_table = written.changed == Scope::Any;
            row.lag_ns = Some(request.start_ns.saturating_sub(written.end_ns).max(0));
            row.uncertainty_ns = Some(start_ns.saturating_sub(request.start_ns).max(0));
            row.missed = Some(shorten(&written.sql).into());
        }
    }

    /// A request that committed writes. Where the primary's own trace has the execution, that bounds the commit best.
    fn commit(&mut self, request: &Request, placement: &Placement, writes: &[Written], client: Option<Arc<str>>) {
        let primary = self.run.nodes().iter().position(|node| node.role == Role::Primary);
        let execution = primary.and_then(|node| placement.on(node));
        let client_end = request.end_ns().unwrap_or(request.start_ns);
        let (start_ns, end_ns) = match execution {
            Some(execution) => (execution.start_ns, execution.end_ns.unwrap_or(client_end)),
            None => (request.start_ns, client_end),
        };
        let name = primary.and_then(|node| self.names.get(node)).map_or("", |name| name);
        let changing: Vec<&Written> = writes.iter().filter(|written| !written.changed.is_empty()).collect();
        let commit = Commit {
            place: self.positions.place(name, start_ns, end_ns),
            session: Some(request.session),
            client,
            writes: writes.iter().map(|written| written.key).collect(),
            changed: scope(changing.iter().map(|written| &written.changed)),
            any_table: changing.iter().all(|written| written.changed == Scope::Any),
            sql: changing.first().map_or_else(|| Arc::from(""), |written| written.sql.clone()),
        };
        let changed = scope(changing.iter().map(|written| &written.changed));
        self.sessions.entry(request.session).or_default().own.push(commit.place, &changed);
        self.causal.commit(&commit);
        self.commits.push(commit, &scope(writes.iter().map(|written| &written.scope)));
    }

    /// Every request that started before `frontier_ns` has been judged, so that all commits that ended before it are known.
    fn settle(&mut self, frontier_ns: i64) {
        self.commits.settle(frontier_ns);
        while let Some(mut pending) = self
            .pending
            .pop_front_if(|pending| pending.end_ns.saturating_add(MARGIN_NS) < frontier_ns || frontier_ns == i64::MAX)
        {
            let missed = self.conclude(&mut pending);
            if let Some(own) = pending.causal {
                let asked = Asked {
                    sent_ns: pending.row.start_ns,
                    own,
                    served_by: pending.read.map(|read| read.node),
                    reads: &pending.reads,
                    missed,
                };
                self.causal.read(&asked, &self.commits, &self.positions);
            }
            if let Err(source) = self.writer.push(&pending.row) {
                self.failed.get_or_insert(Error::Write { path: self.writer.path().into(), source });
            }
        }
        let oldest_ns = self.pending.front().map_or(frontier_ns, |pending| pending.row.start_ns);
        let states = self.pending.iter().map(|pending| pending.as_of.from_ns);
        let kept = self.sessions.values().filter_map(|session| session.snapshot.since_ns());
        let shown_ns = states.chain(kept).min().unwrap_or(oldest_ns);
        let (positions, nodes) = (&self.positions, self.run.nodes());
        self.causal.forget(oldest_ns);
        self.commits.forget(oldest_ns, shown_ns, |commit| {
            let mut replicas = nodes.iter().filter(|node| node.role == Role::Replica);
            replicas.all(|node| positions.applied(&node.name, &commit.place, oldest_ns, oldest_ns) == Applied::Yes)
        });
    }

    /// The verdicts that need the commits before and during the request.
    /// Says whether the answer missed a commit, and whether that was one of its own session; what its open transaction wrote apart.
    fn conclude(&self, pending: &mut Pending) -> Option<bool> {
        let Pending { row, scope, reads, read, as_of, end_ns, client, causal } = pending;
        let session = row.session.cast_unsigned();
        row.history = self.commits.history(scope, as_of.from_ns).cast_signed();
        row.concurrent = !scope.is_empty() && self.commits.concurrent(scope, as_of.from_ns, as_of.to_ns, session);
        row.tainted = self.taints.of(scope, *end_ns);
        row.unknown_writes = self.taints.unknown(scope, *end_ns);
        if causal.is_some()
            && let Some(newest_ns) = self.commits.newest(reads, row.start_ns)
        {
            row.fresh_ns = Some(row.start_ns.saturating_sub(newest_ns).max(0));
        }
        let Moment { node, sent_ns, start_ns, end_ns } = (*read)?;
        let node = self.names.get(node)?;
        let read = Read { node, session, client: client.as_deref(), scope: reads, sent_ns, start_ns, end_ns };
        // A write of its own open transaction, which it has missed for certain, may not be the oldest that it missed.
        let missed_own = row.staleness.is_some();
        let judged = judge(&read, &self.commits, &self.positions);
        let own_missed = match &judged {
            Staleness::Stale(missed) => Some(missed.own),
            _ => None,
        };
        match judged {
            Staleness::Current | Staleness::Unknown if missed_own => {}
            Staleness::Current => row.staleness = Some("current"),
            Staleness::Unknown => row.staleness = Some("unknown"),
            Staleness::Stale(missed) => {
                row.staleness = Some("stale");
                let lag_ns = i64::try_from(missed.lag_ns).ok();
                if lag_ns > row.lag_ns {
                    row.lag_ns = lag_ns;
                    row.uncertainty_ns = i64::try_from(missed.uncertainty_ns).ok();
                }
                if !missed_own {
                    row.own = missed.own;
                    row.same_client = missed.same_client && !missed.own;
                    row.any_table = missed.any_table;
                    row.missed = Some(shorten(&missed.sql).into());
                }
            }
        }
        own_missed
    }
}

impl Receive for Judging<'_> {
    fn placed(&mut self, placed: Placed) {
        self.judge(placed);
    }

    fn extra(&mut self, extra: Extra) {
        let statement = self.statements.of(&extra.execution);
        let shape = self.statements.text(&extra.execution);
        // A COMMIT writes too; a repeated one is what a router does that retries it.
        let mut session = intent::Session::new();
        let control = self.statements.judge(&mut session, &extra.execution).control;
        let repeated_commit = extra.repeats.is_some() && control == Some(Control::Commit);
        self.extras.push(&extra, &shape, statement.is_write() || repeated_commit);
        if self.is_primary(extra.node) && statement.is_write() && extra.execution.outcome == Outcome::Ok {
            let row = &extra.execution;
            let end_ns = row.end_ns().unwrap_or(row.start_ns);
            let name = self.names.get(extra.node).map_or("", |name| name);
            let commit = Commit {
                place: self.positions.place(name, row.start_ns, end_ns),
                session: None,
                client: None,
                writes: vec![(u64::MAX, row.seq)],
                changed: statement.changed_scope(row.affected),
                any_table: statement.writes_any,
                sql: row.sql.clone().unwrap_or_else(|| Arc::from("")),
            };
            self.causal.commit(&commit);
            self.commits.push(commit, &statement.write_scope());
        }
    }
}
