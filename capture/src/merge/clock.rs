//! How far the clocks of two captures are apart, from the sessions that both saw.
//!
//! Of a request both saw its start and the end of its answer. Where one host is nearer to the client, it sees the start
//! earlier and the end later, by the time that a packet takes between the hosts. So the offset is in the middle between the
//! median difference of the starts and that of the ends, and cannot be told more exactly than half of their distance.

use std::collections::{BTreeMap, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use super::sessions::Session;
use crate::trace::{self, Columns, Kind, Reader, Request};

/// What is known of a trace's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The first trace: the others' times are put on its clock.
    Reference,
    /// Its times get these nanoseconds more, as was asked for.
    Given(i64),
    /// Its times get these nanoseconds more, as its sessions tell.
    Estimated {
        /// Nanoseconds that are added.
        offset_ns: i64,
        /// How far from the truth that may be.
        uncertainty_ns: u64,
        /// Requests that were compared.
        requests: u64,
        /// Sessions of which they are.
        sessions: u64,
    },
    /// No session is in it and in one whose clock is known: its times stay.
    Unknown,
}

impl Clock {
    /// Nanoseconds to add.
    pub fn offset_ns(self) -> i64 {
        match self {
            Clock::Reference | Clock::Unknown => 0,
            Clock::Given(offset_ns) | Clock::Estimated { offset_ns, .. } => offset_ns,
        }
    }

    /// How far from the truth that may be, where it was estimated.
    pub fn uncertainty_ns(self) -> u64 {
        match self {
            Clock::Estimated { uncertainty_ns, .. } => uncertainty_ns,
            _ => 0,
        }
    }
}

/// Requests of a session that are compared, and sessions of a trace.
const REQUESTS: usize = 64;
const SESSIONS: usize = 2048;
/// A clock that is further off must be given: at such a distance another connection may ask the same from the same port.
const FARTHEST_NS: u64 = 30_000_000_000;
/// Fewer equal requests than this in a row may be chance.
const ENOUGH: usize = 2;

/// A request as far as it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    what: u64,
    start_ns: i64,
    end_ns: Option<i64>,
}

/// The first requests of the sessions that several traces may have seen.
#[derive(Debug, Default)]
pub(super) struct Samples(HashMap<(usize, u64), Vec<Seen>>);

impl Samples {
    /// Reads them from a trace.
    pub fn read(
        &mut self,
        trace: usize,
        reader: &Reader,
        shared: &BTreeMap<u64, Vec<Session>>,
    ) -> Result<(), trace::Error> {
        let own = shared.values().flatten().filter(|session| session.trace == trace).take(SESSIONS);
        let wanted: HashMap<u64, ()> = own.map(|session| (session.number, ())).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        for request in reader.requests_with(Columns::Only(vec!["messages", "sql", "duration_ns"])) {
            let request = request?;
            if !wanted.contains_key(&request.session) {
                continue;
            }
            let seen = self.0.entry((trace, request.session)).or_default();
            if seen.len() < REQUESTS {
                seen.push(Seen { what: what(&request), start_ns: request.start_ns, end_ns: request.end_ns() });
            }
        }
        Ok(())
    }

    /// The clock of every trace, the first one's being the reference.
    pub fn clocks(
        &self,
        traces: usize,
        shared: &BTreeMap<u64, Vec<Session>>,
        given: &BTreeMap<usize, i64>,
    ) -> Vec<Clock> {
        let mut clocks: Vec<Option<Clock>> =
            (0..traces).map(|trace| given.get(&trace).map(|&offset| Clock::Given(offset))).collect();
        if let Some(first) = clocks.first_mut() {
            first.get_or_insert(Clock::Reference);
        }
        // From those that are known to those that share sessions with them, the best connected first.
        loop {
            let known: Vec<(usize, Clock)> =
                clocks.iter().enumerate().filter_map(|(trace, clock)| Some((trace, (*clock)?))).collect();
            let unknown = (0..traces).filter(|trace| known.iter().all(|(other, _)| other != trace));
            let pairs = unknown.flat_map(|to| known.iter().map(move |&(from, clock)| (from, clock, to)));
            let compared = pairs.filter_map(|(from, clock, to)| {
                let differences = self.compare(from, to, shared);
                Some((to, clock, differences.estimate()?))
            });
            let Some((trace, from, clock)) = compared.max_by_key(|(.., estimate)| match estimate {
                Clock::Estimated { requests, .. } => *requests,
                _ => 0,
            }) else {
                return clocks.into_iter().map(|clock| clock.unwrap_or(Clock::Unknown)).collect();
            };
            if let (Clock::Estimated { offset_ns, uncertainty_ns, requests, sessions }, Some(place)) =
                (clock, clocks.get_mut(trace))
            {
                *place = Some(Clock::Estimated {
                    offset_ns: offset_ns.saturating_add(from.offset_ns()),
                    uncertainty_ns: uncertainty_ns.saturating_add(from.uncertainty_ns()),
                    requests,
                    sessions,
                });
            }
        }
    }

