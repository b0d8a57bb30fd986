//! What a string says becomes another string of the same form.
//!
//! A number in a string is exchanged as that number is elsewhere, and so are dates, times, UUIDs and the parts of JSON and
//! arrays; so that they stay valid, and equal to the same value in another notation. Any other string keeps its length and
//! the kind of each of its characters: a letter becomes a letter, a digit a digit, and what is neither stays.

use super::key::{Key, Use};

/// What a column of few possible values holds, or what is no value but a word of the language.
const WORDS: &[&str] = &[
    "true",
    "false",
    "t",
    "f",
    "yes",
    "no",
    "y",
    "n",
    "on",
    "off",
    "null",
    "now",
    "today",
    "tomorrow",
    "yesterday",
    "epoch",
    "infinity",
    "-infinity",
    "nan",
    "allballs",
];

/// True for a word that stays as it is.
pub(super) fn is_word(text: &[u8]) -> bool {
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
}

impl Key {
    /// Another string of the same form. White space around it stays.
    pub(super) fn text(&self, text: &[u8]) -> Vec<u8> {
        let core = text.trim_ascii();
        if core.is_empty() || is_word(core) {
            return text.to_vec();
        }
        let start = text.len() - text.trim_ascii_start().len();
        let (before, after) =
            (text.get(..start).unwrap_or_default(), text.get(start + core.len()..).unwrap_or_default());
        [before, &self.core(core), after].concat()
    }

    fn core(&self, text: &[u8]) -> Vec<u8> {
        if let Some(number) = self.number(text).or_else(|| self.moment(text)).or_else(|| self.interval(text)) {
            return number;
        }
        match text {
            [b'{' | b'[' | b'"', ..] => {
                if let Some(json) = self.json(text) {
                    return json;
                }
                return self.pieces(text, b"{}[](),:\"");
            }
            [b'(', ..] => return self.pieces(text, b"{}[](),:\""),
            [b'$', b'.' | b'[', ..] => return self.pieces(text, b"$.[]*\""),
            [b'\\', b'x', digits @ ..] => {
                if let Some(bytes) = unhex(digits) {
                    return [b"\\x".as_slice(), &hex(&self.bytes(&bytes))].concat();
                }
            }
            _ => {}
        }
        if let Some(uuid) = self.uuid_text(text) {
            return uuid;
        }
        let is_address = |text: &[u8]| {
            text.split(|&byte| byte == b'.').count() == 4
                && text
                    .split(|&byte| byte == b'.')
                    .all(|part| (1..=3).contains(&part.len()) && part.iter().all(u8::is_ascii_digit))
        };
        let end = text.iter().position(|&byte| byte == b'/').unwrap_or(text.len());
        if text.split_at_checked(end).is_some_and(|(address, mask)| is_address(address) && mask.len() <= 3) {
            let (address, mask) = text.split_at(end);
            return [&self.runs(address), mask].concat();
        }
        self.pattern(text)
    }

    /// Each part between separators by itself.
    fn pieces(&self, text: &[u8], separators: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        for run in text.chunk_by(|one, other| separators.contains(one) == separators.contains(other)) {
            match run.first() {
                Some(first) if !separators.contains(first) => out.extend(self.text(run)),
                _ => out.extend_from_slice(run),
            }
        }
        out
    }

