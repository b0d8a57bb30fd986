//! Parameters of MySQL and MariaDB, and query attributes. A value of a known type becomes the one that its text would become.

use super::key::Key;
use super::time::{date, days};
use crate::mysql::{Date, Kind, ParamType, Time, Value};
use crate::trace::Param;

impl Key {
    /// A parameter as MySQL's clients send it.
    pub(super) fn mysql(&self, param: &mut Param) {
        let kind = ParamType(param.type_id as u16);
        if let Some(value) = &mut param.value {
            *value = self.mysql_value(kind, value).into();
        }
    }

    fn mysql_value(&self, kind: ParamType, content: &[u8]) -> Vec<u8> {
        match Value::decode(kind, content) {
            Some(Value::Int(number)) => {
                let new = (self.signed(number.into()) as i64).to_le_bytes();
                new.get(..content.len()).unwrap_or_default().to_vec()
            }
            Some(Value::UInt(number)) => {
                let new = (self.whole(number.into()) as u64).to_le_bytes();
                new.get(..content.len()).unwrap_or_default().to_vec()
            }
            Some(Value::Float(number)) => {
                let new = self.float(&number.to_string()).and_then(|text| text.parse().ok()).unwrap_or(number);
                new.to_le_bytes().to_vec()
            }
            Some(Value::Double(number)) => {
                let new = self.float(&number.to_string()).and_then(|text| text.parse().ok()).unwrap_or(number);
                new.to_le_bytes().to_vec()
            }
            Some(Value::Date(sent)) => self.mysql_date(sent, content.len()),
            Some(Value::Time(sent)) => self.mysql_time(sent, content.len()),
            Some(Value::Bytes(text)) if is_bytes(kind.kind()) || std::str::from_utf8(text).is_err() => self.bytes(text),
            Some(Value::Bytes(text)) => self.text(text),
            None => self.bytes(content),
        }
    }

    fn mysql_date(&self, sent: Date, length: usize) -> Vec<u8> {
        let Date { year, month, day, hour, minute, second, micros, .. } = sent;
        let number = days(year.into(), month.max(1).into(), day.max(1).into());
        let (mut year, mut month, mut day) = (i64::from(year), i64::from(month), i64::from(day));
        // A date that is none, such as 0000-00-00, stays.
        if date(number) == (year, month, day)
            && let Some(new) = self.day(number)
        {
            (year, month, day) = date(new);
        }
        let mut out = (year as u16).to_le_bytes().to_vec();
        out.extend([month as u8, day as u8]);
        self.mysql_clock([hour, minute, second], micros, &mut out);
        out.truncate(length);
        out
    }

    fn mysql_time(&self, sent: Time, length: usize) -> Vec<u8> {
        let Time { negative, days, hour, minute, second, micros } = sent;
        let mut out = vec![negative.into()];
        out.extend((self.whole(days.into()) as u32).to_le_bytes());
        self.mysql_clock([hour, minute, second], micros, &mut out);
        out.truncate(length);
        out
    }

    fn mysql_clock(&self, [hour, minute, second]: [u8; 3], micros: u32, out: &mut Vec<u8>) {
        let at = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        let new = self.microsecond(at * 1_000_000 + i64::from(micros)).unwrap_or(0);
        let second = new / 1_000_000;
        out.extend([second / 3600, second / 60 % 60, second % 60].map(|part| part as u8));
        out.extend(((new % 1_000_000) as u32).to_le_bytes());
    }
}

/// Types whose values are no text.
fn is_bytes(kind: Kind) -> bool {
    matches!(kind, Kind::BIT | Kind::GEOMETRY | Kind::VECTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(kind: Kind, unsigned: bool, content: &[u8]) -> String {
        let kind = ParamType::new(kind, unsigned);
        let mut param = Param { type_id: kind.0.into(), binary: true, value: Some(content.into()) };
        Key::from_bytes([6; 16]).mysql(&mut param);
        let new = param.value.expect("a value");
        assert_eq!(new.len(), content.len());
        Value::decode(kind, &new).expect("of its type").to_string()
    }

    fn text(text: &str) -> String {
        String::from_utf8(Key::from_bytes([6; 16]).text(text.as_bytes())).expect("UTF-8")
    }

    #[test]
    fn a_parameter_becomes_what_its_text_becomes() {
        assert_eq!(shown(Kind::TINY, false, &[100]), text("100"));
        assert_eq!(shown(Kind::TINY, true, &[200]), text("200"));
        assert_eq!(shown(Kind::TINY, false, &[156]), text("-100"));
        assert_eq!(shown(Kind::LONG, false, &(-4711_i32).to_le_bytes()), text("-4711"));
        assert_eq!(shown(Kind::LONGLONG, true, &u64::MAX.to_le_bytes()), text(&u64::MAX.to_string()));
        assert_eq!(shown(Kind::DOUBLE, false, &12.75_f64.to_le_bytes()), text("12.75"));
        assert_eq!(shown(Kind::FLOAT, false, &12.75_f32.to_le_bytes()), text("12.75"));
        assert_eq!(shown(Kind::NEWDECIMAL, false, b"-12.50"), text("-12.50"));
        assert_eq!(shown(Kind::VAR_STRING, false, b"alice"), text("alice"));
        assert_eq!(shown(Kind::BLOB, false, b"alice"), text("alice"));
        assert_eq!(shown(Kind::DATE, false, b"\xe8\x07\x02\x1d"), text("2024-02-29"));
        let moment = shown(Kind::DATETIME, false, b"\xe8\x07\x02\x1d\x0c\x1e\x05\x40\xe2\x01\x00");
        assert_eq!(moment, text("2024-02-29 12:30:05.123456"));
        assert_eq!(shown(Kind::TIME, false, b"\0\0\0\0\0\x0c\x1e\x05"), text("12:30:05"));
        for zero in [&b""[..], b"\0\0\0\0"] {
            assert_eq!(shown(Kind::DATE, false, zero), "0000-00-00");
        }
    }

    #[test]
    fn what_does_not_fit_its_type_is_bytes() {
        let mut param = Param { type_id: 5, binary: true, value: Some(b"short"[..].into()) };
        Key::from_bytes([6; 16]).mysql(&mut param);
        assert_ne!(param.value.as_deref(), Some(&b"short"[..]));
        assert_eq!(param.value.map(|value| value.len()), Some(5));
    }
}
