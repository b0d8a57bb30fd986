//! Lines as syslog writes them, with the message that a program sent.

use super::time::{Times, Years, nanoseconds, number};
use jiff::civil::DateTime;

/// A line of syslog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Syslog<'a> {
    pub time: Time<'a>,
    /// The program: what stands before its process number.
    pub program: &'a [u8],
    /// The number of its process.
    pub pid: Option<&'a [u8]>,
    /// What it sent.
    pub text: &'a [u8],
}

/// When the line was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time<'a> {
    /// `Feb 11 13:15:39`, of some year.
    Classic { month: i8, day: i8, clock: (i8, i8, i8) },
    /// The same with its year.
    Dated { year: i16, month: i8, day: i8, clock: (i8, i8, i8) },
    /// `2019-03-14T00:22:56[.123456]+00:00`.
    Full { local: &'a [u8], zone: &'a [u8] },
}

impl<'a> Syslog<'a> {
    /// Reads a line. `None` where it is not syslog's.
    pub fn read(line: &'a [u8]) -> Option<Self> {
        // RFC 5424 begins with priority and version, RFC 3164 with the priority or nothing.
        let (priority, line) = match line.strip_prefix(b"<") {
            Some(rest) => {
                let end = rest.iter().take(4).position(|&byte| byte == b'>')?;
                (true, rest.get(end + 1..)?)
            }
            None => (false, line),
        };
        let (versioned, line) = match line.strip_prefix(b"1 ") {
            Some(rest) if priority => (true, rest),
            _ => (false, line),
        };
        let (time, rest) = Time::read(line)?;
        let rest = rest.strip_prefix(b" ")?;
        if versioned { Self::structured(time, rest) } else { Self::tagged(time, rest) }
    }

    /// `HOST PROGRAM PID MESSAGE-ID STRUCTURED-DATA TEXT`.
    fn structured(time: Time<'a>, rest: &'a [u8]) -> Option<Self> {
        let (_, rest) = word(rest)?;
        let (program, rest) = word(rest)?;
        let (pid, rest) = word(rest)?;
        let (_, rest) = word(rest)?;
        let text = match rest.strip_prefix(b"-") {
            Some(rest) => rest,
            None => {
                let end = memchr::memmem::find(rest, b"] ").filter(|_| rest.starts_with(b"["))?;
                rest.get(end + 1..)?
            }
        };
        let pid = (pid != b"-").then_some(pid);
        Some(Syslog { time, program, pid, text: text.strip_prefix(b" ").unwrap_or(text) })
    }

    /// `[HOST] PROGRAM[PID]: TEXT`. Heroku's number of a process stands behind a dot: `app[postgres.4882]`.
    fn tagged(time: Time<'a>, rest: &'a [u8]) -> Option<Self> {
        let mut rest = rest;
        // The host, a name that a service gave to the stream, the program.
        for _ in 0..3 {
            let end = memchr::memchr(b' ', rest.get(..rest.len().min(256))?).unwrap_or(rest.len());
            let (tag, text) = rest.split_at_checked(end)?;
            let text = text.get(1..).unwrap_or_default();
            let closed = tag.strip_suffix(b":");
            if let Some((program, pid)) = process(closed.unwrap_or(tag)) {
                return Some(Syslog { time, program, pid: Some(pid), text });
            }
            if let Some(program) = closed {
                return Some(Syslog { time, program, pid: None, text });
            }
            rest = text;
        }
        None
    }
}

