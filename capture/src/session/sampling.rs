//! A share of the sessions, each whole.

use xxhash_rust::xxh3::xxh3_64;

use super::other::LeftOut;
use super::{Decoder, Start};
use crate::trace::Loss;

/// Takes a share of the sessions, by a hash of the client's and the server's address: a session is recorded whole or not at
/// all, and on every host that sees it alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// From 0, none, to 1, all.
    pub share: f64,
}

impl Sampling {
    /// `None` where the session is to be recorded, otherwise a decoder that counts it and reads nothing.
    pub fn leaves_out(self, start: &Start) -> Option<Box<dyn Decoder>> {
        let hash = xxh3_64(format!("{}\n{}", start.client, start.server).as_bytes());
        let place = hash as f64 / u64::MAX as f64;
        (place >= self.share).then(|| Box::new(LeftOut::new(Loss::SampledOut)) as Box<dyn Decoder>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_sessions_is_taken_whole_and_always_the_same() {
        let start = |port: u32| Start {
            client: format!("10.0.0.1:{port}").into(),
            server: "10.0.0.2:5432".into(),
            midway: false,
        };
        let taken = |share: f64| {
            (0..10_000).filter(|&port| Sampling { share }.leaves_out(&start(port)).is_none()).collect::<Vec<u32>>()
        };
        assert_eq!((taken(0.0).len(), taken(1.0).len()), (0, 10_000));
        let tenth = taken(0.1);
        assert!((900..1100).contains(&tenth.len()), "{}", tenth.len());
        assert_eq!(tenth, taken(0.1));
        let half = taken(0.5);
        assert!(tenth.iter().all(|port| half.contains(port)), "a larger share holds the smaller");
        let out = Sampling { share: 0.0 }.leaves_out(&start(1)).expect("none is taken");
        assert_eq!(out.losses().get(Loss::SampledOut), 1);
    }
}
