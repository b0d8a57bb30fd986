//! Times as the prefix of a line writes them.

use crate::log::time::{self, Times};

/// A time, as it stands in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) enum Stamp<'a> {
    /// A local time and the abbreviation of its zone, which may be missing.
    Local(&'a [u8], &'a [u8]),
    /// Seconds since 1970 with a fraction.
    Epoch(&'a [u8]),
}

impl<'a> Stamp<'a> {
    /// Reads `2021-01-22 10:03:22[.785][ CET]`, to its end.
    pub fn read(text: &'a [u8]) -> Option<Self> {
        let (local, zone) = text.split_at_checked(local(text)?)?;
        Some(Stamp::Local(local, zone.strip_prefix(b" ").unwrap_or(zone)))
    }

    /// Nanoseconds since 1970 UTC, and what the stamp does not tell apart.
    pub fn resolve(&self, times: &mut Times) -> Option<(i64, i64)> {
        let (ns, fraction) = match *self {
            Stamp::Local(local, zone) => {
                (times.read(local, zone)?, local.get(19..).is_some_and(|rest| !rest.is_empty()))
            }
            Stamp::Epoch(text) => {
                let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
                let (seconds, fraction) = text.split_at_checked(point)?;
                let ns = time::number(seconds)?.checked_mul(1_000_000_000)?;
                (ns.checked_add(time::nanoseconds(fraction)?)?, !fraction.is_empty())
            }
        };
        Some((ns, if fraction { 1_000_000 } else { 1_000_000_000 }))
    }
}

/// Where a time with its zone may end, the likeliest first.
pub(super) fn ends(text: &[u8]) -> [Option<usize>; 3] {
    let Some(local) = local(text) else { return [None; 3] };
    let zone = text.get(local..).and_then(|rest| rest.strip_prefix(b" ")).map_or(0, zone);
    [(zone > 0).then_some(local + 1 + zone), Some(local), None]
}

/// The length of a date and a time of day.
fn local(text: &[u8]) -> Option<usize> {
    let form = b"0000-00-00 00:00:00";
    let head = text.get(..form.len())?;
    let is_like = |(&byte, &like): (&u8, &u8)| if like == b'0' { byte.is_ascii_digit() } else { byte == like };
    if !head.iter().zip(form).all(is_like) {
        return None;
    }
    let digits = match text.get(form.len()..)? {
        [b'.', rest @ ..] => rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len()),
        _ => 0,
    };
    Some(form.len() + if digits > 0 { 1 + digits } else { 0 })
}

/// The length of an abbreviation (`CET`) or of an offset (`+03`, `-0330`).
fn zone(text: &[u8]) -> usize {
    match text.first() {
        Some(b'+' | b'-') => {
            let digits = text.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
            if matches!(digits, 2 | 4) { 1 + digits } else { 0 }
        }
        _ => {
            let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            // Where no zone is written the severity follows, with its colon.
            let is_word = (1..=6).contains(&letters) && super::level::Level::read(text).is_none();
            if is_word { letters } else { 0 }
        }
    }
}
