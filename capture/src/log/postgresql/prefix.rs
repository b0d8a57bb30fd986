//! `log_line_prefix`: what stands before the severity of a line.
//!
//! <https://www.postgresql.org/docs/current/runtime-config-logging.html#GUC-LOG-LINE-PREFIX>

use std::str::FromStr;

use super::level::Level;
use super::stamp::{self, Stamp};

/// What a prefix can hold at most; a line is searched no further.
pub(super) const WINDOW: usize = 1024;
/// Steps that a line is worth. A value may hold what separates it from the next, so that there can be several readings.
const FUEL: u32 = 4000;

/// A `log_line_prefix`, as postgresql.conf gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    parts: Vec<Part>,
}

/// Why a prefix cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "%{0} is not an escape of log_line_prefix; the manual of PostgreSQL lists them, and %% stands for a percent sign"
)]
pub struct InvalidPrefix(char);

/// A piece of a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What stands there as it is.
    Text(Vec<u8>),
    /// A value, filled up with blanks or not.
    Value(Value),
    /// Processes without a session write nothing from here on.
    Stop,
}

/// What an escape stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Application,
    User,
    Database,
    Client,
    Backend,
    Pid,
    Time,
    Epoch,
    Tag,
    Code,
    Session,
    Start,
    /// Digits, with a sign or a slash: line, transaction, query id, leader.
    Number,
    /// Anything, of which nothing is kept.
    Any,
}

/// What a prefix told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::log) struct Head<'a> {
    pub time: Option<Stamp<'a>>,
    pub start: Option<Stamp<'a>>,
    pub session: Option<&'a [u8]>,
    pub pid: Option<&'a [u8]>,
    pub user: Option<&'a [u8]>,
    pub database: Option<&'a [u8]>,
    pub application: Option<&'a [u8]>,
    pub client: Option<&'a [u8]>,
    pub backend: Option<&'a [u8]>,
    pub tag: Option<&'a [u8]>,
    pub code: Option<&'a [u8]>,
}

impl FromStr for Prefix {
    type Err = InvalidPrefix;

    fn from_str(text: &str) -> Result<Self, InvalidPrefix> {
        let mut parts = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            if char != '%' {
                push_text(&mut parts, char.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            // A width fills a value up with blanks, on either side.
            let mut padded = false;
            while chars.next_if(|&char| char == '-' || char.is_ascii_digit()).is_some() {
                padded = true;
            }
            // The server passes over a percent sign at the end.
            let Some(escape) = chars.next() else { break };
            if escape == '%' {
                push_text(&mut parts, b"%");
                continue;
            }
            if escape == 'q' {
                parts.push(Part::Stop);
                continue;
            }
            let value = Value::of(escape).ok_or(InvalidPrefix(escape))?;
            if padded {
                push_text(&mut parts, b" ");
            }
            parts.push(Part::Value(value));
            if padded {
                push_text(&mut parts, b" ");
            }
        }
        Ok(Prefix { parts })
    }
}

/// Adds text; blanks that follow each other are one, since any number of them is read as one.
pub(super) fn push_text(parts: &mut Vec<Part>, text: &[u8]) {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.extend_from_slice(text),
        _ => parts.push(Part::Text(text.to_vec())),
    }
}

impl Value {
    fn of(escape: char) -> Option<Self> {
        Some(match escape {
            'a' => Value::Application,
            'u' => Value::User,
            'd' => Value::Database,
            'r' | 'h' => Value::Client,
            'b' => Value::Backend,
            'p' => Value::Pid,
            't' | 'm' => Value::Time,
            'n' => Value::Epoch,
            'i' => Value::Tag,
            'e' => Value::Code,
            'c' => Value::Session,
            's' => Value::Start,
            'P' | 'l' | 'v' | 'x' | 'Q' => Value::Number,
            'L' => Value::Any,
            _ => return None,
        })
    }
}

impl Prefix {
    pub(super) fn of(parts: Vec<Part>) -> Self {
        Prefix { parts }
    }

    /// Reads the beginning of a line. `None` where it does not begin with this prefix and a severity. What comes back
    /// last is the text after the severity.
    pub(in crate::log) fn read<'a>(&self, line: &'a [u8]) -> Option<(Head<'a>, Level, &'a [u8])> {
        let mut fuel = FUEL;
        matching(&self.parts, line, Head::default(), line.len().saturating_sub(WINDOW), &mut fuel)
    }
}

