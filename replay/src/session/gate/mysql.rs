//! What is sent of a MySQL session.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use compact_str::CompactString;
use splitproof_capture::sql::mysql::{Mode, mask_password};
use splitproof_capture::trace::{Kind, Outcome, Request};

use super::Decision;
use crate::reads::{Reads, Session};
use crate::session::NotSent;
use crate::wire::mysql::codes;

/// The number by which a client means the statement that it prepared last.
const LAST_PREPARED: &str = "4294967295";

/// Decides for the requests of one session, in order, and remembers what that means for later ones.
#[derive(Debug, Default)]
pub struct Gate {
    /// When given, only what it proves to be a read is sent.
    only: Option<Arc<Reads>>,
    /// What of the session decides what its texts do.
    session: Session,
    /// Statements that were prepared in the recording, by number.
    prepared: HashSet<CompactString>,
    /// Those among them that are not prepared in the replay, and why.
    withheld: HashMap<CompactString, NotSent>,
}

impl Gate {
    /// A gate that lets everything through that can be sent, or only reads.
    pub fn new(only: Option<Arc<Reads>>) -> Self {
        Gate { only, ..Gate::default() }
    }

    /// Decides about the session's next request.
    pub fn decide(&mut self, request: &Request) -> Decision {
        match self.reason(request) {
            Some(reason) => self.withhold(request, reason),
            None => {
                if let (Kind::Prepare, Some(number)) = (request.kind, &request.statement) {
                    self.withheld.remove(number);
                    self.prepared.insert(number.clone());
                }
                Decision::Send
            }
        }
    }

    /// A request that was let through could not be sent after all.
    pub fn withhold(&mut self, request: &Request, reason: NotSent) -> Decision {
        if let (Kind::Prepare, Some(number)) = (request.kind, &request.statement) {
            self.withheld.insert(number.clone(), reason);
        }
        Decision::Withhold(reason)
    }

    fn reason(&mut self, request: &Request) -> Option<NotSent> {
        if request.redacted {
            return Some(NotSent::Redacted);
        }
        if request.truncated {
            return Some(NotSent::Incomplete);
        }
        if request.kind != Kind::Prepare
            && let Some(number) = &request.statement
        {
            if let Some(reason) = self.withheld.get(number) {
                return Some(*reason);
            }
            let last_one = number == LAST_PREPARED && !self.prepared.is_empty();
            if !self.prepared.contains(number) && !last_one {
                return Some(NotSent::UnknownStatement);
            }
        }
        for code in codes(&request.messages) {
            match code {
                // The number of a connection of the recording may be that of another one now.
                0x0c => return Some(NotSent::CancelTarget),
                0x12 | 0x13 | 0x15 | 0x1e | 0x20 | 0x21 => return Some(NotSent::Replication),
                _ => {}
            }
        }
        // Whom or what it failed to become is not recorded.
        if matches!(request.kind, Kind::ChangeUser | Kind::InitDb) && request.outcome != Outcome::Ok {
            return Some(NotSent::Incomplete);
        }
        let text = request.sql.as_deref();
        if text.is_some_and(is_kill) {
            return Some(NotSent::CancelTarget);
        }
        if text.is_some_and(sets_masked_password) {
            return Some(NotSent::Password);
        }
        let reads = self.only.as_ref()?;
        let allowed = match request.kind {
            Kind::Query | Kind::Prepare | Kind::Execute | Kind::Fetch | Kind::Copy => {
                text.is_some_and(|text| reads.allows(&mut self.session, request.shape_id, text))
            }
            Kind::Reset | Kind::ChangeUser => {
                self.session.reset();
                true
            }
            // Those that make or drop databases, flush logs and caches, or stop the server.
            Kind::Other => codes(&request.messages).all(|code| !matches!(code, 0x05..=0x08)),
            _ => true,
        };
        (!allowed).then_some(NotSent::NotARead)
    }
}

/// A password is stored as `'***'`. To send that would set it.
fn sets_masked_password(sql: &str) -> bool {
    sql.contains("'***'") && matches!(mask_password(sql, &Mode::default()), Cow::Owned(_))
}

/// Ends another connection, by a number that is not the same in the replay.
fn is_kill(sql: &str) -> bool {
    let first = sql.trim_start().split(|char: char| !char.is_ascii_alphabetic()).next();
    first.is_some_and(|first| first.eq_ignore_ascii_case("kill"))
}

#[cfg(test)]
mod tests {
    use splitproof_capture::trace::Engine;

    use super::*;
    use crate::catalog::Catalog;

    fn request(kind: Kind, messages: &str, statement: Option<&str>, sql: &str) -> Request {
        let mut request = Request::new(1, 0, 0, kind);
        request.messages = messages.into();
        request.statement = statement.map(Into::into);
        request.sql = (!sql.is_empty()).then(|| sql.into());
        request.outcome = Outcome::Ok;
        request
    }

