//! What of a server and a session changes how a text is read.

/// The parts of `sql_mode` that change the tokens of a text, and the server that reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mode {
    /// `ANSI_QUOTES`: `"a"` is a name, not a string.
    pub ansi_quotes: bool,
    /// `NO_BACKSLASH_ESCAPES`: a backslash in a string is only a backslash.
    pub no_backslash_escapes: bool,
    /// `PIPES_AS_CONCAT`: `||` joins strings instead of meaning OR.
    pub pipes_as_concat: bool,
    /// `HIGH_NOT_PRECEDENCE`: NOT binds as tightly as `!`.
    pub high_not_precedence: bool,
    /// `IGNORE_SPACE`: a built-in function's name may have white space before its parenthesis.
    pub ignore_space: bool,
    /// Who reads the text: it decides which executed comments are code.
    pub server: Server,
}

impl Mode {
    /// The default `sql_mode` of a server.
    pub fn of(server: Server) -> Self {
        Mode { server, ..Mode::default() }
    }

    /// The mode after `SET sql_mode = '...'`, for the value's names separated by commas, in any case. Names that
    /// change no token are passed over. The combinations (`ANSI`, `ORACLE`, ...) stand for what they switch on.
    pub fn with_sql_mode(self, value: &str) -> Self {
        let mut mode = Mode::of(self.server);
        for name in value.split(',') {
            match name.trim().to_ascii_uppercase().as_str() {
                "ANSI_QUOTES" => mode.ansi_quotes = true,
                "NO_BACKSLASH_ESCAPES" => mode.no_backslash_escapes = true,
                "PIPES_AS_CONCAT" => mode.pipes_as_concat = true,
                "HIGH_NOT_PRECEDENCE" => mode.high_not_precedence = true,
                "IGNORE_SPACE" => mode.ignore_space = true,
                "ANSI" | "ORACLE" | "MSSQL" | "DB2" | "MAXDB" | "POSTGRESQL" => {
                    mode.ansi_quotes = true;
                    mode.pipes_as_concat = true;
                    mode.ignore_space = true;
                }
                "MYSQL323" | "MYSQL40" => mode.high_not_precedence = true,
                _ => {}
            }
        }
        mode
    }
}

/// A server's family and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Server {
    /// MariaDB or MySQL.
    pub family: Family,
    /// Two digits each for minor and patch: 101119 is 10.11.19, 80036 is 8.0.36.
    pub version: u32,
}

impl Default for Server {
    /// MariaDB 10.11, the oldest release of MariaDB that Debian supports.
    fn default() -> Self {
        Server { family: Family::MariaDb, version: 101_100 }
    }
}

impl Server {
    /// From the version that a server announces in its greeting or in `@@version`: `5.5.5-10.11.19-MariaDB-log`,
    /// `8.0.36`. `None` where it does not begin with three numbers.
    pub fn from_version(text: &str) -> Option<Self> {
        let maria = text.to_ascii_lowercase().contains("mariadb");
        // Versions of MariaDB from 10.0 to 10.11 greet with this prefix, for old replicas' sake.
        let text = if maria { text.strip_prefix("5.5.5-").unwrap_or(text) } else { text };
        let mut parts = text.splitn(3, '.');
        let major: u32 = parts.next()?.parse().ok()?;
        let minor: u32 = parts.next()?.parse().ok()?;
        let patch = parts.next()?;
        let digits = patch.find(|character: char| !character.is_ascii_digit()).unwrap_or(patch.len());
        let patch: u32 = patch.get(..digits)?.parse().ok()?;
        if major > 999 || minor > 99 || patch > 99 {
            return None;
        }
        let family = if maria { Family::MariaDb } else { Family::MySql };
        Some(Server { family, version: major * 10_000 + minor * 100 + patch })
    }

    /// True when this server runs the content of `/*!VERSION ... */` (`maria`: of `/*M!VERSION ... */`).
    ///
    /// MariaDB passes over the versions 50700 to 99999 of the form without `M`: they are MySQL's, with a syntax that
    /// it does not share. To MySQL, `/*M!` begins a comment like any other.
    pub(super) fn executes(self, version: Option<u32>, maria: bool) -> bool {
        match self.family {
            Family::MySql if maria => false,
            Family::MySql => version.is_none_or(|version| version <= self.version),
            Family::MariaDb => version
                .is_none_or(|version| version <= self.version && (maria || !(50_700..=99_999).contains(&version))),
        }
    }
}

/// One of the two families of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// MariaDB
    MariaDb,
    /// MySQL and Percona Server
    MySql,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_what_they_announce() {
        let server = |text| Server::from_version(text).map(|server| (server.family, server.version));
        assert_eq!(server("5.5.5-10.11.19-MariaDB-0+deb12u1"), Some((Family::MariaDb, 101_119)));
        assert_eq!(server("11.4.2-MariaDB"), Some((Family::MariaDb, 110_402)));
        assert_eq!(server("8.0.36"), Some((Family::MySql, 80_036)));
        assert_eq!(server("5.7.44-48-log"), Some((Family::MySql, 50_744)));
        assert_eq!(server("8.0"), None);
        assert_eq!(server("PostgreSQL"), None);
        assert_eq!(server(""), None);
    }

    #[test]
    fn modes_are_read_from_their_names() {
        let mode = Mode::default().with_sql_mode("STRICT_TRANS_TABLES, ansi_quotes");
        assert_eq!(mode, Mode { ansi_quotes: true, ..Mode::default() });
        let mode = mode.with_sql_mode("ANSI");
        assert!(mode.pipes_as_concat && mode.ignore_space && mode.ansi_quotes);
        assert_eq!(mode.with_sql_mode(""), Mode::default());
    }

    #[test]
    fn executed_comments_are_decided_by_family_and_version() {
        let maria = Server::default();
        let mysql = Server { family: Family::MySql, version: 80_036 };
        for (version, is_maria, in_maria, in_mysql) in [
            (None, false, true, true),
            (None, true, true, false),
            (Some(32_302), false, true, true),
            (Some(50_701), false, false, true),
            (Some(50_701), true, true, false),
            (Some(80_040), false, false, false),
            (Some(100_500), false, true, false),
            (Some(110_000), true, false, false),
        ] {
            assert_eq!(maria.executes(version, is_maria), in_maria, "{version:?} {is_maria}");
            assert_eq!(mysql.executes(version, is_maria), in_mysql, "{version:?} {is_maria}");
        }
    }
}