type Found<'a> = Option<(Head<'a>, Level, &'a [u8])>;

/// Matches the parts and then a severity. `least` is how much of the line has to be left.
fn matching<'a>(parts: &[Part], text: &'a [u8], head: Head<'a>, least: usize, fuel: &mut u32) -> Found<'a> {
    *fuel = fuel.checked_sub(1)?;
    if text.len() < least {
        return None;
    }
    let Some((part, later)) = parts.split_first() else {
        let (level, message) = Level::read(text.trim_ascii_start())?;
        return Some((head, level, message));
    };
    let value = match part {
        Part::Text(expected) => return matching(later, after_text(text, expected)?, head, least, fuel),
        Part::Stop => {
            return matching(later, text, head, least, fuel).or_else(|| matching(&[], text, head, least, fuel));
        }
        Part::Value(value) => *value,
    };
    let try_end = |end: usize| {
        let (value_text, rest) = text.split_at_checked(end)?;
        matching(later, rest, head.with(value, value_text)?, least, fuel)
    };
    if let Some(ends) = value.ends(text) {
        return ends.into_iter().flatten().find_map(try_end);
    }
    // Free text goes up to what follows it, of which there may be several.
    match later.first() {
        Some(Part::Text(next)) => {
            // Blanks may be none, and belong to the value as well as to the text.
            let first = next.iter().copied().find(|&byte| byte != b' ').unwrap_or(b' ');
            let window = text.get(..text.len().min(WINDOW))?;
            memchr::memchr_iter(first, window).find_map(try_end)
        }
        _ => {
            let window = text.get(..text.len().min(WINDOW))?;
            (0..=window.len()).find_map(try_end)
        }
    }
}

/// What follows a text in which blanks stand for any number of them, also for none at the end of a line.
fn after_text<'a>(mut text: &'a [u8], mut expected: &[u8]) -> Option<&'a [u8]> {
    while let Some((&byte, rest)) = expected.split_first() {
        if byte == b' ' {
            let trimmed = text.trim_ascii_start();
            text = trimmed;
        } else {
            text = text.strip_prefix(&[byte])?;
        }
        expected = rest;
    }
    Some(text)
}

impl Value {
    /// Where the value may end, the likeliest first; `None` for free text.
    fn ends(self, text: &[u8]) -> Option<[Option<usize>; 3]> {
        let some = |end: usize| [(end > 0).then_some(end), None, None];
        Some(match self {
            Value::Time | Value::Start => stamp::ends(text),
            Value::Epoch => some(run(text, |byte| byte.is_ascii_digit() || byte == b'.')),
            Value::Pid => some(run(text, |byte| byte.is_ascii_digit())),
            // Background processes have no transaction.
            Value::Number => {
                let sign = usize::from(text.starts_with(b"-"));
                let digits = run(text.get(sign..)?, |byte| byte.is_ascii_digit() || byte == b'/');
                [(digits > 0).then_some(sign + digits), Some(0), None]
            }
            Value::Session => some(session(text)?),
            Value::Code => some(run(text, |byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()).min(5)),
            // With a port it is clear where it ends, also of an address with colons.
            Value::Client => some(with_port(text)?),
            Value::Application | Value::User | Value::Database | Value::Backend | Value::Tag | Value::Any => {
                return None;
            }
        })
    }
}

fn run(text: &[u8], like: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|&byte| !like(byte)).unwrap_or(text.len())
}

/// An address or a host's name with a port in parentheses.
fn with_port(text: &[u8]) -> Option<usize> {
    let host = run(text, |byte| byte.is_ascii_alphanumeric() || b".:-_%".contains(&byte));
    let port = text.get(host..)?.strip_prefix(b"(")?;
    let digits = run(port, |byte| byte.is_ascii_digit());
    (host > 0 && digits > 0 && port.get(digits) == Some(&b')')).then_some(host + digits + 2)
}

/// Two hexadecimal numbers with a dot between them.
pub(super) fn session(text: &[u8]) -> Option<usize> {
    let first = run(text, |byte| byte.is_ascii_hexdigit());
    let second = run(text.get(first..)?.strip_prefix(b".")?, |byte| byte.is_ascii_hexdigit());
    (first >= 4 && second > 0).then_some(first + 1 + second)
}

