//! `mysql://` URLs, of MySQL and MariaDB.

use mysql_async::{Opts, OptsBuilder};
use splitproof_capture::trace::Engine;

use super::{Url, UrlError};
use crate::pair::{Passwords, Secret};

pub(super) fn parse(text: &str) -> Result<Url, UrlError> {
    let engine = Engine::Mysql;
    // Parameters steer the driver (pools, sockets, time limits), which is not what carries the replay.
    if text.contains('?') {
        return Err(UrlError::Option { option: "a parameter after \"?\"" });
    }
    let options = Opts::from_url(text).map_err(|error| UrlError::Syntax { engine, reason: reason(&error) })?;
    let host = options.ip_or_hostname();
    if host.contains(',') {
        return Err(UrlError::SeveralHosts);
    }
    if host.contains("%2F") || host.contains("%2f") {
        return Err(UrlError::UnixSocket);
    }
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Ok(Url {
        engine,
        host: host.to_owned(),
        port: options.tcp_port(),
        database: options.db_name().unwrap_or_default().to_owned(),
        user: options.user().unwrap_or_default().to_owned(),
        password: options.pass().map(|password| Secret::new(password.as_bytes())),
    })
}

impl Url {
    /// Settings for a control connection to MySQL or MariaDB.
    pub fn mysql_control(&self, passwords: &Passwords) -> Opts {
        let password = self.password(&self.user, &self.database, passwords);
        let text = |secret: Secret| String::from_utf8_lossy(secret.bytes()).into_owned();
        let database = Some(self.database.as_str()).filter(|database| !database.is_empty());
        OptsBuilder::default()
            .ip_or_hostname(self.host.as_str())
            .tcp_port(self.port)
            .user(Some(self.user.as_str()))
            .pass(password.map(text))
            .db_name(database)
            // The driver would switch to the server's socket, and so walk around the address that was given.
            .prefer_socket(false)
            // With these given the driver does not ask for them: the node sees no statements of its own accord.
            .max_allowed_packet(Some(64 << 20))
            .wait_timeout(Some(28_800))
            .tcp_nodelay(true)
            .stmt_cache_size(0)
            .into()
    }
}

/// What is wrong, without the text, which may hold a password.
fn reason(error: &mysql_async::UrlError) -> String {
    match error {
        mysql_async::UrlError::Parse(error) => error.to_string(),
        _ => "not a mysql:// URL".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_and_their_defaults() {
        let url = Url::parse("mysql://app:p%40ss@db.example").unwrap();
        assert_eq!((url.host(), url.port(), url.user(), url.database()), ("db.example", 3306, "app", ""));
        assert_eq!(url.to_string(), "mysql://app@db.example:3306");
        assert_eq!(url.password("app", "", &Passwords::default()).unwrap().bytes(), b"p@ss");
        assert!(url.password("other", "", &Passwords::default()).is_none());
        let router = Url::parse_router("mysql://127.0.0.1:6033/shop").unwrap();
        assert_eq!((router.port(), router.user(), router.database()), (6033, "", "shop"));
        assert_eq!(Url::parse("mysql://a@[::1]:1/d").unwrap().to_string(), "mysql://a@[::1]:1/d");
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let fails = |text: &str| Url::parse(text).unwrap_err().to_string();
        assert!(fails("mysql://localhost/shop").contains("no user: write \"mysql://USER@HOST"));
        assert!(fails("mysql://a@x/shop?socket=/tmp/s").contains("a parameter after"));
        assert!(fails("mysql://a@x,y/shop").contains("more than one host"));
        assert!(fails("mysql:a").contains("not a mysql:// URL"));
        let port = fails("mysql://a:topsecret@x:port/shop");
        assert!(port.contains("port") && !port.contains("topsecret"), "{port}");
    }

    #[test]
    fn the_control_connection_goes_where_the_url_says() {
        let options = Url::parse("mysql://a:b@127.0.0.1:3307/d").unwrap().mysql_control(&Passwords::default());
        assert!(!options.prefer_socket());
        assert_eq!((options.ip_or_hostname(), options.tcp_port()), ("127.0.0.1", 3307));
        assert_eq!((options.user(), options.pass(), options.db_name()), (Some("a"), Some("b"), Some("d")));
    }
}
