//! Parameters of PostgreSQL, in both formats. A binary value of a known type becomes the one that its text would become, so
//! that a parameter and a literal of the same value stay equal.

use super::key::Key;
use crate::trace::Param;

/// From 1970 to 2000, where PostgreSQL counts from.
const EPOCH_DAYS: i64 = 10_957;
const DAY_MICROS: i64 = 86_400_000_000;

impl Key {
    /// A parameter as PostgreSQL's clients send it.
    pub(super) fn postgresql(&self, param: &mut Param) {
        if let Some(value) = &mut param.value {
            let new = if param.binary { self.binary(param.type_id, value) } else { self.text(value) };
            *value = new.into();
        }
    }

    /// A value in the binary format. One that does not have the form of its type is bytes.
    pub(super) fn binary(&self, oid: u32, value: &[u8]) -> Vec<u8> {
        let new = match oid {
            // bool
            16 => Some(value.to_vec()),
            // bytea
            17 => None,
            // "char", name, text, json, xml, unknown, bpchar, varchar
            18 | 19 | 25 | 114 | 142 | 705 | 1042 | 1043 => Some(self.text(value)),
            // int8, int2, int4, oid, money
            20 | 21 | 23 | 26 | 790 => self.integer(value),
            // float4, float8
            700 => value.try_into().ok().and_then(|bytes| {
                let number = f32::from_be_bytes(bytes);
                let new: f32 = self.float(&number.to_string()).map_or(Some(number), |text| text.parse().ok())?;
                Some(new.to_be_bytes().to_vec())
            }),
            701 => value.try_into().ok().and_then(|bytes| {
                let number = f64::from_be_bytes(bytes);
                let new: f64 = self.float(&number.to_string()).map_or(Some(number), |text| text.parse().ok())?;
                Some(new.to_be_bytes().to_vec())
            }),
            // cidr, inet
            650 | 869 => self.address(value),
            // date
            1082 => value.try_into().ok().map(|bytes| {
                let day = i32::from_be_bytes(bytes);
                self.date(day.into()).and_then(|day| i32::try_from(day).ok()).unwrap_or(day).to_be_bytes().to_vec()
            }),
            // time, timetz
            1083 | 1266 => value.split_first_chunk().map(|(bytes, zone)| {
                let micros = i64::from_be_bytes(*bytes);
                [&self.microsecond(micros).unwrap_or(micros).to_be_bytes(), zone].concat()
            }),
            // timestamp, timestamptz
            1114 | 1184 => {
                value.try_into().ok().map(|bytes| self.timestamp(i64::from_be_bytes(bytes)).to_be_bytes().to_vec())
            }
            // interval
            1186 => self.interval_binary(value),
            // bit, varbit
            1560 | 1562 => self.bit_string(value),
            // numeric
            1700 => self.numeric(value),
            // uuid
            2950 => value.try_into().ok().map(|bytes| self.uuid(bytes).to_vec()),
            // jsonb
            3802 => match value {
                [1, json @ ..] => Some([&[1], self.text(json).as_slice()].concat()),
                _ => None,
            },
            _ => self.array(value).or_else(|| self.unknown(value)),
        };
        new.unwrap_or_else(|| self.bytes(value))
    }

    fn integer(&self, value: &[u8]) -> Option<Vec<u8>> {
        let number = match *value {
            [a, b] => i16::from_be_bytes([a, b]).into(),
            [a, b, c, d] => i32::from_be_bytes([a, b, c, d]).into(),
            _ => i64::from_be_bytes(value.try_into().ok()?),
        };
        // A number stays within its type, so the upper bytes hold nothing but its sign.
        let new = self.signed(number.into()).to_be_bytes();
        new.get(new.len() - value.len()..).map(<[u8]>::to_vec)
    }

    /// A value whose type is not known: by its length and contents.
    fn unknown(&self, value: &[u8]) -> Option<Vec<u8>> {
        match value.len() {
            1 if matches!(value, [0 | 1]) => Some(value.to_vec()),
            2 | 4 | 8 => self.integer(value),
            16 => self.binary(2950, value).into(),
            _ if std::str::from_utf8(value).is_ok_and(|text| !text.contains(|letter: char| letter.is_control())) => {
                Some(self.text(value))
            }
            _ => None,
        }
    }

    fn date(&self, day: i64) -> Option<i64> {
        Some(self.day(day + EPOCH_DAYS)? - EPOCH_DAYS)
    }

