//! Times as the logs write them.

use crate::log::time::{self, Times};

/// A time, as it stands in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp<'a> {
    /// `071002  7:11:56`: local, without a zone; Percona's server adds microseconds.
    Short { local: [u8; 19], fraction: &'a [u8] },
    /// `2016-06-07T19:07:02.558338Z`, since version 5.7.
    Long { local: &'a [u8], zone: &'a [u8] },
}

const SECOND: i64 = 1_000_000_000;

impl<'a> Stamp<'a> {
    /// The time at the beginning of a text, and what follows it.
    pub fn read(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        match text {
            [first, ..] if !first.is_ascii_digit() => None,
            [_, _, _, _, b'-', ..] => Self::long(text),
            _ => Self::short(text),
        }
    }

    fn short(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (&[y1, y2, m1, m2, d1, d2], rest) = text.split_first_chunk::<6>()?;
        let blanks = rest.iter().take_while(|&&byte| byte == b' ').count();
        let rest = rest.get(blanks..)?;
        let ([h1, h2], rest) = match rest {
            [hour, b':', ..] => ([b'0', *hour], rest.get(1..)?),
            [tens, ones, b':', ..] => ([*tens, *ones], rest.get(2..)?),
            _ => return None,
        };
        let (&[_, n1, n2, b':', s1, s2], rest) = rest.split_first_chunk::<6>()? else { return None };
        if blanks == 0 {
            return None;
        }
        let century = if y1 >= b'7' { *b"19" } else { *b"20" };
        let local =
            [century[0], century[1], y1, y2, b'-', m1, m2, b'-', d1, d2, b' ', h1, h2, b':', n1, n2, b':', s1, s2];
        let is_like = |(index, byte): (usize, &u8)| matches!(index, 4 | 7 | 10 | 13 | 16) || byte.is_ascii_digit();
        if !local.iter().enumerate().all(is_like) {
            return None;
        }
        let digits = match rest {
            [b'.', rest @ ..] => rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
            _ => 0,
        };
        let (fraction, rest) = rest.split_at_checked(if digits > 0 { digits + 1 } else { 0 })?;
        Some((Stamp::Short { local, fraction }, rest))
    }

    fn long(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        if text.get(10) != Some(&b'T') {
            return None;
        }
        let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
        let (stamp, rest) = text.split_at_checked(end)?;
        let zone = stamp.iter().skip(19).position(|byte| matches!(byte, b'Z' | b'+' | b'-'))? + 19;
        let (local, zone) = stamp.split_at_checked(zone)?;
        Some((Stamp::Long { local, zone }, rest))
    }

    /// Nanoseconds since 1970 UTC, and what the stamp does not tell apart.
    pub fn resolve(&self, times: &mut Times) -> Option<(i64, i64)> {
        let (ns, fraction) = match self {
            Stamp::Long { local, zone } => (times.read(local, zone)?, local.get(19..)?),
            Stamp::Short { local, fraction } => (times.read(local, b"")?.checked_add(self.fraction_ns()?)?, *fraction),
        };
        let digits = u32::try_from(fraction.len().saturating_sub(1)).ok()?;
        Some((ns, SECOND / 10_i64.checked_pow(digits.min(6))?))
    }

    /// The part of a second, in nanoseconds. Ten digits are a number of microseconds, not a fraction.
    pub fn fraction_ns(&self) -> Option<i64> {
        match self {
            Stamp::Short { fraction: [b'.', digits @ ..], .. } if digits.len() == 10 => {
                Some(time::number(digits)?.min(999_999) * 1000)
            }
            Stamp::Short { fraction, .. } => time::nanoseconds(fraction),
            Stamp::Long { local, .. } => time::nanoseconds(local.get(19..)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_every_version() {
        for (text, expected, resolution, rest) in [
            ("071002  7:11:56\t    7 Quit", "2007-10-02T07:11:56Z", SECOND, "\t    7 Quit"),
            ("051007   21:55:24\t", "2005-10-07T21:55:24Z", SECOND, "\t"),
            ("120810 2:52:44.0000084924", "2012-08-10T02:52:44.084924Z", 1000, ""),
            ("991231 23:59:59.5 x", "1999-12-31T23:59:59.5Z", SECOND / 10, " x"),
            ("2016-06-07T19:07:02.558338Z\t 3", "2016-06-07T19:07:02.558338Z", 1000, "\t 3"),
            ("2016-06-07T19:07:02.558338+08:00", "2016-06-07T11:07:02.558338Z", 1000, ""),
            ("2016-06-07T19:07:02-03:00 ", "2016-06-07T22:07:02Z", SECOND, " "),
        ] {
            let (stamp, behind) = Stamp::read(text.as_bytes()).expect(text);
            let (ns, found) = stamp.resolve(&mut Times::new(None)).expect(text);
            let expected: jiff::Timestamp = expected.parse().expect("a time");
            assert_eq!((i128::from(ns), found), (expected.as_nanosecond(), resolution), "{text}");
            assert_eq!(behind, rest.as_bytes(), "{text}");
        }
    }

    #[test]
    fn what_is_no_time() {
        for text in ["", "071002", "071002 7:1:56", "07100a  7:11:56", "0710027:11:56", "2016-06-07 19:07:02Z", "x"] {
            assert_eq!(Stamp::read(text.as_bytes()), None, "{text}");
        }
        let (stamp, _) = Stamp::read(b"071302  7:11:56").expect("of the form of a time");
        assert_eq!(stamp.resolve(&mut Times::new(None)), None, "month 13");
    }
}