impl<'a> Head<'a> {
    fn with(mut self, value: Value, text: &'a [u8]) -> Option<Self> {
        let field = match value {
            Value::Time => {
                self.time = Some(Stamp::read(text)?);
                return Some(self);
            }
            Value::Epoch => {
                self.time = Some(Stamp::Epoch(text));
                return Some(self);
            }
            Value::Start => {
                self.start = Some(Stamp::read(text)?);
                return Some(self);
            }
            Value::Number | Value::Any => return Some(self),
            Value::Application => &mut self.application,
            Value::User => &mut self.user,
            Value::Database => &mut self.database,
            Value::Client => &mut self.client,
            Value::Backend => &mut self.backend,
            Value::Pid => &mut self.pid,
            Value::Tag => &mut self.tag,
            Value::Code => &mut self.code,
            Value::Session => &mut self.session,
        };
        let text = text.trim_ascii();
        *field = (!text.is_empty()).then_some(text);
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read<'a>(prefix: &str, line: &'a str) -> (Head<'a>, &'a str) {
        let prefix: Prefix = prefix.parse().expect("a prefix");
        let (head, _, message) = prefix.read(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
        (head, str::from_utf8(message).expect("text"))
    }

    fn is(value: Option<&[u8]>, text: &str) -> bool {
        value == Some(text.as_bytes())
    }

    #[test]
    fn debian() {
        let prefix = "%m [%p] %q%u@%d ";
        let (head, message) = read(prefix, "2023-01-02 03:04:05.678 UTC [77] app@shop LOG:  statement: SELECT 1");
        assert!(is(head.pid, "77") && is(head.user, "app") && is(head.database, "shop") && head.time.is_some());
        assert_eq!(message, "statement: SELECT 1");
        let (head, message) = read(prefix, "2023-01-02 03:04:05.678 UTC [77] LOG:  checkpoint starting: time");
        assert_eq!((head.user, message), (None, "checkpoint starting: time"));
    }

    #[test]
    fn clouds() {
        let (head, _) = read("%t:%r:%u@%d:[%p]:", "2017-12-22 22:14:10 UTC:10.2.31.141(51017):app@shop:[2035]:LOG:  x");
        assert!(is(head.client, "10.2.31.141(51017)") && is(head.user, "app") && is(head.pid, "2035"));
        let (head, _) = read("%t:%r:%u@%d:[%p]:", "2017-12-22 22:14:10 +03:2001:db8::1(51017):app@shop:[2035]:LOG:  x");
        assert!(is(head.client, "2001:db8::1(51017)"), "{:?}", head.client);
        let (head, _) = read("%t:%r:%u@%d:[%p]:", "2020-03-11 20:40:43 CET::@:[12760]:LOG:  x");
        assert_eq!((head.client, head.user, head.database), (None, None, None));
        let (head, _) = read("%t-%c-", "2021-01-01 00:00:00 UTC-5fee6600.1a2-LOG:  x");
        assert!(is(head.session, "5fee6600.1a2"));
    }

    #[test]
    fn values_may_hold_what_separates_them() {
        let prefix = "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ";
        let line = "2023-01-02 03:04:05 CET [7]: [12-1] user=a,b,db=d,app=My, App (x) LOG,client=[local] LOG:  x";
        let (head, message) = read(prefix, line);
        assert!(is(head.application, "My, App (x) LOG") && is(head.client, "[local]"));
        assert_eq!(message, "x");
    }

    #[test]
    fn widths_signs_and_epochs() {
        let (head, _) = read("%n %-6p|%10u|%Q %e %% ", "1673000000.123 77    |       app|-123 00000 % ERROR:  x");
        assert!(is(head.pid, "77") && is(head.user, "app") && is(head.code, "00000"));
        assert_eq!(head.time, Some(Stamp::Epoch(b"1673000000.123")));
        assert_eq!("%m %y".parse::<Prefix>(), Err(InvalidPrefix('y')));
    }

    #[test]
    fn a_line_of_commas_is_given_up() {
        let prefix: Prefix = "%u,%d,%a,%h,%b ".parse().expect("a prefix");
        assert_eq!(prefix.read(&b",".repeat(100_000)), None);
        assert_eq!(prefix.read(b""), None);
    }
}
