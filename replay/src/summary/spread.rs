//! A distribution in a few numbers.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// A distribution of times in a few numbers, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of values.
    pub count: u64,
    /// Half of the values are no greater.
    pub p50_ns: u64,
    /// 99 of 100 values are no greater.
    pub p99_ns: u64,
    /// 999 of 1000 values are no greater.
    pub p999_ns: u64,
    /// The greatest value.
    pub max_ns: u64,
}

impl Spread {
    /// The numbers of a histogram of nanoseconds.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        Spread {
            count: histogram.len(),
            p50_ns: histogram.value_at_quantile(0.5),
            p99_ns: histogram.value_at_quantile(0.99),
            p999_ns: histogram.value_at_quantile(0.999),
            max_ns: histogram.max(),
        }
    }
}
