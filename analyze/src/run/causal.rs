//! What each of MaxScale's causal_reads modes would have done with the reads of a run.

use std::collections::VecDeque;
use std::sync::Arc;

use splitproof_capture::trace::Role;

use super::open::Node;
use crate::attribution::NodeIndex;
use crate::comparison::CausalMode;
use crate::staleness::{Applied, Commit, Commits, Place, Positions, Scope};

/// causal_reads_timeout, as it is by default.
const TIMEOUT_NS: i64 = 10_000_000_000;
/// monitor_interval, as it is by default: how often the monitor learns how far the replicas are.
const MONITOR_NS: i64 = 2_000_000_000;

/// Whose commits a read waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Nothing,
    /// The session's own.
    Own,
    /// All through the router.
    Router,
    /// All on the primary, which is asked for its position.
    Primary,
}

struct Mode {
    name: &'static str,
    scale: Scale,
    /// Does not wait.
    fast: bool,
}

const MODES: [Mode; 7] = [
    Mode { name: "none", scale: Scale::Nothing, fast: false },
    Mode { name: "local", scale: Scale::Own, fast: false },
    Mode { name: "global", scale: Scale::Router, fast: false },
    Mode { name: "fast", scale: Scale::Own, fast: true },
    Mode { name: "fast_global", scale: Scale::Router, fast: true },
    Mode { name: "universal", scale: Scale::Primary, fast: false },
    Mode { name: "fast_universal", scale: Scale::Primary, fast: true },
];

/// A read that a replica may serve.
pub(super) struct Asked<'a> {
    pub sent_ns: i64,
    /// The last commit of its session.
    pub own: Option<Place>,
    /// The replica that served it in the run.
    pub served_by: Option<NodeIndex>,
    pub reads: &'a Scope,
    /// It missed a commit; true where that was one of its own session.
    pub missed: Option<bool>,
}

#[derive(Default)]
struct Tally {
    told: CausalMode,
    waits_ns: Vec<u64>,
}

/// Every mode, over the reads of a run.
pub(super) struct Causal {
    replicas: Vec<(NodeIndex, Arc<str>)>,
    /// The commits by their end: through the router, and all.
    router: VecDeque<Place>,
    primary: VecDeque<Place>,
    tallies: [Tally; 7],
    begin_ns: Option<i64>,
}

/// What becomes of a read.
enum Fate {
    /// A replica serves it at once, or after a wait.
    Replica(NodeIndex, u64),
    Primary,
    /// It waits in vain.
    Timeout,
    Undecided,
}

impl Causal {
    /// For a run with these nodes.
    pub fn new(nodes: &[Node]) -> Self {
        let replicas = nodes.iter().enumerate().filter(|(_, node)| node.role == Role::Replica);
        Causal {
            replicas: replicas.map(|(at, node)| (at, node.name.clone())).collect(),
            router: VecDeque::new(),
            primary: VecDeque::new(),
            tallies: Default::default(),
            begin_ns: None,
        }
    }

    /// Takes a commit. They come in the order of their requests' starts, which is nearly that of their ends.
    pub fn commit(&mut self, commit: &Commit) {
        let through_router = commit.session.is_some();
        for list in [Some(&mut self.primary), Some(&mut self.router).filter(|_| through_router)].into_iter().flatten() {
            let at = list.iter().rposition(|place| place.end_ns <= commit.place.end_ns).map_or(0, |at| at + 1);
            list.insert(at, commit.place);
        }
    }

    /// No read that was sent before this time will come any more.
    pub fn forget(&mut self, before_ns: i64) {
        for list in [&mut self.primary, &mut self.router] {
            while list.get(1).is_some_and(|next| next.end_ns < before_ns) {
                list.pop_front();
            }
        }
    }