    /// JSON: keys and strings as strings, numbers as numbers. `None` where it is not made of JSON's tokens.
    fn json(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            let run = |belongs: fn(&u8) -> bool| {
                let rest = text.get(at..).unwrap_or_default();
                at + rest.iter().position(|byte| !belongs(byte)).unwrap_or(rest.len())
            };
            let end = match byte {
                b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                    out.push(byte);
                    at + 1
                }
                b'"' => {
                    let mut end = at + 1;
                    while *text.get(end)? != b'"' {
                        end += if text.get(end) == Some(&b'\\') { 2 } else { 1 };
                    }
                    let content: String = serde_json::from_slice(text.get(at..=end)?).ok()?;
                    let new = String::from_utf8(self.text(content.as_bytes())).ok()?;
                    out.extend(serde_json::to_vec(&new).ok()?);
                    end + 1
                }
                b'-' | b'0'..=b'9' => {
                    let end = run(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E'));
                    out.extend(self.number(text.get(at..end)?)?);
                    end
                }
                _ => {
                    let end = run(u8::is_ascii_alphabetic);
                    let word = text.get(at..end)?;
                    if ![b"true".as_slice(), b"false", b"null"].contains(&word) {
                        return None;
                    }
                    out.extend_from_slice(word);
                    end
                }
            };
            at = end;
        }
        Some(out)
    }

    /// The 16 bytes of a UUID; version and variant stay.
    pub(super) fn uuid(&self, bytes: [u8; 16]) -> [u8; 16] {
        let mut new = self.hash(Use::Uuid, &[&bytes]).to_be_bytes();
        if let (Some(version), Some(old)) = (new.get_mut(6), bytes.get(6)) {
            *version = *version & 0x0f | old & 0xf0;
        }
        if let (Some(variant), Some(old)) = (new.get_mut(8), bytes.get(8)) {
            *variant = *variant & 0x3f | old & 0xc0;
        }
        new
    }

    fn uuid_text(&self, text: &[u8]) -> Option<Vec<u8>> {
        const DASHES: [usize; 4] = [8, 13, 18, 23];
        let dashed = text.len() == 36 && DASHES.iter().all(|&at| text.get(at) == Some(&b'-'));
        if !dashed {
            return None;
        }
        let digits: Vec<u8> = text.iter().copied().filter(|&byte| byte != b'-').collect();
        let bytes: [u8; 16] = unhex(&digits)?.try_into().ok()?;
        let mut digits = hex(&self.uuid(bytes)).into_iter();
        let upper = text.iter().any(u8::is_ascii_uppercase);
        let mut next = || digits.next().map(|digit| if upper { digit.to_ascii_uppercase() } else { digit });
        (0..36).map(|at| if DASHES.contains(&at) { Some(b'-') } else { next() }).collect()
    }

    /// Bytes of no known form: as many others.
    pub(super) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        if bytes.len() > 15 {
            let stream = self.stream(self.hash(Use::Bytes, &[bytes]));
            return bytes.iter().zip(stream).map(|(_, random)| random as u8).collect();
        }
        let size = 1_u128 << (8 * bytes.len());
        let number = bytes.iter().fold(0, |number, &byte| number << 8 | u128::from(byte));
        let new = self.permute(number, size, self.hash(Use::Bytes, &[&[bytes.len() as u8]])).to_be_bytes();
        new.get(16 - bytes.len()..).unwrap_or_default().to_vec()
    }

    /// As many bits, as text of 0 and 1; a single one stays.
    pub(super) fn bits(&self, bits: &[u8]) -> Vec<u8> {
        let value = |bits: &[u8]| bits.iter().fold(0_u128, |number, &bit| number << 1 | u128::from(bit == b'1'));
        match bits.len() {
            0 | 1 => bits.to_vec(),
            length if length <= 120 => {
                let tweak = self.hash(Use::Bits, &[&[length as u8]]);
                format!("{:0length$b}", self.permute(value(bits), 1 << length, tweak)).into_bytes()
            }
            _ => {
                let stream = self.stream(self.hash(Use::Bits, &[bits]));
                bits.iter().zip(stream).map(|(_, random)| b'0' + (random & 1) as u8).collect()
            }
        }
    }

    /// Letters for letters and digits for digits.
    pub(super) fn pattern(&self, text: &[u8]) -> Vec<u8> {
        let places = places(text);
        // Letters that are not ASCII share places, so that only a hash tells them apart.
        let shared = places.iter().any(|place| matches!(place.alphabet, Alphabet::Foreign(_) | Alphabet::Byte));
        let fits = places.iter().try_fold(1_u128, |size, place| {
            size.checked_mul(place.alphabet.size().into()).filter(|&size| size <= 1 << 120 && !shared)
        });
        let mut out = Vec::with_capacity(text.len());
        match fits {
            Some(size) => {
                let form: Vec<u8> = places.iter().map(|place| place.alphabet.mark()).collect();
                let number = places
                    .iter()
                    .fold(0, |number, place| number * u128::from(place.alphabet.size()) + u128::from(place.letter));
                let mut number = self.permute(number, size, self.hash(Use::Pattern, &[&form]));
                let mut letters = Vec::with_capacity(places.len());
                for place in places.iter().rev() {
                    let size = u128::from(place.alphabet.size());
                    letters.push((number % size) as u32);
                    number /= size;
                }
                places
                    .iter()
                    .zip(letters.into_iter().rev())
                    .for_each(|(place, letter)| place.alphabet.write(letter, &mut out));
            }
            None => {
                let mut stream = self.stream(self.hash(Use::Pattern, &[text]));
                for place in places {
                    let letter = stream.next().map_or(0, |random| u32::from(random) % place.alphabet.size());
                    place.alphabet.write(letter, &mut out);
                }
            }
        }
        out
    }
}

