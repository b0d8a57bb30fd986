//! One client connection through pgpool-II.

use std::collections::HashMap;
use std::sync::Arc;

use splitproof_capture::sql::{Facts, Isolation, Relation, Statement, StatementKind};
use splitproof_capture::trace::{Kind, Outcome, Request, TransactionStatus};

use super::conf::OnWrite;
use super::list::{Preference, Preferred};
use super::place::{Place, begins_as_read, place};
use super::{Pgpool, Writes};
use crate::simulate::{Decision, Nodes, Sent, draw};

/// A client's session.
pub struct Session<'a> {
    pool: &'a Pgpool,
    number: u64,
    user: Option<String>,
    database: Option<String>,
    application: Option<String>,
    /// The node of the session's balanced reads.
    node: usize,
    open: bool,
    failed: bool,
    serializable: bool,
    writing: bool,
    /// Tables that the transaction has written (`dml_adaptive`).
    written: Vec<String>,
    temporary: Vec<String>,
    prepared: HashMap<String, Nodes>,
    portals: HashMap<String, Nodes>,
    /// What the last request ran, where, and whether its text begins as a read.
    pending: Option<(Arc<Facts>, Nodes, bool)>,
}

impl<'a> Session<'a> {
    pub(super) fn new(pool: &'a Pgpool, request: &Request) -> Self {
        let owned = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
        let mut session = Session {
            pool,
            number: request.session,
            user: owned(&request.user),
            database: owned(&request.database),
            application: owned(&request.application),
            node: 0,
            open: false,
            failed: false,
            serializable: false,
            writing: false,
            written: Vec::new(),
            temporary: Vec::new(),
            prepared: HashMap::new(),
            portals: HashMap::new(),
            pending: None,
        };
        session.node = session.choose(u64::MAX).0;
        session
    }

