//! Numbers become numbers: of the same sign, the same number of digits, and within the same integer types.

use super::key::{Key, Use};

/// Where, beside the powers of ten, one class of numbers ends and the next begins: the largest values of the integer types,
/// and their smallest ones, each a class by itself.
const BOUNDS: [u128; 14] = [
    1 << 7,
    (1 << 7) + 1,
    1 << 8,
    1 << 15,
    (1 << 15) + 1,
    1 << 16,
    1 << 23,
    (1 << 23) + 1,
    1 << 24,
    1 << 31,
    (1 << 31) + 1,
    1 << 32,
    1 << 63,
    (1 << 63) + 1,
];
const BEYOND: u128 = 1 << 64;

/// Digits of the longest number that is taken as one; a longer one is a string of digits.
const DIGITS: usize = 34;

/// The numbers among which a number is exchanged: from the first up to the second.
fn class(number: u128) -> (u128, u128) {
    let mut from = 1;
    while number / 10 >= from {
        from *= 10;
    }
    let mut to = from * 10;
    // 0 and 1 stand for false and true more often than not.
    from = from.max(2);
    for bound in BOUNDS.into_iter().chain([BEYOND]) {
        if bound <= number {
            from = from.max(bound);
        } else {
            to = to.min(bound);
        }
    }
    (from, to)
}

impl Key {
    /// A whole number. 0 and 1 stay, and so do the smallest values of the integer types.
    pub(super) fn whole(&self, number: u128) -> u128 {
        if number < 2 {
            return number;
        }
        let (from, to) = class(number);
        from + self.permute(number - from, to - from, self.hash(Use::Number, &[&from.to_le_bytes()]))
    }

    /// A signed number.
    pub(super) fn signed(&self, number: i128) -> i128 {
        let size = self.whole(number.unsigned_abs());
        if number < 0 { 0_i128.wrapping_sub_unsigned(size) } else { size as i128 }
    }

    /// The digits of a whole number, as many as before; zeros at the beginning stay.
    pub(super) fn digits(&self, digits: &[u8]) -> Vec<u8> {
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        let (lead, rest) = digits.split_at(zeros);
        let Some(number) = value(rest) else {
            let mut stream = self.stream(self.hash(Use::Digits, &[rest]));
            let mut next = |first: bool| {
                stream.next().map_or(b'0', |n| if first { b'1' + (n % 9) as u8 } else { b'0' + (n % 10) as u8 })
            };
            return lead.iter().copied().chain((0..rest.len()).map(|at| next(at == 0))).collect();
        };
        let number = if rest.is_empty() { String::new() } else { self.whole(number).to_string() };
        [lead, number.as_bytes()].concat()
    }

    /// The digits of a fraction, as many as before; zeros at the end stay, so that 1.50 is 1.5 afterwards too.
    pub(super) fn fraction(&self, whole: &[u8], digits: &[u8]) -> Vec<u8> {
        let zeros = digits.iter().rev().take_while(|&&digit| digit == b'0').count();
        let (rest, trail) = digits.split_at(digits.len() - zeros);
        let tweak = self.hash(Use::Fraction, &[whole, &[rest.len() as u8]]);
        let new = match value(rest) {
            _ if rest.is_empty() => Vec::new(),
            Some(number) => {
                // The last digit is not 0, so there are nine of it.
                let place = number / 10 * 9 + number % 10 - 1;
                let size = 10_u128.pow(rest.len() as u32 - 1) * 9;
                let place = self.permute(place, size, tweak);
                let number = place / 9 * 10 + place % 9 + 1;
                format!("{number:0width$}", width = rest.len()).into_bytes()
            }
            None => {
                let mut stream = self.stream(self.hash(Use::Digits, &[&tweak.to_le_bytes(), rest]));
                let last = rest.len() - 1;
                let next = |at| {
                    stream
                        .next()
                        .map_or(b'1', |n| if at == last { b'1' + (n % 9) as u8 } else { b'0' + (n % 10) as u8 })
                };
                (0..rest.len()).map(next).collect()
            }
        };
        [&new, trail].concat()
    }

