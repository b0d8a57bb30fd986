//! What the sessions of one recording have in common.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::sql::{Dialect, Shapes};
use crate::tls::KeyLog;
use crate::trace::{Encrypted, Engine};

/// Kinds of encrypted sessions that are told apart.
const KINDS: usize = 1000;

/// Names and addresses, statement shapes and cancel keys. A handle: clones share their contents.
#[derive(Clone, Debug)]
pub struct Shared(Arc<Inner>);

/// A statement's text as it goes into the trace.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    /// Without passwords; bytes that are not UTF-8 are replaced.
    pub sql: Arc<str>,
    /// The bytes as sent, where they are not UTF-8.
    pub raw: Option<Arc<[u8]>>,
    /// Digest of the statement without its literals.
    pub shape_id: u64,
}

#[derive(Debug)]
struct Inner {
    engine: Engine,
    names: Mutex<HashSet<Arc<str>>>,
    shapes: Mutex<Shapes>,
    cancel_keys: Mutex<HashMap<u64, u64>>,
    key_log: KeyLog,
    encrypted: Mutex<BTreeMap<Encryption, u64>>,
}

/// A kind of session whose content cannot be read, because it is encrypted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Encryption {
    /// The server's address and port.
    pub server: Arc<str>,
    /// What is known of the encryption: version, cipher suite, the server's name.
    pub how: String,
    /// Why it is not decrypted.
    pub why: String,
}

impl Shared {
    /// With nothing in it, for sessions of one engine.
    pub fn new(engine: Engine) -> Self {
        Shared(Arc::new(Inner {
            engine,
            names: Mutex::default(),
            shapes: Mutex::new(Shapes::new(Dialect::of(engine))),
            cancel_keys: Mutex::default(),
            key_log: KeyLog::default(),
            encrypted: Mutex::default(),
        }))
    }

    /// With the secrets of TLS sessions, for a handle that no other shares yet.
    pub fn with_key_log(mut self, keys: &KeyLog) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.key_log = keys.clone();
        }
        self
    }

    /// The secrets of TLS sessions.
    pub(super) fn key_log(&self) -> &KeyLog {
        &self.0.key_log
    }

    /// Notes that a session cannot be read.
    pub(super) fn is_encrypted(&self, session: Encryption) {
        let mut encrypted = lock(&self.0.encrypted);
        // A client chooses the server's name freely.
        let known = encrypted.len() < KINDS || encrypted.contains_key(&session);
        let session = if known { session } else { Encryption { how: "of various kinds".to_owned(), ..session } };
        *encrypted.entry(session).or_default() += 1;
    }

    /// The sessions that cannot be read, because they are encrypted.
    pub fn encrypted(&self) -> Vec<Encrypted> {
        let told = |(Encryption { server, how, why }, &sessions): (&Encryption, &u64)| Encrypted {
            server: server.to_string(),
            sessions,
            encryption: how.clone(),
            reason: why.clone(),
        };
        lock(&self.0.encrypted).iter().map(told).collect()
    }

    /// The kind of the servers that the sessions talk to.
    pub fn engine(&self) -> Engine {
        self.0.engine
    }

    /// The one copy of a user, database, application or address. Bytes that are not UTF-8 are replaced.
    pub fn intern(&self, name: &[u8]) -> Arc<str> {
        let name = utf8(name);
        let mut names = lock(&self.0.names);
        match names.get(name.as_ref()) {
            Some(known) => Arc::clone(known),
            None => {
                let new: Arc<str> = Arc::from(name);
                names.insert(Arc::clone(&new));
                new
            }
        }
    }

    /// Prepares a statement's text for the trace, and counts its shape.
    pub(crate) fn text(&self, bytes: &[u8]) -> Text {
        self.text_in(bytes, Dialect::of(self.0.engine))
    }

    /// The same for a session that reads its texts in its own way (`sql_mode`).
    pub(crate) fn text_in(&self, bytes: &[u8], dialect: Dialect) -> Text {
        let sent = utf8(bytes);
        let masked = dialect.mask_password(&sent);
        // The raw bytes of a statement that holds a password would give it away.
        let raw = (matches!(sent, Cow::Owned(_)) && matches!(masked, Cow::Borrowed(_))).then(|| Arc::from(bytes));
        let shape_id = lock(&self.0.shapes).id_in(&masked, dialect);
        Text { sql: Arc::from(&*masked), raw, shape_id }
    }

    /// The statement shapes seen so far. Sessions wait while the lock is held.
    pub fn shapes(&self) -> MutexGuard<'_, Shapes> {
        lock(&self.0.shapes)
    }

    /// Remembers which session a cancel request with this key would be aimed at. The key itself is not kept.
    pub(super) fn remember_cancel_key(&self, process_id: i32, secret: &[u8], session: u64) {
        lock(&self.0.cancel_keys).insert(key(process_id, secret), session);
    }

    /// The session that a cancel request with this key is aimed at.
    pub(super) fn cancel_target(&self, process_id: i32, secret: &[u8]) -> Option<u64> {
        lock(&self.0.cancel_keys).get(&key(process_id, secret)).copied()
    }
}

/// Text, with U+FFFD in place of what is no UTF-8. Nearly all is, and finding that out is faster than the replacement.
fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

fn key(process_id: i32, secret: &[u8]) -> u64 {
    xxh3_64_with_seed(secret, u64::from(process_id.cast_unsigned()))
}

/// A panic elsewhere must not end the recording, and these maps are whole after every operation.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_one_copy() {
        let shared = Shared::new(Engine::Postgresql);
        assert!(Arc::ptr_eq(&shared.intern(b"shop"), &shared.clone().intern(b"shop")));
        assert_eq!(&*shared.intern(b"caf\xe9"), "caf\u{fffd}");
    }

    #[test]
    fn a_text_is_kept_raw_only_where_it_must_and_never_with_a_password() {
        let shared = Shared::new(Engine::Postgresql);
        let plain = shared.text(b"SELECT 1");
        assert_eq!((&*plain.sql, plain.raw), ("SELECT 1", None));
        let latin = shared.text(b"SELECT 'caf\xe9'");
        assert_eq!((&*latin.sql, latin.raw.as_deref()), ("SELECT 'caf\u{fffd}'", Some(&b"SELECT 'caf\xe9'"[..])));
        let secret = shared.text(b"ALTER ROLE caf\xe9 PASSWORD 'secret'");
        assert_eq!((&*secret.sql, secret.raw), ("ALTER ROLE caf\u{fffd} PASSWORD '***'", None));
        assert_eq!(shared.text(b"SELECT 2").shape_id, plain.shape_id);
        assert_eq!(shared.shapes().len(), 2, "SELECT of a literal, and ALTER ROLE");
    }

    #[test]
    fn a_cancel_key_leads_to_its_session() {
        let shared = Shared::new(Engine::Postgresql);
        shared.remember_cancel_key(7, b"abcd", 42);
        assert_eq!(shared.cancel_target(7, b"abcd"), Some(42));
        assert_eq!(shared.cancel_target(8, b"abcd"), None);
        assert_eq!(shared.cancel_target(7, b"abce"), None);
    }
}
