//! Logs that were damaged in every way a file can be.

use super::scene::Log;
use splitproof_capture::log::Settings;

/// Mutilations of each format.
const ROUNDS: u64 = 200;

/// Reads mutilated copies of these logs. None may panic, every entry is accounted for, and the rows of each session are in order;
/// [`Log::with`] checks both.
#[track_caller]
pub fn check(format: &str, samples: &[&[u8]]) {
    let mut read = 0;
    for round in 0..ROUNDS {
        let mut random = Random(round.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed);
        let one = samples[random.below(samples.len())];
        let other = samples[random.below(samples.len())];
        let mut text = one.to_vec();
        for _ in 0..=random.below(3) {
            text = mutilate(&text, other, &mut random);
        }
        // Now and then the log is in several files.
        let cut = random.below(text.len() + 1);
        let files = if random.below(3) == 0 { vec![&text[..cut], &text[cut..]] } else { vec![&text[..]] };
        read += Log::with(format, &Settings::default(), &files).rows.len();
    }
    assert!(read as u64 > ROUNDS, "{format}: mutilated beyond use");
}

fn mutilate(text: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let place = random.below(text.len() + 1);
    match random.below(7) {
        // Cut at the end, or at the beginning.
        0 => text[..place].to_vec(),
        1 => text[place..].to_vec(),
        // Some bits turned over.
        2 => {
            let mut text = text.to_vec();
            for _ in 0..random.below(20) * usize::from(!text.is_empty()) {
                let place = random.below(text.len());
                text[place] ^= 1 << random.below(8);
            }
            text
        }
        // Lines in any order.
        3 => {
            let mut lines = lines(text);
            for last in (1..lines.len()).rev() {
                lines.swap(last, random.below(last + 1));
            }
            lines.concat()
        }
        // Lines twice.
        4 => lines(text).into_iter().flat_map(|line| vec![line; 1 + random.below(4) / 3]).collect::<Vec<_>>().concat(),
        // Two writers at once.
        5 => {
            let (mut one, mut other) = (lines(text).into_iter(), lines(other).into_iter());
            let mut mixed = Vec::new();
            while let Some(line) = if random.below(2) == 0 { one.next() } else { other.next() } {
                mixed.extend_from_slice(line);
            }
            mixed.extend(one.chain(other).flatten());
            mixed
        }
        // A piece of something else.
        _ => {
            let length = random.below(64);
            let piece = (0..length).map(|_| random.below(256) as u8);
            [&text[..place], &piece.collect::<Vec<_>>()[..], &text[place..]].concat()
        }
    }
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}