impl<'a> Time<'a> {
    fn read(line: &'a [u8]) -> Option<(Self, &'a [u8])> {
        if line.get(10) == Some(&b'T') {
            let local = 19
                + match line.get(19) {
                    Some(b'.') => 1 + line.iter().skip(20).take_while(|byte| byte.is_ascii_digit()).count(),
                    _ => 0,
                };
            let end = line.iter().position(|&byte| byte == b' ')?;
            let (time, rest) = line.split_at_checked(end)?;
            let (local, zone) = time.split_at_checked(local)?;
            return Some((Time::Full { local, zone }, rest));
        }
        let (year, line) = match line {
            [a, b, c, d, b' ', rest @ ..] if line.iter().take(4).all(u8::is_ascii_digit) => {
                (Some(i16::try_from(number(&[*a, *b, *c, *d])?).ok()?), rest)
            }
            _ => (None, line),
        };
        let (head, rest) = line.split_at_checked(15)?;
        let [m1, m2, m3, b' ', d1, d2, b' ', h1, h2, b':', n1, n2, b':', s1, s2] = head else { return None };
        const MONTHS: [&[u8; 3]; 12] =
            [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
        let month = MONTHS.iter().position(|name| **name == [*m1, *m2, *m3])?;
        let two = |a: &u8, b: &u8| {
            let tens = if *a == b' ' { b'0' } else { *a };
            i8::try_from(number(&[tens, *b])?).ok()
        };
        let (month, day) = (i8::try_from(month).ok()? + 1, two(d1, d2)?);
        let clock = (two(h1, h2)?, two(n1, n2)?, two(s1, s2)?);
        let time = match year {
            Some(year) => Time::Dated { year, month, day, clock },
            None => Time::Classic { month, day, clock },
        };
        Some((time, rest))
    }

    /// Nanoseconds since 1970 UTC, and what the stamp does not tell apart.
    pub fn resolve(&self, times: &mut Times, years: &mut Years) -> Option<(i64, i64)> {
        const SECOND: i64 = 1_000_000_000;
        let (year, month, day, (hour, minute, second)) = match *self {
            Time::Full { local, zone } => {
                let fraction = local.get(19..)?;
                nanoseconds(fraction)?;
                let digits = u32::try_from(fraction.len().saturating_sub(1)).ok()?;
                return Some((times.read(local, zone)?, SECOND / 10_i64.pow(digits)));
            }
            Time::Dated { year, month, day, clock } => (year, month, day, clock),
            Time::Classic { month, day, clock } => (years.of(month, day), month, day, clock),
        };
        let local = DateTime::new(year, month, day, hour, minute, second.min(59), 0).ok()?;
        Some((times.resolve(local, b"")?, SECOND))
    }
}

/// `postgres[77]`, or `app[postgres.77]`.
fn process(tag: &[u8]) -> Option<(&[u8], &[u8])> {
    let open = memchr::memchr(b'[', tag)?;
    let inner = tag.get(open + 1..)?.strip_suffix(b"]")?;
    let digits = inner.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (name, pid) = inner.split_at_checked(inner.len() - digits)?;
    let program = if name.is_empty() { tag.get(..open)? } else { name.strip_suffix(b".").unwrap_or(name) };
    (!pid.is_empty()).then_some((program, pid))
}

fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b' ', text)?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: (&str, Option<&str>, &str)) {
        let read = Syslog::read(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
        let (program, pid, text) = expected;
        assert_eq!(
            (read.program, read.pid, read.text),
            (program.as_bytes(), pid.map(str::as_bytes), text.as_bytes()),
            "{line}"
        );
    }

    #[test]
    fn the_forms_of_syslog() {
        check("Feb  8 13:15:39 pc postgres[10808]: [1-1] LOG:  x", ("postgres", Some("10808"), "[1-1] LOG:  x"));
        check("2008 Jan  9 16:16:34 pc postgres[30059]: [13-2] select", ("postgres", Some("30059"), "[13-2] select"));
        check("2019-03-14T00:22:56+00:00 app[postgres.4882]: [GREEN] x", ("postgres", Some("4882"), "[GREEN] x"));
        check("2019-03-14T00:22:56+00:00 d.af-1 app[postgres.4882] [AQUA] x", ("postgres", Some("4882"), "[AQUA] x"));
        check("<134>1 2019-03-14T00:22:56.123Z pc postgres 77 - - [1-1] x", ("postgres", Some("77"), "[1-1] x"));
        check("<134>1 2019-03-14T00:22:56.123Z pc pg 77 - [a b=\"c\"] x", ("pg", Some("77"), "x"));
        check("<13>Feb 11 13:15:39 pc kernel: x", ("kernel", None, "x"));
    }

    #[test]
    fn what_is_not_syslog() {
        for line in
            ["2023-01-02 03:04:05 UTC [7] LOG:  x", "LOG:  x", "Feb 11", "", "Feb 11 13:15:39 nothing", "<134>1 x"]
        {
            assert_eq!(Syslog::read(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn the_year_is_the_last_one_that_is_possible() {
        let mut times = Times::new(None);
        let mut years = Years::until(1_550_000_000_000_000_000); // 2019-02-12
        let mut read = |line: &str| {
            let (ns, _) = Syslog::read(line.as_bytes())?.time.resolve(&mut times, &mut years)?;
            Some(jiff::Timestamp::from_nanosecond(ns.into()).ok()?.to_string())
        };
        assert_eq!(read("Dec 31 23:59:59 pc a[1]: x").as_deref(), Some("2018-12-31T23:59:59Z"));
        assert_eq!(read("Jan  1 00:00:00 pc a[1]: x").as_deref(), Some("2019-01-01T00:00:00Z"));
        assert_eq!(read("Dec 31 23:59:59 pc a[1]: x").as_deref(), Some("2018-12-31T23:59:59Z"), "a straggler");
        assert_eq!(read("Feb 30 00:00:00 pc a[1]: x"), None);
    }
}
