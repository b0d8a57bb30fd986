//! The verdict on one read.

use std::sync::Arc;

use super::commit::{Commits, Scope};
use super::position::{Applied, Positions};

/// A read that a replica answered.
#[derive(Clone, Copy, Debug)]
pub struct Read<'a> {
    /// The replica.
    pub node: &'a str,
    /// The client session.
    pub session: u64,
    /// The user behind it, where a tag tells.
    pub client: Option<&'a str>,
    /// The tables that it reads.
    pub scope: &'a Scope,
    /// When the client sent it: commits that had ended before then should show.
    pub sent_ns: i64,
    /// When the node got it.
    pub start_ns: i64,
    /// When the node had answered it.
    pub end_ns: i64,
}

/// The verdict on a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// Every commit that came before it and touched its tables was applied.
    Current,
    /// At least one was not.
    Stale(Missed),
    /// The samples do not decide.
    Unknown,
}

/// What a stale read missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Age of the oldest missed write when the read was sent, nanoseconds.
    pub lag_ns: u64,
    /// How far that may be off, nanoseconds.
    pub uncertainty_ns: u64,
    /// True when a write of the same session was missed.
    pub own: bool,
    /// True when a write of the same user was missed, in another session.
    pub same_client: bool,
    /// True when the tables of a missed write are not known.
    pub any_table: bool,
    /// The statement that wrote: the session's own if there is one, else the oldest.
    pub sql: Arc<str>,
}

/// Judges one read. All commits that ended before it must be settled.
pub fn judge(read: &Read<'_>, commits: &Commits, positions: &Positions) -> Staleness {
    let mut undecided = false;
    let mut missed: Option<Missed> = None;
    for commit in commits.before(read.scope, read.sent_ns) {
        match positions.applied(read.node, &commit.place, read.start_ns, read.end_ns) {
            Applied::Yes => {}
            Applied::Undecided => undecided = true,
            Applied::No => {
                let own = commit.session == Some(read.session);
                let lag_ns = read.sent_ns.saturating_sub(commit.place.end_ns).max(0).unsigned_abs();
                let commit_ns = commit.place.end_ns.saturating_sub(commit.place.start_ns).max(0).unsigned_abs();
                let interval_ns = positions.interval_ns(read.node, read.start_ns, read.end_ns).unwrap_or(0);
                let missed = missed.get_or_insert_with(|| Missed {
                    lag_ns: 0,
                    uncertainty_ns: 0,
                    own: false,
                    same_client: false,
                    any_table: true,
                    sql: commit.sql.clone(),
                });
                if lag_ns >= missed.lag_ns {
                    missed.lag_ns = lag_ns;
                    missed.uncertainty_ns = interval_ns.max(commit_ns);
                    if !missed.own && !missed.same_client {
                        missed.sql = commit.sql.clone();
                    }
                }
                if own && !missed.own {
                    missed.own = true;
                    missed.sql = commit.sql.clone();
                }
                let client = read.client.is_some() && commit.client.as_deref() == read.client;
                if client && !own && !missed.own && !missed.same_client {
                    missed.sql = commit.sql.clone();
                }
                missed.same_client |= client && !own;
                missed.any_table &= commit.any_table;
            }
        }
    }
    match missed {
        Some(missed) => Staleness::Stale(missed),
        None if undecided => Staleness::Unknown,
        None => Staleness::Current,
    }
}