    fn compare(&self, from: usize, to: usize, shared: &BTreeMap<u64, Vec<Session>>) -> Differences {
        let mut differences = Differences::default();
        for sessions in shared.values() {
            let of = |trace: usize| sessions.iter().filter(move |session| session.trace == trace);
            for one in of(from) {
                // A port that was used again names several sessions: the nearest one that asks the same is the same.
                let aligned = of(to).filter_map(|other| {
                    let pairs = align(self.0.get(&(from, one.number))?, self.0.get(&(to, other.number))?)?;
                    let apart = pairs.first().map(|(one, other)| one.start_ns.abs_diff(other.start_ns))?;
                    (apart <= FARTHEST_NS).then_some((apart, pairs))
                });
                let Some((_, pairs)) = aligned.min_by_key(|(apart, _)| *apart) else { continue };
                differences.sessions += 1;
                for (one, other) in pairs {
                    differences.starts.push(one.start_ns.saturating_sub(other.start_ns));
                    differences.ends.extend(one.end_ns.zip(other.end_ns).map(|(one, other)| one.saturating_sub(other)));
                }
            }
        }
        differences
    }
}

/// What a request asks for.
pub(super) fn what(request: &Request) -> u64 {
    match request.kind {
        Kind::Connect | Kind::Disconnect => request.kind as u64,
        _ => xxh3_64(
            format!("{}\n{}\n{}", request.kind, request.messages, request.sql.as_deref().unwrap_or("")).as_bytes(),
        ),
    }
}

/// The requests of two sessions that are the same, where the one goes on as the other does in one way only: both may have
/// joined it midway, and may have lost some.
fn align<'a>(one: &'a [Seen], other: &'a [Seen]) -> Option<Vec<(&'a Seen, &'a Seen)>> {
    let at = |shift: usize, swap: bool| {
        let (long, short) = if swap { (other, one) } else { (one, other) };
        let pairs = long.iter().skip(shift).zip(short);
        let equal: Vec<_> = pairs.clone().filter(|(one, other)| one.what == other.what).collect();
        // Nine of ten must agree.
        (equal.len() >= ENOUGH && equal.len() * 10 >= pairs.count() * 9).then_some((equal, swap))
    };
    let mut ways =
        (0..one.len()).filter_map(|shift| at(shift, false)).chain((1..other.len()).filter_map(|shift| at(shift, true)));
    let begins = |seen: &[Seen]| seen.first().is_some_and(|seen| seen.what == Kind::Connect as u64);
    let (pairs, swapped) = match begins(one) && begins(other) {
        true => at(0, false)?,
        false => {
            let way = ways.next()?;
            if ways.next().is_some() {
                return None;
            }
            way
        }
    };
    Some(pairs.into_iter().map(|(long, short)| if swapped { (short, long) } else { (long, short) }).collect())
}

/// How far equal requests are apart.
#[derive(Debug, Default)]
struct Differences {
    starts: Vec<i64>,
    ends: Vec<i64>,
    sessions: u64,
}

impl Differences {
    fn estimate(mut self) -> Option<Clock> {
        let requests = self.starts.len() as u64;
        let starts = median(&mut self.starts)?;
        let ends = median(&mut self.ends).unwrap_or(starts);
        let offset_ns = starts.midpoint(ends);
        let spread = |values: &mut Vec<i64>, middle: i64| {
            let mut away: Vec<i64> = values.iter().map(|value| value.saturating_sub(middle).saturating_abs()).collect();
            median(&mut away).unwrap_or(0)
        };
        let spread = spread(&mut self.starts, starts).max(spread(&mut self.ends, ends));
        let uncertainty_ns = (starts.abs_diff(ends) / 2).saturating_add(spread.unsigned_abs());
        Some(Clock::Estimated { offset_ns, uncertainty_ns, requests, sessions: self.sessions })
    }
}

fn median(values: &mut [i64]) -> Option<i64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(whats: &[u64], clock: i64) -> Vec<Seen> {
        let one = |(&what, at): (&u64, i64)| Seen {
            what,
            start_ns: at * 1000 + clock,
            end_ns: Some(at * 1000 + 500 + clock),
        };
        whats.iter().zip(0..).map(one).collect()
    }

    fn aligned(one: &[u64], other: &[u64]) -> Option<Vec<(i64, i64)>> {
        let (one, other) = (seen(one, 0), seen(other, 0));
        align(&one, &other)
            .map(|pairs| pairs.iter().map(|(one, other)| (one.start_ns / 1000, other.start_ns / 1000)).collect())
    }

    #[test]
    fn sessions_are_aligned_where_there_is_one_way_to_do_it() {
        assert_eq!(aligned(&[10, 11, 12, 13], &[12, 13]), Some(vec![(2, 0), (3, 1)]));
        assert_eq!(aligned(&[12, 13], &[10, 11, 12, 13]), Some(vec![(0, 2), (1, 3)]));
        assert_eq!(aligned(&[10, 10, 10, 10], &[10, 10]), None, "which of them, is not known");
        let connect = Kind::Connect as u64;
        assert_eq!(aligned(&[connect, 10, 10, 10], &[connect, 10, 10]).map(|pairs| pairs.len()), Some(3));
        assert_eq!(aligned(&[10, 11], &[12, 13]), None);
        assert_eq!(aligned(&[], &[12]), None);
    }

    #[test]
    fn the_offset_lies_between_starts_and_ends() {
        // The other clock is 1000 ahead, and its host is 50 nearer to the server.
        let differences = Differences { starts: vec![-1050, -1060, -1040], ends: vec![-950, -940, -960], sessions: 1 };
        let estimate = differences.estimate().expect("enough");
        assert_eq!(estimate, Clock::Estimated { offset_ns: -1000, uncertainty_ns: 60, requests: 3, sessions: 1 });
        assert_eq!(Differences::default().estimate(), None);
    }
}
