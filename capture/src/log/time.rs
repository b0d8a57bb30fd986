//! Time stamps and zones.

use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

/// A zone that the user gave: a name of the IANA database, or an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// Why a zone cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a time zone: give a name such as Europe/Berlin or UTC, or an offset such as +02:00")]
pub struct InvalidZone(String);

impl FromStr for Zone {
    type Err = InvalidZone;

    fn from_str(text: &str) -> Result<Self, InvalidZone> {
        if let Some(offset) = offset(text.as_bytes()) {
            return Ok(Zone(TimeZone::fixed(offset)));
        }
        TimeZone::get(text).map(Zone).map_err(|_| InvalidZone(text.to_owned()))
    }
}

/// Reads local times of the form `2021-01-22 10:03:22[.785]`, and remembers the last minute, since logs repeat it.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// The user's word.
    zone: Option<Zone>,
    minute: Vec<u8>,
    minute_zone: Vec<u8>,
    minute_ns: i64,
    /// An abbreviation that is not known and was taken for UTC.
    unknown: Option<String>,
}

impl Times {
    /// Times without a zone, or with one that is only abbreviated, are of this one.
    pub fn new(zone: Option<Zone>) -> Self {
        Times { zone, ..Times::default() }
    }

    /// Nanoseconds since 1970 UTC of a local time and its zone, which may be an abbreviation, an offset, or empty. `None`
    /// where it is not of that form.
    pub fn read(&mut self, local: &[u8], zone: &[u8]) -> Option<i64> {
        let (minute, rest) = local.split_at_checked(16)?;
        if minute != self.minute || zone != self.minute_zone {
            self.minute_ns = self.resolve(datetime(minute)?, zone)?;
            self.minute = minute.to_vec();
            self.minute_zone = zone.to_vec();
        }
        let (seconds, fraction) = match rest {
            [b':', tens, ones, fraction @ ..] => (number(&[*tens, *ones])?, fraction),
            _ => return None,
        };
        self.minute_ns.checked_add(seconds.min(60) * 1_000_000_000)?.checked_add(nanoseconds(fraction)?)
    }

    /// The same for a date and time of any origin.
    pub fn resolve(&mut self, local: DateTime, zone: &[u8]) -> Option<i64> {
        let told = offset(zone);
        let offset = match (told, &self.zone) {
            (Some(offset), _) => offset,
            (None, Some(given)) => in_zone(&given.0, local, zone)?,
            (None, None) => match abbreviation(zone) {
                Some(offset) => offset,
                None => {
                    self.unknown.get_or_insert_with(|| String::from_utf8_lossy(zone).into_owned());
                    Offset::UTC
                }
            },
        };
        let timestamp = offset.to_timestamp(local).ok()?;
        i64::try_from(timestamp.as_nanosecond()).ok()
    }

    /// A zone that was not known, told once: its times were taken for UTC.
    pub fn unknown_zone(&mut self) -> Option<String> {
        self.unknown.take().map(|zone| {
            let zone = if zone.is_empty() {
                "without a zone".to_owned()
            } else {
                format!("in a zone {zone:?} that is not known")
            };
            format!("its times are {zone}, and were taken for UTC; give --timezone, such as --timezone Europe/Berlin")
        })
    }
}

/// The offset of a local time. When clocks were set back and an hour came twice, the abbreviation tells which one it is.
fn in_zone(zone: &TimeZone, local: DateTime, abbreviation: &[u8]) -> Option<Offset> {
    Some(match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { before, .. } => before,
        AmbiguousOffset::Fold { before, after } => {
            let at = after.to_timestamp(local).ok()?;
            let is_after = zone.to_offset_info(at).abbreviation().as_bytes() == abbreviation;
            if is_after { after } else { before }
        }
    })
}

/// `2021-01-22 10:03`, also with a `T` or any other separator of date and time.
fn datetime(minute: &[u8]) -> Option<DateTime> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, _, h1, h2, b':', n1, n2] = minute else { return None };
    let two = |a: &u8, b: &u8| number(&[*a, *b]).and_then(|value| i8::try_from(value).ok());
    let year = number(&[*y1, *y2, *y3, *y4]).and_then(|year| i16::try_from(year).ok())?;
    DateTime::new(year, two(m1, m2)?, two(d1, d2)?, two(h1, h2)?, two(n1, n2)?, 0, 0).ok()
}

