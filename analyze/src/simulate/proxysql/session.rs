//! One client connection through ProxySQL.

use std::collections::HashMap;
use std::sync::Arc;

use splitproof_capture::trace::{Kind, Outcome, Request, TransactionStatus};

use super::class::{Class, Transaction};
use super::config::User;
use super::rules::{Answered, Context, Seen};
use super::set::{Set, set};
use super::{Proxysql, words};
use crate::simulate::{Decision, Nodes, Sent, draw};

/// A client's session.
pub struct Session<'a> {
    proxy: &'a Proxysql,
    user: User,
    context: Context,
    number: u32,
    /// Begins without a flag, unless a rule has set one.
    next_flag_in: Option<u32>,
    autocommit: bool,
    /// Hostgroups with an open transaction.
    open: Vec<u32>,
    /// `transaction_persistent` holds the session here.
    persistent: Option<u32>,
    /// A SET holds it here.
    locked: Option<(u32, &'static str)>,
    /// Where rows were last changed.
    changed: Option<u32>,
    /// Where the last statement left warnings.
    warnings: Option<u32>,
    connections: HashMap<u32, Connection>,
    /// What was decided and has not ended yet.
    pending: Option<Pending>,
}

/// The session's connection to a server of a hostgroup.
#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    node: usize,
    /// Why it is not given back.
    kept: Option<&'static str>,
    /// A rule has switched multiplexing off.
    no_multiplex: bool,
    /// Statements for which it is kept after an insert that generated a key.
    delay: u32,
}

/// A request between its decision and its end.
struct Pending {
    hostgroup: Option<u32>,
    class: Arc<Class>,
    multiplex: Option<u32>,
    locks: Option<&'static str>,
    autocommit: Option<bool>,
    schema: Option<String>,
}

/// How a decision is made: hostgroup, reason and rule.
struct Way {
    hostgroup: u32,
    reason: Arc<str>,
    rule: Option<Arc<str>>,
}

impl<'a> Session<'a> {
    pub(super) fn new(proxy: &'a Proxysql, request: &Request) -> Self {
        let name = request.user.as_deref().unwrap_or_default();
        let user = proxy.user(name);
        let schema = request.database.as_deref().filter(|database| !database.is_empty());
        let schema = schema.unwrap_or(&proxy.variables().default_schema).to_owned();
        let client = request.client.as_deref().map(|address| host(address).to_owned());
        let context = Context { user: name.to_owned(), schema, client };
        let number = proxy.rules.context(&context);
        Session {
            proxy,
            user,
            context,
            number,
            next_flag_in: None,
            autocommit: true,
            open: Vec::new(),
            persistent: None,
            locked: None,
            changed: None,
            warnings: None,
            connections: HashMap::new(),
            pending: None,
        }
    }

    fn schema(&mut self, schema: String) {
        if schema != self.context.schema {
            self.context.schema = schema;
            self.number = self.proxy.rules.context(&self.context);
        }
    }

    /// ProxySQL keeps it and sets it on every connection that the session uses.
    fn kept(&self, why: &str) -> Decision {
        self.proxy.decision(Sent::To(self.proxy.hostgroups.all()), why, None)
    }

    fn by_router(&self, why: &str) -> Decision {
        self.proxy.decision(Sent::Router, why, None)
    }

