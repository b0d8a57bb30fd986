//! What the functions do that MySQL and MariaDB bring with them. Their catalogues do not list these.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Names by what they do.
const TABLE: &str = include_str!("functions.txt");

/// What a built-in function does, beside giving a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// Nothing.
    Pure,
    /// Nothing, though its results differ from call to call.
    ChangesNothing,
    /// Works on user-level locks.
    UserLock,
    /// Tells what the session drew from a sequence.
    SequenceValue,
    /// Changes something, or depends on files or replication of one server.
    System,
}

/// What each name does.
static KNOWN: LazyLock<HashMap<&str, Builtin>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let lines = lines.filter_map(|line| line.split_once(' '));
    let does = |letter| match letter {
        "i" => Builtin::Pure,
        "c" => Builtin::ChangesNothing,
        "l" => Builtin::UserLock,
        "q" => Builtin::SequenceValue,
        _ => Builtin::System,
    };
    lines.flat_map(|(letter, names)| names.split(' ').map(move |name| (name, does(letter)))).collect()
});

/// What a function does when it is called by this name, in lower case and without a schema; `None` for a stored or loadable
/// function.
pub fn builtin(name: &str) -> Option<Builtin> {
    KNOWN.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_stands_twice() {
        let names = TABLE.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').count() - 1);
        assert_eq!(names.sum::<usize>(), KNOWN.len());
    }

    /// From the manuals: "Locking Functions", "Miscellaneous Functions", "Information Functions"; MariaDB: "Sequence
    /// Functions".
    #[test]
    fn kinds_of_functions() {
        assert_eq!(builtin("concat"), Some(Builtin::Pure));
        assert_eq!(builtin("now"), Some(Builtin::Pure));
        assert_eq!(builtin("rand"), Some(Builtin::ChangesNothing));
        assert_eq!(builtin("get_lock"), Some(Builtin::UserLock));
        assert_eq!(builtin("lastval"), Some(Builtin::SequenceValue));
        assert_eq!(builtin("nextval"), Some(Builtin::System));
        assert_eq!(builtin("audit_login"), None);
    }
}
