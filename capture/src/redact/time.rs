//! Dates and times become dates and times: another day of the same century, another minute of the day.

use super::key::{Key, Use};

/// Days from 1970-01-01 to a date of the Gregorian calendar.
pub(super) fn days(year: i64, month: i64, day: i64) -> i64 {
    // Howard Hinnant, "chrono-compatible low-level date algorithms": years that begin in March.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date so many days after 1970-01-01.
pub(super) fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * march + 2) / 5 + 1, if march < 10 { march + 3 } else { march - 9 });
    (year + era * 400 + i64::from(month <= 2), month, day)
}

fn is_date(year: i64, month: i64, day: i64) -> bool {
    (1..=9999).contains(&year) && date(days(year, month, day)) == (year, month, day)
}

impl Key {
    /// Another day of the same century; `None` outside of the years 1 to 9999.
    pub(super) fn day(&self, day: i64) -> Option<i64> {
        let (year, ..) = date(day);
        if !(1..=9999).contains(&year) {
            return None;
        }
        let century = year / 100;
        let from = days((century * 100).max(1), 1, 1);
        let to = days((century + 1) * 100, 1, 1);
        let tweak = self.hash(Use::Day, &[&century.to_le_bytes()]);
        Some(from + self.permute((day - from) as u128, (to - from) as u128, tweak) as i64)
    }

    /// Another time of the day, in seconds since midnight; a minute or a second that is 0 stays.
    pub(super) fn second(&self, second: i64) -> i64 {
        let (minute, second) = (second / 60, second % 60);
        let other = |of: Use, number: i64, size: u128, tweak: i64| match number {
            0 => 0,
            _ => 1 + self.permute(number as u128 - 1, size - 1, self.hash(of, &[&tweak.to_le_bytes()])) as i64,
        };
        other(Use::Minute, minute, 1440, 0) * 60 + other(Use::Second, second, 60, minute)
    }

    /// The digits of a second's fraction.
    pub(super) fn second_fraction(&self, second: i64, digits: &[u8]) -> Vec<u8> {
        self.fraction(format!("s{second}").as_bytes(), digits)
    }

    /// A number of microseconds since midnight; `None` outside of one day.
    pub(super) fn microsecond(&self, micros: i64) -> Option<i64> {
        if !(0..86_400_000_000).contains(&micros) {
            return None;
        }
        let second = micros / 1_000_000;
        let digits = self.second_fraction(second, format!("{:06}", micros % 1_000_000).as_bytes());
        let fraction = digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
        Some(self.second(second) * 1_000_000 + fraction)
    }

    /// A date, a time, or both, as text: `2024-02-29`, `12:30`, `2024-02-29T12:30:05.25+02`. `None` for anything else.
    pub(super) fn moment(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        if let Some([_, _, _, _, b'-' | b'/', _, _, b'-' | b'/', _, _]) = text.get(..10) {
            let number = |from: usize, to: usize| digits(text.get(from..to)?);
            let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
            if !is_date(year, month, day) {
                return None;
            }
            let (year, month, day) = date(self.day(days(year, month, day))?);
            let (one, two) = (char::from(*text.get(4)?), char::from(*text.get(7)?));
            out.extend(format!("{year:04}{one}{month:02}{two}{day:02}").bytes());
            rest = text.get(10..)?;
            match rest {
                [] => return Some(out),
                [between @ (b' ' | b'T' | b't'), time @ ..] => {
                    out.push(*between);
                    rest = time;
                }
                _ => return None,
            }
        }
        self.clock(rest, &mut out)?;
        Some(out)
    }

    /// A time of day with what may follow it.
    pub(super) fn clock(&self, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let [a, b, b':', c, d, rest @ ..] = text else { return None };
        let (hour, minute) = (digits(&[*a, *b])?, digits(&[*c, *d])?);
        let mut second = 0;
        let mut rest = rest;
        let mut seconds = false;
        if let [b':', e, f, after @ ..] = rest {
            (second, rest, seconds) = (digits(&[*e, *f])?, after, true);
        }
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let at = hour * 3600 + minute * 60 + second;
        let new = self.second(at);
        out.extend(format!("{:02}:{:02}", new / 3600, new / 60 % 60).bytes());
        if seconds {
            out.extend(format!(":{:02}", new % 60).bytes());
            if let [b'.', after @ ..] = rest {
                let end = after.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(after.len());
                let (fraction, after) = after.split_at(end);
                out.push(b'.');
                out.extend(self.second_fraction(at, fraction));
                rest = after;
            }
        }
        // The time zone is no value of its own.
        let zone = |byte: &u8| matches!(byte, b'0'..=b'9' | b':' | b'+' | b'-');
        let known = rest.is_empty()
            || [b"Z".as_slice(), b"z", b" UTC", b" utc"].contains(&rest)
            || matches!(rest, [b'+' | b'-', digits @ ..] if digits.len() <= 8 && digits.iter().all(zone));
        known.then(|| out.extend_from_slice(rest))
    }

