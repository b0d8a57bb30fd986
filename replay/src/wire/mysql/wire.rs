//! What a session needs of a connection.

use splitproof_capture::mysql::{ChangeUser, Code, Command, Packet, Secret, packet};
use splitproof_capture::session::Close;
use splitproof_capture::trace::{Kind, Losses, Request};

use super::auth::Method;
use super::connection::QUIT;
use super::handshake::Steps;
use super::{Connection, Login, codes, encode};
use crate::clock::Clock;
use crate::pair::{self, Keyring};
use crate::wire::postgresql::handshake::CancelKey;
use crate::wire::{Broken, Incomplete, Refused, Rows, Tag, Wire};

/// Content of a file that is sent together, bytes.
const CHUNK: usize = 64 << 10;

impl<C: Clock> Wire for Connection<C> {
    type Login = Login;

    async fn start(
        &mut self,
        login: &Login,
        keyring: &Keyring,
        tag: impl FnOnce(i64) -> Option<Tag> + Send,
    ) -> Result<Option<CancelKey>, Refused> {
        let password = keyring.password(&login.user, login.database.as_deref().unwrap_or_default());
        self.keyring = Some(keyring.clone());
        Connection::start(self, login, password.as_ref(), tag).await?;
        Ok(None)
    }

    fn encode(&mut self, request: &Request) -> Result<(), Incomplete> {
        let Some(agreed) = &self.agreed else { return Err(Incomplete) };
        if request.kind != Kind::ChangeUser {
            return encode::encode(request, agreed.capabilities, &mut self.line.answers.statements, &mut self.line.out);
        }
        let method = Method::named(&agreed.plugin).unwrap_or(Method::Native);
        let secret = self.password_of(request);
        let proof = method.proof(secret.as_ref().map(pair::Secret::bytes).unwrap_or_default(), &agreed.scramble);
        let change = Command::ChangeUser(ChangeUser {
            user: request.user.as_deref().ok_or(Incomplete)?.as_bytes(),
            proof: Secret(&proof),
            database: request.database.as_deref().unwrap_or_default().as_bytes(),
            collation: request.collation,
            plugin: request.collation.map(|_| method.name()),
            attributes: None,
        });
        packet::write_with(&mut self.line.out, &mut 0, |out| change.encode(agreed.capabilities, out))?;
        self.line.answers.statements.forget();
        Ok(())
    }

    fn discard(&mut self) {
        self.line.out.clear();
    }

    async fn send(&mut self, _request: &Request, begin: impl FnOnce(i64) -> Option<Tag> + Send) -> Result<i64, Broken> {
        self.send_commands(begin).await
    }

    async fn complete(&mut self, request: &Request) -> Result<(), Broken> {
        if request.kind == Kind::ChangeUser {
            return self.authenticate(request).await;
        }
        // A file is asked for by a text; elsewhere the data are parts of commands.
        if request.kind == Kind::Copy && codes(&request.messages).any(|code| code == Code::QUERY.0) {
            self.read_until(|scan| scan.is_ready() || scan.wants_file()).await?;
            self.send_file(&request.copy_data).await?;
        }
        Ok(())
    }

    async fn end_group(&mut self) -> Result<(), Broken> {
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.scan().is_ready()
    }

    async fn until_ready(&mut self) -> Result<(), Broken> {
        loop {
            self.read_until(|scan| scan.is_ready() || scan.wants_file()).await?;
            if self.is_ready() {
                return Ok(());
            }
            // The recorded server did not ask for this file, so that its content is not known: it is empty.
            self.send_file(&[]).await?;
        }
    }

    async fn read_while<F: Future + Send>(&mut self, other: F) -> Result<F::Output, Broken>
    where
        F::Output: Send,
    {
        self.line.read_while(other).await
    }

    fn is_replication(&self) -> bool {
        false
    }

    async fn goodbye(&mut self, request: &Request, tag: impl Fn(i64) -> Option<Tag> + Send + Sync) {
        let said = codes(&request.messages).any(|code| code == Code::QUIT.0);
        self.line.out.clear();
        if said {
            self.line.out.extend_from_slice(QUIT);
            if self.send_commands(&tag).await.is_ok() {
                return self.close(Close::Client, None);
            }
        }
        let tag = tag(self.line.now_ns());
        self.close(Close::Client, tag);
    }

    fn close(&mut self, how: Close, tag: Option<Tag>) {
        self.line.close(how, tag);
    }

    fn leave(&mut self) {
        let quit = self.quit();
        self.line.leave(&quit);
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

impl<C: Clock> Connection<C> {
    fn password_of(&self, request: &Request) -> Option<pair::Secret> {
        let (user, database) = (request.user.as_deref()?, request.database.as_deref().unwrap_or_default());
        self.keyring.as_ref()?.password(user, database)
    }

    /// Sends the content of a file, if the server waits for it, and its end.
    async fn send_file(&mut self, content: &[Box<[u8]>]) -> Result<(), Broken> {
        if !self.scan().wants_file() {
            return Ok(());
        }
        let mut sequence = self.line.answers.scan.sends_file();
        for part in content.iter().filter(|part| !part.is_empty()) {
            packet::write(&mut self.line.out, &mut sequence, part);
            if self.line.out.len() >= CHUNK {
                self.send_more().await?;
            }
        }
        packet::write(&mut self.line.out, &mut sequence, b"");
        self.send_more().await
    }

    /// Answers the steps of a change of the user. A refusal is in the row, as any error is.
    async fn authenticate(&mut self, request: &Request) -> Result<(), Broken> {
        let Some(agreed) = &self.agreed else { return Ok(()) };
        let method = Method::named(&agreed.plugin).unwrap_or(Method::Native);
        let mut steps = Steps::of_change(method, &agreed.scramble, agreed.capabilities);
        let secret = self.password_of(request);
        loop {
            self.read_until(|scan| scan.is_ready() || scan.wants_proof()).await?;
            for (sequence, payload) in self.line.answers.scan.take_authentication() {
                let packet = Packet { sequence, payload: &payload };
                // A server that asks for what we cannot do waits for ever; the session is over.
                steps.take(packet, secret.as_ref(), &mut self.line.out).map_err(|_| Broken::Invalid)?;
            }
            if !self.line.out.is_empty() {
                self.send_more().await?;
            }
            if self.is_ready() {
                return Ok(());
            }
        }
    }
}
