//! PostgreSQL's password file, read as libpq reads it.
//!
//! <https://www.postgresql.org/docs/current/libpq-pgpass.html>

use std::path::Path;

use super::{PassfileError, Secret};

/// The lines of a password file: `host:port:database:user:password`.
#[derive(Clone, Debug, Default)]
pub struct Passfile {
    lines: Vec<Line>,
}

#[derive(Clone, Debug)]
struct Line {
    /// Host, port, database and user; `None` stands for `*`.
    keys: [Option<String>; 4],
    password: Secret,
}

impl Passfile {
    /// Reads a password file, which must not be readable by others.
    pub fn read(path: &Path) -> Result<Self, PassfileError> {
        let read = |source| PassfileError::Read { path: path.to_owned(), source };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let metadata = std::fs::metadata(path).map_err(read)?;
            if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
                return Err(PassfileError::Permissions { path: path.to_owned() });
            }
        }
        Ok(Passfile::parse(&std::fs::read_to_string(path).map_err(read)?))
    }

    /// Parses the text of a password file. As in libpq, comments and lines without five fields are passed over.
    pub fn parse(text: &str) -> Self {
        Passfile { lines: text.lines().filter_map(line).collect() }
    }

    /// The first line that fits.
    pub fn find(&self, host: &str, port: u16, database: &str, user: &str) -> Option<Secret> {
        let port = port.to_string();
        let wanted = [host, &port, database, user];
        let fits = |line: &&Line| {
            line.keys.iter().zip(wanted).all(|(key, wanted)| key.as_deref().is_none_or(|key| key == wanted))
        };
        self.lines.iter().find(fits).map(|line| line.password.clone())
    }
}

fn line(text: &str) -> Option<Line> {
    if text.starts_with('#') {
        return None;
    }
    let mut rest = text;
    let mut keys = [const { None }; 4];
    for key in &mut keys {
        let (field, after) = field(rest)?;
        *key = if field == "*" { None } else { Some(unescape(field)) };
        rest = after;
    }
    // A further colon ends the password, as in libpq.
    let password = field(rest).map_or(rest, |(password, _)| password);
    Some(Line { keys, password: Secret::new(unescape(password).as_bytes()) })
}

/// Splits at the next colon that no backslash precedes.
fn field(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b':' => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => out.extend(chars.next()),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, user: &str) -> Option<String> {
        let secret = Passfile::parse(text).find("db", 5432, "shop", user)?;
        Some(String::from_utf8(secret.bytes().to_vec()).unwrap())
    }

    #[test]
    fn the_first_line_that_fits_wins() {
        let text = "# db:5432:shop:app:comment\nother:*:*:*:a\ndb:5433:*:*:b\ndb:5432:shop:app:c\n*:*:*:*:d\n";
        assert_eq!(find(text, "app").as_deref(), Some("c"));
        assert_eq!(find(text, "else").as_deref(), Some("d"));
        assert_eq!(find("db:5432:shop:app:c", "else"), None);
    }

    #[test]
    fn colons_and_backslashes_are_escaped() {
        assert_eq!(find(r"db:5432:shop:a\:b:p\:q\\r", "a:b").as_deref(), Some(r"p:q\r"));
        assert_eq!(find("db:5432:shop:app:p:junk", "app").as_deref(), Some("p"));
    }

    #[test]
    fn lines_with_too_few_fields_are_passed_over() {
        assert_eq!(find("db:5432:shop\n\n:\n\\", "app"), None);
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
        let error = Passfile::read(file.path()).unwrap_err();
        assert!(error.to_string().contains("chmod 0600"), "{error}");
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(Passfile::read(file.path()).is_ok());
    }
}