    fn timestamp(&self, micros: i64) -> i64 {
        let (day, time) = (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS));
        match self.date(day).zip(self.microsecond(time)) {
            Some((day, time)) => day * DAY_MICROS + time,
            // Infinities, and years that no calendar has.
            None if matches!(micros, i64::MIN | i64::MAX) => micros,
            None => self.signed(micros.into()) as i64,
        }
    }

    fn interval_binary(&self, value: &[u8]) -> Option<Vec<u8>> {
        let (micros, rest) = value.split_first_chunk()?;
        let (days, months) = rest.split_first_chunk::<4>()?;
        let micros = self.signed(i64::from_be_bytes(*micros).into()) as i64;
        let number = |bytes: [u8; 4]| (self.signed(i32::from_be_bytes(bytes).into()) as i32).to_be_bytes();
        Some([&micros.to_be_bytes()[..], &number(*days), &number(months.try_into().ok()?)].concat())
    }

    fn address(&self, value: &[u8]) -> Option<Vec<u8>> {
        let (head, address) = value.split_first_chunk::<4>()?;
        let address = match address {
            [_, _, _, _] => address.iter().map(|&octet| self.whole(octet.into()) as u8).collect(),
            _ => self.bytes(address),
        };
        Some([head.as_slice(), &address].concat())
    }

    fn bit_string(&self, value: &[u8]) -> Option<Vec<u8>> {
        let (head, bytes) = value.split_first_chunk::<4>()?;
        let length = u32::from_be_bytes(*head) as usize;
        let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
        let mut bits = self.bits(bits.as_bytes().get(..length)?);
        bits.resize(bytes.len() * 8, b'0');
        let packed = bits.chunks(8).map(|bits| bits.iter().fold(0, |byte, &bit| byte << 1 | (bit - b'0')));
        Some(head.iter().copied().chain(packed).collect())
    }

    /// numeric: groups of four digits, their weight, the sign, and the digits after the point.
    fn numeric(&self, value: &[u8]) -> Option<Vec<u8>> {
        let words: Vec<u16> =
            value.chunks_exact(2).map(|pair| pair.iter().fold(0, |word, &byte| word << 8 | u16::from(byte))).collect();
        let [count, weight, sign, scale, groups @ ..] = words.as_slice() else { return None };
        if !matches!(sign, 0 | 0x4000) {
            // Not a number, and infinities.
            return Some(value.to_vec());
        }
        if groups.len() != usize::from(*count)
            || groups.iter().any(|&group| group > 9999)
            || !value.len().is_multiple_of(2)
        {
            return None;
        }
        let weight = i32::from(weight.cast_signed());
        let group =
            |at: i32| u16::try_from(weight - at).ok().and_then(|at| groups.get(usize::from(at))).copied().unwrap_or(0);
        let whole: String = (0..=weight).rev().map(|at| format!("{:04}", group(at))).collect();
        let fraction: String =
            (1..=i32::from(*scale).div_euclid(4) + 1).map(|at| format!("{:04}", group(-at))).collect();
        let whole = whole.trim_start_matches('0');
        let text = format!("{whole}.{}", fraction.get(..usize::from(*scale))?);
        if text == "." {
            return Some(value.to_vec());
        }
        let new = String::from_utf8(self.number(text.as_bytes())?).ok()?;
        let (whole, fraction) = new.split_once('.')?;
        let whole = format!("{whole:0>width$}", width = whole.len().next_multiple_of(4));
        let fraction = format!("{fraction:0<width$}", width = fraction.len().next_multiple_of(4));
        let mut groups: Vec<u16> = [whole.as_bytes(), fraction.as_bytes()]
            .concat()
            .chunks(4)
            .map(|digits| digits.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0')))
            .collect();
        let mut weight = (whole.len() / 4) as i16 - 1;
        while groups.first() == Some(&0) {
            groups.remove(0);
            weight -= 1;
        }
        while groups.last() == Some(&0) {
            groups.pop();
        }
        let head = [groups.len() as u16, weight.cast_unsigned(), *sign, *scale];
        Some(head.into_iter().chain(groups).flat_map(u16::to_be_bytes).collect())
    }

    /// An array: dimensions, a flag, the type of the elements, and each with its length.
    fn array(&self, value: &[u8]) -> Option<Vec<u8>> {
        let word = |at: usize| value.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
        let (dimensions, flag, oid) = (word(0)? as usize, word(4)?, word(8)?);
        if !(1..=6).contains(&dimensions) || flag > 1 || oid == 0 {
            return None;
        }
        let elements = (0..dimensions).try_fold(1_usize, |count, at| count.checked_mul(word(12 + 8 * at)? as usize))?;
        let mut at = 12 + 8 * dimensions;
        let mut out = value.get(..at)?.to_vec();
        for _ in 0..elements {
            let length = word(at)?;
            at += 4;
            if length == u32::MAX {
                out.extend(length.to_be_bytes());
                continue;
            }
            let new = self.binary(oid, value.get(at..at.checked_add(length as usize)?)?);
            at += length as usize;
            out.extend((new.len() as u32).to_be_bytes());
            out.extend(new);
        }
        (at == value.len()).then_some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::time::{date, days};

    fn day_of(year: i64, month: i64, day: i64) -> i32 {
        (days(year, month, day) - EPOCH_DAYS) as i32
    }

    fn key() -> Key {
        Key::from_bytes([6; 16])
    }

    fn text(text: &str) -> String {
        String::from_utf8(key().text(text.as_bytes())).expect("UTF-8")
    }

    #[test]
    fn a_binary_parameter_becomes_what_its_text_becomes() {
        let key = key();
        let number =
            |bytes: Vec<u8>| bytes.iter().fold(if bytes[0] > 127 { -1_i64 } else { 0 }, |n, &b| n << 8 | i64::from(b));
        assert_eq!(number(key.binary(23, &4711_i32.to_be_bytes())).to_string(), text("4711"));
        assert_eq!(number(key.binary(20, &(-4711_i64).to_be_bytes())).to_string(), text("-4711"));
        assert_eq!(number(key.binary(21, &4711_i16.to_be_bytes())).to_string(), text("4711"));
        let double = key.binary(701, &12.75_f64.to_be_bytes()).try_into().map(f64::from_be_bytes).expect("8 bytes");
        assert_eq!(double.to_string(), text("12.75"));
        assert_eq!(key.binary(25, b"alice"), text("alice").as_bytes());
        let day =
            key.binary(1082, &day_of(2024, 5, 17).to_be_bytes()).try_into().map(i32::from_be_bytes).expect("4 bytes");
        let (year, month, day) = date(i64::from(day) + EPOCH_DAYS);
        assert_eq!(format!("{year}-{month:02}-{day:02}"), text("2024-05-17"));
        let uuid = [0x6f; 16];
        let hexadecimal = String::from_utf8(super::super::text::hex(&key.binary(2950, &uuid))).expect("digits");
        assert_eq!(hexadecimal, text("6f6f6f6f-6f6f-6f6f-6f6f-6f6f6f6f6f6f").replace('-', ""));
        assert_eq!(
            key.binary(869, &[2, 32, 0, 4, 10, 77, 4, 42])[4..],
            text("10.77.4.42").split('.').map(|n| n.parse().expect("octet")).collect::<Vec<u8>>()
        );
    }

    #[test]
    fn numeric_is_decoded_and_encoded() {
        // 12345.678: weight 1, scale 3, groups 1 2345 6780
        let sent: Vec<u8> = [3_u16, 1, 0, 3, 1, 2345, 6780].into_iter().flat_map(u16::to_be_bytes).collect();
        let new = key().binary(1700, &sent);
        let words: Vec<u16> = new.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
        assert_eq!(&words[1..4], [1, 0, 3]);
        let shown = format!("{}{:04}.{:03}", words[4], words[5], words[6] / 10);
        assert_eq!(shown, text("12345.678"));
        let zero: Vec<u8> = [0_u16, 0, 0, 0].into_iter().flat_map(u16::to_be_bytes).collect();
        assert_eq!(key().binary(1700, &zero), zero);
        let nan: Vec<u8> = [0_u16, 0, 0xc000, 0].into_iter().flat_map(u16::to_be_bytes).collect();
        assert_eq!(key().binary(1700, &nan), nan);
        // 0.05: weight -1, scale 2, group 500
        let small: Vec<u8> = [1_u16, 0xffff, 0, 2, 500].into_iter().flat_map(u16::to_be_bytes).collect();
        let words: Vec<u16> =
            key().binary(1700, &small).chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
        assert_eq!((words[1], words[3], format!(".{:02}", words[4] / 100)), (0xffff, 2, text(".05")));
    }

    #[test]
    fn arrays_are_redacted_by_their_elements_and_the_rest_by_length() {
        let key = key();
        let mut array: Vec<u8> = [1_u32, 1, 23, 3, 1].into_iter().flat_map(u32::to_be_bytes).collect();
        for element in [Some(4711_i32), None, Some(5)] {
            match element {
                Some(number) => array.extend([4_i32, number].into_iter().flat_map(i32::to_be_bytes)),
                None => array.extend((-1_i32).to_be_bytes()),
            }
        }
        let new = key.binary(1007, &array);
        assert_eq!((new.len(), &new[..20]), (array.len(), &array[..20]));
        assert_eq!(i32::from_be_bytes(new[24..28].try_into().expect("4 bytes")).to_string(), text("4711"));
        assert_eq!(new[28..32], [255; 4]);
        for length in [0, 1, 2, 3, 4, 5, 8, 16, 40] {
            assert_eq!(key.binary(0, &vec![200; length]).len(), length);
            assert_eq!(key.binary(1114, &vec![200; length]).len(), length);
            assert_eq!(key.binary(1700, &vec![200; length]).len(), length);
        }
        assert_eq!(key.binary(1114, &i64::MAX.to_be_bytes()), i64::MAX.to_be_bytes(), "infinity");
    }
}
