//! The commits of a run, by table.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::position::Place;

/// What a commit wrote, or what a read reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// These tables.
    Tables(Vec<Arc<str>>),
    /// Not known, so any table.
    Any,
}

impl Scope {
    /// True when there is no table at all.
    pub fn is_empty(&self) -> bool {
        matches!(self, Scope::Tables(tables) if tables.is_empty())
    }

    /// True when both may have a table in common.
    pub fn touches(&self, other: &Scope) -> bool {
        match (self, other) {
            (Scope::Tables(own), Scope::Tables(others)) => own.iter().any(|table| others.contains(table)),
            _ => !self.is_empty() && !other.is_empty(),
        }
    }
}

/// One commit at the primary.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Place in time and in the replication stream.
    pub place: Place,
    /// The client session, where it is known.
    pub session: Option<u64>,
    /// The user behind it, where a tag tells.
    pub client: Option<Arc<str>>,
    /// The recorded requests that wrote, by session and seq: what makes it the same commit in both runs.
    pub writes: Vec<(u64, u32)>,
    /// What it changed: of the tables that it wrote, those that the server does not say to be unchanged. A write without effect
    /// is part of the history, because it might have had one in another order, and nothing that a read can miss.
    pub changed: Scope,
    /// True when its tables are not known.
    pub any_table: bool,
    /// One of the statements that wrote.
    pub sql: Arc<str>,
}

/// A commit with the digest of all commits on its table up to it.
#[derive(Clone, Debug)]
struct Entry {
    commit: Arc<Commit>,
    history: u64,
    /// End of the last commit up to this one that changed the table.
    newest_ns: Option<i64>,
}

/// What is left of a commit that every replica has, while an answer may show the state before it.
#[derive(Clone, Copy, Debug)]
struct Past {
    start_ns: i64,
    end_ns: i64,
    session: Option<u64>,
    history: u64,
    newest_ns: Option<i64>,
}

/// Commits on one table, by their end.
#[derive(Debug, Default)]
struct Table {
    /// Digest of what was forgotten, and of all when nothing is kept.
    forgotten: u64,
    /// End of the last forgotten commit that changed the table.
    forgotten_newest_ns: Option<i64>,
    past: VecDeque<Past>,
    settled: VecDeque<Entry>,
    recent: BTreeMap<(i64, u64), Arc<Commit>>,
}

/// Every commit that may still matter.
///
/// Commits on tables that are not known stand under a name of their own and are looked at for every table. Memory grows with
/// the commits that a replica has not applied yet; what is kept of others, for the oldest state that an answer may show, is
/// small.
#[derive(Debug, Default)]
pub struct Commits {
    tables: HashMap<Arc<str>, Table>,
    any: Table,
    number: u64,
}

impl Commits {
    /// Takes a commit.
    pub fn push(&mut self, commit: Commit, scope: &Scope) {
        self.number += 1;
        let key = (commit.place.end_ns, self.number);
        let commit = Arc::new(commit);
        match scope {
            Scope::Any => drop(self.any.recent.insert(key, commit)),
            Scope::Tables(tables) => {
                for table in tables {
                    self.tables.entry(table.clone()).or_default().recent.insert(key, commit.clone());
                }
            }
        }
    }

    /// Nothing that ends before this time will be pushed any more: the order up to it is final.
    pub fn settle(&mut self, before_ns: i64) {
        for (name, table) in &mut self.tables {
            table.settle(before_ns, Some(name));
        }
        self.any.settle(before_ns, None);
    }

    /// Forgets settled commits that ended before this time and of which `applied` says that every replica has them. Of those
    /// that ended after `shown_ns`, history and concurrency can still be asked for.
    pub fn forget(&mut self, before_ns: i64, shown_ns: i64, applied: impl Fn(&Commit) -> bool) {
        for table in self.tables.values_mut().chain([&mut self.any]) {
            while let Some(Entry { commit, history, newest_ns }) =
                table.settled.pop_front_if(|entry| entry.commit.place.end_ns < before_ns && applied(&entry.commit))
            {
                let Place { start_ns, end_ns, .. } = commit.place;
                table.past.push_back(Past { start_ns, end_ns, session: commit.session, history, newest_ns });
            }
            while let Some(past) = table.past.pop_front_if(|past| past.end_ns < shown_ns) {
                table.forgotten = past.history;
                table.forgotten_newest_ns = past.newest_ns;
            }
        }
    }

    /// Digest of the commits on these tables that ended before this time, in their order. Two runs with the same digest wrote the
    /// same before.
    pub fn history(&self, scope: &Scope, before_ns: i64) -> u64 {
        let of_table = |(name, table): (&Arc<str>, &Table)| match table.history(before_ns) {
            0 => 0,
            history => mix(history, xxh3_64(name.as_bytes())),
        };
        // A sum, because the order in which the tables are looked at means nothing.
        self.of(scope).map(of_table).fold(mix(self.any.history(before_ns), 0), u64::wrapping_add)
    }

