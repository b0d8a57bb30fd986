//! Who connects, as the general log writes it.

/// `USER@HOST [as PROXIED] on DATABASE [using WAY]`. What is not told is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Account<'a> {
    pub user: &'a [u8],
    pub host: &'a [u8],
    pub database: &'a [u8],
}

/// The ways that MySQL 5.7 and MariaDB 10.6 name.
const WAYS: &[&[u8]] = &[b"Socket", b"TCP/IP", b"SSL/TLS", b"Named Pipe", b"Shared Memory"];

impl<'a> Account<'a> {
    /// Reads what stands behind `Connect` or `Change user`. `None` where it is not of that form.
    pub fn read(argument: &'a [u8]) -> Option<Self> {
        let mut rest = argument;
        if let Some(at) = rfind(rest, b" using ")
            && rest.get(at + 7..).is_some_and(|way| WAYS.contains(&way))
        {
            rest = rest.get(..at)?;
        }
        // Without a database the line may have lost the blank at its end.
        let (who, database) = match rest.strip_suffix(b" on") {
            Some(who) => (who, &b""[..]),
            None => {
                let on = rfind(rest, b" on ")?;
                (rest.get(..on)?, rest.get(on + 4..)?)
            }
        };
        let who = who.get(..memchr::memmem::find(who, b" as ").unwrap_or(who.len()))?;
        let at = memchr::memrchr(b'@', who)?;
        Some(Account { user: who.get(..at)?, host: who.get(at + 1..)?, database: database.trim_ascii() })
    }
}

/// Why a login, or another database, was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Denied<'a> {
    pub user: &'a [u8],
    pub host: &'a [u8],
    /// The database that the user has no right to, where that is the reason.
    pub database: Option<&'a [u8]>,
    pub message: &'a [u8],
}

impl<'a> Denied<'a> {
    /// Reads `Access denied for user 'u'@'h' (using password: YES)` or `… to database 'd'`.
    pub fn read(argument: &'a [u8]) -> Option<Self> {
        let rest = argument.strip_prefix(b"Access denied for user '")?;
        let at = memchr::memmem::find(rest, b"'@'")?;
        let behind = rest.get(at + 3..)?;
        let end = memchr::memchr(b'\'', behind)?;
        let database = behind.get(end + 1..)?.strip_prefix(b" to database '").and_then(|name| name.strip_suffix(b"'"));
        Some(Denied { user: rest.get(..at)?, host: behind.get(..end)?, database, message: argument })
    }

    /// The number of the error.
    pub fn code(&self) -> &'static str {
        if self.database.is_some() { "1044" } else { "1045" }
    }
}

fn rfind(text: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::rfind(text, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_connects() {
        for (argument, user, host, database) in [
            ("root@localhost on db1", "root", "localhost", "db1"),
            ("root@localhost on  ", "root", "localhost", ""),
            ("baron@localhost on", "baron", "localhost", ""),
            ("root@localhost on  using Socket", "root", "localhost", ""),
            ("app@10.0.0.1 on shop using TCP/IP", "app", "10.0.0.1", "shop"),
            ("nobody@localhost as  on ", "nobody", "localhost", ""),
            ("u@v@h as proxied on db using SSL/TLS", "u@v", "h", "db"),
        ] {
            let expected = Account { user: user.as_bytes(), host: host.as_bytes(), database: database.as_bytes() };
            assert_eq!(Account::read(argument.as_bytes()), Some(expected), "{argument}");
        }
        assert_eq!(Account::read(b"Access denied for user 'a'@'b' (using password: NO)"), None);
        assert_eq!(Account::read(b""), None);
    }

    #[test]
    fn who_is_denied() {
        let login = Denied::read(b"Access denied for user 'a'@'b' (using password: NO)").expect("denied");
        assert_eq!((login.user, login.host, login.code()), (&b"a"[..], &b"b"[..], "1045"));
        let database = Denied::read(b"Access denied for user 'a'@'b' to database 'd'").expect("denied");
        assert_eq!((database.database, database.code()), (Some(&b"d"[..]), "1044"));
        assert_eq!(Denied::read(b"root@localhost on db1"), None);
    }
}
