//! One metric and the bound it must keep.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// How a metric is held against its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Comparator {
    /// Less than.
    #[serde(rename = "<")]
    Less,
    /// At most; a bare number in a gate file means this.
    #[serde(rename = "<=")]
    AtMost,
    /// More than.
    #[serde(rename = ">")]
    More,
    /// At least.
    #[serde(rename = ">=")]
    AtLeast,
    /// Equal to.
    #[serde(rename = "==")]
    Equal,
}

impl Comparator {
    // Two-character operators stand first, because "<" is also the beginning of "<=".
    const ALL: [(&'static str, Comparator); 5] = [
        ("<=", Comparator::AtMost),
        (">=", Comparator::AtLeast),
        ("==", Comparator::Equal),
        ("<", Comparator::Less),
        (">", Comparator::More),
    ];

    /// In words, to stand before a number.
    pub fn words(self) -> &'static str {
        match self {
            Comparator::Less => "less than",
            Comparator::AtMost => "at most",
            Comparator::More => "more than",
            Comparator::AtLeast => "at least",
            Comparator::Equal => "exactly",
        }
    }
}

/// A comparator and a number, written as in `"< 10"`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// How to compare.
    pub comparator: Comparator,
    /// With what.
    pub number: f64,
}

impl Bound {
    /// The bound of a bare number.
    pub fn at_most(number: f64) -> Self {
        Bound { comparator: Comparator::AtMost, number }
    }

    /// True when `value` keeps the bound. Not-a-number keeps none.
    pub fn holds(self, value: f64) -> bool {
        match self.comparator {
            Comparator::Less => value < self.number,
            Comparator::AtMost => value <= self.number,
            Comparator::More => value > self.number,
            Comparator::AtLeast => value >= self.number,
            Comparator::Equal => value == self.number,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.comparator.words(), self.number)
    }
}

/// A bound that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a bound: write a number, or one of < <= > >= == and a number, such as \"< 10\"")]
pub struct BoundError(String);

impl FromStr for Bound {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<Self, BoundError> {
        let trimmed = text.trim();
        let (comparator, number) = Comparator::ALL
            .iter()
            .find_map(|&(sign, comparator)| trimmed.strip_prefix(sign).map(|rest| (comparator, rest)))
            .unwrap_or((Comparator::AtMost, trimmed));
        match number.trim().trim_end_matches('%').trim_end().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Bound { comparator, number }),
            _ => Err(BoundError(text.to_owned())),
        }
    }
}

/// One metric and the bound it must keep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// Name of the metric.
    pub metric: String,
    /// What it must keep.
    pub bound: Bound,
    /// True when it holds without having been asked for, because what is unknown counts against a pass.
    pub built_in: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_as_people_write_them() {
        for (text, comparator, number) in [
            ("0", Comparator::AtMost, 0.0),
            ("< 10", Comparator::Less, 10.0),
            ("> -2", Comparator::More, -2.0),
            (">=0.5", Comparator::AtLeast, 0.5),
            (" <= 3 % ", Comparator::AtMost, 3.0),
            ("== 7", Comparator::Equal, 7.0),
        ] {
            assert_eq!(text.parse(), Ok(Bound { comparator, number }), "{text}");
        }
        for text in ["", "<", "ten", "< ten", "=> 1", "nan", "< inf"] {
            assert!(text.parse::<Bound>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_edge_belongs_to_at_most_and_not_to_less() {
        assert!("<= 10".parse::<Bound>().unwrap().holds(10.0));
        assert!(!"< 10".parse::<Bound>().unwrap().holds(10.0));
        assert!(!"<= 10".parse::<Bound>().unwrap().holds(f64::NAN));
    }
}
