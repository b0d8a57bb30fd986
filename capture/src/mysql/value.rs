//! [Values of the binary protocol], read and printed.
//!
//! [Values of the binary protocol]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html#sect_protocol_binary_resultset_row_value

use std::fmt;

use super::kind::{Kind, ParamType};

/// A value of a parameter or of a column of a binary row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// `FLOAT`.
    Float(f32),
    /// `DOUBLE`.
    Double(f64),
    /// `DATE`, `DATETIME`, `TIMESTAMP`; fields left out are 0.
    Date(Date),
    /// `TIME`; fields left out are 0.
    Time(Time),
    /// Text, bytes, decimals and the like.
    Bytes(&'a [u8]),
}

/// A date, with or without a time of day. Its fields are as sent and may be no date of the calendar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date {
    /// Year.
    pub year: u16,
    /// Month, from 1; 0 in dates that are not one.
    pub month: u8,
    /// Day, from 1; 0 in dates that are not one.
    pub day: u8,
    /// Hour.
    pub hour: u8,
    /// Minute.
    pub minute: u8,
    /// Second.
    pub second: u8,
    /// Microsecond.
    pub micros: u32,
    /// True for `DATE`, which has no time of day.
    pub date_only: bool,
}

/// A time of day or a duration. Its fields are as sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// True below zero.
    pub negative: bool,
    /// Days.
    pub days: u32,
    /// Hour.
    pub hour: u8,
    /// Minute.
    pub minute: u8,
    /// Second.
    pub second: u8,
    /// Microsecond.
    pub micros: u32,
}

impl<'a> Value<'a> {
    /// Reads a value without its length. `None` where it does not have the length of its type.
    pub fn decode(kind: ParamType, content: &'a [u8]) -> Option<Self> {
        Some(match kind.kind() {
            Kind::TINY | Kind::BOOL | Kind::SHORT | Kind::YEAR | Kind::LONG | Kind::INT24 | Kind::LONGLONG => {
                Self::integer(content, kind.unsigned() || kind.kind() == Kind::YEAR)?
            }
            Kind::FLOAT => Value::Float(f32::from_le_bytes(content.try_into().ok()?)),
            Kind::DOUBLE => Value::Double(f64::from_le_bytes(content.try_into().ok()?)),
            Kind::DATE | Kind::NEWDATE => Value::Date(Date { date_only: true, ..date(content)? }),
            Kind::DATETIME | Kind::TIMESTAMP => Value::Date(date(content)?),
            Kind::TIME => Value::Time(time(content)?),
            _ => Value::Bytes(content),
        })
    }

    fn integer(content: &[u8], unsigned: bool) -> Option<Self> {
        let signed = match *content {
            [a] => i8::from_le_bytes([a]).into(),
            [a, b] => i16::from_le_bytes([a, b]).into(),
            [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
            _ => i64::from_le_bytes(content.try_into().ok()?),
        };
        let bits = 8 * content.len() as u32;
        Some(if unsigned { Value::UInt(signed as u64 & (u64::MAX >> (64 - bits))) } else { Value::Int(signed) })
    }
}

fn date(content: &[u8]) -> Option<Date> {
    let mut date = Date::default();
    let rest = match content {
        [] => return Some(date),
        [a, b, month, day, rest @ ..] => {
            date = Date { year: u16::from_le_bytes([*a, *b]), month: *month, day: *day, ..date };
            rest
        }
        _ => return None,
    };
    let (hour, minute, second, micros) = clock(rest)?;
    Some(Date { hour, minute, second, micros, ..date })
}

fn time(content: &[u8]) -> Option<Time> {
    match content {
        [] => Some(Time::default()),
        [negative, a, b, c, d, rest @ ..] if !rest.is_empty() => {
            let (hour, minute, second, micros) = clock(rest)?;
            let days = u32::from_le_bytes([*a, *b, *c, *d]);
            Some(Time { negative: *negative != 0, days, hour, minute, second, micros })
        }
        _ => None,
    }
}

/// Hour, minute, second, and microseconds.
fn clock(content: &[u8]) -> Option<(u8, u8, u8, u32)> {
    match *content {
        [] => Some((0, 0, 0, 0)),
        [hour, minute, second] => Some((hour, minute, second, 0)),
        [hour, minute, second, a, b, c, d] => Some((hour, minute, second, u32::from_le_bytes([a, b, c, d]))),
        _ => None,
    }
}

impl fmt::Display for Value<'_> {
    /// As the text protocol would show it; bytes that are not UTF-8 are shown escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(number) => number.fmt(f),
            Value::UInt(number) => number.fmt(f),
            Value::Float(number) => number.fmt(f),
            Value::Double(number) => number.fmt(f),
            Value::Date(date) => date.fmt(f),
            Value::Time(time) => time.fmt(f),
            Value::Bytes(bytes) => match str::from_utf8(bytes) {
                Ok(text) => f.write_str(text),
                Err(_) => bytes.escape_ascii().fmt(f),
            },
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)?;
        if !self.date_only {
            write!(f, " {:02}:{:02}:{:02}", self.hour, self.minute, self.second)?;
            fraction(f, self.micros)?;
        }
        Ok(())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        let hours = u64::from(self.days) * 24 + u64::from(self.hour);
        write!(f, "{sign}{hours:02}:{:02}:{:02}", self.minute, self.second)?;
        fraction(f, self.micros)
    }
}

