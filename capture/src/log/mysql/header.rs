//! What a server writes when it opens a log: three lines, after a start and after FLUSH LOGS.

use crate::sql::mysql::Server;

/// Where a line stands in a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Header {
    /// Not in one.
    #[default]
    Outside,
    /// Behind the first line.
    Program,
    /// Behind the second line.
    Ports,
}

/// Whether a line is the first of a header, and which server it names, where that is known:
/// `/usr/sbin/mysqld, Version: 5.7.12-log (comment). started with:`.
pub(super) fn begins(line: &[u8]) -> Option<Option<Server>> {
    const VERSION: &[u8] = b", Version: ";
    let line = line.strip_suffix(b" started with:")?;
    let at = memchr::memmem::find(line, VERSION)?;
    let rest = line.get(at + VERSION.len()..)?;
    Some(Server::from_version(&String::from_utf8_lossy(rest)))
}

impl Header {
    /// Whether the next line belongs to the header, too.
    pub fn goes_on(&mut self, line: &[u8]) -> bool {
        let (belongs, next) = match self {
            Header::Outside => (false, Header::Outside),
            Header::Program => (line.starts_with(b"Tcp port: ") || line.starts_with(b"TCP Port: "), Header::Ports),
            Header::Ports => (line.starts_with(b"Time") && line.ends_with(b"Argument"), Header::Outside),
        };
        *self = if belongs { next } else { Header::Outside };
        belongs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::mysql::Family;

    #[test]
    fn headers_of_any_version() {
        for (line, server) in [
            (
                "/usr/sbin/mysqld, Version: 5.0.38-Ubuntu_0ubuntu1-log (Ubuntu 7.04). started with:",
                (Family::MySql, 50_038),
            ),
            ("mariadbd, Version: 10.11.19-MariaDB-log (Debian 12). started with:", (Family::MariaDb, 101_119)),
        ] {
            let server = Server { family: server.0, version: server.1 };
            assert_eq!(begins(line.as_bytes()), Some(Some(server)));
        }
        assert_eq!(begins(b"mysqld, Version: strange. started with:"), Some(None));
        assert_eq!(begins(b"SELECT 'started with:'"), None);
        for (second, third) in [
            ("Tcp port: 3306  Unix socket: /s", "Time                 Id Command    Argument"),
            ("Tcp port: 0 Unix socket: (null)", "Time Id Command Argument"),
            ("TCP Port: 3306, Named Pipe: MySQL", "Time\t\t    Id Command\tArgument"),
        ] {
            let mut header = Header::Program;
            assert!(header.goes_on(second.as_bytes()) && header.goes_on(third.as_bytes()));
            assert!(!header.goes_on(third.as_bytes()));
        }
        let mut cut = Header::Program;
        assert!(!cut.goes_on(b"# Time: 071015 21:43:52"));
        assert!(!cut.goes_on(b"Tcp port: 3306"));
    }
}
