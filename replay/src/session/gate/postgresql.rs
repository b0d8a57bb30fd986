//! What is sent of a PostgreSQL session.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use compact_str::CompactString;
use splitproof_capture::sql;
use splitproof_capture::trace::{Kind, Request};

use super::Decision;
use crate::reads::{Reads, Session};
use crate::session::NotSent;

/// Decides for the requests of one session, in order, and remembers what that means for later ones.
#[derive(Debug, Default)]
pub struct Gate {
    /// When given, only what it proves to be a read is sent.
    only: Option<Arc<Reads>>,
    /// Statements that were prepared in the replay; kept only while there may be others.
    prepared: HashSet<CompactString>,
    /// True when there may be statements that were prepared unseen.
    unseen: bool,
    /// Names that do not exist in the replay, and why: what uses them cannot be sent for the same reason.
    withheld_statements: HashMap<CompactString, NotSent>,
    withheld_portals: HashMap<CompactString, NotSent>,
    /// Something was sent after which the server waits for a Sync.
    unsynced: bool,
}

impl Gate {
    /// A gate that lets everything through that can be sent, or only reads.
    pub fn new(only: Option<Arc<Reads>>) -> Self {
        Gate { only, ..Gate::default() }
    }

    /// Decides about the session's next request.
    pub fn decide(&mut self, request: &Request) -> Decision {
        self.unseen |= request.joined_midway || request.gap_before;
        match self.reason(request) {
            None => {
                self.sent(request);
                Decision::Send
            }
            Some(reason) => self.withhold(request, reason),
        }
    }

    /// A request that was let through could not be sent after all.
    pub fn withhold(&mut self, request: &Request, reason: NotSent) -> Decision {
        let messages = request.messages.as_bytes();
        if messages.contains(&b'P') {
            self.withheld_statements.extend(request.statement.clone().map(|name| (name, reason)));
        }
        if messages.contains(&b'B') {
            self.withheld_portals.extend(request.portal.clone().map(|name| (name, reason)));
        }
        if self.unsynced && messages.contains(&b'S') {
            self.unsynced = false;
            return Decision::SyncOnly(reason);
        }
        Decision::Withhold(reason)
    }

    fn reason(&self, request: &Request) -> Option<NotSent> {
        if request.redacted {
            return Some(NotSent::Redacted);
        }
        let messages = request.messages.as_bytes();
        let reason_of = |names: &HashMap<CompactString, NotSent>, name: &Option<CompactString>| {
            name.as_ref().and_then(|name| names.get(name)).copied()
        };
        // Parse and Bind make a name anew, whatever was withheld under it before.
        let makes_statement = messages.contains(&b'P');
        let makes_portal = messages.contains(&b'B');
        if !makes_statement && let Some(reason) = reason_of(&self.withheld_statements, &request.statement) {
            return Some(reason);
        }
        if !makes_portal && let Some(reason) = reason_of(&self.withheld_portals, &request.portal) {
            return Some(reason);
        }
        let is_prepared = request.statement.as_ref().is_some_and(|name| self.prepared.contains(name));
        if self.unseen && makes_portal && !is_prepared {
            return Some(NotSent::UnknownStatement);
        }
        let text = request.sql.as_deref();
        if text.is_some_and(sets_masked_password) {
            return Some(NotSent::Password);
        }
        if let (Some(reads), Some(text)) = (&self.only, text)
            && matches!(request.kind, Kind::Query | Kind::Prepare | Kind::Execute | Kind::Fetch | Kind::Copy)
            && !reads.allows(&mut Session::default(), request.shape_id, text)
        {
            return Some(NotSent::NotARead);
        }
        // A call outside SQL tells nothing about what it does.
        if self.only.is_some() && request.kind == Kind::Call {
            return Some(NotSent::NotARead);
        }
        None
    }

    fn sent(&mut self, request: &Request) {
        for message in request.messages.bytes() {
            match message {
                b'P' => {
                    if let Some(name) = &request.statement {
                        self.withheld_statements.remove(name);
                        if self.unseen || !name.is_empty() {
                            self.prepared.insert(name.clone());
                        }
                    }
                    self.unsynced = true;
                }
                b'B' => {
                    if let Some(name) = &request.portal {
                        self.withheld_portals.remove(name);
                    }
                    self.unsynced = true;
                }
                b'D' | b'E' | b'C' => self.unsynced = true,
                b'Q' | b'S' | b'F' => {
                    // SQL's PREPARE shares its names with Parse.
                    if let (b'Q', Some(text)) = (message, &request.sql) {
                        let names = sql::namings(text.as_bytes()).into_iter().filter_map(|naming| match naming {
                            sql::Naming::Prepare { name, .. } => Some(CompactString::from_utf8_lossy(&name)),
                            _ => None,
                        });
                        self.prepared.extend(names);
                    }
                    self.unsynced = false;
                }
                _ => {}
            }
        }
    }
}

