//! Parameters as ProxySQL writes them: a type of the protocol, and the value as text.
//!
//! Numbers are decimal, of floating point with six digits behind the point. Strings and bytes are hexadecimal (`0x616263`),
//! except where their type is VARCHAR, a decimal, JSON, ENUM or SET. Dates and times are the bytes of the structure `MYSQL_TIME`
//! in hexadecimal.

use crate::mysql::{Kind, ParamType, Value};
use crate::trace::Param;

/// The value as a client sends it. `None` where it cannot be read.
pub(super) fn param(kind: Kind, text: Option<&[u8]>) -> Option<Param> {
    let Some(text) = text.filter(|_| kind != Kind::NULL) else {
        return Some(Param { type_id: kind.0.into(), binary: true, value: None });
    };
    let (kind, value) = value(kind, text)?;
    // What comes out must be what the protocol has for the type.
    Value::decode(kind, &value)?;
    Some(Param { type_id: kind.0.into(), binary: true, value: Some(value.into()) })
}

/// The type of this name.
pub(super) fn kind(name: &str) -> Option<Kind> {
    (0..=u8::MAX).map(Kind).find(|kind| kind.name() == Some(name))
}

fn value(kind: Kind, text: &[u8]) -> Option<(ParamType, Vec<u8>)> {
    let signed = ParamType::new(kind, false);
    Some(match kind {
        Kind::TINY | Kind::SHORT | Kind::YEAR | Kind::LONG | Kind::INT24 | Kind::LONGLONG => integer(kind, text)?,
        Kind::FLOAT => (signed, str::from_utf8(text).ok()?.parse::<f32>().ok()?.to_le_bytes().to_vec()),
        Kind::DOUBLE => (signed, str::from_utf8(text).ok()?.parse::<f64>().ok()?.to_le_bytes().to_vec()),
        Kind::DATE | Kind::DATETIME | Kind::TIMESTAMP | Kind::TIME => match hex(text) {
            Some(structure) => (signed, temporal(kind, &structure)?),
            // As text, which the server reads just as well.
            None => (ParamType::new(Kind::VAR_STRING, false), text.to_vec()),
        },
        Kind::VARCHAR | Kind::DECIMAL | Kind::NEWDECIMAL | Kind::JSON | Kind::ENUM | Kind::SET | Kind::NEWDATE => {
            let kind = if kind == Kind::NEWDATE { Kind::VAR_STRING } else { kind };
            (ParamType::new(kind, false), text.to_vec())
        }
        Kind::STRING | Kind::VAR_STRING | Kind::TINY_BLOB | Kind::MEDIUM_BLOB | Kind::LONG_BLOB | Kind::BLOB => {
            (signed, hex(text).unwrap_or_else(|| text.to_vec()))
        }
        Kind::BIT | Kind::GEOMETRY => (signed, hex(text)?),
        _ => return None,
    })
}

/// Negative numbers may be unsigned ones that were too big: their bytes are the same. A number that is too big is unsigned.
fn integer(kind: Kind, text: &[u8]) -> Option<(ParamType, Vec<u8>)> {
    let number: i128 = str::from_utf8(text).ok()?.parse().ok()?;
    let bytes = match kind {
        Kind::TINY => 1,
        Kind::SHORT | Kind::YEAR => 2,
        Kind::LONG | Kind::INT24 => 4,
        _ => 8,
    };
    let half = 1_i128 << (8 * bytes - 1);
    if !(-half..2 * half).contains(&number) {
        return None;
    }
    let value = number.to_le_bytes().get(..bytes)?.to_vec();
    Some((ParamType::new(kind, number >= half), value))
}

/// `0x616263`; `None` where the text is not of that form.
fn hex(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.strip_prefix(b"0x")?;
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    digits.chunks(2).map(pair).collect()
}

/// The bytes of `MYSQL_TIME` on a machine of 64 bits, little-endian: six numbers of 4 bytes, the microseconds in 8, the sign.
fn temporal(kind: Kind, structure: &[u8]) -> Option<Vec<u8>> {
    let number = |index: usize| {
        let bytes = structure.get(4 * index..4 * index + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let byte = |index: usize| u8::try_from(number(index)?).ok();
    let micros = u64::from_le_bytes(structure.get(24..32)?.try_into().ok()?);
    let micros = u32::try_from(micros).ok().filter(|micros| *micros < 1_000_000)?;
    let negative = *structure.get(32)?;
    let mut value = Vec::with_capacity(12);
    if kind == Kind::TIME {
        let hours = number(3)?;
        value.push(u8::from(negative != 0));
        value.extend((number(2)?.checked_add(hours / 24)?).to_le_bytes());
        value.extend([u8::try_from(hours % 24).ok()?, byte(4)?, byte(5)?]);
    } else {
        value.extend(u16::try_from(number(0)?).ok()?.to_le_bytes());
        value.extend([byte(1)?, byte(2)?]);
        if kind == Kind::DATE {
            return Some(value);
        }
        value.extend([byte(3)?, byte(4)?, byte(5)?]);
    }
    if micros > 0 {
        value.extend(micros.to_le_bytes());
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, text: &str, expected: &str) {
        let param =
            param(kind(name).expect("a type"), Some(text.as_bytes())).unwrap_or_else(|| panic!("{name} {text}"));
        let value = param.value.expect("a value");
        let kind = ParamType(u16::try_from(param.type_id).expect("a type"));
        assert_eq!(
            Value::decode(kind, &value).map(|value| value.to_string()).as_deref(),
            Some(expected),
            "{name} {text}"
        );
    }

    #[test]
    fn values_of_every_type() {
        check("LONG", "-5", "-5");
        check("TINY", "200", "200");
        check("LONGLONG", "18446744073709551615", "18446744073709551615");
        check("DOUBLE", "1.500000", "1.5");
        check("VAR_STRING", "0x6162", "ab");
        check("VAR_STRING", "0x", "");
        check("STRING", "plain text", "plain text");
        check("STRING", "0xzz", "0xzz");
        check("NEWDECIMAL", "0x12.50", "0x12.50");
        check("JSON", "{\"a\":1}", "{\"a\":1}");
        // year 2024, month 5, day 1, 10:20:30, 250000 microseconds, not negative
        let structure =
            "0xe8070000050000000100000 00a000000140000001e00000090d00300000000000000000001000000".replace(' ', "");
        check("DATETIME", &structure, "2024-05-01 10:20:30.250000");
        check("DATE", &structure, "2024-05-01");
        check("DATETIME", "2024-05-01 10:20:30", "2024-05-01 10:20:30");
        // 30:20:10, negative
        let structure = "0x0000000000000000000000001e000000140000000a00000000000000000000000100000002000000";
        check("TIME", structure, "-30:20:10");
    }

    #[test]
    fn what_cannot_be_read() {
        for (name, text) in [("LONG", "x"), ("TINY", "999"), ("BIT", "7"), ("DATE", "0x00"), ("DOUBLE", "")] {
            assert_eq!(param(kind(name).expect("a type"), Some(text.as_bytes())), None, "{name} {text}");
        }
        assert_eq!(kind("unknown"), None);
        assert_eq!(param(Kind::LONG, None).and_then(|param| param.value), None);
    }
}
