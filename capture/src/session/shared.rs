//! What the sessions of one recording have in common.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Names and addresses, statement shapes and cancel keys. A handle: clones share their contents.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    names: Mutex<HashSet<Arc<str>>>,
    cancel_keys: Mutex<HashMap<u64, u64>>,
}

impl Shared {
    /// With nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The one copy of a user, database, application or address. Bytes that are not UTF-8 are replaced.
    pub fn intern(&self, name: &[u8]) -> Arc<str> {
        let name = String::from_utf8_lossy(name);
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

    /// Remembers which session a cancel request with this key would be aimed at. The key itself is not kept.
    pub(super) fn remember_cancel_key(&self, process_id: u32, secret: &[u8], session: u64) {
        lock(&self.0.cancel_keys).insert(key(process_id, secret), session);
    }

    /// The session that a cancel request with this key is aimed at.
    pub(super) fn cancel_target(&self, process_id: u32, secret: &[u8]) -> Option<u64> {
        lock(&self.0.cancel_keys).get(&key(process_id, secret)).copied()
    }
}

fn key(process_id: u32, secret: &[u8]) -> u64 {
    xxh3_64_with_seed(secret, u64::from(process_id))
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
        let shared = Shared::new();
        assert!(Arc::ptr_eq(&shared.intern(b"shop"), &shared.clone().intern(b"shop")));
        assert_eq!(&*shared.intern(b"caf\xe9"), "caf\u{fffd}");
    }

    #[test]
    fn a_cancel_key_leads_to_its_session() {
        let shared = Shared::new();
        shared.remember_cancel_key(7, b"abcd", 42);
        assert_eq!(shared.cancel_target(7, b"abcd"), Some(42));
        assert_eq!(shared.cancel_target(8, b"abcd"), None);
        assert_eq!(shared.cancel_target(7, b"abce"), None);
    }
}
