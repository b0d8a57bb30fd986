//! A command, as far as a router must know it.

use std::sync::Arc;

use splitproof_capture::mysql::{Code, Command};
use splitproof_capture::sql::StatementKind;

use super::session::Session;
use super::{Ended, prepared};
use crate::router::need::Need;
use crate::router::node::NodeId;
use crate::router::route::Ask;

/// A command that is routed.
#[derive(Debug)]
pub(super) struct Unit {
    pub what: What,
    pub payload: Vec<u8>,
    pub ask: Ask,
    /// Every server of the session runs it.
    pub everywhere: bool,
}

/// What a command is, as far as a router must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Text,
    Prepare,
    Execute(u32),
    Bulk(u32),
    /// COM_STMT_FETCH and COM_STMT_RESET, which go where the statement ran.
    Cursor(u32),
    Database,
    Option,
    Reset,
    Other,
}

impl Unit {
    /// Whether its status says nothing of a transaction: the statement behind it ran earlier.
    pub fn is_aside(&self) -> bool {
        matches!(self.what, What::Prepare | What::Cursor(_))
    }

    /// Whether it is a statement for the decision log.
    pub fn runs(&self) -> bool {
        matches!(self.what, What::Text | What::Execute(_) | What::Bulk(_))
    }
}

impl Session<'_> {
    /// What a command asks of the router; `None` when the router has done with it already.
    pub(super) async fn unit(&mut self, payload: Vec<u8>) -> Result<Option<Unit>, Ended> {
        let texts = &self.service.shared.router.texts;
        let mut ask = Ask::default();
        let what = match Command::decode(&payload, self.client.capabilities)? {
            Command::Quit => return Err(Ended::Gone),
            Command::Query(query) => {
                ask.texts.push(texts.get(&String::from_utf8_lossy(query.sql)));
                if let Some(query_only) = kills(&ask) {
                    let sql = ask.texts.first().map_or("", |text| &*text.sql);
                    let target = sql.rsplit(|c: char| !c.is_ascii_digit()).find_map(|digits| digits.parse().ok());
                    self.kill(target, query_only).await?;
                    return Ok(None);
                }
                What::Text
            }
            Command::Prepare { sql } => {
                ask.texts.push(texts.get(&String::from_utf8_lossy(sql)));
                What::Prepare
            }
            Command::Execute(_) | Command::BulkExecute(_) | Command::Fetch { .. } | Command::Reset { .. } => {
                let number = self.statements.resolve(prepared::number(&payload).unwrap_or_default());
                let Some(known) = self.statements.get_mut(number) else {
                    self.client.say_error(1243, "Unknown prepared statement handler");
                    return Ok(None);
                };
                match payload.first().map(|code| Code(*code)) {
                    Some(Code::STMT_EXECUTE) => {
                        ask.texts.push(Arc::clone(&known.text));
                        ask.prepared = true;
                        What::Execute(number)
                    }
                    Some(Code::STMT_BULK_EXECUTE) => {
                        ask.texts.push(Arc::clone(&known.text));
                        ask.prepared = true;
                        What::Bulk(number)
                    }
                    code => {
                        if code == Some(Code::STMT_RESET) {
                            known.long.clear();
                        }
                        ask.also = Some(Need::Node(known.node));
                        What::Cursor(number)
                    }
                }
            }
            Command::LongData(data) => {
                let number = self.statements.resolve(data.statement);
                if let Some(known) = self.statements.get_mut(number) {
                    known.long.push(payload.as_slice().into());
                }
                return Ok(None);
            }
            Command::Close { statement } => {
                self.close(statement).await;
                return Ok(None);
            }
            Command::InitDb { .. } => What::Database,
            Command::SetOption { .. } => What::Option,
            Command::ResetConnection => What::Reset,
            Command::ChangeUser(_) => {
                self.change_user(&payload).await?;
                return Ok(None);
            }
            Command::ProcessKill { connection } => {
                self.kill(Some(connection), false).await?;
                return Ok(None);
            }
            Command::Ping | Command::Statistics | Command::FieldList { .. } => What::Other,
            Command::Other { code, .. } => {
                let name = code.name().unwrap_or("an unknown command");
                self.client.say_error(1235, &format!("{name} does not go through this router"));
                return Ok(None);
            }
        };
        if matches!(what, What::Database | What::Option | What::Reset) {
            ask.also = Some(Need::Everywhere);
        }
        ask.holders = self.holders(&ask);
        Ok(Some(Unit { what, payload, ask, everywhere: false }))
    }

    /// The servers on which a prepared statement is to be forgotten.
    fn holders(&self, ask: &Ask) -> Vec<NodeId> {
        let mut statements = ask.statements();
        let (Some(statement), None) = (statements.next(), statements.next()) else { return Vec::new() };
        let StatementKind::Deallocate { name: Some(name) } = &statement.kind else { return Vec::new() };
        let servers = self.servers.iter().enumerate();
        let holders =
            servers.filter(|(_, server)| server.as_ref().is_some_and(|server| server.names.contains_key(name)));
        holders.map(|(node, _)| node).collect()
    }
}

/// Whether a text is a KILL, and only of a statement.
fn kills(ask: &Ask) -> Option<bool> {
    let mut statements = ask.statements();
    let (Some(statement), None) = (statements.next(), statements.next()) else { return None };
    match statement.kind {
        StatementKind::Kill { query } => Some(query),
        _ => None,
    }
}