    /// A text, or a statement that is prepared or executed in the protocol.
    fn text(&mut self, sql: &str, request: &Request) -> Decision {
        let prepared = matches!(request.kind, Kind::Prepare | Kind::Execute);
        let raw = request.sql_raw.as_deref().unwrap_or(sql.as_bytes());
        let lot = request.session.rotate_left(32) ^ u64::from(request.seq);
        // The plainest COMMIT and ROLLBACK come before the rules.
        let mut start = self.start();
        if !prepared && words::ends_transaction(raw) {
            match self.open.first() {
                Some(&open) => start = open,
                None => return self.by_router("no transaction is open: ProxySQL answers it"),
            }
        }
        if self.user.fast_forward {
            let way = Way {
                hostgroup: self.user.default_hostgroup,
                reason: self.proxy.word("fast_forward: no rule is looked at"),
                rule: None,
            };
            let class = Arc::new(Class::of(raw, raw));
            self.pend(Some(way.hostgroup), class, None);
            return self.send(way, lot);
        }
        if !prepared && words::answered_by_proxysql(raw) {
            return self.by_router("ProxySQL answers it");
        }
        let flag_in = self.next_flag_in.take().unwrap_or(0);
        let seen = self.proxy.rules.see((&self.context, self.number), flag_in, raw, request.kind == Kind::Execute, lot);
        self.next_flag_in = seen.output.next_flag_in;
        if seen.output.rewritten.is_some() {
            self.proxy.rewrote();
        }
        let rule = seen.output.rule.clone().or_else(|| self.proxy.last_rule(&seen.output.matched));
        match seen.output.answered {
            Some(Answered::Ok) => return self.proxy.decision(Sent::Router, "a rule answers it (OK_msg)", rule),
            Some(Answered::Error) => {
                return self.proxy.decision(Sent::Refused("1148".into()), "a rule refuses it (error_msg)", rule);
            }
            None => {}
        }
        let class = seen.class.clone();
        let mut locks = None;
        let mut way = None;
        if !prepared {
            if class.use_database {
                self.pend(None, class, None);
                if let Some(pending) = &mut self.pending {
                    pending.schema = words::database(sql);
                }
                return self.kept("USE: ProxySQL keeps it");
            }
            if class.kill {
                return self.by_router("KILL: ProxySQL ends the session that it means itself");
            }
            if class.load_local && !self.proxy.variables().load_local {
                return self.proxy.decision(Sent::Refused("1047".into()), "LOAD DATA LOCAL is switched off", None);
            }
            if class.set && self.locked.is_none() {
                match set(sql) {
                    Set::Kept => {
                        self.pend(None, class, None);
                        return self.kept("SET: ProxySQL keeps it");
                    }
                    Set::Autocommit(on) => {
                        let ends = on && !self.autocommit && !self.open.is_empty();
                        self.pend(None, class.clone(), None);
                        if let Some(pending) = &mut self.pending {
                            pending.autocommit = Some(on);
                        }
                        if !ends {
                            return self.kept("SET autocommit: ProxySQL keeps it");
                        }
                        let open = self.open.first().copied().unwrap_or(start);
                        way = Some(Way {
                            hostgroup: open,
                            reason: self.proxy.word("SET autocommit = 1 ends the open transaction"),
                            rule: None,
                        });
                    }
                    Set::Locks(why) => locks = Some(why),
                }
            }
            if class.insert_id && way.is_none() {
                match self.after_insert(raw) {
                    Some(Ok(found)) => way = Some(found),
                    Some(Err(answered)) => return answered,
                    None => {}
                }
            }
            if class.warnings
                && let Some(hostgroup) = self.warnings
            {
                way = Some(Way {
                    hostgroup,
                    reason: self.proxy.word("where the statement before left its warnings"),
                    rule: None,
                });
            }
        }
        let autocommit = self.pending.take().and_then(|pending| pending.autocommit);
        let way = way.unwrap_or_else(|| self.way(start, &seen));
        if let Some((group, why)) = self.locked
            && way.hostgroup != group
        {
            self.pend(None, class, None);
            let reason = format!(
                "the session is locked to hostgroup {group} by {why}, and this goes to hostgroup {}",
                way.hostgroup
            );
            return self.proxy.decision(Sent::Refused("9006".into()), &reason, way.rule);
        }
        self.pend(Some(way.hostgroup), class, seen.output.multiplex);
        if let Some(pending) = &mut self.pending {
            (pending.locks, pending.autocommit) = (locks, autocommit);
        }
        let decision = self.send(way, lot);
        match locks {
            Some(why) if self.proxy.variables().lock => {
                let reason = format!("{}; SET of {why} locks the session to this hostgroup", decision.reason);
                self.proxy.decision(decision.sent, &reason, decision.rule)
            }
            _ => decision,
        }
    }

    /// The hostgroup before any rule is looked at.
    fn start(&self) -> u32 {
        let locked = self.locked.map(|(group, _)| group);
        self.persistent.or(locked).unwrap_or(self.user.default_hostgroup)
    }

