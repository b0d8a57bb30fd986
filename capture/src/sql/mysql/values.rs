//! A text with its values in one notation: equal for a prepared statement with its parameters and for the text that a server's
//! log, or a router, makes of both.

use super::Mode;
use super::lexer::{self, Lexer};
use super::literal::string_value;
use crate::mysql::{Kind, ParamType, Value};

/// What an execution sends for one `?`: its type, and the bytes without their length; `None` is NULL.
pub type Sent<'a> = (ParamType, Option<&'a [u8]>);

/// The text, with the parameters in the places of its `?` and with every literal in one notation, without the white space and
/// semicolons around it. A `?` for which there is no parameter stays. The result is for comparing, not for reading:
///
/// - a number is its value, however it is written, `1e1` as `10`
/// - a string is its content, and every run of letters that are not ASCII is one `?`. MariaDB writes characters beyond U+FFFF, and
///   those of another character set than UTF-8, as `\xF0` into its log
pub fn with_values(sql: &[u8], params: &[Sent<'_>], mode: &Mode) -> Vec<u8> {
    let sql = sql.trim_ascii_start();
    let end = sql.iter().rposition(|byte| *byte != b';' && !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
    let sql = sql.get(..end).unwrap_or_default();
    let mut out = Vec::with_capacity(sql.len() + 16 * params.len());
    let mut params = params.iter();
    let mut at = 0;
    for token in Lexer::new(sql, *mode) {
        let literal = matches!(token.kind, lexer::Kind::Text | lexer::Kind::Number | lexer::Kind::Param);
        let Some(text) = sql.get(token.start..token.end).filter(|_| literal) else { continue };
        blur(sql.get(at..token.start).unwrap_or_default(), &mut out);
        at = token.end;
        match token.kind {
            lexer::Kind::Text => string(&string_value(text, mode), &mut out),
            lexer::Kind::Number => number(text, &mut out),
            _ => match params.next() {
                Some(sent) => parameter(*sent, &mut out),
                None => out.extend_from_slice(text),
            },
        }
    }
    blur(sql.get(at..).unwrap_or_default(), &mut out);
    out
}

/// A parameter as MariaDB writes it into its log, in the notation of [`with_values`].
fn parameter((kind, bytes): Sent<'_>, out: &mut Vec<u8>) {
    let Some(bytes) = bytes else { return out.extend_from_slice(b"NULL") };
    let signed = |text: String, out: &mut Vec<u8>| {
        let digits = text.trim_start_matches('-');
        out.extend_from_slice(text.get(..text.len() - digits.len()).unwrap_or_default().as_bytes());
        number(digits.as_bytes(), out);
    };
    match Value::decode(kind, bytes) {
        Some(Value::Bytes(text)) if matches!(kind.kind(), Kind::NEWDECIMAL | Kind::DECIMAL) => {
            signed(String::from_utf8_lossy(text).into_owned(), out);
        }
        Some(Value::Bytes(_)) | None => string(bytes, out),
        Some(Value::Float(value)) => signed(f64::from(value).to_string(), out),
        Some(Value::Date(date)) => {
            out.extend_from_slice(if date.date_only { b"DATE" } else { b"TIMESTAMP" });
            string(date.to_string().as_bytes(), out);
        }
        Some(Value::Time(time)) => {
            out.extend_from_slice(b"TIME");
            string(time.to_string().as_bytes(), out);
        }
        Some(value) => signed(value.to_string(), out),
    }
}

fn string(content: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    blur(content, out);
    out.push(b'\'');
}

/// Whole numbers as their digits, others as the double that they are; bits and hexadecimal digits as written.
fn number(text: &[u8], out: &mut Vec<u8>) {
    /// More digits than a 64-bit number has are compared as a double.
    const DIGITS: usize = 19;
    if text.len() <= DIGITS && text.iter().all(u8::is_ascii_digit) {
        let zeros = text.iter().take_while(|digit| **digit == b'0').count();
        return out.extend_from_slice(text.get(zeros.min(text.len().saturating_sub(1))..).unwrap_or_default());
    }
    let plain = text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    match str::from_utf8(text).ok().filter(|_| plain).and_then(|text| text.parse::<f64>().ok()) {
        Some(value) if value.fract() == 0.0 && value.abs() < 1e18 => {
            out.extend_from_slice(format!("{value:.0}").as_bytes())
        }
        Some(value) => out.extend_from_slice(format!("{value:e}").as_bytes()),
        None => out.extend_from_slice(text),
    }
}

/// Copies a text with one `?` for every run of what is not ASCII, or was not before it was written into a log.
fn blur(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    let mut inside = false;
    while let Some((&first, after)) = rest.split_first() {
        let foreign = foreign(rest);
        match foreign {
            0 => out.push(first),
            _ if !inside => out.push(b'?'),
            _ => {}
        }
        inside = foreign > 0;
        rest = rest.get(foreign..).filter(|_| inside).unwrap_or(after);
    }
}

/// Length of the byte that is not ASCII at the start: itself, or `\xF0`, of which undoing the escapes leaves `xF0`.
fn foreign(text: &[u8]) -> usize {
    let is_high =
        |high: u8, low: u8| matches!(high, b'8' | b'9' | b'A'..=b'F') && matches!(low, b'0'..=b'9' | b'A'..=b'F');
    match *text {
        [0x80..=0xff, ..] => 1,
        [b'x', high, low, ..] if is_high(high, low) => 3,
        [b'\\', b'x', high, low, ..] if is_high(high, low) => 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(sql: &str) -> String {
        String::from_utf8(with_values(sql.as_bytes(), &[], &Mode::default())).unwrap()
    }

    fn prepared(sql: &str, params: &[(Kind, Option<&[u8]>)]) -> String {
        let params: Vec<Sent<'_>> = params.iter().map(|(kind, bytes)| (ParamType::new(*kind, false), *bytes)).collect();
        String::from_utf8(with_values(sql.as_bytes(), &params, &Mode::default())).unwrap()
    }

    /// The right sides are what MariaDB 10.11 wrote into its general log.
    #[test]
    fn a_prepared_statement_is_the_text_that_the_server_logs() {
        let double = |value: f64| value.to_le_bytes();
        for (kind, bytes, literal) in [
            (Kind::LONG, Some(&(-5_i32).to_le_bytes()[..]), "-5"),
            (Kind::LONGLONG, Some(&i64::MIN.to_le_bytes()[..]), "-9223372036854775808"),
            (Kind::TINY, Some(&[7][..]), "7"),
            (Kind::DOUBLE, Some(&double(1.5e300)[..]), "1.5e300"),
            (Kind::DOUBLE, Some(&double(1e15)[..]), "1e15"),
            (Kind::DOUBLE, Some(&double(123_456_789_012_345_680_000.0)[..]), "1.2345678901234568e20"),
            (Kind::DOUBLE, Some(&double(1e-7)[..]), "0.0000001"),
            (Kind::DOUBLE, Some(&double(5.0)[..]), "5"),
            (Kind::FLOAT, Some(&0.1_f32.to_le_bytes()[..]), "0.10000000149011612"),
            (Kind::NEWDECIMAL, Some(b"-12.50"), "-12.50"),
            (
                Kind::DATETIME,
                Some(b"\xe8\x07\x02\x1d\x0c\x1e\x05\x40\xe2\x01\x00"),
                "TIMESTAMP'2024-02-29 12:30:05.123456'",
            ),
            (Kind::DATETIME, Some(b"\xe8\x07\x02\x1d"), "TIMESTAMP'2024-02-29 00:00:00'"),
            (Kind::DATE, Some(b"\xe8\x07\x02\x1d"), "DATE'2024-02-29'"),
            (Kind::TIME, Some(b"\x01\x01\0\0\0\x02\x03\x04\x20\xa1\x07\0"), "TIME'-26:03:04.500000'"),
            (Kind::TIME, Some(b""), "TIME'00:00:00'"),
            (Kind::VAR_STRING, Some(b"it's \"q\" \\ \n \0 \xc3\xa9"), "'it\\'s \\\"q\\\" \\\\ \\n \\0 \u{e9}'"),
            (Kind::VAR_STRING, Some(b"it's \\ \n"), "'it\\'s \\\\ \\n'"),
            (Kind::VAR_STRING, Some(b"\xff"), "'\\\\xFF'"),
            (Kind::BLOB, Some(b"\xc3\xa9 \xf0\x9f\x98\x80"), "'\u{e9} \\xF0\\x9F\\x98\\x80'"),
            (Kind::STRING, Some(b"\x1a\r\t\x08\"'"), "'\\Z\r\t\x08\\\"\\''"),
            (Kind::VAR_STRING, Some(b""), "''"),
            (Kind::LONG, None, "NULL"),
        ] {
            assert_eq!(
                prepared("select 'q', ? from t where a=?  -- c", &[(kind, bytes), (Kind::TINY, Some(&[3]))]),
                logged(&format!("select 'q', {literal} from t where a=3  -- c")),
                "{literal}"
            );
        }
    }

    #[test]
    fn other_values_stay_apart() {
        let texts = [
            "SELECT 1",
            "SELECT 1.5",
            "SELECT '1'",
            "SELECT -1",
            "SELECT 10",
            "SELECT 0x01",
            "SELECT x'01'",
            "SELECT 'a'",
            "SELECT 'a ?'",
            "SELECT ?",
            "SELECT NULL",
            "SELECT DATE'2024-02-29'",
            "SELECT '2024-02-29'",
        ];
        let mut known: Vec<String> = texts.iter().map(|text| logged(text)).collect();
        known.sort();
        known.dedup();
        assert_eq!(known.len(), texts.len(), "{known:?}");
    }

    #[test]
    fn notation_and_what_stands_around_do_not_matter() {
        for (one, other) in [
            ("SELECT 1; ", " \n SELECT 1"),
            ("SELECT 007, 1.50, 1e1", "SELECT 7, 1.5, 10"),
            ("SELECT \"it's\"", "SELECT 'it\\'s'"),
            ("SELECT 'a\u{1f600}b' /* \u{e9} */", "SELECT 'a\\xF0\\x9F\\x98\\x80b' /* \\xE9 */"),
        ] {
            assert_eq!(logged(one), logged(other));
        }
        assert_eq!(logged(";"), "");
        assert_eq!(logged("SELECT 'unfinished"), "SELECT 'unfinished");
        assert_eq!(logged("SELECT 99999999999999999999999"), logged("SELECT 99999999999999999999999.0"));
    }

    #[test]
    fn too_many_or_too_few_parameters_do_no_harm() {
        assert_eq!(prepared("SELECT ?", &[(Kind::TINY, Some(&[1])), (Kind::TINY, Some(&[2]))]), "SELECT 1");
        assert_eq!(prepared("SELECT ?, ?", &[(Kind::TINY, Some(&[1]))]), "SELECT 1, ?");
        assert_eq!(prepared("SELECT ?", &[(Kind::DOUBLE, Some(b"short"))]), "SELECT 'short'");
    }
}