    /// Takes a read.
    pub fn read(&mut self, asked: &Asked<'_>, commits: &Commits, positions: &Positions) {
        if self.replicas.is_empty() || positions.is_empty() {
            return;
        }
        let begin_ns = *self.begin_ns.get_or_insert(asked.sent_ns);
        let last = |list: &VecDeque<Place>| {
            let before = list.partition_point(|place| place.end_ns < asked.sent_ns);
            before.checked_sub(1).and_then(|at| list.get(at)).copied()
        };
        let (router, primary) = (last(&self.router), last(&self.primary));
        // The newest commit that it missed, or could have.
        let touching = asked.missed.and_then(|_| {
            commits.before(asked.reads, asked.sent_ns).map(|commit| commit.place).max_by_key(|place| place.end_ns)
        });
        for (mode, tally) in MODES.iter().zip(&mut self.tallies) {
            let needed = match mode.scale {
                Scale::Nothing => None,
                Scale::Own => asked.own.filter(|place| place.end_ns < asked.sent_ns),
                Scale::Router => router,
                Scale::Primary => primary,
            };
            let fate = fate(mode, needed.as_ref(), asked, &self.replicas, positions, begin_ns);
            let told = &mut tally.told;
            told.reads += 1;
            told.bound += u64::from(needed.is_some());
            told.round_trips += u64::from(mode.scale == Scale::Primary);
            match fate {
                Fate::Replica(_, wait_ns) if wait_ns > 0 => tally.waits_ns.push(wait_ns),
                Fate::Timeout => {
                    tally.waits_ns.push(TIMEOUT_NS.unsigned_abs());
                    (told.timeouts, told.to_primary) = (told.timeouts + 1, told.to_primary + 1);
                    // The replica answered in vain, and the statement is sent again.
                    told.round_trips += 1;
                }
                Fate::Primary => told.to_primary += 1,
                Fate::Undecided => {
                    told.undecided += 1;
                    continue;
                }
                Fate::Replica(..) => {}
            }
            let Some(own) = asked.missed else { continue };
            let prevented = match (&fate, touching, needed) {
                (Fate::Primary | Fate::Timeout, _, _) => true,
                (_, Some(touching), Some(needed)) if needed.end_ns >= touching.end_ns => true,
                // Not waited for, and applied all the same meanwhile.
                (Fate::Replica(node, wait_ns), Some(touching), Some(_)) if *wait_ns > 0 => {
                    let at_ns = asked.sent_ns.saturating_add_unsigned(*wait_ns);
                    let name = self.replicas.iter().find(|(at, _)| at == node).map_or("", |(_, name)| name);
                    positions.applied(name, &touching, at_ns, at_ns) == Applied::Yes
                }
                _ => false,
            };
            if prevented {
                told.prevented += 1;
                told.own_prevented += u64::from(own);
            } else {
                told.left += 1;
            }
        }
    }

    /// The table; empty where there is nothing to reckon with.
    pub fn finish(self) -> Vec<CausalMode> {
        if self.begin_ns.is_none() {
            return Vec::new();
        }
        let rows = MODES.iter().zip(self.tallies).map(|(mode, Tally { mut told, mut waits_ns })| {
            waits_ns.sort_unstable();
            let ms = |at: usize| waits_ns.get(at).map_or(0.0, |&ns| ns as f64 / 1e6);
            let rank = |share: f64| ((waits_ns.len() as f64 * share).ceil() as usize).saturating_sub(1);
            told.mode = mode.name.to_owned();
            told.waited = waits_ns.len() as u64;
            told.wait_ms = waits_ns.iter().sum::<u64>() as f64 / 1e6;
            told.wait_quantiles_ms = [ms(rank(0.5)), ms(rank(0.99)), ms(waits_ns.len().saturating_sub(1))];
            told.to_primary_share = told.to_primary as f64 / (told.reads.max(1)) as f64;
            told
        });
        rows.collect()
    }
}

fn fate(
    mode: &Mode,
    needed: Option<&Place>,
    asked: &Asked<'_>,
    replicas: &[(NodeIndex, Arc<str>)],
    positions: &Positions,
    begin_ns: i64,
) -> Fate {
    // The router would have chosen as it did, as far as it chose a replica.
    let served = asked.served_by.and_then(|node| replicas.iter().find(|(at, _)| *at == node));
    let Some((node, name)) = served.or(replicas.first()) else { return Fate::Primary };
    let Some(needed) = needed else { return Fate::Replica(*node, 0) };
    if mode.fast {
        let age_ns = asked.sent_ns.saturating_sub(begin_ns).max(0);
        let tick_ns = asked.sent_ns - age_ns % MONITOR_NS;
        let known = replicas.iter().find(|(_, name)| positions.applied(name, needed, tick_ns, tick_ns) == Applied::Yes);
        return known.map_or(Fate::Primary, |(node, _)| Fate::Replica(*node, 0));
    }
    match positions.applied_at(name, needed, asked.sent_ns) {
        Some(at_ns) if at_ns.saturating_sub(asked.sent_ns) > TIMEOUT_NS => Fate::Timeout,
        Some(at_ns) => Fate::Replica(*node, at_ns.saturating_sub(asked.sent_ns).max(0).unsigned_abs()),
        None => match positions.last_ns(name) {
            Some(last_ns) if last_ns.saturating_sub(asked.sent_ns) > TIMEOUT_NS => Fate::Timeout,
            _ => Fate::Undecided,
        },
    }
}