/// A number of ASCII digits and nothing else.
pub(super) fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_i64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// `.785` or `,785` or nothing.
pub(super) fn nanoseconds(fraction: &[u8]) -> Option<i64> {
    let digits = match fraction {
        [] => return Some(0),
        [b'.' | b',', digits @ ..] if (1..=9).contains(&digits.len()) => digits,
        _ => return None,
    };
    Some(number(digits)? * 10_i64.pow(9 - u32::try_from(digits.len()).ok()?))
}

/// `Z`, `UTC`, `+02`, `-03:30`, `+0530`.
fn offset(zone: &[u8]) -> Option<Offset> {
    let (sign, digits) = match zone {
        b"Z" | b"UTC" | b"GMT" => return Some(Offset::UTC),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits {
        [_, _] => (digits, &b"00"[..]),
        [a, b, c, d] => (&[*a, *b][..], &[*c, *d][..]),
        [a, b, b':', c, d] => (&[*a, *b][..], &[*c, *d][..]),
        _ => return None,
    };
    seconds(sign * (number(hours)? * 60 + number(minutes)?) * 60)
}

fn seconds(seconds: i64) -> Option<Offset> {
    Offset::from_seconds(i32::try_from(seconds).ok()?).ok()
}

/// What PostgreSQL itself takes an abbreviation for (its default set of abbreviations), in minutes east of UTC.
const ABBREVIATIONS: &[(&str, i64)] = &[
    ("ACDT", 630),
    ("ACST", 570),
    ("ADT", -180),
    ("AEDT", 660),
    ("AEST", 600),
    ("AKDT", -480),
    ("AKST", -540),
    ("AST", -240),
    ("AWST", 480),
    ("BRST", -120),
    ("BRT", -180),
    ("BST", 60),
    ("CAT", 120),
    ("CDT", -300),
    ("CEST", 120),
    ("CET", 60),
    ("CLST", -180),
    ("CLT", -240),
    ("COT", -300),
    ("CST", -360),
    ("EAT", 180),
    ("EDT", -240),
    ("EEST", 180),
    ("EET", 120),
    ("EST", -300),
    ("HKT", 480),
    ("HST", -600),
    ("ICT", 420),
    ("IDT", 180),
    ("IST", 120),
    ("JST", 540),
    ("KST", 540),
    ("MDT", -360),
    ("MSK", 180),
    ("MSD", 240),
    ("MST", -420),
    ("MYT", 480),
    ("NDT", -150),
    ("NPT", 345),
    ("NST", -210),
    ("NZDT", 780),
    ("NZST", 720),
    ("PDT", -420),
    ("PET", -300),
    ("PHT", 480),
    ("PKT", 300),
    ("PST", -480),
    ("SAST", 120),
    ("SGT", 480),
    ("UCT", 0),
    ("UYT", -180),
    ("WAT", 60),
    ("WEST", 60),
    ("WET", 0),
    ("WIB", 420),
    ("WIT", 540),
    ("WITA", 480),
];

fn abbreviation(zone: &[u8]) -> Option<Offset> {
    let (_, minutes) = ABBREVIATIONS.iter().find(|(name, _)| name.as_bytes() == zone)?;
    seconds(minutes * 60)
}

/// The year of stamps that do not tell it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Years {
    /// The year and the month of the latest stamp.
    last: Option<(i16, i8)>,
    until: jiff::civil::Date,
}

impl Years {
    /// Of a log that was last written then, nanoseconds since 1970 UTC.
    pub fn until(ns: i64) -> Self {
        let timestamp = jiff::Timestamp::from_nanosecond(ns.into()).unwrap_or_default();
        // It may have been a day later there.
        let until = Offset::UTC.to_datetime(timestamp).date();
        Years { last: None, until: until.tomorrow().unwrap_or(until) }
    }

    /// Of a log that begins in this year.
    pub fn from(year: i16) -> Self {
        Years { last: Some((year, 0)), until: jiff::civil::Date::MAX }
    }

