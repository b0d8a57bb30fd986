//! What a session needs of a connection.

use splitproof_capture::postgresql::frontend::Frontend;
use splitproof_capture::session::Close;
use splitproof_capture::trace::{Losses, Request};

use super::handshake::{CancelKey, Login};
use super::{Connection, copy, encode};
use crate::clock::Clock;
use crate::pair::Keyring;
use crate::wire::{Broken, Incomplete, Refused, Rows, Tag, Wire};

impl<C: Clock> Wire for Connection<C> {
    type Login = Login;

    async fn start(
        &mut self,
        login: &Login,
        keyring: &Keyring,
        tag: impl FnOnce(i64) -> Option<Tag> + Send,
    ) -> Result<Option<CancelKey>, Refused> {
        let database = login.parameters.iter().find(|(name, _)| name == "database");
        let database = database.map_or(login.user.as_str(), |(_, database)| database.as_str());
        let password = keyring.password(&login.user, database);
        Ok(Connection::start(self, login, password.as_ref(), tag).await?)
    }

    fn encode(&mut self, request: &Request) -> Result<(), Incomplete> {
        let parts = encode::parts(request).map_err(|_| Incomplete)?;
        encode::encode(request, parts.first, self.outgoing()).map_err(|_| Incomplete)
    }

    fn discard(&mut self) {
        self.line.out.clear();
    }

    async fn send(&mut self, request: &Request, begin: impl FnOnce(i64) -> Option<Tag> + Send) -> Result<i64, Broken> {
        let first = encode::parts(request).map_or("", |parts| parts.first);
        Connection::send(self, first, begin).await
    }

    async fn complete(&mut self, request: &Request) -> Result<(), Broken> {
        // Whether the parts are known was found out before the request was sent.
        let Ok(parts) = encode::parts(request) else { return Ok(()) };
        for copied in &parts.copies {
            self.read_until(|scan| scan.copy_is_decided()).await?;
            // After an error the server asks for none of the others.
            if !self.scan().wants_copy_data() {
                break;
            }
            copy::send(self, request, copied).await?;
        }
        if !parts.rest.is_empty() && encode::encode(request, parts.rest, self.outgoing()).is_ok() {
            Connection::send(self, parts.rest, |_| None).await?;
        }
        Ok(())
    }

    async fn end_group(&mut self) -> Result<(), Broken> {
        self.outgoing().extend_from_slice(b"S\0\0\0\x04");
        Connection::send(self, "S", |_| None).await.map(drop)
    }

    fn is_ready(&self) -> bool {
        self.scan().is_ready()
    }

    async fn until_ready(&mut self) -> Result<(), Broken> {
        loop {
            self.read_until(|scan| scan.is_ready() || scan.wants_copy_data()).await?;
            if self.is_ready() {
                return Ok(());
            }
            // The recorded server did not ask for data here, so there is none. To leave it waiting would end the session.
            let fail = Frontend::CopyFail(b"the recorded client sent no data");
            if fail.encode(self.outgoing()).is_err() {
                return Err(Broken::Invalid);
            }
            Connection::send(self, "f", |_| None).await?;
        }
    }

    async fn read_while<F: Future + Send>(&mut self, other: F) -> Result<F::Output, Broken>
    where
        F::Output: Send,
    {
        self.line.read_while(other).await
    }

    fn is_replication(&self) -> bool {
        self.scan().is_replication()
    }

    async fn goodbye(&mut self, request: &Request, tag: impl Fn(i64) -> Option<Tag> + Send + Sync) {
        let said = request.messages.contains('X') && Frontend::Terminate.encode(self.outgoing()).is_ok();
        if said && Connection::send(self, "X", &tag).await.is_ok() {
            self.close(Close::Client, None);
        } else {
            let tag = tag(self.line.now_ns());
            self.close(Close::Client, tag);
        }
    }

    fn close(&mut self, how: Close, tag: Option<Tag>) {
        self.line.close(how, tag);
    }

    fn leave(&mut self) {
        self.line.leave(b"X\0\0\0\x04");
    }

    fn rows_begun(&self) -> u32 {
        self.line.rows_begun()
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.line.rows
    }

    fn losses(&self) -> &Losses {
        self.line.losses()
    }
}
