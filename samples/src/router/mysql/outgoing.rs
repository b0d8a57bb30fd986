//! A command as the packets for one server, with what that server has not prepared yet.

use splitproof_capture::mysql::{Code, Command, Exchange, packet};
use splitproof_capture::sql::{Statement, StatementKind};

use super::Ended;
use super::prepared::{renumbered, types, with_types};
use super::progress::{Answer, Progress};
use super::server::Known;
use super::session::Session;
use super::unit::{Unit, What};
use crate::router::fault;
use crate::router::node::NodeId;
use crate::router::state::How;

/// What goes to a server, or why nothing does.
pub(super) enum Outgoing {
    /// Packets, and the answer that they will have.
    Packets(Vec<u8>, Box<Progress>),
    /// The statement could not be prepared there.
    Refused(Answer),
}

impl Session<'_> {
    /// The packets of a unit for a server.
    pub(super) async fn outgoing(&mut self, unit: &Unit, node: NodeId) -> Result<Outgoing, Ended> {
        let mut bytes = Vec::new();
        let payload = match unit.what {
            What::Execute(number) | What::Bulk(number) | What::Cursor(number) => {
                if let Some(refused) = self.prepare_on(number, node).await? {
                    return Ok(Outgoing::Refused(refused));
                }
                self.execution(unit, number, node, &mut bytes)
            }
            _ => unit.payload.clone(),
        };
        let disguise = self.disguise(unit, node);
        let drop_rows = fault::drops_rows(&self.service.shared.router.faults, &unit.ask);
        let capabilities = self.client.capabilities;
        let command = Command::decode(&payload, capabilities)?;
        let progress = Progress::new(Exchange::of(&command, capabilities), capabilities, disguise, drop_rows);
        packet::write(&mut bytes, &mut 0, &payload);
        Ok(Outgoing::Packets(bytes, Box::new(progress)))
    }

    /// The execution under the server's number, with the types that it needs; long data goes before it into `bytes`.
    fn execution(&mut self, unit: &Unit, number: u32, node: NodeId, bytes: &mut Vec<u8>) -> Vec<u8> {
        let known = self.servers.get_mut(node).and_then(Option::as_mut);
        let known = known.and_then(|server| server.statements.get_mut(&number));
        let (Some(known), Some(statement)) = (known, self.statements.get_mut(number)) else {
            return unit.payload.clone();
        };
        let mut payload = renumbered(&unit.payload, known.statement);
        if matches!(unit.what, What::Execute(_)) {
            if let Some(sent) = types(&payload, statement.parameters) {
                statement.types = Some(sent);
            } else if known.types != statement.types {
                payload = with_types(payload, statement.parameters, statement.types.as_ref());
            }
            known.types.clone_from(&statement.types);
            for data in &statement.long {
                packet::write(bytes, &mut 0, &renumbered(data, known.statement));
            }
            statement.node = node;
        }
        payload
    }

    /// Prepares a statement of the binary protocol where it is not prepared yet.
    async fn prepare_on(&mut self, number: u32, node: NodeId) -> Result<Option<Answer>, Ended> {
        let Some(sql) = self.statements.get(number).map(|known| known.text.sql.clone()) else { return Ok(None) };
        let Some(server) = self.server(node).filter(|server| !server.statements.contains_key(&number)) else {
            return Ok(None);
        };
        let prepare = [&[Code::STMT_PREPARE.0], sql.as_bytes()].concat();
        let mut answer = server.ask(&prepare).await.map_err(|problem| self.lost(node, 2013, &problem))?;
        let Some(prepared) = answer.prepared.take() else { return Ok(Some(answer)) };
        if let Some(server) = self.server(node) {
            server.statements.insert(number, Known { statement: prepared.statement, types: None });
        }
        Ok(None)
    }

    /// EXECUTE works only where PREPARE ran.
    pub(super) async fn prepare_in_sql(&mut self, unit: &Unit, node: NodeId) -> Result<(), Ended> {
        for name in unit.ask.statements().filter_map(|statement| executed(statement)) {
            let Some(prepared) = self.ledger.state.prepared(&name).cloned() else { continue };
            let How::Sql(sql) = &prepared.how else { continue };
            let Some(server) = self.server(node) else { return Ok(()) };
            if server.names.get(&name) != Some(&prepared.generation) {
                server.names.insert(name, prepared.generation);
                // A PREPARE of the same name replaces the one before.
                server.query(sql).await.map_err(|problem| self.lost(node, 2013, &problem))?;
            }
        }
        Ok(())
    }
}

/// The prepared statement that a statement executes.
fn executed(statement: &Statement) -> Option<String> {
    match &statement.kind {
        StatementKind::Execute { name } => Some(name.clone()),
        StatementKind::Explain { inner, .. } => executed(inner),
        _ => None,
    }
}
