//! The user's option file of MySQL and MariaDB (`~/.my.cnf`), as far as it holds passwords.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/option-files.html>

use std::path::Path;

use super::{PassfileError, Secret};

/// The users and passwords of an option file.
///
/// Every group whose name begins with `client` counts: `[client]`, and groups such as `[client_shop]`, which the servers' own
/// clients read when they are given `--defaults-group-suffix`. A group's password is that of its `user`, or of every
/// user when the group names none. `!include` is not followed.
#[derive(Clone, Debug, Default)]
pub struct OptionFile {
    groups: Vec<Group>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    user: Option<String>,
    password: Option<Secret>,
}

impl OptionFile {
    /// Reads an option file. As for the servers' own clients, one that others may write is not believed.
    pub fn read(path: &Path) -> Result<Self, PassfileError> {
        let read = |source| PassfileError::Read { path: path.to_owned(), source };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let metadata = std::fs::metadata(path).map_err(read)?;
            if metadata.is_file() && metadata.permissions().mode() & 0o002 != 0 {
                return Err(PassfileError::Writable { path: path.to_owned() });
            }
        }
        Ok(OptionFile::parse(&std::fs::read_to_string(path).map_err(read)?))
    }

    /// Parses the text of an option file. Other groups and options are passed over.
    pub fn parse(text: &str) -> Self {
        let mut groups = Vec::new();
        // What stands before the first group belongs to none.
        let mut group: Option<Group> = None;
        for line in text.lines().map(str::trim_start) {
            if let Some(name) = line.strip_prefix('[') {
                groups.extend(group.take());
                let name = name.split(']').next().unwrap_or_default().trim();
                group = name.starts_with("client").then(Group::default);
            } else if let (Some(group), Some((name, value))) = (&mut group, line.split_once('=')) {
                match name.trim_end() {
                    "user" => group.user = Some(value_of(value)),
                    "password" => group.password = Some(Secret::new(value_of(value).as_bytes())),
                    _ => {}
                }
            }
        }
        groups.extend(group);
        OptionFile { groups }
    }

    /// The password of the first group that names the user, else of the first that names none.
    pub fn find(&self, user: &str) -> Option<Secret> {
        let of = |wanted: Option<&str>| {
            let mut with = self.groups.iter().filter(|group| group.user.as_deref() == wanted);
            with.find_map(|group| group.password.clone())
        };
        of(Some(user)).or_else(|| of(None))
    }
}

/// An option's value: without the white space and quotes around it, and without a comment after it, its escapes undone.
fn value_of(text: &str) -> String {
    let text = text.trim();
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
    let inside = match quote.and_then(|quote| text.strip_prefix(quote)?.strip_suffix(quote)) {
        Some(inside) => inside,
        // Without quotes a `#` begins a comment.
        None => text.split('#').next().unwrap_or_default().trim_end(),
    };
    let mut value = String::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            value.push(char);
            continue;
        }
        match chars.next() {
            Some('b') => value.push('\u{8}'),
            Some('t') => value.push('\t'),
            Some('n') => value.push('\n'),
            Some('r') => value.push('\r'),
            Some('s') => value.push(' '),
            Some('\\') => value.push('\\'),
            // Before any other character a backslash is only itself.
            other => value.extend(['\\'].into_iter().chain(other)),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, user: &str) -> Option<String> {
        OptionFile::parse(text).find(user).map(|secret| String::from_utf8_lossy(secret.bytes()).into_owned())
    }

    #[test]
    fn a_group_holds_for_its_user() {
        let text = "password=nobody\n[mysqld]\npassword=server\n[client]\nuser = app\npassword = one\n\
                    [client_reports]\nuser=reports\npassword=two\n";
        assert_eq!(find(text, "app").as_deref(), Some("one"));
        assert_eq!(find(text, "reports").as_deref(), Some("two"));
        assert_eq!(find(text, "else"), None);
        assert_eq!(find("[client]\npassword=all\n", "else").as_deref(), Some("all"));
    }

    #[test]
    fn values_are_read_as_the_clients_do() {
        for (written, meant) in [
            (r#"  plain  "#, "plain"),
            (r#"with#comment"#, "with"),
            (r#""with#hash""#, "with#hash"),
            (r#"'single'"#, "single"),
            (r#"a\sb\\c\td"#, "a b\\c\td"),
            (r#"a\qb"#, "a\\qb"),
            (r#"ends\"#, "ends\\"),
            (r#""#, ""),
            (r#"""#, "\""),
        ] {
            let text = format!("[client]\nuser=a\npassword={written}\n");
            assert_eq!(find(&text, "a").as_deref(), Some(meant), "{written}");
        }
    }

    #[test]
    fn comments_and_odd_lines_are_passed_over() {
        assert_eq!(find("[client]\n# password=a\n;password=b\n\n=\n[\n]", "x"), None);
        assert_eq!(find("[client\npassword=open", "x").as_deref(), Some("open"));
    }

    #[test]
    fn a_file_that_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o666)).unwrap();
        let error = OptionFile::read(file.path()).unwrap_err();
        assert!(error.to_string().contains("may be written by others"), "{error}");
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(OptionFile::read(file.path()).is_ok());
    }
}
