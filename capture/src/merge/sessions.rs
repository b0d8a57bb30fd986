//! Which sessions of several traces are one connection.
//!
//! A client's address and port and the server's name a connection while it lasts. So sessions of two traces are one where
//! these are equal and they overlap in time; or where the one did not end in its trace, and the other was joined midway in a
//! trace that follows.

use std::collections::{BTreeMap, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use crate::trace::{self, Columns, Kind, Reader, Window};

/// One session of one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Session {
    /// Number of the trace among those that are merged.
    pub trace: usize,
    /// Its number in that trace.
    pub number: u64,
    /// Hash of the client's and the server's address; `None` where they are not known.
    pub key: Option<u64>,
    /// Start of its first and of its last request, nanoseconds.
    pub first_ns: i64,
    pub last_ns: i64,
    /// True when it began before its trace.
    pub midway: bool,
    /// True when its end was seen.
    pub ended: bool,
}

/// The sessions of a trace, in the order of their numbers. Memory grows with their number, not with their requests.
pub(super) fn survey(trace: usize, reader: &Reader) -> Result<Vec<Session>, trace::Error> {
    let mut sessions: BTreeMap<u64, Session> = BTreeMap::new();
    for request in reader.requests_with(Columns::Only(vec!["client", "server", "joined_midway"])) {
        let request = request?;
        let key = || {
            let (client, server) = (request.client.as_deref()?, request.server.as_deref()?);
            Some(xxh3_64(format!("{client}\n{server}").as_bytes()))
        };
        let start = request.start_ns;
        let session = sessions.entry(request.session).or_insert_with(|| Session {
            trace,
            number: request.session,
            key: key(),
            first_ns: start,
            last_ns: start,
            midway: request.joined_midway,
            ended: false,
        });
        session.ended |= request.kind == Kind::Disconnect;
        session.first_ns = session.first_ns.min(start);
        session.last_ns = session.last_ns.max(start);
    }
    Ok(sessions.into_values().collect())
}

/// The keys that sessions of more than one trace have, with these sessions in order of time.
pub(super) fn shared(sessions: &[Session]) -> BTreeMap<u64, Vec<Session>> {
    let mut by_key: HashMap<u64, Vec<Session>> = HashMap::new();
    for session in sessions {
        if let Some(key) = session.key {
            by_key.entry(key).or_default().push(*session);
        }
    }
    let several = |sessions: &[Session]| {
        sessions.iter().any(|session| Some(session.trace) != sessions.first().map(|first| first.trace))
    };
    let shared = by_key.into_iter().filter(|(_, sessions)| several(sessions));
    shared
        .map(|(key, mut sessions)| {
            sessions.sort_unstable_by_key(|session| (session.first_ns, session.trace, session.number));
            (key, sessions)
        })
        .collect()
}

/// The numbers that sessions get in the merged trace.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    numbers: HashMap<(usize, u64), u64>,
    /// Those that are of several traces.
    joint: std::collections::HashSet<u64>,
}

impl Numbers {
    /// Numbers sessions in the order of their beginning, with the clocks put right by `offsets`. Those of the same key
    /// that overlap, within a tolerance, get the same number; and so do those that go on in the next trace.
    pub fn new(mut sessions: Vec<Session>, offsets: &[i64], windows: &[Option<Window>], tolerance_ns: i64) -> Self {
        /// A trace that begins later than this after another one does not go on where that ended.
        const NEXT_NS: i64 = 60_000_000_000;
        let window = |trace: usize| {
            windows.get(trace).copied().flatten().unwrap_or(Window { first_start_ns: 0, last_end_ns: 0 })
        };
        let offset = |trace: usize| offsets.get(trace).copied().unwrap_or(0);
        let follows = |trace: usize, other: usize| {
            let ended = window(trace).last_end_ns.saturating_add(offset(trace));
            window(other).first_start_ns.saturating_add(offset(other)) <= ended.saturating_add(NEXT_NS)
        };
        for session in &mut sessions {
            session.first_ns = session.first_ns.saturating_add(offset(session.trace));
            session.last_ns = session.last_ns.saturating_add(offset(session.trace));
        }
        sessions.sort_unstable_by_key(|session| (session.first_ns, session.trace, session.number));
        /// The connection that a key named last.
        struct Open {
            number: u64,
            last_ns: i64,
            traces: Vec<usize>,
            ended: bool,
        }
        let mut open: HashMap<u64, Open> = HashMap::new();
        let mut new = Numbers::default();
        let mut next = 0;
        for session in sessions {
            let known = session.key.and_then(|key| open.get_mut(&key));
            let number = match known {
                Some(known)
                    if !known.traces.contains(&session.trace)
                        && (session.first_ns <= known.last_ns.saturating_add(tolerance_ns)
                            || session.midway
                                && !known.ended
                                && known.traces.last().is_some_and(|&trace| follows(trace, session.trace))) =>
                {
                    known.ended |= session.ended;
                    known.traces.push(session.trace);
                    known.last_ns = known.last_ns.max(session.last_ns);
                    new.joint.insert(known.number);
                    known.number
                }
                _ => {
                    let number = next;
                    next += 1;
                    if let Some(key) = session.key {
                        open.insert(
                            key,
                            Open {
                                number,
                                last_ns: session.last_ns,
                                traces: vec![session.trace],
                                ended: session.ended,
                            },
                        );
                    }
                    number
                }
            };
            new.numbers.insert((session.trace, session.number), number);
        }
        new
    }

    /// The new number of a session.
    pub fn of(&self, trace: usize, session: u64) -> Option<u64> {
        self.numbers.get(&(trace, session)).copied()
    }

    /// True for a session that several traces saw.
    pub fn is_joint(&self, number: u64) -> bool {
        self.joint.contains(&number)
    }

    /// Number of sessions that several traces saw.
    pub fn joint(&self) -> u64 {
        self.joint.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(trace: usize, number: u64, key: u64, first_ns: i64, last_ns: i64) -> Session {
        Session { trace, number, key: Some(key), first_ns, last_ns, midway: false, ended: false }
    }

    #[test]
    fn sessions_are_one_where_addresses_are_equal_and_times_overlap() {
        let sessions = vec![
            session(0, 0, 7, 100, 200),
            session(1, 4, 7, 1120, 1190),
            // The port was used again.
            session(0, 1, 7, 300, 400),
            session(1, 5, 7, 1310, 1350),
            session(0, 2, 8, 100, 200),
            Session { key: None, ..session(1, 6, 0, 1100, 1200) },
        ];
        assert_eq!(shared(&sessions).len(), 1);
        let numbers = Numbers::new(sessions, &[0, -1000], &[None, None], 5);
        assert_eq!(numbers.of(0, 0), numbers.of(1, 4));
        assert_eq!(numbers.of(0, 1), numbers.of(1, 5));
        assert_ne!(numbers.of(0, 0), numbers.of(0, 1));
        assert_eq!(numbers.joint(), 2);
        let all: std::collections::HashSet<_> = numbers.numbers.values().collect();
        assert_eq!(all.len(), 4);
        assert_eq!((all.iter().min(), all.iter().max()), (Some(&&0), Some(&&3)));
        assert_eq!(numbers.of(1, 0), None);
    }
}