    /// The node of a balanced read, and the preference that chose it.
    fn choose(&self, lot: u64) -> (usize, Option<String>) {
        let pool = self.pool;
        let numbers = [self.number, lot];
        let preferred = |list: &'a [Preference], who: &Option<String>| {
            let who = who.as_deref().unwrap_or_default();
            list.iter().find(|entry| entry.who.has(who))
        };
        // Of several, the application's counts most.
        let found = preferred(&pool.conf.applications, &self.application)
            .or_else(|| preferred(&pool.conf.databases, &self.database))
            .or_else(|| preferred(&pool.conf.users, &self.user));
        let mut weights = pool.weights.clone();
        if let Some(entry) = found {
            let share = (entry.ratio * 1_000_000.0) as u32;
            let inside = draw(&[share, 1_000_000 - share], [numbers[0], numbers[1] ^ 1]) == Some(0);
            let is_meant = |node: usize| match entry.node {
                Preferred::Primary => node == pool.primary,
                Preferred::Standby => node != pool.primary,
                Preferred::Number(number) => node == number,
            };
            for (node, weight) in weights.iter_mut().enumerate() {
                if is_meant(node) != inside {
                    *weight = 0;
                } else if inside && *weight == 0 && entry.node != Preferred::Standby {
                    *weight = 1;
                }
            }
            if let Some(node) = draw(&weights, numbers) {
                return (node, Some(entry.text.clone()));
            }
        }
        (draw(&pool.weights, numbers).unwrap_or(pool.primary), None)
    }

    fn primary(&self, reason: &str, rule: Option<&str>) -> Decision {
        self.pool.decision(Sent::To(Nodes::one(self.pool.primary)), reason, rule)
    }

    fn text(&mut self, sql: &str, request: &Request) -> Decision {
        let facts = self.pool.facts(request, sql);
        let decision = self.decide(&facts, sql, request);
        let nodes = match decision.sent {
            Sent::To(nodes) | Sent::OneOf(nodes) => nodes,
            _ => Nodes::default(),
        };
        let conf = &self.pool.conf;
        self.pending = Some((facts, nodes, begins_as_read(sql, conf.ignore_space, conf.comments)));
        decision
    }

    fn decide(&mut self, facts: &Facts, sql: &str, request: &Request) -> Decision {
        if facts.error.is_some() {
            return self.primary("pgpool cannot parse it either, as far as is known", None);
        }
        let statement = match facts.statements.as_slice() {
            [] => return self.primary("nothing to run", None),
            [statement] => statement,
            _ => return self.primary("several statements in one text", None),
        };
        match place(statement, sql) {
            Place::Primary(why) => self.primary(why, None),
            Place::All(_) if ends(statement) && !self.open => {
                self.primary("no transaction is open on the standbys", None)
            }
            Place::All(why) => self.pool.decision(Sent::To(self.pool.all()), &format!("{why}: to every node"), None),
            Place::Prepared => {
                let name = match &statement.kind {
                    StatementKind::Execute { name } | StatementKind::Deallocate { name: Some(name) } => name,
                    _ => "",
                };
                match (self.prepared.get(name), &statement.kind) {
                    (Some(&nodes), _) => self.pool.decision(Sent::To(nodes), "where it was prepared", None),
                    (None, StatementKind::Execute { .. }) => self.primary("its statement is not known", None),
                    (None, _) => {
                        self.pool.decision(Sent::To(self.pool.all()), "its statement is not known: to every node", None)
                    }
                }
            }
            Place::Either => self.balance(statement, sql, request),
        }
    }

    /// A statement that may go to any node, if nothing speaks against it: in the order in which pgpool looks.
    fn balance(&mut self, statement: &Statement, sql: &str, request: &Request) -> Decision {
        let pool = self.pool;
        let conf = &pool.conf;
        if self.writing && conf.on_write == OnWrite::Always {
            return self.primary("the session has written (disable_load_balance_on_write = always)", None);
        }
        if !conf.load_balance {
            return self.primary("load_balance_mode = off", None);
        }
        if statement.kind == StatementKind::Select && !begins_as_read(sql, conf.ignore_space, conf.comments) {
            let comment = sql.trim_start().starts_with(['/', '-']);
            let why = if comment {
                "a comment before it (allow_sql_comments = off)"
            } else {
                "its first character is not that of a read"
            };
            return self.primary(why, None);
        }
        if self.open && (self.writing || self.failed || self.serializable) {
            let why = match (self.writing, self.failed) {
                (true, _) => "the transaction has written (disable_load_balance_on_write)",
                (_, true) => "the transaction has failed",
                _ => "the transaction is SERIALIZABLE",
            };
            return self.primary(why, None);
        }
        if let Some(table) = statement.reads.iter().find(|table| is_catalog(table)) {
            return self.primary("it reads the system catalogue", Some(&table.to_string()));
        }
        let is_temporary = |table: &&Relation| {
            table.schema.as_deref().is_some_and(|schema| schema.starts_with("pg_temp"))
                || self.temporary.contains(&table.name)
        };
        if let Some(table) = statement.reads.iter().find(is_temporary).filter(|_| conf.temporary) {
            return self.primary("it reads a temporary table", Some(&table.to_string()));
        }
        let unlogged = |table: &&Relation| pool.unlogged(table.schema.as_deref(), &table.name);
        if let Some(table) = statement.reads.iter().find(unlogged).filter(|_| conf.unlogged) {
            return self.primary("it reads an unlogged table", Some(&table.to_string()));
        }
        if let Some(pattern) = conf.primary_queries.find(sql.trim().trim_end_matches(';').trim_end()) {
            return self.primary("its text is on the list (primary_routing_query_pattern_list)", Some(pattern));
        }
        let mut unknown = None;
        for function in &statement.functions {
            match pool.writes(function) {
                Writes::Yes => return self.primary("it calls a function that may write", Some(&function.to_string())),
                Writes::Unknown => unknown = Some(function),
                Writes::No => {}
            }
        }
        if let Some(function) = unknown {
            pool.unknown_functions.set(pool.unknown_functions.get() + 1);
            let both = Nodes::one(pool.primary).with(Nodes::one(self.node));
            return pool.decision(
                Sent::OneOf(both),
                "whether its function is volatile is not known",
                Some(&function.to_string()),
            );
        }
        let adaptive = conf.on_write == OnWrite::DmlAdaptive && self.open;
        if let Some(table) = statement.reads.iter().find(|table| adaptive && self.written.contains(&table.name)) {
            return self.primary("the transaction has written what it reads (dml_adaptive)", Some(&table.to_string()));
        }
        let lot = if conf.by_statement { u64::from(request.seq) } else { u64::MAX };
        let (node, rule) = self.choose(lot);
        self.node = node;
        let why = match (conf.by_statement, rule.is_some()) {
            (_, true) => "a preference list",
            (true, _) => "balanced, by weight for each statement",
            (false, _) => "balanced, by weight for the session",
        };
        pool.decision(Sent::To(Nodes::one(node)), why, rule.as_deref())
    }

    /// What a statement that ended well does to what pgpool remembers.
    fn settle(&mut self, facts: &Facts, nodes: Nodes, as_read: bool) {
        let calls = |statement: &Statement| {
            statement.functions.iter().any(|function| self.pool.writes(function) == Writes::Yes)
        };
        let several = facts.statements.len() > 1;
        for statement in &facts.statements {
            let writes = calls(statement);
            match &statement.kind {
                StatementKind::Begin(mode) => {
                    self.open = true;
                    self.begin(mode.isolation);
                }
                StatementKind::Commit { chain } | StatementKind::Rollback { chain } => {
                    self.open = *chain;
                    self.begin(None);
                }
                // Measured: pgpool 4.3.5 forgets here that the transaction has written.
                StatementKind::RollbackTo { .. } => self.forget(),
                StatementKind::SetTransaction(mode) | StatementKind::SetCharacteristics(mode)
                    if mode.isolation == Some(Isolation::Serializable) =>
                {
                    self.serializable = true;
                }
                StatementKind::PrepareTransaction => self.open = false,
                StatementKind::Prepare { name, .. } => drop(self.prepared.insert(name.clone(), nodes)),
                StatementKind::Deallocate { name: Some(name) } => drop(self.prepared.remove(name)),
                StatementKind::Deallocate { name: None } | StatementKind::Discard { .. } => self.prepared.clear(),
                _ => {}
            }
            if let StatementKind::Create { temporary: true, .. } = &statement.kind {
                self.temporary.extend(statement.writes.first().map(|table| table.name.clone()));
            }
            if matches!(statement.kind, StatementKind::Drop) {
                self.temporary.retain(|table| !statement.writes.iter().any(|dropped| dropped.name == *table));
            }
            if !several {
                // Seen of 4.3.5: a light lock, which every node gets, is no write of its table.
                let light = statement.kind == StatementKind::LockTable && nodes == self.pool.all();
                if !(light && self.pool.conf.on_write == OnWrite::DmlAdaptive) {
                    self.wrote(statement, writes, as_read);
                }
            }
        }
    }

    /// Remembers a write: everything counts as one that pgpool does not take for a read.
    fn wrote(&mut self, statement: &Statement, calls: bool, as_read: bool) {
        let reads = match &statement.kind {
            StatementKind::Select => {
                as_read && !statement.into && statement.row_lock.is_none() && !statement.modifying_cte
            }
            StatementKind::CopyTo { server_side } => !server_side,
            StatementKind::Show { .. } => true,
            StatementKind::Explain { analyze, inner } => !analyze || inner.kind == StatementKind::Select,
            StatementKind::Begin(_)
            | StatementKind::Commit { .. }
            | StatementKind::Rollback { .. }
            | StatementKind::RollbackTo { .. } => return,
            StatementKind::SetTransaction(mode) | StatementKind::SetCharacteristics(mode) => {
                mode.read_only == Some(true) || mode.isolation == Some(Isolation::Serializable)
            }
            _ => false,
        };
        if reads && !calls {
            return;
        }
        match self.pool.conf.on_write {
            OnWrite::Off => {}
            OnWrite::DmlAdaptive => {
                if self.open {
                    let names = statement.writes.iter().chain(&statement.reads).map(|table| table.name.clone());
                    let names: Vec<String> = names.collect();
                    for name in names {
                        let related = self
                            .pool
                            .conf
                            .related
                            .iter()
                            .filter(|(left, _)| *left == name)
                            .map(|(_, right)| right.clone());
                        self.written.extend(related);
                        self.written.push(name);
                    }
                }
            }
            OnWrite::Always => self.writing = true,
            OnWrite::Transaction | OnWrite::TransTransaction => self.writing |= self.open,
        }
    }

    fn begin(&mut self, isolation: Option<Isolation>) {
        self.forget();
        self.failed = false;
        self.serializable = isolation == Some(Isolation::Serializable);
    }

    fn forget(&mut self) {
        self.written.clear();
        if !matches!(self.pool.conf.on_write, OnWrite::TransTransaction | OnWrite::Always) {
            self.writing = false;
        }
    }
}

