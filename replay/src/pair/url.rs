//! Where a server listens and as whom to connect, from a connection URL.

use std::fmt;
use std::str::FromStr;

use tokio_postgres::config::{Config, Host, SslMode};

use super::{Passwords, Secret};

/// Where a server listens and as whom to connect. `Display` and `Debug` leave the password out.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    host: String,
    port: u16,
    user: String,
    database: String,
    password: Option<Secret>,
}

/// Why a URL cannot be used. No variant shows the URL, which may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum UrlError {
    /// Not a connection URL.
    #[error("{reason}: write \"postgresql://USER@HOST:PORT/DATABASE\"")]
    Syntax {
        /// What the parser says.
        reason: String,
    },
    /// A part that is needed is missing.
    #[error("no {part}: write \"postgresql://USER@HOST:PORT/DATABASE\"")]
    Missing {
        /// The part.
        part: &'static str,
    },
    /// Several hosts.
    #[error("more than one host: write one server per URL")]
    SeveralHosts,
    /// A Unix-domain socket.
    #[error("a Unix-domain socket: write a host name or address, since the replay goes over TCP")]
    UnixSocket,
    /// Encryption was asked for.
    #[error("sslmode=require: connections are not encrypted; remove it where plain connections are allowed")]
    Encrypted,
    /// Something that a replay would not obey.
    #[error("{option} is not supported here: remove it")]
    Option {
        /// The parameter.
        option: &'static str,
    },
}

impl Url {
    /// Parses `postgresql://USER[:PASSWORD]@HOST[:PORT]/DATABASE` (or the keyword form `host=… port=…`).
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let mut url = Url::parse_router(text)?;
        if url.user.is_empty() {
            return Err(UrlError::Missing { part: "user" });
        }
        if url.database.is_empty() {
            url.database.clone_from(&url.user);
        }
        Ok(url)
    }

    /// Parses a URL that need not name a user or database: each session brings its own.
    pub fn parse_router(text: &str) -> Result<Self, UrlError> {
        let config = Config::from_str(text).map_err(|error| UrlError::Syntax { reason: reason(&error) })?;
        let host = match config.get_hosts() {
            [] => return Err(UrlError::Missing { part: "host" }),
            [Host::Tcp(host)] => host.clone(),
            #[cfg(unix)]
            [Host::Unix(_)] => return Err(UrlError::UnixSocket),
            _ => return Err(UrlError::SeveralHosts),
        };
        if config.get_ssl_mode() == SslMode::Require {
            return Err(UrlError::Encrypted);
        }
        if !config.get_hostaddrs().is_empty() {
            return Err(UrlError::Option { option: "hostaddr" });
        }
        if config.get_options().is_some() {
            return Err(UrlError::Option { option: "options" });
        }
        Ok(Url {
            host,
            port: config.get_ports().first().copied().unwrap_or(5432),
            database: config.get_dbname().unwrap_or_default().to_owned(),
            user: config.get_user().unwrap_or_default().to_owned(),
            password: config.get_password().map(Secret::new),
        })
    }

    /// Host name or address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Host and port, to connect to.
    pub fn address(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// The user; empty where a router's URL names none.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The database: the user's name where a node's URL has none; empty where a router's has none.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The same server and user, in another database.
    pub fn with_database(&self, database: &str) -> Self {
        Url { database: database.to_owned(), ..self.clone() }
    }

    /// The password for `user` at this address: the URL's own where it names that user, else `PGPASSWORD`, else the
    /// password file. This is libpq's order.
    pub fn password(&self, user: &str, database: &str, passwords: &Passwords) -> Option<Secret> {
        let own = self.password.clone().filter(|_| user == self.user);
        own.or_else(|| passwords.find(&self.host, self.port, database, user))
    }

    /// Settings for a control connection.
    pub fn control(&self, passwords: &Passwords) -> Config {
        let mut config = Config::new();
        config.host(&self.host).port(self.port).user(&self.user).dbname(&self.database);
        config.application_name("splitproof").ssl_mode(SslMode::Disable);
        config.connect_timeout(std::time::Duration::from_secs(10));
        if let Some(password) = self.password(&self.user, &self.database, passwords) {
            config.password(password.bytes());
        }
        config
    }
}

/// The parser's reason, as a sentence. It may quote names of options, never their values.
fn reason(error: &tokio_postgres::Error) -> String {
    use std::error::Error;
    let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let option = reason.split('`').nth(1);
    match option {
        Some("port") => "the port is not a number from 1 to 65535".to_owned(),
        Some(option) if reason.starts_with("unknown option") => format!("the parameter {option} is not known"),
        Some(option) if reason.starts_with("invalid value") => format!("the parameter {option} has a wrong value"),
        _ => "not a connection URL".to_owned(),
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgresql://")?;
        if !self.user.is_empty() {
            write!(f, "{}@", self.user)?;
        }
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}:{}", self.host, self.port)?;
        if !self.database.is_empty() {
            write!(f, "/{}", self.database)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_and_their_defaults() {
        let url = Url::parse("postgresql://app:p%40ss@db.example").unwrap();
        assert_eq!((url.host(), url.port(), url.user(), url.database()), ("db.example", 5432, "app", "app"));
        assert_eq!(url.to_string(), "postgresql://app@db.example:5432/app");
        let password = url.password("app", "app", &Passwords::default()).unwrap();
        assert_eq!(password.bytes(), b"p@ss");
        assert!(url.password("other", "app", &Passwords::default()).is_none());
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let fails = |text: &str| Url::parse(text).unwrap_err().to_string();
        assert!(fails("postgresql:///shop").contains("no host"));
        assert!(fails("postgresql://localhost/shop").contains("no user"));
        assert!(Url::parse_router("postgresql://localhost/shop").is_ok());
        assert!(fails("postgresql://a@x,y/shop").contains("more than one host"));
        assert!(fails("postgresql://a@%2Ftmp/shop").contains("Unix-domain socket"));
        assert!(fails("postgresql://a@x/shop?sslmode=require").contains("sslmode=require"));
        assert!(fails("host=x user=a options='-c a=b'").contains("options"));
        assert!(fails("postgresql://a:topsecret@x:port/shop").contains("the port is not a number"));
        assert!(fails("postgresql://a@x/shop?foo=1").contains("the parameter foo is not known: write"));
        assert!(fails("http://x").contains("not a connection URL: write"));
        assert!(!fails("postgresql://a:topsecret@x:port/shop").contains("topsecret"));
    }

    #[test]
    fn an_ipv6_host_is_shown_in_brackets() {
        assert_eq!(Url::parse("postgresql://a@[::1]:1/d").unwrap().to_string(), "postgresql://a@[::1]:1/d");
    }
}
