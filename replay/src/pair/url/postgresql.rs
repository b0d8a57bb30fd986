//! PostgreSQL's connection URLs, and its keyword form, as libpq reads them.

use std::str::FromStr;

use splitproof_capture::trace::Engine;
use tokio_postgres::config::{Config, Host, SslMode};

use super::{Url, UrlError};
use crate::pair::{Passwords, Secret};

pub(super) fn parse(text: &str) -> Result<Url, UrlError> {
    let engine = Engine::Postgresql;
    let config = Config::from_str(text).map_err(|error| UrlError::Syntax { engine, reason: reason(&error) })?;
    let host = match config.get_hosts() {
        [] => return Err(UrlError::Missing { engine, part: "host" }),
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
        engine,
        host,
        port: config.get_ports().first().copied().unwrap_or(5432),
        database: config.get_dbname().unwrap_or_default().to_owned(),
        user: config.get_user().unwrap_or_default().to_owned(),
        password: config.get_password().map(Secret::new),
    })
}

impl Url {
    /// Settings for a control connection to PostgreSQL.
    pub fn postgresql_control(&self, passwords: &Passwords) -> Config {
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
