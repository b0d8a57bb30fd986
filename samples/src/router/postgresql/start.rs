//! How a client's connection begins: encryption is declined, the client proves who it is; or it wants a statement of
//! another connection cancelled.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::handshake::{CancelKey, Login};
use bytes::Buf;
use postgres_protocol::authentication::md5_hash;
use splitproof_capture::postgresql::authentication::{Authentication, Response};
use splitproof_capture::postgresql::backend::Backend;
use splitproof_capture::postgresql::frame::{self, Direction};
use splitproof_capture::postgresql::frontend::Frontend;
use splitproof_capture::postgresql::startup::{EncryptionAnswer, Startup, write_negotiation};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Ended;
use super::client::Client;
use crate::router::config::{self, Config};

/// How long a client may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a client wants.
#[derive(Debug)]
pub enum Wish {
    /// A session.
    Session(Login),
    /// The statement of another session cancelled.
    Cancel(CancelKey),
}

/// Reads the first messages and answers them, up to the point where only a server can say more.
pub(super) async fn begin(client: &mut Client, config: &Config) -> Result<Wish, Ended> {
    let begin = async {
        let wish = read(client).await?;
        if let Wish::Session(login) = &wish {
            authenticate(client, login, config).await?;
        }
        Ok(wish)
    };
    timeout(PATIENCE, begin).await.unwrap_or(Err(Ended::Gone))
}

async fn read(client: &mut Client) -> Result<Wish, Ended> {
    loop {
        let Some(startup) = frame::next_startup(&client.input)? else {
            client.fill().await?;
            continue;
        };
        let length = startup.wire_len();
        match startup {
            Startup::SslRequest | Startup::GssEncRequest => {
                client.input.advance(length);
                client.output.extend_from_slice(&[EncryptionAnswer::Refused.byte()]);
                client.flush().await?;
            }
            Startup::Cancel { process_id, secret } => {
                return Ok(Wish::Cancel(CancelKey { process_id, secret: secret.into() }));
            }
            Startup::Startup { version, params } => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let all: Vec<_> = params.iter().map(|(name, value)| (text(name), text(value))).collect();
                client.input.advance(length);
                let (extensions, mut parameters): (Vec<_>, Vec<_>) =
                    all.into_iter().partition(|(name, _)| name.starts_with("_pq_."));
                if version.1 > 0 || !extensions.is_empty() {
                    let extensions: Vec<&[u8]> = extensions.iter().map(|(name, _)| name.as_bytes()).collect();
                    client.say(|out| write_negotiation(out, (3, 0), &extensions))?;
                }
                let get =
                    |name: &str| parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
                let user = get("user").ok_or(Ended::Unsupported("a start without a user"))?;
                if get("replication").is_some_and(|value| !matches!(value.as_str(), "false" | "off" | "no" | "0")) {
                    return Err(Ended::Unsupported("replication connections do not go through a router"));
                }
                if get("database").is_none() {
                    parameters.push(("database".to_owned(), user.clone()));
                }
                return Ok(Wish::Session(Login { minor_version: 0, user, parameters }));
            }
        }
    }
}

async fn authenticate(client: &mut Client, login: &Login, config: &Config) -> Result<(), Ended> {
    if config.authentication == config::Authentication::Password {
        let salt = fastrand::u32(..).to_ne_bytes();
        let request = Authentication::Md5Password { salt };
        client.say(|out| Backend::Authentication(request).encode(out))?;
        client.flush().await?;
        let frame_length = loop {
            match frame::next_from(Direction::Client, &client.input)? {
                Some(frame) => break frame.len,
                None => client.fill().await?,
            }
        };
        let message = client.input.split_to(frame_length);
        let refused = || Ended::Password(login.user.clone());
        let frame = frame::next_from(Direction::Client, &message)?.ok_or_else(refused)?;
        let Frontend::Password(secret) = Frontend::decode(frame)? else {
            return Err(Ended::Unsupported("something other than a password"));
        };
        let Response::Password(given) = Response::decode(&request, secret)? else { return Err(refused()) };
        let expected = config.password(&login.user).ok_or_else(refused)?;
        if given.0 != md5_hash(login.user.as_bytes(), expected.as_bytes(), salt).as_bytes() {
            return Err(refused());
        }
    }
    client.say(|out| Backend::Authentication(Authentication::Ok).encode(out))
}

/// The keys by which clients cancel: the router's own, each standing for that of the server at work.
#[derive(Debug, Default)]
pub(super) struct Keys {
    next: AtomicI32,
    known: Mutex<HashMap<i32, Known>>,
}

#[derive(Debug)]
struct Known {
    secret: [u8; 4],
    at_work: Option<(String, CancelKey)>,
}

impl Keys {
    /// A key for a new session.
    pub fn issue(&self) -> CancelKey {
        let process_id = self.next.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let secret = fastrand::u32(..).to_ne_bytes();
        self.lock().insert(process_id, Known { secret, at_work: None });
        CancelKey { process_id, secret: secret.as_slice().into() }
    }

    /// The server that works for a session from now on, or none.
    pub fn at_work(&self, process_id: i32, server: Option<(String, CancelKey)>) {
        if let Some(known) = self.lock().get_mut(&process_id) {
            known.at_work = server;
        }
    }

    /// The session is over.
    pub fn forget(&self, process_id: i32) {
        self.lock().remove(&process_id);
    }

    /// Passes a client's wish on to the server that works for the session. A wrong key is passed over in silence, as a
    /// server does.
    pub async fn cancel(&self, wish: &CancelKey) {
        let target = self
            .lock()
            .get(&wish.process_id)
            .and_then(|known| known.at_work.clone().filter(|_| known.secret == *wish.secret));
        let Some((address, key)) = target else { return };
        let mut bytes = Vec::new();
        let request = Startup::Cancel { process_id: key.process_id, secret: &key.secret };
        if request.encode(&mut bytes).is_err() {
            return;
        }
        // The server answers by closing; who cancels waits for that.
        if let Ok(mut stream) = TcpStream::connect(address).await
            && stream.write_all(&bytes).await.is_ok()
        {
            let _ = timeout(PATIENCE, stream.readable()).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i32, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