/// A character of a string: where it stands among those that may take its place.
struct Place {
    alphabet: Alphabet,
    letter: u32,
}

/// Characters that may take each other's place: of the same kind, and of the same length in bytes.
#[derive(Clone, Copy)]
enum Alphabet {
    Lower,
    Upper,
    Digit,
    Hex,
    /// Letters of this many bytes in UTF-8.
    Foreign(u8),
    /// A byte that is no UTF-8.
    Byte,
    /// Itself: neither letter nor digit.
    Fixed(u8),
}

impl Alphabet {
    fn size(self) -> u32 {
        match self {
            Alphabet::Lower | Alphabet::Upper => 26,
            Alphabet::Digit => 10,
            Alphabet::Hex => 16,
            Alphabet::Foreign(2) => 32,
            Alphabet::Foreign(_) => 0x4000,
            Alphabet::Byte => 94,
            Alphabet::Fixed(_) => 1,
        }
    }

    fn mark(self) -> u8 {
        match self {
            Alphabet::Lower => b'a',
            Alphabet::Upper => b'A',
            Alphabet::Digit => b'0',
            Alphabet::Hex => b'h',
            Alphabet::Foreign(length) => 0x80 | length,
            Alphabet::Byte => 0xff,
            Alphabet::Fixed(byte) => byte,
        }
    }

    fn write(self, letter: u32, out: &mut Vec<u8>) {
        let first = match self {
            Alphabet::Lower => return out.push(b'a' + letter as u8),
            Alphabet::Upper => return out.push(b'A' + letter as u8),
            Alphabet::Digit => return out.push(b'0' + letter as u8),
            Alphabet::Hex => return out.push(b"0123456789abcdef".get(letter as usize).copied().unwrap_or(b'0')),
            Alphabet::Byte => return out.push(0xa1 + letter as u8),
            Alphabet::Fixed(byte) => return out.push(byte),
            // Cyrillic, and two planes of Chinese.
            Alphabet::Foreign(2) => 0x430,
            Alphabet::Foreign(3) => 0x4e00,
            Alphabet::Foreign(_) => 0x2_0000,
        };
        let letter = char::from_u32(first + letter).unwrap_or('?');
        out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

fn places(text: &[u8]) -> Vec<Place> {
    let has = |belongs: fn(&u8) -> bool| text.iter().any(belongs);
    let letters = |byte: &u8| !byte.is_ascii_alphabetic() || matches!(byte, b'a'..=b'f');
    let is_hex = text.len() >= 8 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) && text.iter().all(letters);
    let mut places = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for letter in chunk.valid().chars() {
            let (alphabet, letter) = match letter {
                '0'..='9' | 'a'..='f' if is_hex => (Alphabet::Hex, letter.to_digit(16).unwrap_or(0)),
                'a'..='z' => (Alphabet::Lower, letter as u32 - 'a' as u32),
                'A'..='Z' => (Alphabet::Upper, letter as u32 - 'A' as u32),
                '0'..='9' => (Alphabet::Digit, letter as u32 - '0' as u32),
                '\0'..='\x7f' => (Alphabet::Fixed(letter as u8), 0),
                _ => {
                    let alphabet = Alphabet::Foreign(letter.len_utf8() as u8);
                    (alphabet, letter as u32 % alphabet.size())
                }
            };
            places.push(Place { alphabet, letter });
        }
        let bytes = chunk.invalid().iter();
        places.extend(bytes.map(|&byte| Place { alphabet: Alphabet::Byte, letter: u32::from(byte) % 94 }));
    }
    places
}