    /// The year of the next stamp: the one of the stamp before it, unless the year changed between them.
    pub fn of(&mut self, month: i8, day: i8) -> i16 {
        let year = match self.last {
            Some((year, 12)) if month == 1 => year.saturating_add(1),
            Some((year, 1)) if month == 12 => year.saturating_sub(1),
            Some((year, _)) => year,
            None if (month, day) > (self.until.month(), self.until.day()) => self.until.year() - 1,
            None => self.until.year(),
        };
        self.last = Some((year, month));
        year
    }
}

/// Keeps entries with the same stamp in the order of the log: each is a nanosecond later than the one before.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    stamp_ns: Option<i64>,
    ticks: i64,
}

impl Ticks {
    /// The time of the next entry. `resolution_ns` is what the stamp cannot tell apart, which is never left.
    pub fn next(&mut self, stamp_ns: i64, resolution_ns: i64) -> i64 {
        if self.stamp_ns == Some(stamp_ns) {
            self.ticks = (self.ticks + 1).min(resolution_ns - 1);
        } else {
            (self.stamp_ns, self.ticks) = (Some(stamp_ns), 0);
        }
        stamp_ns.saturating_add(self.ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(zone: Option<&str>, local: &str, abbreviation: &str, expected: &str) {
        let mut times = Times::new(zone.map(|zone| zone.parse().expect("a zone")));
        let ns = times.read(local.as_bytes(), abbreviation.as_bytes()).expect(local);
        let expected: jiff::Timestamp = expected.parse().expect("a time");
        assert_eq!(i128::from(ns), expected.as_nanosecond(), "{local} {abbreviation}");
        assert_eq!(times.read(local.as_bytes(), abbreviation.as_bytes()), Some(ns), "from the last minute");
    }

    #[test]
    fn local_times_and_their_zones() {
        check(None, "2021-01-22 10:03:22.785", "UTC", "2021-01-22T10:03:22.785Z");
        check(None, "2021-01-22 10:03:22.785", "CET", "2021-01-22T09:03:22.785Z");
        check(None, "2021-01-22 10:03:22", "-03", "2021-01-22T13:03:22Z");
        check(None, "2021-01-22T10:03:22.123456", "+05:30", "2021-01-22T04:33:22.123456Z");
        // India, not Israel, because the user says so; and numbers need nobody's word.
        check(Some("Asia/Kolkata"), "2021-01-22 10:03:22", "IST", "2021-01-22T04:33:22Z");
        check(Some("Asia/Kolkata"), "2021-01-22 10:03:22", "+01", "2021-01-22T09:03:22Z");
        check(Some("+02:00"), "2021-01-22 10:03:22", "", "2021-01-22T08:03:22Z");
    }

    #[test]
    fn the_hour_that_came_twice_is_told_by_its_abbreviation() {
        check(Some("Europe/Berlin"), "2021-10-31 02:30:00", "CEST", "2021-10-31T00:30:00Z");
        check(Some("Europe/Berlin"), "2021-10-31 02:30:00", "CET", "2021-10-31T01:30:00Z");
    }

    #[test]
    fn what_is_not_known_is_told() {
        let mut times = Times::new(None);
        assert_eq!(times.read(b"2021-01-22 10:03:22", b"XYZ"), times.read(b"2021-01-22 10:03:22", b"UTC"));
        assert!(times.unknown_zone().is_some_and(|what| what.contains("\"XYZ\"") && what.contains("--timezone")));
        for local in ["2021-13-22 10:03:22", "2021-01-22 10:03", "2021-01-22 10:03:22.", "2021/01/22 10:03:22", "x"] {
            assert_eq!(times.read(local.as_bytes(), b"UTC"), None, "{local}");
        }
        assert!("Mars/Olympus".parse::<Zone>().is_err());
    }

    #[test]
    fn entries_of_the_same_stamp_keep_their_order() {
        let mut ticks = Ticks::default();
        assert_eq!([5, 5, 5, 5, 9, 5].map(|stamp| ticks.next(stamp, 3)), [5, 6, 7, 7, 9, 5]);
    }
}