fn fraction(f: &mut fmt::Formatter<'_>, micros: u32) -> fmt::Result {
    match micros {
        0 => Ok(()),
        micros => write!(f, ".{micros:06}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::hex;

    fn show(kind: Kind, unsigned: bool, content: &str) -> String {
        Value::decode(ParamType::new(kind, unsigned), &hex(content)).map_or("-".to_owned(), |value| value.to_string())
    }

    #[test]
    fn numbers() {
        assert_eq!(show(Kind::TINY, false, "ff"), "-1");
        assert_eq!(show(Kind::TINY, true, "ff"), "255");
        assert_eq!(show(Kind::SHORT, true, "ffff"), "65535");
        assert_eq!(show(Kind::YEAR, false, "e007"), "2016");
        assert_eq!(show(Kind::LONG, false, "01000080"), "-2147483647");
        assert_eq!(show(Kind::LONGLONG, true, "ffffffffffffffff"), u64::MAX.to_string());
        assert_eq!(show(Kind::LONGLONG, false, "ffffffffffffffff"), "-1");
        assert_eq!(show(Kind::TINY, true, ""), "-");
        // The examples of the manual.
        assert_eq!(show(Kind::DOUBLE, false, "6666666666662440"), "10.2");
        assert_eq!(show(Kind::FLOAT, false, "33332341"), "10.2");
        assert_eq!(show(Kind::FLOAT, false, "3333"), "-");
    }

    #[test]
    fn dates_and_times() {
        // The examples of the manual.
        assert_eq!(show(Kind::DATETIME, false, "da070a11131b1e01000000"), "2010-10-17 19:27:30.000001");
        assert_eq!(show(Kind::TIME, false, "0178000000131b1e01000000"), "-2899:27:30.000001");
        assert_eq!(show(Kind::TIME, false, "0178000000131b1e"), "-2899:27:30");
        // What is zero at the end is left out.
        assert_eq!(show(Kind::DATETIME, false, "da070a11131b1e"), "2010-10-17 19:27:30");
        assert_eq!(show(Kind::TIMESTAMP, false, "da070a11"), "2010-10-17 00:00:00");
        assert_eq!(show(Kind::DATE, false, "da070a11"), "2010-10-17");
        assert_eq!(show(Kind::DATE, false, ""), "0000-00-00");
        assert_eq!(show(Kind::TIME, false, ""), "00:00:00");
        for length in [1, 2, 3, 5, 6, 8, 9, 10, 12] {
            assert_eq!(show(Kind::DATETIME, false, &"01".repeat(length)), "-", "{length}");
        }
        for length in [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 13] {
            assert_eq!(show(Kind::TIME, false, &"01".repeat(length)), "-", "{length}");
        }
    }

    #[test]
    fn bytes() {
        assert_eq!(show(Kind::NEWDECIMAL, false, "312e30"), "1.0");
        assert_eq!(show(Kind::BLOB, false, "00ff"), "\\x00\\xff");
    }
}
