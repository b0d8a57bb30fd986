//! As whom a session starts.

use splitproof_capture::trace::{Engine, Kind, Request};

use super::NotSent;
use crate::pair::Defaults;
use crate::wire::{mysql, postgresql};

/// As whom a session starts, by engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// PostgreSQL.
    Postgresql(postgresql::handshake::Login),
    /// MySQL or MariaDB.
    Mysql(mysql::Login),
}

impl Login {
    /// The user.
    pub fn user(&self) -> &str {
        match self {
            Login::Postgresql(login) => &login.user,
            Login::Mysql(login) => &login.user,
        }
    }
}

/// As whom a session starts, from its first recorded request and the pair's defaults.
///
/// # Errors
/// [`NotSent::UnknownUser`], or [`NotSent::Replication`] for a connection that streams WAL.
pub fn login(engine: Engine, first: &Request, defaults: &Defaults) -> Result<Login, NotSent> {
    let user = first.user.as_deref().or(defaults.user.as_deref()).ok_or(NotSent::UnknownUser)?.to_owned();
    let database = first.database.as_deref().or(defaults.database.as_deref());
    match engine {
        Engine::Postgresql => start_up(first, user, database).map(Login::Postgresql),
        Engine::Mysql => Ok(Login::Mysql(mysql::Login::of(first, user, database))),
    }
}

/// PostgreSQL's start-up parameters.
fn start_up(first: &Request, user: String, database: Option<&str>) -> Result<postgresql::handshake::Login, NotSent> {
    let mut parameters = vec![("user".to_owned(), user.clone())];
    parameters.extend(database.map(|database| ("database".to_owned(), database.to_owned())));
    parameters.extend(first.application.as_deref().map(|name| ("application_name".to_owned(), name.to_owned())));
    if first.kind == Kind::Connect {
        parameters.extend(others(first));
    }
    if parameters.iter().any(|(name, value)| name == "replication" && is_on(value)) {
        return Err(NotSent::Replication);
    }
    Ok(postgresql::handshake::Login { minor_version: 0, user, parameters })
}

/// The recorded parameters beside those that have columns of their own: names and values in turn.
fn others(connect: &Request) -> impl Iterator<Item = (String, String)> {
    let text = |index: usize| {
        let value = connect.params.get(index)?.value.as_deref()?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    (0..connect.params.len()).step_by(2).filter_map(move |index| Some((text(index)?, text(index + 1)?)))
}

/// `replication` is `database` or any spelling of true for a connection that streams.
fn is_on(value: &str) -> bool {
    !["false", "off", "no", "0", ""].iter().any(|off| value.eq_ignore_ascii_case(off))
}

#[cfg(test)]
mod tests {
    use splitproof_capture::trace::Param;

    use super::*;

    fn login(first: &Request, defaults: &Defaults) -> Result<postgresql::handshake::Login, NotSent> {
        match super::login(Engine::Postgresql, first, defaults)? {
            Login::Postgresql(login) => Ok(login),
            Login::Mysql(_) => panic!("it is PostgreSQL's"),
        }
    }

    fn connect(parameters: &[&str]) -> Request {
        let mut first = Request::new(1, 0, 0, Kind::Connect);
        first.user = Some("app".into());
        let text = |text: &&str| Param { type_id: 25, binary: false, value: Some(text.as_bytes().into()) };
        first.params = parameters.iter().map(text).collect();
        first
    }

    #[test]
    fn the_recording_comes_before_the_defaults() {
        let mut first = Request::new(1, 0, 0, Kind::Query);
        let defaults = Defaults { user: Some("fallback".to_owned()), database: Some("shop".to_owned()) };
        assert_eq!(login(&first, &Defaults::default()), Err(NotSent::UnknownUser));
        assert_eq!(login(&first, &defaults).map(|login| login.user), Ok("fallback".to_owned()));
        first.user = Some("app".into());
        first.application = Some("cart".into());
        let login = login(&first, &defaults).unwrap();
        let parameters: Vec<_> = login.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(parameters, [("user", "app"), ("database", "shop"), ("application_name", "cart")]);
    }

    #[test]
    fn recorded_settings_are_repeated() {
        let login = login(&connect(&["DateStyle", "ISO", "client_encoding", "LATIN1"]), &Defaults::default()).unwrap();
        let parameters: Vec<_> = login.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(parameters, [("user", "app"), ("DateStyle", "ISO"), ("client_encoding", "LATIN1")]);
    }

    #[test]
    fn a_replication_connection_is_not_replayed() {
        let login = |value| login(&connect(&["replication", value]), &Defaults::default());
        assert_eq!(login("database"), Err(NotSent::Replication));
        assert_eq!(login("true"), Err(NotSent::Replication));
        assert!(login("off").is_ok());
    }
}