    /// The hostgroup that rules, comments, and the session's state make.
    fn way(&self, start: u32, seen: &Seen) -> Way {
        let wanted = seen.hint.or(seen.output.destination);
        let rule = if seen.hint.is_some() { Some("comment".into()) } else { seen.output.rule.clone() };
        if let Some(group) = self.persistent {
            let reason = match wanted.filter(|&wanted| wanted != group) {
                Some(_) => "the open transaction stays where it is (transaction_persistent), whatever the rules say",
                None => "in the open transaction (transaction_persistent)",
            };
            return Way { hostgroup: group, reason: self.proxy.word(reason), rule: None };
        }
        match wanted {
            Some(hostgroup) => Way { hostgroup, reason: self.proxy.group_word(hostgroup), rule },
            None if self.locked.is_some() => Way {
                hostgroup: start,
                reason: self.proxy.word("no rule; the session is locked to this hostgroup"),
                rule: None,
            },
            None if start != self.user.default_hostgroup => {
                Way { hostgroup: start, reason: self.proxy.word("where the transaction is open"), rule: None }
            }
            None => {
                let hostgroup = self.user.default_hostgroup;
                Way { hostgroup, reason: self.proxy.word("no rule: the user's default hostgroup"), rule: None }
            }
        }
    }

    /// What asks for the last generated key goes where rows were last changed, while that connection is there; else ProxySQL answers the
    /// plainest forms.
    fn after_insert(&self, raw: &[u8]) -> Option<Result<Way, Decision>> {
        if let Some(hostgroup) = self.changed
            && self.holds(hostgroup)
        {
            let reason = self.proxy.word("asks for the last key: where rows were last changed");
            return Some(Ok(Way { hostgroup, reason, rule: None }));
        }
        words::asks_for_key(raw).then(|| Err(self.by_router("asks for the last key: ProxySQL answers it")))
    }

    /// Whether the session's connection to a hostgroup is still there.
    fn holds(&self, hostgroup: u32) -> bool {
        let kept = self
            .connections
            .get(&hostgroup)
            .is_some_and(|connection| connection.kept.is_some() || connection.no_multiplex || connection.delay > 0);
        kept || self.open.contains(&hostgroup) || !self.proxy.variables().multiplexing
    }

    fn pend(&mut self, hostgroup: Option<u32>, class: Arc<Class>, multiplex: Option<u32>) {
        self.pending = Some(Pending { hostgroup, class, multiplex, locks: None, autocommit: None, schema: None });
    }

    /// The server of a hostgroup.
    fn send(&mut self, way: Way, lot: u64) -> Decision {
        let Way { hostgroup, reason, rule } = way;
        let members = self.proxy.hostgroups.members(hostgroup);
        let weights: Vec<u32> = members.iter().map(|&(_, weight)| weight).collect();
        let node = match self.connections.get(&hostgroup) {
            Some(connection) if self.holds(hostgroup) => Some(connection.node),
            _ => draw(&weights, [lot, hostgroup.into()]).and_then(|at| members.get(at)).map(|&(node, _)| node),
        };
        let Some(node) = node else {
            self.pending = None;
            let reason =
                format!("hostgroup {hostgroup} has no server: the client waits until mysql-connect_timeout_server_max");
            return self.proxy.decision(Sent::Refused("9001".into()), &reason, rule);
        };
        self.connections.entry(hostgroup).or_default().node = node;
        Decision { sent: Sent::To(Nodes::one(node)), reason, rule }
    }

    /// COM_RESET_CONNECTION and COM_CHANGE_USER: as a new session.
    fn reset(&mut self, request: &Request) {
        let mut fresh = Session::new(self.proxy, request);
        if request.user.is_none() {
            fresh.user = self.user.clone();
            fresh.context = Context { schema: fresh.context.schema, ..self.context.clone() };
            fresh.number = self.proxy.rules.context(&fresh.context);
        }
        *self = fresh;
    }