fn ends(statement: &Statement) -> bool {
    matches!(statement.kind, StatementKind::Commit { .. } | StatementKind::Rollback { .. })
}

/// Whether a table is one of `pg_catalog`.
fn is_catalog(table: &Relation) -> bool {
    match table.schema.as_deref() {
        Some(schema) => schema == "pg_catalog",
        None => table.name.starts_with("pg_"),
    }
}

impl crate::simulate::Session for Session<'_> {
    fn route(&mut self, request: &Request) -> Decision {
        self.pending = None;
        if let Some(application) = request.application.as_deref()
            && self.application.as_deref() != Some(application)
        {
            self.application = Some(application.to_owned());
        }
        match request.kind {
            Kind::Query | Kind::Copy | Kind::Execute | Kind::Prepare => match request.sql.clone() {
                Some(sql) => {
                    let decision = self.text(&sql, request);
                    if let (Kind::Execute, Sent::To(nodes)) = (request.kind, &decision.sent) {
                        self.portals.insert(request.portal.as_deref().unwrap_or_default().to_owned(), *nodes);
                    }
                    decision
                }
                None => self.pool.decision(Sent::OneOf(self.pool.all()), "its text is not known", None),
            },
            Kind::Fetch => {
                let portal = self.portals.get(request.portal.as_deref().unwrap_or_default()).copied();
                let nodes = portal.unwrap_or(Nodes::one(self.pool.primary));
                self.pool.decision(Sent::To(nodes), "where its portal is", None)
            }
            Kind::Call => self.primary("a call outside SQL", None),
            _ => self.pool.decision(Sent::Router, "pgpool answers it", None),
        }
    }

    fn ended(&mut self, request: &Request) {
        if request.outcome == Outcome::Ok
            && request.kind != Kind::Prepare
            && let Some((facts, nodes, as_read)) = self.pending.take()
        {
            self.settle(&facts, nodes, as_read);
        }
        if matches!(request.outcome, Outcome::Error | Outcome::Cancelled) && self.open {
            self.failed = true;
        }
        match request.transaction {
            Some(TransactionStatus::Idle) => (self.open, self.failed) = (false, false),
            Some(TransactionStatus::Open) => (self.open, self.failed) = (true, false),
            Some(TransactionStatus::Failed) => (self.open, self.failed) = (true, true),
            None => {}
        }
    }
}
