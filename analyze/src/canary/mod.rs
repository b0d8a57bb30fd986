//! Which part of the traffic makes a good canary.
//!
//! A random twentieth of the sessions misses rare shapes, which are those that routers get wrong. A canary by user, application,
//! client or route can be chosen so that it covers them.
//!
//! - [`Universe`], [`By`]: a trace's shapes, and which group of the traffic sends which
//! - [`Target`], [`Measure`], [`Cost`]: what is wanted, and what is to be little
//! - [`cover`]: the greedy set cover with its bounds, on plain numbers
//! - [`choose`], [`Canary`]: the groups to take, and what a random sample would cover

mod choose;
pub mod cover;
mod random;
mod universe;

pub use choose::{Canary, Chosen, Left, Sample, Unreachable, choose};
pub use universe::{By, Universe};

/// What is to be covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Shapes, each counting one.
    Shapes,
    /// Shapes, each counting its requests.
    Calls,
    /// Shapes, each counting the time that clients waited for it.
    Time,
}

impl Measure {
    /// The word on the command line and in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Measure::Shapes => "shapes",
            Measure::Calls => "calls",
            Measure::Time => "time",
        }
    }
}

/// How much of what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// What.
    pub measure: Measure,
    /// The share, more than 0 and at most 1.
    pub share: f64,
}

impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("{text}: expected shapes, calls or time with a share, such as shapes=90%");
        let (word, share) = text.split_once('=').ok_or_else(expected)?;
        let measure =
            [Measure::Shapes, Measure::Calls, Measure::Time].into_iter().find(|measure| measure.as_str() == word);
        Ok(Target { measure: measure.ok_or_else(expected)?, share: share_of(share)? })
    }
}

/// A share such as `5%` or `0.05`: more than nothing, at most all.
pub fn share_of(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>().map(|number| number / unit) {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(format!("{text}: expected a share of more than nothing and at most all, such as 90% or 0.9")),
    }
}

/// What is to be little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// The requests of the chosen groups: how much of the traffic meets a fault.
    Requests,
    /// The number of groups: how many have to be routed apart.
    Groups,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_people_write_them() {
        let read = |text: &str| text.parse::<Target>();
        assert_eq!(read("shapes=90%"), Ok(Target { measure: Measure::Shapes, share: 0.9 }));
        assert_eq!(read("time=0.5"), Ok(Target { measure: Measure::Time, share: 0.5 }));
        for text in ["shapes", "shape=90%", "calls=0", "calls=101%", "calls=90", "calls=nan", "calls=-1%"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