    /// A number as SQL or a client writes it: `12`, `-1.50`, `.5`, `1_000`, `6.02E23` (its exponent stays). `None` for
    /// anything else.
    pub(super) fn number(&self, text: &[u8]) -> Option<Vec<u8>> {
        let sign = text.iter().take_while(|byte| matches!(byte, b'+' | b'-')).count().min(1);
        let (sign, rest) = text.split_at_checked(sign)?;
        let end = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'_' | b'.')).unwrap_or(rest.len());
        let (mantissa, exponent) = rest.split_at_checked(end)?;
        let exponent_is = match exponent {
            [] => true,
            [b'e' | b'E', b'+' | b'-', digits @ ..] | [b'e' | b'E', digits @ ..] => {
                !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
            }
            _ => false,
        };
        let point = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
        let (whole, fraction) = mantissa.split_at_checked(point)?;
        let plain = |text: &[u8]| text.iter().copied().filter(u8::is_ascii_digit).collect::<Vec<u8>>();
        let (whole_digits, fraction_digits) = (plain(whole), plain(fraction));
        let points = mantissa.iter().filter(|&&byte| byte == b'.').count();
        if !exponent_is || points > 1 || whole_digits.is_empty() && fraction_digits.is_empty() {
            return None;
        }
        let significant: Vec<u8> = whole_digits.iter().copied().skip_while(|&digit| digit == b'0').collect();
        let mut new = self.digits(&whole_digits);
        new.extend(self.fraction(&significant, &fraction_digits));
        // Where a digit was, there is a digit.
        let mut new = new.into_iter();
        let places = mantissa.iter().map(|&byte| if byte.is_ascii_digit() { new.next().unwrap_or(b'0') } else { byte });
        Some(sign.iter().copied().chain(places).chain(exponent.iter().copied()).collect())
    }

    /// A floating-point number, by its shortest decimal text.
    pub(super) fn float(&self, text: &str) -> Option<String> {
        String::from_utf8(self.number(text.as_bytes())?).ok()
    }
}

/// The number that digits make; `None` where there are too many.
fn value(digits: &[u8]) -> Option<u128> {
    (digits.len() <= DIGITS).then(|| digits.iter().fold(0, |number, digit| number * 10 + u128::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key::from_bytes([3; 16])
    }

    fn number(text: &str) -> String {
        String::from_utf8(key().number(text.as_bytes()).unwrap_or_else(|| panic!("{text}"))).expect("digits")
    }

    #[test]
    fn numbers_keep_their_form_and_their_types() {
        for text in [
            "12",
            "-1.50",
            ".5",
            "5.",
            "1_000_000",
            "6.02E23",
            "007",
            "+4",
            "1e5",
            "0.0001",
            "123456789012345678901234567890123456789012",
        ] {
            let new = number(text);
            assert_eq!(new.len(), text.len(), "{text}: {new}");
            let form = |text: &str| {
                text.bytes().map(|byte| if byte.is_ascii_digit() { b'9' } else { byte }).collect::<Vec<_>>()
            };
            assert_eq!(form(&new), form(text));
            assert!(new.parse::<f64>().is_ok() || text.contains('_'), "{new}");
        }
        for wrong in ["", "-", "1.2.3", "abc", "1e", "0x1F", "1-2", ".", "_"] {
            assert_eq!(key().number(wrong.as_bytes()), None, "{wrong}");
        }
        for most in [127, 255, 32_767, 65_535, 8_388_607, 2_147_483_647, u64::MAX as u128, i64::MAX as u128] {
            for number in [most, most - 1, most - most / 50] {
                assert!(key().whole(number) <= most, "{number} stays within {most}");
            }
        }
        for least in [i128::from(i8::MIN), i128::from(i16::MIN), i128::from(i32::MIN), i128::from(i64::MIN)] {
            assert_eq!(key().signed(least), least);
            assert!(key().signed(least + 1) > least);
        }
    }

    #[test]
    fn equal_values_stay_equal_and_others_apart() {
        assert_eq!(number("1.5") + "0", number("1.50"));
        assert_eq!(number("12.0"), number("12") + ".0");
        assert_eq!(number("0.5"), format!("0{}", number(".5")));
        assert_eq!("00".to_owned() + &number("77"), number("0077"));
        assert_eq!(number("1_000").replace('_', ""), number("1000"));
        assert_eq!((number("0"), number("1")), ("0".into(), "1".into()));
        let images: std::collections::HashSet<u128> = (0..20_000).map(|number| key().whole(number)).collect();
        assert_eq!(images.len(), 20_000);
        let tenths: std::collections::HashSet<String> = (0..1000).map(|n| number(&format!("7.{n:03}"))).collect();
        assert_eq!(tenths.len(), 1000);
        assert_ne!(number("123456"), "123456");
    }
}
