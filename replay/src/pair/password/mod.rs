//! Passwords from the environment and from files, as each engine's own clients find them.
//!
//! - [`Passfile`]: PostgreSQL's password file
//! - [`OptionFile`]: the user's option file of MySQL and MariaDB

mod option_file;
mod passfile;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use splitproof_capture::trace::Engine;

pub use option_file::OptionFile;
pub use passfile::Passfile;

/// A password. Neither `Debug` nor any other output shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<[u8]>);

impl Secret {
    /// Keeps a password.
    pub fn new(bytes: &[u8]) -> Self {
        Secret(bytes.into())
    }

    /// The password, to authenticate with.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Why a file with passwords cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PassfileError {
    /// It cannot be read.
    #[error("password file {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Others may read it, so libpq ignores it; ignoring it silently would end in a puzzling refusal.
    #[error("password file {} may be read by others: run `chmod 0600 {}`", path.display(), path.display())]
    Permissions {
        /// The file.
        path: PathBuf,
    },
    /// Others may write it, so the clients of MySQL and MariaDB ignore it.
    #[error("option file {} may be written by others: run `chmod 0600 {}`", path.display(), path.display())]
    Writable {
        /// The file.
        path: PathBuf,
    },
}

/// What the environment says about passwords.
#[derive(Clone, Debug, Default)]
pub struct Passwords {
    /// `PGPASSWORD`.
    pub pgpassword: Option<Secret>,
    /// PostgreSQL's password file.
    pub passfile: Passfile,
    /// `MYSQL_PWD`.
    pub mysql_pwd: Option<Secret>,
    /// The option file of MySQL and MariaDB.
    pub option_file: OptionFile,
}

impl Passwords {
    /// For PostgreSQL from `PGPASSWORD`, and from the file that `PGPASSFILE` names or `~/.pgpass`. For MySQL and MariaDB from
    /// `~/.my.cnf` and from `MYSQL_PWD`. What is of the other engine is not looked at.
    pub fn from_environment(engine: Engine) -> Result<Self, PassfileError> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let secret = |name| variable(name).map(|value| Secret::new(value.as_encoded_bytes()));
        let at_home = |name| std::env::home_dir().map(|home| home.join(name)).filter(|path| path.is_file());
        let mut passwords = Passwords::default();
        match engine {
            Engine::Postgresql => {
                passwords.pgpassword = secret("PGPASSWORD");
                if let Some(path) = variable("PGPASSFILE").map(PathBuf::from).or_else(|| at_home(".pgpass")) {
                    passwords.passfile = Passfile::read(&path)?;
                }
            }
            Engine::Mysql => {
                passwords.mysql_pwd = secret("MYSQL_PWD");
                if let Some(path) = at_home(".my.cnf") {
                    passwords.option_file = OptionFile::read(&path)?;
                }
            }
        }
        Ok(passwords)
    }

    /// The password of a user at a PostgreSQL server: the variable comes before the file, as in libpq.
    pub fn find(&self, host: &str, port: u16, database: &str, user: &str) -> Option<Secret> {
        self.pgpassword.clone().or_else(|| self.passfile.find(host, port, database, user))
    }

    /// The password of a user at a MySQL or MariaDB server: the file comes before the variable, as in their clients.
    pub fn find_mysql(&self, user: &str) -> Option<Secret> {
        self.option_file.find(user).or_else(|| self.mysql_pwd.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgresql_takes_the_variable_before_the_file() {
        let passfile = Passfile::parse("*:*:*:*:file");
        let passwords = Passwords { pgpassword: Some(Secret::new(b"variable")), passfile, ..Passwords::default() };
        assert_eq!(passwords.find("h", 1, "d", "u").unwrap().bytes(), b"variable");
        assert_eq!(passwords.find_mysql("u"), None);
    }

    #[test]
    fn mysql_takes_the_file_before_the_variable() {
        let option_file = OptionFile::parse("[client]\nuser=app\npassword=file\n");
        let passwords = Passwords { mysql_pwd: Some(Secret::new(b"variable")), option_file, ..Passwords::default() };
        assert_eq!(passwords.find_mysql("app").unwrap().bytes(), b"file");
        assert_eq!(passwords.find_mysql("other").unwrap().bytes(), b"variable");
        assert_eq!(passwords.find("h", 1, "d", "app"), None);
    }
}
