//! Where a server listens and as whom to connect, from a connection URL. `postgresql` and `mysql` parse their URLs.

mod mysql;
mod postgresql;

use std::fmt;

use splitproof_capture::trace::Engine;

use super::{Passwords, Secret};

/// Where a server listens and as whom to connect. `Display` and `Debug` leave the password out.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    engine: Engine,
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
    #[error("{reason}: write {}", example(*engine))]
    Syntax {
        /// The engine whose URL it should be.
        engine: Engine,
        /// What the parser says.
        reason: String,
    },
    /// A part that is needed is missing.
    #[error("no {part}: write {}", example(*engine))]
    Missing {
        /// The engine whose URL it is.
        engine: Engine,
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
    /// A URL of another engine than the pair's.
    #[error("a URL of {found}, and the pair's engine is {wanted}: write {}", example(*wanted))]
    Engine {
        /// The URL's.
        found: Engine,
        /// The pair's.
        wanted: Engine,
    },
}

fn example(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgresql => "\"postgresql://USER@HOST:PORT/DATABASE\"",
        Engine::Mysql => "\"mysql://USER@HOST:PORT/DATABASE\"",
    }
}

impl Url {
    /// Parses `postgresql://USER[:PASSWORD]@HOST[:PORT]/DATABASE` (or the keyword form `host=… port=…`), or
    /// `mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE]`.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let mut url = Url::parse_router(text)?;
        if url.user.is_empty() {
            return Err(UrlError::Missing { engine: url.engine, part: "user" });
        }
        if url.database.is_empty() && url.engine == Engine::Postgresql {
            url.database.clone_from(&url.user);
        }
        Ok(url)
    }

    /// Parses a URL that need not name a user or database: each session brings its own.
    pub fn parse_router(text: &str) -> Result<Self, UrlError> {
        if text.starts_with("mysql:") { mysql::parse(text) } else { postgresql::parse(text) }
    }

    /// Refuses a URL of another engine.
    pub fn of_engine(self, wanted: Engine) -> Result<Self, UrlError> {
        if self.engine == wanted { Ok(self) } else { Err(UrlError::Engine { found: self.engine, wanted }) }
    }

    /// The engine whose protocol is spoken there.
    pub fn engine(&self) -> Engine {
        self.engine
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

    /// The database. Where a URL names none it is empty, save that of a PostgreSQL node, which has the user's name.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The same server and user, in another database.
    pub fn with_database(&self, database: &str) -> Self {
        Url { database: database.to_owned(), ..self.clone() }
    }

    /// The password for `user` at this address: the URL's own where it names that user, else what variables and files
    /// say, in the order of the engine's own clients.
    pub fn password(&self, user: &str, database: &str, passwords: &Passwords) -> Option<Secret> {
        let own = self.password.clone().filter(|_| user == self.user);
        own.or_else(|| match self.engine {
            Engine::Postgresql => passwords.find(&self.host, self.port, database, user),
            Engine::Mysql => passwords.find_mysql(user),
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.engine)?;
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