    #[test]
    fn a_statement_prepared_before_the_recording_is_unknown() {
        let mut gate = Gate::default();
        let execute = |number| request(Kind::Execute, "17", Some(number), "SELECT 1");
        assert_eq!(gate.decide(&execute("7")), Decision::Withhold(NotSent::UnknownStatement));
        assert_eq!(gate.decide(&execute(LAST_PREPARED)), Decision::Withhold(NotSent::UnknownStatement));
        assert_eq!(gate.decide(&request(Kind::Prepare, "16", Some("7"), "SELECT 1")), Decision::Send);
        assert_eq!(gate.decide(&execute("7")), Decision::Send);
        assert_eq!(gate.decide(&execute(LAST_PREPARED)), Decision::Send);
        assert_eq!(
            gate.decide(&request(Kind::Close, "19", Some("8"), "")),
            Decision::Withhold(NotSent::UnknownStatement)
        );
    }

    #[test]
    fn what_uses_a_withheld_statement_is_withheld_for_its_reason() {
        let mut gate = Gate::default();
        let password = "SET PASSWORD FOR app = '***'";
        assert_eq!(
            gate.decide(&request(Kind::Prepare, "16", Some("1"), password)),
            Decision::Withhold(NotSent::Password)
        );
        let run = request(Kind::Execute, "17", Some("1"), password);
        assert_eq!(gate.decide(&run), Decision::Withhold(NotSent::Password));
    }

    #[test]
    fn only_reads_are_sent_and_what_they_need() {
        let reads = Reads::new(Engine::Mysql, Catalog::default(), []);
        let mut gate = Gate::new(Some(Arc::new(reads)));
        let not_a_read = Decision::Withhold(NotSent::NotARead);
        let mut decides = |kind, messages, statement, sql| gate.decide(&request(kind, messages, statement, sql));
        assert_eq!(decides(Kind::Query, "03", None, "SELECT 1"), Decision::Send);
        assert_eq!(decides(Kind::Query, "03", None, "DELETE FROM t"), not_a_read);
        assert_eq!(decides(Kind::Query, "03", None, ""), not_a_read, "a text that was not seen");
        assert_eq!(decides(Kind::Prepare, "16", Some("1"), "SELECT ?"), Decision::Send);
        assert_eq!(decides(Kind::Execute, "17", Some("1"), "SELECT ?"), Decision::Send);
        assert_eq!(decides(Kind::Prepare, "16", Some("2"), "UPDATE t SET a = ?"), not_a_read);
        assert_eq!(decides(Kind::Execute, "17", Some("2"), "UPDATE t SET a = ?"), not_a_read);
        assert_eq!(decides(Kind::Close, "19", Some("2"), ""), not_a_read);
        assert_eq!(decides(Kind::Query, "03", None, "PREPARE a FROM 'SELECT 1'"), Decision::Send);
        assert_eq!(decides(Kind::Query, "03", None, "EXECUTE a"), Decision::Send);
        assert_eq!(decides(Kind::Reset, "1f", None, ""), Decision::Send);
        assert_eq!(decides(Kind::Query, "03", None, "EXECUTE a"), not_a_read);
        assert_eq!(decides(Kind::Copy, "03", None, "LOAD DATA LOCAL INFILE 'a' INTO TABLE t"), not_a_read);
        assert_eq!(decides(Kind::Other, "06", None, ""), not_a_read, "COM_DROP_DB");
        assert_eq!(decides(Kind::Ping, "0e", None, ""), Decision::Send);
    }

    #[test]
    fn some_requests_would_do_harm_or_cannot_be_made_again() {
        let mut gate = Gate::default();
        let query = |sql| request(Kind::Query, "03", None, sql);
        assert_eq!(gate.decide(&query("CREATE USER a IDENTIFIED BY '***'")), Decision::Withhold(NotSent::Password));
        assert_eq!(gate.decide(&query("SELECT '***'")), Decision::Send);
        assert_eq!(gate.decide(&query(" kill QUERY 12")), Decision::Withhold(NotSent::CancelTarget));
        assert_eq!(gate.decide(&query("SELECT 1 AS kills")), Decision::Send);
        assert_eq!(gate.decide(&request(Kind::Other, "0c", None, "")), Decision::Withhold(NotSent::CancelTarget));
        assert_eq!(gate.decide(&request(Kind::Other, "12", None, "")), Decision::Withhold(NotSent::Replication));
        let mut lost = request(Kind::InitDb, "02", None, "");
        assert_eq!(gate.decide(&lost), Decision::Send);
        lost.outcome = Outcome::Error;
        assert_eq!(gate.decide(&lost), Decision::Withhold(NotSent::Incomplete));
    }
}
