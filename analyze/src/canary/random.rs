//! What a random sample of the sessions would cover.

/// The probability that at least one of `having` of all `sessions` is in a random sample of `taken`: exactly, by the hypergeometric
/// distribution.
pub fn hit(sessions: u64, having: u64, taken: u64) -> f64 {
    if having == 0 || taken == 0 {
        return 0.0;
    }
    // C(N - n, k) / C(N, k), as a product over the fewer of n and k.
    let (few, many) = if having < taken { (having, taken) } else { (taken, having) };
    let mut missed = 1.0;
    for at in 0..few {
        let left = (sessions - at) as f64;
        missed *= (left - many as f64).max(0.0) / left;
        if missed < 1e-12 {
            return 1.0;
        }
    }
    1.0 - missed
}

#[cfg(test)]
mod tests {
    use super::hit;

    #[test]
    fn samples_hit_as_often_as_counting_says() {
        // Of the six pairs of four sessions, three hold a certain one, and five at least one of two.
        assert!((hit(4, 1, 2) - 0.5).abs() < 1e-12);
        assert!((hit(4, 2, 2) - 5.0 / 6.0).abs() < 1e-12);
        assert_eq!((hit(4, 3, 2), hit(4, 0, 2), hit(4, 1, 0), hit(4, 4, 1)), (1.0, 0.0, 0.0, 1.0));
        // One of 1000 in a sample of 50: one in twenty.
        assert!((hit(1000, 1, 50) - 0.05).abs() < 1e-12);
    }
}
