//! Which `log_line_prefix` a log was written with, from one of its lines.

use super::level::Level;
use super::prefix::{Part, Prefix, Value, WINDOW, push_text, session};
use super::stamp;

/// Prefixes whose values cannot be told by their form: those of RDS and Aurora, of Azure, of pgreplay's manual.
const KNOWN: &[&str] = &["%t:%r:%u@%d:[%p]:", "%m|%u|%d|%c|", "%t-%c-"];

/// Names that people give to values.
const NAMES: &[(&[&[u8]], Value)] = &[
    (&[b"user", b"usr", b"u", b"User"], Value::User),
    (&[b"db", b"database", b"dbname", b"d", b"D"], Value::Database),
    (&[b"app", b"appli", b"appname", b"application", b"application_name", b"a"], Value::Application),
    (&[b"client", b"host", b"remote", b"ip", b"h", b"r"], Value::Client),
    (&[b"pid", b"p"], Value::Pid),
    (&[b"session", b"sess", b"sid", b"session_id", b"c"], Value::Session),
    (&[b"queryid", b"query_id", b"qid", b"xid", b"txid", b"tx", b"x", b"vxid", b"v", b"line", b"l"], Value::Number),
    (&[b"tag", b"cmd", b"command", b"i"], Value::Tag),
    (&[b"sqlstate", b"state", b"err", b"code", b"e", b"sql_error_code"], Value::Code),
    (&[b"backend", b"type", b"b"], Value::Backend),
    (&[b"s"], Value::Any),
];

/// The prefixes that cannot be guessed.
pub(super) fn known() -> Vec<Prefix> {
    KNOWN.iter().filter_map(|known| known.parse().ok()).collect()
}

/// The prefix that a line begins with; `None` where the line has none that is understood to its end.
pub(super) fn prefix(line: &[u8]) -> Option<Prefix> {
    let window = line.get(..line.len().min(WINDOW))?;
    let end = Level::find(window)?;
    let prefix = Prefix::of(Guess { rest: window.get(..end)?, parts: Vec::new() }.run()?);
    prefix.read(line).is_some().then_some(prefix)
}

struct Guess<'a> {
    rest: &'a [u8],
    parts: Vec<Part>,
}

