//! Logs of each format, spoiled in every way of `damage`.

use super::damage::{Random, spoil};
use super::scene::Log;
use splitproof_capture::log::Settings;

/// Spoiled copies of each format.
const ROUNDS: u64 = 200;

/// Reads spoiled copies of these logs, in one file or two. None may panic, every entry is accounted for, and the rows of each
/// session are in order; [`Log::with`] checks both.
#[track_caller]
pub fn check(format: &str, samples: &[&[u8]]) {
    let mut read = 0;
    for round in 1..=ROUNDS {
        let mut random = Random(round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let other = samples[random.below(samples.len())];
        let mut text = samples[random.below(samples.len())].to_vec();
        for _ in 0..=random.below(3) {
            if !text.is_empty() {
                text = spoil(&text, other, &mut random);
            }
        }
        let cut = random.below(text.len() + 1);
        let files = if random.below(3) == 0 { vec![&text[..cut], &text[cut..]] } else { vec![&text[..]] };
        read += Log::with(format, &Settings::default(), &files).rows.len();
    }
    assert!(read as u64 > ROUNDS, "{format}: spoiled beyond use");
}