    /// An interval as text: numbers with units (`1 day 02:00`), or as ISO 8601 writes it (`P1DT2H`). `None` for anything else.
    pub(super) fn interval(&self, text: &[u8]) -> Option<Vec<u8>> {
        if let [b'P', rest @ ..] = text {
            let form = |byte: &u8| byte.is_ascii_digit() || b"YMWDTHS.,-".contains(byte);
            return (rest.iter().any(u8::is_ascii_digit) && rest.iter().all(form)).then(|| self.runs(text));
        }
        let mut units = 0;
        let mut out = Vec::with_capacity(text.len());
        for (at, part) in text.split(|&byte| byte == b' ').enumerate() {
            if at > 0 {
                out.push(b' ');
            }
            if is_unit(part) {
                units += 1;
                out.extend_from_slice(part);
            } else if let Some(number) = self.number(part) {
                out.extend(number);
            } else if part.first().is_some_and(u8::is_ascii_digit) && part.last().is_some_and(u8::is_ascii_alphabetic) {
                let end = part.iter().position(u8::is_ascii_alphabetic)?;
                let (number, unit) = part.split_at(end);
                units += usize::from(is_unit(unit));
                out.extend(self.number(number).filter(|_| is_unit(unit))?);
                out.extend_from_slice(unit);
            } else {
                self.clock(part, &mut out)?;
            }
        }
        (units > 0 && text.iter().any(u8::is_ascii_digit)).then_some(out)
    }

    /// Every run of digits as a number of its own.
    pub(super) fn runs(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        for run in text.chunk_by(|one, other| one.is_ascii_digit() == other.is_ascii_digit()) {
            match run.first() {
                Some(first) if first.is_ascii_digit() => out.extend(self.digits(run)),
                _ => out.extend_from_slice(run),
            }
        }
        out
    }
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

/// True for a word that names a unit of time.
fn is_unit(word: &[u8]) -> bool {
    const UNITS: &[&str] = &[
        "microsecond",
        "millisecond",
        "second",
        "sec",
        "s",
        "minute",
        "min",
        "m",
        "hour",
        "h",
        "day",
        "d",
        "week",
        "w",
        "month",
        "mon",
        "quarter",
        "year",
        "yr",
        "y",
        "decade",
        "century",
        "centuries",
        "millennium",
        "ago",
        "us",
        "ms",
    ];
    let word = word.to_ascii_lowercase();
    let singular = word.strip_suffix(b"s").unwrap_or(&word);
    UNITS.iter().any(|unit| unit.as_bytes() == word || unit.as_bytes() == singular)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (day, parts) in [(0, (1970, 1, 1)), (-1, (1969, 12, 31)), (11_016, (2000, 2, 29)), (-719_162, (1, 1, 1))] {
            assert_eq!((date(day), days(parts.0, parts.1, parts.2)), (parts, day));
        }
        assert!(is_date(2024, 2, 29) && !is_date(2023, 2, 29) && !is_date(0, 1, 1) && !is_date(2024, 13, 1));
    }

    #[test]
    fn moments_stay_moments() {
        let key = Key::from_bytes([4; 16]);
        let moment = |text: &str| key.moment(text.as_bytes()).map(|out| String::from_utf8(out).expect("ASCII"));
        for text in
            ["2024-02-29", "1999/12/31", "12:30", "23:59:59", "2024-02-29 12:30:05.250+02", "2024-02-29T00:00:00Z"]
        {
            let new = moment(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(new.len(), text.len());
            assert_ne!(new, text);
            assert!(moment(&new).is_some(), "{new}");
        }
        for wrong in ["2023-02-29", "0000-00-00", "24:00", "12:60", "2024-02", "2024-02-29x", "12:30 today", "1:2", ""]
        {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
        let both = moment("2024-02-29 12:30:05.25").expect("a moment");
        assert!(both.starts_with(&moment("2024-02-29").expect("a date")));
        assert!(both.contains(&moment("12:30").expect("a time")), "{both}");
        assert_eq!(moment("2024-02-29 00:00:00").map(|new| new[10..].to_owned()).as_deref(), Some(" 00:00:00"));
        let micros = (12 * 3600 + 30 * 60 + 5) * 1_000_000 + 250_000;
        let new = key.microsecond(micros).expect("of a day");
        let text = format!(
            "{:02}:{:02}:{:02}.{:06}",
            new / 3_600_000_000,
            new / 60_000_000 % 60,
            new / 1_000_000 % 60,
            new % 1_000_000
        );
        assert!(both.ends_with(text.trim_end_matches('0')), "{both} and {text}");
    }

    #[test]
    fn intervals_keep_their_units() {
        let key = Key::from_bytes([4; 16]);
        for (text, units) in [
            ("3 days", " days"),
            ("2 years 45 mins", " mins"),
            ("P3DT12H", "H"),
            ("45min", "min"),
            ("3 day 02:30:00", ":00"),
        ] {
            let new = key.interval(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert!(new.ends_with(units.as_bytes()) && new != text.as_bytes() && new.len() == text.len());
        }
        for wrong in ["day", "3", "3 secrets", "Peter", "P", ""] {
            assert_eq!(key.interval(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