/// A password is stored as `'***'`. To send that would set it.
fn sets_masked_password(sql: &str) -> bool {
    memchr::memmem::find(sql.as_bytes(), b"'***'").is_some_and(|at| {
        sql.get(..at).is_some_and(|before| {
            let word = before.trim_end().rsplit(|char: char| !char.is_ascii_alphanumeric()).next();
            word.is_some_and(|word| word.eq_ignore_ascii_case("password"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: Kind, messages: &str, statement: Option<&str>, portal: Option<&str>, sql: &str) -> Request {
        let mut request = Request::new(1, 0, 0, kind);
        request.messages = messages.into();
        request.statement = statement.map(Into::into);
        request.portal = portal.map(Into::into);
        request.sql = (!sql.is_empty()).then(|| sql.into());
        request
    }

    fn prepare(messages: &str, name: &str, sql: &str) -> Request {
        request(Kind::Prepare, messages, Some(name), None, sql)
    }

    fn execute(messages: &str, name: &str, sql: &str) -> Request {
        request(Kind::Execute, messages, Some(name), Some(""), sql)
    }

    #[test]
    fn a_statement_prepared_before_the_recording_is_unknown() {
        let mut gate = Gate::default();
        let mut early = execute("BES", "old", "");
        early.joined_midway = true;
        assert_eq!(gate.decide(&early), Decision::Withhold(NotSent::UnknownStatement));
        assert_eq!(gate.decide(&prepare("PS", "new", "SELECT 1")), Decision::Send);
        assert_eq!(gate.decide(&execute("BES", "new", "SELECT 1")), Decision::Send);
        let fetch = request(Kind::Fetch, "ES", None, Some(""), "SELECT 1");
        assert_eq!(gate.decide(&fetch), Decision::Send);
    }

    #[test]
    fn statements_prepared_before_a_gap_stay_known() {
        let mut gate = Gate::default();
        assert_eq!(gate.decide(&prepare("PS", "s", "SELECT 1")), Decision::Send);
        let mut later = execute("BES", "s", "SELECT 1");
        later.gap_before = true;
        assert_eq!(gate.decide(&later), Decision::Send);
    }

    #[test]
    fn a_statement_that_sql_prepared_is_known() {
        let mut gate = Gate::default();
        let mut early = request(Kind::Query, "Q", None, None, "PREPARE s AS SELECT 1");
        early.joined_midway = true;
        assert_eq!(gate.decide(&early), Decision::Send);
        assert_eq!(gate.decide(&execute("BES", "s", "SELECT 1")), Decision::Send);
        assert_eq!(gate.decide(&execute("BES", "t", "")), Decision::Withhold(NotSent::UnknownStatement));
    }

    #[test]
    fn what_uses_a_withheld_statement_is_withheld_and_the_group_still_ends() {
        let mut gate = Gate::default();
        let password = "ALTER ROLE app PASSWORD '***'";
        assert_eq!(gate.decide(&prepare("P", "ok", "SELECT 1")), Decision::Send);
        assert_eq!(gate.decide(&prepare("P", "s", password)), Decision::Withhold(NotSent::Password));
        let run = execute("BES", "s", password);
        assert_eq!(gate.decide(&run), Decision::SyncOnly(NotSent::Password));
        // Nothing was begun after that Sync, so no further one is due.
        assert_eq!(gate.decide(&run), Decision::Withhold(NotSent::Password));
        let fetch = request(Kind::Fetch, "ES", None, Some(""), "");
        assert_eq!(gate.decide(&fetch), Decision::Withhold(NotSent::Password));
        assert_eq!(gate.decide(&prepare("PS", "s", "SELECT 2")), Decision::Send);
        assert_eq!(gate.decide(&execute("BES", "s", "SELECT 2")), Decision::Send);
        assert_eq!(gate.decide(&fetch), Decision::Send);
    }

    #[test]
    fn only_masked_passwords_are_passwords() {
        assert!(sets_masked_password("create user a with PassWord\n'***'"));
        assert!(sets_masked_password("ALTER ROLE a ENCRYPTED PASSWORD '***' VALID UNTIL 'x'"));
        assert!(!sets_masked_password("SELECT '***'"));
        assert!(!sets_masked_password("SELECT password FROM users"));
    }

    #[test]
    fn redacted_requests_are_not_sent() {
        let mut redacted = request(Kind::Query, "Q", None, None, "SELECT 1");
        redacted.redacted = true;
        assert_eq!(Gate::default().decide(&redacted), Decision::Withhold(NotSent::Redacted));
    }
}