    /// End of the newest commit that changed these tables and ended before this time.
    pub fn newest(&self, scope: &Scope, before_ns: i64) -> Option<i64> {
        self.each(scope).filter_map(|table| table.newest(before_ns)).max()
    }

    /// True when another session's commit on these tables was under way between these times.
    pub fn concurrent(&self, scope: &Scope, start_ns: i64, end_ns: i64, session: u64) -> bool {
        self.each(scope).any(|table| table.concurrent(start_ns, end_ns, session))
    }

    /// Commits that changed these tables, ended before this time and are not forgotten; by table, oldest first.
    pub fn before<'a>(&'a self, scope: &'a Scope, before_ns: i64) -> impl Iterator<Item = &'a Commit> {
        let of_table = move |table: &'a Table| {
            table.settled.iter().map(|entry| &*entry.commit).take_while(move |commit| commit.place.end_ns < before_ns)
        };
        self.each(scope).flat_map(of_table).filter(|commit| commit.changed.touches(scope))
    }

    /// The tables of a scope by name.
    fn of(&self, scope: &Scope) -> impl Iterator<Item = (&Arc<str>, &Table)> {
        let (named, all) = match scope {
            Scope::Tables(names) => (Some(names), None),
            Scope::Any => (None, Some(&self.tables)),
        };
        let named = named.into_iter().flatten().filter_map(|name| self.tables.get_key_value(name));
        named.chain(all.into_iter().flatten())
    }

    fn each(&self, scope: &Scope) -> impl Iterator<Item = &Table> {
        // What reads no table misses nothing, not even what was written to unknown ones.
        let any = (!scope.is_empty()).then_some(&self.any);
        self.of(scope).map(|(_, table)| table).chain(any)
    }
}

impl Table {
    /// The table's name; `None` for commits whose tables are not known.
    fn settle(&mut self, before_ns: i64, name: Option<&Arc<str>>) {
        while let Some(first) = self.recent.first_entry() {
            if first.key().0 >= before_ns {
                break;
            }
            let commit = first.remove();
            let mut history = self.settled.back().map_or_else(|| self.past(), |entry| entry.history);
            for &(session, seq) in &commit.writes {
                history = mix(history, mix(session, u64::from(seq)));
            }
            let changed = match (&commit.changed, name) {
                (Scope::Tables(tables), Some(name)) => tables.contains(name),
                (changed, _) => !changed.is_empty(),
            };
            let before = self.settled.back().map_or_else(|| self.past_newest(), |entry| entry.newest_ns);
            let newest_ns = if changed { Some(commit.place.end_ns).max(before) } else { before };
            self.settled.push_back(Entry { commit, history, newest_ns });
        }
    }

    /// Digest of everything that is not settled any more.
    fn past(&self) -> u64 {
        self.past.back().map_or(self.forgotten, |past| past.history)
    }

    fn past_newest(&self) -> Option<i64> {
        self.past.back().map_or(self.forgotten_newest_ns, |past| past.newest_ns)
    }

    fn newest(&self, before_ns: i64) -> Option<i64> {
        let settled = self.settled.partition_point(|entry| entry.commit.place.end_ns < before_ns);
        if let Some(entry) = settled.checked_sub(1).and_then(|at| self.settled.get(at)) {
            return entry.newest_ns;
        }
        let past = self.past.partition_point(|past| past.end_ns < before_ns);
        past.checked_sub(1).and_then(|at| self.past.get(at)).map_or(self.forgotten_newest_ns, |past| past.newest_ns)
    }

    fn history(&self, before_ns: i64) -> u64 {
        let settled = self.settled.partition_point(|entry| entry.commit.place.end_ns < before_ns);
        if let Some(entry) = settled.checked_sub(1).and_then(|at| self.settled.get(at)) {
            return entry.history;
        }
        let past = self.past.partition_point(|past| past.end_ns < before_ns);
        past.checked_sub(1).and_then(|at| self.past.get(at)).map_or(self.forgotten, |past| past.history)
    }

    fn concurrent(&self, start_ns: i64, end_ns: i64, session: u64) -> bool {
        let settled = self.settled.iter().rev().map(|entry| &*entry.commit);
        let recent = self.recent.values().map(|commit| &**commit);
        let settled = settled.take_while(|commit| commit.place.end_ns >= start_ns);
        let known = settled.chain(recent).map(|commit| (commit.place.start_ns, commit.place.end_ns, commit.session));
        let past = self.past.iter().rev().take_while(|past| past.end_ns >= start_ns);
        let past = past.map(|past| (past.start_ns, past.end_ns, past.session));
        past.chain(known).any(|(from_ns, to_ns, by)| to_ns >= start_ns && from_ns <= end_ns && by != Some(session))
    }
}

fn mix(a: u64, b: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&a.to_le_bytes());
    bytes[8..].copy_from_slice(&b.to_le_bytes());
    xxh3_64(&bytes)
}
