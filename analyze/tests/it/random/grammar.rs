//! Drawing from alternatives.

/// A source of choices.
pub struct Draw(fastrand::Rng);

impl Draw {
    /// The sequence of this number, of this seed.
    pub fn new(seed: u64, number: u32) -> Self {
        Draw(fastrand::Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(number.into())))
    }

    /// One of these texts.
    pub fn one(&mut self, of: &[&str]) -> String {
        of[self.0.usize(..of.len())].to_owned()
    }

    /// A number from 0 on.
    pub fn below(&mut self, end: u32) -> u32 {
        self.0.u32(..end)
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }
}
