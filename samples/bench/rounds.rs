//! Measuring in turn.

use anyhow::Result;

/// Does every work once in each round, and gives the median of what each measured: what disturbs the machine for a while disturbs
/// all of them, and none is judged by its luckiest moment.
pub fn medians<const N: usize>(rounds: usize, mut works: [&mut dyn FnMut() -> Result<f64>; N]) -> Result<[f64; N]> {
    let mut measured = [(); N].map(|()| Vec::with_capacity(rounds));
    for _ in 0..rounds {
        for (work, values) in works.iter_mut().zip(&mut measured) {
            values.push(work()?);
        }
    }
    Ok(measured.map(median))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