/// Hexadecimal digits of bytes.
pub(super) fn hex(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

/// The bytes of hexadecimal digits.
pub(super) fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let pairs = digits.chunks(2).map(|pair| {
        let text = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2 && !pair.starts_with('+'))?;
        u8::from_str_radix(text, 16).ok()
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        String::from_utf8(Key::from_bytes([5; 16]).text(text.as_bytes())).expect("UTF-8 stays UTF-8")
    }

    fn form(text: &str) -> String {
        let letter = |letter: char| match letter {
            'a'..='z' => 'a',
            'A'..='Z' => 'A',
            '0'..='9' => '0',
            letter if letter.is_ascii() => letter,
            letter => char::from(b'0' + letter.len_utf8() as u8),
        };
        text.chars().map(letter).collect()
    }

    #[test]
    fn strings_keep_their_form() {
        for sent in [
            "alice",
            "Alice Liddell",
            "a.liddell+news@example.org",
            "+49 170 1234567",
            "%lid_ell%",
            "AB-1234",
            "\u{e9}t\u{e9} \u{6771}\u{4eac} \u{1f600}",
            "a long text that has more letters than one number could ever hold, and so is hashed",
            " padded ",
        ] {
            let new = text(sent);
            assert_eq!(form(&new), form(sent), "{sent}: {new}");
            assert_ne!(new, sent);
            assert_eq!(text(sent), new);
        }
        for stays in ["", " ", "%", "--", "true", "F", "now", "***"] {
            assert_eq!(text(stays), stays);
        }
    }

    #[test]
    fn short_strings_stay_apart() {
        let all: std::collections::HashSet<String> =
            ('a'..='z').flat_map(|one| ('a'..='z').map(move |two| text(&format!("{one}{two}-")))).collect();
        assert_eq!(all.len(), 26 * 26);
    }

    #[test]
    fn values_in_strings_are_those_values() {
        let key = Key::from_bytes([5; 16]);
        assert_eq!(text("4711"), key.whole(4711).to_string());
        assert_eq!(text("{4711,NULL,alice}"), format!("{{{},NULL,{}}}", text("4711"), text("alice")));
        let json = text(r#"{"name": "alice \"A\"", "n": [4711, 2.5, true, null]}"#);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
        assert_eq!(value[text("name")], text("alice \"A\""));
        assert_eq!(value[text("n")][0].to_string(), text("4711"));
        assert_eq!(value[text("n")][2], true);
        assert_eq!(text("$.name[2]"), format!("$.{}[{}]", text("name"), text("2")));
        let uuid = text("6F9619FF-8B86-D011-B42D-00CF4FC964FF");
        assert!(
            uuid.len() == 36 && uuid.as_bytes()[14] == b'D' && uuid != "6F9619FF-8B86-D011-B42D-00CF4FC964FF",
            "{uuid}"
        );
        assert_eq!(text("6f9619ff-8b86-d011-b42d-00cf4fc964ff"), uuid.to_lowercase());
        let address = text("192.168.77.42/24");
        let octets = address.trim_end_matches("/24").split('.').map(|octet| octet.parse::<u8>());
        assert!(octets.clone().count() == 4 && octets.clone().all(|octet| octet.is_ok()), "{address}");
        let sum = text("d41d8cd98f00b204e9800998ecf8427e");
        assert!(sum.bytes().all(|byte| byte.is_ascii_hexdigit()), "{sum}");
        assert_eq!(text("\\xdeadbeef").len(), 10);
    }

    #[test]
    fn bits_and_bytes_keep_their_length() {
        let key = Key::from_bytes([5; 16]);
        for length in [0, 1, 2, 15, 16, 100] {
            assert_eq!(key.bytes(&vec![7; length]).len(), length);
        }
        for bits in ["", "1", "01", "10110011100011110000"] {
            assert_eq!(key.bits(bits.as_bytes()).len(), bits.len());
        }
        assert_eq!(key.bits(&[b'1'; 500]).len(), 500);
        let latin = key.text(b"caf\xe9 au lait");
        assert!(std::str::from_utf8(&latin).is_err() && latin.len() == 12);
    }
}
