//! The passwords of the router's users.

use super::{Passwords, Secret, Url};

/// The passwords of the router's users.
#[derive(Clone, Debug)]
pub struct Keyring {
    router: Url,
    passwords: Passwords,
}

impl Keyring {
    /// From the router's URL, variables and files.
    pub fn new(router: &Url, passwords: &Passwords) -> Self {
        Keyring { router: router.clone(), passwords: passwords.clone() }
    }

    /// The password of a user.
    pub fn password(&self, user: &str, database: &str) -> Option<Secret> {
        self.router.password(user, database, &self.passwords)
    }
}
