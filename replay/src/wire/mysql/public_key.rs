//! The server's public key, with which a password is encrypted that has to be sent whole.

use mysql_common::crypto;

/// Shortest modulus in which a password finds room beside the padding (OAEP with SHA-1 takes 42 bytes).
const PADDING: usize = 42;

/// Encrypts a password with the key that the server sent (PEM), mixed with the scramble so that it cannot be sent again.
/// `None` when that is no RSA key in which the password finds room.
pub(super) fn encrypt(password: &[u8], scramble: &[u8], pem: &[u8]) -> Option<Vec<u8>> {
    if scramble.is_empty() {
        return None;
    }
    let ended = password.iter().copied().chain([0]);
    let mixed: Vec<u8> = ended.zip(scramble.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    // The library takes a good key for granted, and this one comes from outside.
    let modulus = modulus_len(pem)?;
    (mixed.len() + PADDING < modulus).then(|| crypto::encrypt(&mixed, pem))
}

/// Length of the modulus of a key in PEM, in bytes; `None` where it is no RSA key.
fn modulus_len(pem: &[u8]) -> Option<usize> {
    let text = str::from_utf8(pem).ok()?.trim();
    for (kind, is_wrapped) in [("RSA PUBLIC KEY", false), ("PUBLIC KEY", true)] {
        let body = text
            .strip_prefix(&format!("-----BEGIN {kind}-----"))
            .and_then(|rest| rest.strip_suffix(&format!("-----END {kind}-----")));
        let Some(body) = body else { continue };
        let der = base64(body)?;
        let mut key = content(0x30, &mut der.as_slice())?;
        let wrapped;
        if is_wrapped {
            let algorithm = content(0x30, &mut key)?;
            // rsaEncryption, 1.2.840.113549.1.1.1, and a NULL.
            if algorithm != b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00" {
                return None;
            }
            wrapped = content(0x03, &mut key)?.strip_prefix(b"\0")?;
            key = content(0x30, &mut &*wrapped)?;
        }
        let modulus = content(0x02, &mut key)?;
        let exponent = content(0x02, &mut key)?;
        let modulus = modulus.strip_prefix(b"\0").unwrap_or(modulus);
        let right = (64..=2048).contains(&modulus.len())
            && modulus.first().is_some_and(|first| first & 0x80 != 0)
            && (1..=8).contains(&exponent.len())
            && key.is_empty();
        return right.then_some(modulus.len());
    }
    None
}

/// The content of the DER element at the start of `from`, which must have this tag.
fn content<'a>(tag: u8, from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (&[found, first], rest) = from.split_first_chunk::<2>()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 => rest.split_first().map(|(length, rest)| (usize::from(*length), rest))?,
        0x82 => rest.split_first_chunk().map(|(length, rest)| (usize::from(u16::from_be_bytes(*length)), rest))?,
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *from = rest;
    (found == tag).then_some(content)
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if digits.len() % 4 != 0 {
        return None;
    }
    let padding = digits.iter().rev().take_while(|byte| **byte == b'=').count();
    let (digits, _) = digits.split_at_checked(digits.len().checked_sub(padding)?)?;
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for digit in group {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        let missing = 4 - group.len();
        if padding > 2 || missing > 2 {
            return None;
        }
        let [_, bytes @ ..] = (bits << (6 * missing)).to_be_bytes();
        out.extend(bytes.into_iter().take(3 - missing));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `openssl genrsa 1024 | openssl rsa -pubout`.
    const KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQC5XtYBYWMd5fKSmIF8EJF/LOhi\n\
        MCSSlC3WOxdUhDTbiLkBEnc1y+NonJnSHWeSb+J+PKJPbLwesZ+eqKOms2LR29SJ\n\
        yJpvp2aNPtpb4nkmx0wYK0ph1W6oVm1ZS2q8p46BlbbTyqj2eKRGxCRizEk215FK\n\
        JIV7/nXyLuYpaQbxBwIDAQAB\n\
        -----END PUBLIC KEY-----\n";

    #[test]
    fn a_key_of_the_server_is_used() {
        let one = encrypt(b"secret", b"01234567890123456789", KEY.as_bytes()).unwrap();
        assert_eq!(one.len(), 128);
        // The padding is random.
        assert_ne!(one, encrypt(b"secret", b"01234567890123456789", KEY.as_bytes()).unwrap());
    }

    #[test]
    fn what_is_no_key_or_too_short_for_the_password_is_refused() {
        let scramble = b"01234567890123456789";
        assert_eq!(encrypt(&[b'x'; 100], scramble, KEY.as_bytes()), None);
        assert_eq!(encrypt(b"secret", b"", KEY.as_bytes()), None);
        assert_eq!(encrypt(b"secret", scramble, b""), None);
        assert_eq!(encrypt(b"secret", scramble, &KEY.as_bytes()[..200]), None);
        for at in 0..KEY.trim_end().len() {
            let mut damaged = KEY.as_bytes().to_vec();
            damaged[at] = b'!';
            // It may still be a key, but it is never a panic.
            encrypt(b"secret", scramble, &damaged);
            damaged.truncate(at);
            assert_eq!(encrypt(b"secret", scramble, &damaged), None, "{at}");
        }
    }
}
