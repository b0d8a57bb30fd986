//! Commands that the router sees to itself.

use splitproof_capture::mysql::{Attributes, Code, Command, Status};

use super::Ended;
use super::login::Login;
use super::session::Session;
use super::start;
use crate::router::node::PRIMARY;

impl Session<'_> {
    /// COM_STMT_CLOSE, which nobody answers.
    pub(super) async fn close(&mut self, number: u32) {
        let number = self.statements.resolve(number);
        self.statements.remove(number);
        for server in self.servers.iter_mut().flatten() {
            if let Some(known) = server.statements.remove(&number) {
                let close = [&[Code::STMT_CLOSE.0][..], &known.statement.to_le_bytes()].concat();
                // A connection that is gone shows itself at the next statement.
                let _ = server.ask(&close).await;
            }
        }
    }

    /// COM_CHANGE_USER, on every server of the session.
    pub(super) async fn change_user(&mut self, payload: &[u8]) -> Result<(), Ended> {
        let Command::ChangeUser(change) = Command::decode(payload, self.client.capabilities)? else { return Ok(()) };
        let user = String::from_utf8_lossy(change.user).into_owned();
        let config = &self.service.shared.router.config;
        start::authenticate(&mut self.client, &user, None, &[], config).await?;
        let attributes = change.attributes.map(|attributes| Attributes::bytes(attributes.iter()));
        let password = config.password(&user);
        self.login = Login {
            user,
            database: Some(change.database.to_vec()).filter(|name| !name.is_empty()),
            collation: change.collation.unwrap_or(self.login.collation),
            attributes: attributes.unwrap_or_default(),
            ..self.login.clone()
        };
        self.ledger.reset();
        self.statements.clear();
        for node in 0..self.servers.len() {
            let login = self.login.clone();
            let Some(server) = self.server(node) else { continue };
            server.database_changed = false;
            match server.change_user(&login, password).await {
                Ok(()) => {}
                Err(no) if node == PRIMARY => return Err(self.lost(node, no.code, &no.problem)),
                Err(_) => self.drop_server(node),
            }
        }
        self.client.say_ok(Status::AUTOCOMMIT)
    }

    /// Ends another connection, or its statement, on the server that works for it.
    pub(super) async fn kill(&mut self, target: Option<u32>, query_only: bool) -> Result<(), Ended> {
        let found = target.and_then(|target| self.service.connections.find(target));
        let Some((node, connection)) = found else {
            let message = format!("Unknown thread id: {}", target.unwrap_or_default());
            self.client.say_error(1094, &message);
            return Ok(());
        };
        self.open(node).await?;
        let sql = format!("KILL {}{connection}", if query_only { "QUERY " } else { "" });
        let Some(server) = self.server(node) else { return Ok(()) };
        let answer = server.query(&sql).await.map_err(|problem| self.lost(node, 2013, &problem))?;
        self.client.send(&answer.last);
        Ok(())
    }
}