impl Guess<'_> {
    fn run(mut self) -> Option<Vec<Part>> {
        while !self.rest.is_empty() {
            self.step()?;
        }
        // A prefix tells something; without a time or a process it may be any text.
        let tells = |part: &Part| {
            matches!(part, Part::Value(Value::Time | Value::Epoch | Value::Pid | Value::Session | Value::User))
                || matches!(part, Part::Value(Value::Code))
        };
        self.parts.iter().any(tells).then_some(self.parts)
    }

    fn step(&mut self) -> Option<()> {
        if let [Some(end), ..] | [None, Some(end), _] = stamp::ends(self.rest) {
            let value = if self.has(Value::Time) { Value::Start } else { Value::Time };
            return self.take(value, end);
        }
        if let Some((name, value)) = self.named() {
            push_text(&mut self.parts, &name);
            self.rest = self.rest.get(name.len()..)?;
            let end = self.value_end(value)?;
            return self.take(value, end);
        }
        // Before a client has said who it is.
        if self.rest.starts_with(b"[unknown]@[unknown]") {
            self.take(Value::User, 9)?;
            push_text(&mut self.parts, b"@");
            self.rest = self.rest.get(1..)?;
            return self.take(Value::Database, 9);
        }
        let word = self.rest.iter().position(|byte| b" \t,|:;<>(){}[]=".contains(byte)).unwrap_or(self.rest.len());
        if word == 0 {
            return self.mark();
        }
        let text = self.rest.get(..word)?;
        let all = |like: fn(&u8) -> bool| text.iter().all(like);
        if let Some(at) = memchr::memchr(b'@', text) {
            self.take(Value::User, at)?;
            push_text(&mut self.parts, b"@");
            self.rest = self.rest.get(1..)?;
            return self.take(Value::Database, word - at - 1);
        }
        if session(text) == Some(word) {
            return self.take(Value::Session, word);
        }
        if text.len() == 14 && text.get(10) == Some(&b'.') && all(|byte| byte.is_ascii_digit() || *byte == b'.') {
            return self.take(Value::Epoch, word);
        }
        if all(u8::is_ascii_digit) {
            let value = if self.has(Value::Pid) { Value::Number } else { Value::Pid };
            return self.take(value, word);
        }
        if all(|byte| byte.is_ascii_digit() || *byte == b'/' || *byte == b'-') {
            return self.take(Value::Number, word);
        }
        let is_address = all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(byte)) && text.contains(&b'.');
        if is_address && !self.has(Value::Client) {
            let port = self.rest.get(word..).and_then(|rest| rest.strip_prefix(b"(")).map_or(0, |rest| {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                if rest.get(digits) == Some(&b')') { digits + 2 } else { 0 }
            });
            return self.take(Value::Client, word + port);
        }
        None
    }

    /// Something that is no value: punctuation, and the marks of a server without a session.
    fn mark(&mut self) -> Option<()> {
        if self.rest.starts_with(b"[local]") && !self.has(Value::Client) {
            return self.take(Value::Client, 7);
        }
        let byte = self.rest.get(..1)?;
        push_text(&mut self.parts, byte);
        self.rest = self.rest.get(1..)?;
        // `[12-1]` is a line's number and a part that is always 1.
        if byte == b"[" {
            let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits > 0 && self.rest.get(digits) == Some(&b'-') {
                self.parts.push(Part::Value(Value::Any));
                self.rest = self.rest.get(digits..)?;
                let part = self.rest.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
                push_text(&mut self.parts, self.rest.get(..=part)?);
                self.rest = self.rest.get(part + 1..)?;
            }
        }
        Some(())
    }

    /// A name that is known, with what stands before its value.
    fn named(&self) -> Option<(Vec<u8>, Value)> {
        let end = self.rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
        let (name, rest) = self.rest.split_at_checked(end)?;
        let sign = [&b"="[..], b" = ", b": "].into_iter().find(|sign| rest.starts_with(sign))?;
        let (_, value) = NAMES.iter().find(|(names, _)| names.contains(&name))?;
        let value =
            if *value == Value::Session && session(rest.get(sign.len()..)?).is_none() { Value::Any } else { *value };
        Some(([name, sign].concat(), value))
    }

    /// How long the value after a name is.
    fn value_end(&self, value: Value) -> Option<usize> {
        let rest = self.rest;
        match value {
            Value::Pid => Some(rest.iter().take_while(|byte| byte.is_ascii_digit()).count()),
            Value::Number => Some(rest.iter().take_while(|byte| byte.is_ascii_digit() || b"-/".contains(byte)).count()),
            Value::Session => session(rest),
            Value::Code => Some(rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()),
            _ => {
                let ends_here = |at: &usize| {
                    let tail = rest.get(*at..).unwrap_or_default();
                    match tail {
                        [] | [b'|' | b']' | b')', ..] => true,
                        [b',' | b' ' | b';', after @ ..] => {
                            let after = after.trim_ascii_start();
                            after.is_empty() || after.starts_with(b"[") || {
                                Guess { rest: after, parts: Vec::new() }.named().is_some()
                            }
                        }
                        _ => false,
                    }
                };
                // The server says `[unknown]` and `[local]` itself.
                let from = if rest.starts_with(b"[") { memchr::memchr(b']', rest)? + 1 } else { 0 };
                (from..=rest.len()).find(ends_here)
            }
        }
    }

    fn take(&mut self, value: Value, length: usize) -> Option<()> {
        self.rest = self.rest.get(length..)?;
        self.parts.push(Part::Value(value));
        Some(())
    }

    fn has(&self, value: Value) -> bool {
        self.parts.contains(&Part::Value(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line's values, in the order time, session, pid, user, database, application, client.
    #[track_caller]
    fn check(line: &str, expected: [&str; 6]) {
        let known = known().into_iter().find(|prefix| prefix.read(line.as_bytes()).is_some());
        let prefix = known.or_else(|| prefix(line.as_bytes())).unwrap_or_else(|| panic!("{line}"));
        let (head, ..) = prefix.read(line.as_bytes()).expect("reads what it was made of");
        let text = |value: Option<&[u8]>| String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
        let found = [head.session, head.pid, head.user, head.database, head.application, head.client].map(text);
        assert_eq!(found, expected, "{line}\n{prefix:?}");
    }

    #[test]
    fn prefixes_that_people_use() {
        check("2023-01-02 03:04:05.678 UTC [77] app@shop LOG:  x", ["", "77", "app", "shop", "", ""]);
        check("2023-01-02 03:04:05.678 UTC [77] LOG:  x", ["", "77", "", "", "", ""]);
        check(
            "2023-01-02 03:04:05.678 UTC [77] [unknown]@[unknown] LOG:  x",
            ["", "77", "[unknown]", "[unknown]", "", ""],
        );
        check(
            "2017-09-06 08:41:41 UTC [36]: [121-1] user=postgres,db=shop,app=pg bench,client=172.23.0.1 LOG:  x",
            ["", "36", "postgres", "shop", "pg bench", "172.23.0.1"],
        );
        check(
            "2021-02-14 01:34:02 CET [30291]: db=[unknown],user=[unknown],app=[unknown],client=[local] LOG:  x",
            ["", "30291", "[unknown]", "[unknown]", "[unknown]", "[local]"],
        );
        check("2017-09-06 08:40:10 UTC [20]: [1-1] user=,db=,app=,client= LOG:  x", ["", "20", "", "", "", ""]);
        check(
            "2023-03-07 09:06:08 CET [130096]: [247-1] [0] usr=usr6,db=progdb,appli=76ae131687c458a8 LOG:  x",
            ["", "130096", "usr6", "progdb", "76ae131687c458a8", ""],
        );
        check(
            "2022-02-17 14:45:10.440 UTC [691] [queryid=-108] postgres@so LOG:  x",
            ["", "691", "postgres", "so", "", ""],
        );
        check(
            "2010-02-08 15:31:50.872 EST c=4b7074b4.985,u=fred,D=shop LOG:  x",
            ["4b7074b4.985", "", "fred", "shop", "", ""],
        );
        check("2010-02-12 06:00:54.566 EST s=12345,u=fred,D=shop LOG:  x", ["", "", "fred", "shop", "", ""]);
        check("2004-05-07 12:00:01 LOG:  x", ["", "", "", "", "", ""]);
        check(
            "2014-02-08 04:55:06 PST [498]: [389-1] db=mydb,user=myuserLOG:  00000: x",
            ["", "498", "myuser", "mydb", "", ""],
        );
        check("[24667]: [2-1] db=shop,user=admin LOG:  x", ["", "24667", "admin", "shop", "", ""]);
        check(" sql_error_code = 00000 LOG:  x", ["", "", "", "", "", ""]);
        check("10.0.0.1 2023-01-02 03:04:05.678 UTC [77] app@shop LOG:  x", ["", "77", "app", "shop", "", "10.0.0.1"]);
        check(
            "2021-05-27 17:00:00 UTC:10.1.91.65:user@my_db:[24743]:LOG: x",
            ["", "24743", "user", "my_db", "", "10.1.91.65"],
        );
        check(
            "2010-12-31 10:59:52.236 UTC|postgres|shop|4d1db7a8.4236|LOG:  x",
            ["4d1db7a8.4236", "", "postgres", "shop", "", ""],
        );
    }

    #[test]
    fn what_only_looks_like_a_prefix() {
        for line in
            ["TopMemoryContext: 101672 total in 12 blocks", "the CATALOG: x", "pg_ctl: could not start ERROR: x", ""]
        {
            assert_eq!(prefix(line.as_bytes()), None, "{line}");
        }
    }
}