    fn settle(&mut self, pending: &Pending, request: &Request) {
        let ok = request.outcome == Outcome::Ok;
        if ok {
            if let Some(schema) = pending.schema.clone() {
                self.schema(schema);
            }
            self.autocommit = pending.autocommit.unwrap_or(self.autocommit);
        }
        let Some(group) = pending.hostgroup else { return };
        if let (Some(why), None, true) = (pending.locks, self.locked, self.proxy.variables().lock) {
            self.locked = Some((group, why));
        }
        self.transaction(group, pending, request, ok);
        let connection = self.connections.entry(group).or_default();
        match pending.multiplex {
            Some(0) => connection.no_multiplex = true,
            Some(1) => connection.no_multiplex = false,
            _ => {}
        }
        let by_variable = pending.class.keeps == Some("a variable in the text");
        if let Some(why) = pending.class.keeps.filter(|_| !(by_variable && pending.multiplex == Some(2))) {
            connection.kept.get_or_insert(why);
        }
        if pending.locks.is_some() {
            connection.kept.get_or_insert("a SET that cannot be repeated elsewhere");
        }
        if pending.class.unlocks && connection.kept == Some("locked tables") {
            connection.kept = None;
        }
        connection.delay = connection.delay.saturating_sub(1);
        if ok && request.affected.is_some_and(|affected| affected > 0) && request.rows.is_none() {
            self.changed = Some(group);
            if request.last_insert_id.is_some_and(|id| id > 0) {
                connection.delay = self.proxy.variables().auto_increment_delay;
            }
        }
        self.warnings = match request.warnings {
            Some(warnings) if warnings > 0 => Some(group),
            _ if pending.class.warnings => self.warnings,
            _ => None,
        };
    }

    /// What the statement did to the transactions of its hostgroup.
    fn transaction(&mut self, group: u32, pending: &Pending, request: &Request, ok: bool) {
        let was_open = self.open.contains(&group);
        let deadlock = request.error_code.as_deref() == Some("1213");
        let mut is_open = was_open;
        match pending.class.transaction {
            Transaction::Begins | Transaction::Chains if ok => is_open = true,
            Transaction::Ends if ok => is_open = false,
            _ if deadlock => is_open = false,
            // Reads do not switch autocommit off on a connection that has it on.
            _ if ok && !self.autocommit && pending.class.opens => {
                is_open |= !pending.class.plain_select || self.proxy.variables().autocommit_on_reads;
            }
            _ => {}
        }
        if pending.autocommit == Some(true) {
            is_open = false;
        }
        // The server has said that none is open, and it had all statements.
        if request.transaction == Some(TransactionStatus::Idle) && self.open.len() <= 1 {
            is_open = false;
        }
        match (was_open, is_open) {
            (false, true) => self.open.push(group),
            (true, false) => self.open.retain(|&open| open != group),
            _ => {}
        }
        if self.user.transaction_persistent {
            match self.persistent {
                None if is_open => self.persistent = Some(group),
                Some(held) if !self.open.contains(&held) => self.persistent = None,
                _ => {}
            }
        }
    }
}

impl crate::simulate::Session for Session<'_> {
    fn route(&mut self, request: &Request) -> Decision {
        self.pending = None;
        match request.kind {
            Kind::Query | Kind::Copy | Kind::Execute | Kind::Prepare => match request.sql.clone() {
                Some(sql) => self.text(&sql, request),
                None => {
                    let all = self.proxy.hostgroups.all();
                    self.proxy.decision(Sent::OneOf(all), "its text is not known", None)
                }
            },
            Kind::Fetch => self.by_router("ProxySQL opens no cursor: it has sent all rows with the execution"),
            Kind::InitDb => self.kept("COM_INIT_DB: ProxySQL keeps it"),
            Kind::Reset | Kind::ChangeUser => self.kept("ProxySQL begins the session anew"),
            _ => self.by_router("ProxySQL answers it"),
        }
    }

    fn ended(&mut self, request: &Request) {
        match request.kind {
            Kind::InitDb if request.outcome == Outcome::Ok => {
                if let Some(database) = request.sql.as_deref().or(request.database.as_deref()) {
                    self.schema(database.to_owned());
                }
            }
            Kind::Reset | Kind::ChangeUser if request.outcome == Outcome::Ok => self.reset(request),
            _ => {
                if let Some(pending) = self.pending.take() {
                    self.settle(&pending, request);
                }
            }
        }
    }
}

/// An address without its port.
fn host(address: &str) -> &str {
    match address.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|c| c.is_ascii_digit()) && !host.is_empty() => {
            host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
        }
        _ => address,
    }
}
