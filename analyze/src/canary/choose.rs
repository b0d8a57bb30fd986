//! The groups that cover what is wanted.

use serde::{Deserialize, Serialize};

use super::cover::{Set, cover};
use super::random::hit;
use super::{By, Cost, Measure, Target, Universe};
use crate::comparison::{Shape, ShapeId};

/// A group that was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// Its share of all requests, from 0 to 1.
    pub requests_share: f64,
    /// Its shapes.
    pub shapes: u64,
    /// Those that none chosen before it has.
    pub new_shapes: u64,
    /// What is covered with it and those before it, as a share of the measure from 0 to 1.
    pub covered: f64,
}

/// A random sample of the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The share of the sessions, from 0 to 1.
    pub share: f64,
    /// So many sessions.
    pub sessions: u64,
    /// What it covers on average, as a share of the measure from 0 to 1.
    pub covered: f64,
}

/// A shape that the chosen groups do not send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Left {
    /// The shape.
    pub shape: Shape,
    /// Its requests.
    pub requests: u64,
    /// The group that sends it most cheaply; null where only requests without a group do.
    pub group: Option<String>,
}

/// The groups to take as a canary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Canary {
    /// What makes a group.
    pub by: String,
    /// What is covered.
    pub measure: Measure,
    /// The share that was asked for.
    pub wanted: f64,
    /// The share that is covered.
    pub covered: f64,
    /// What was to be little.
    pub cost_of: Cost,
    /// The groups, in the order in which they add most.
    pub chosen: Vec<Chosen>,
    /// Of so many groups.
    pub groups: u64,
    /// Requests of the chosen ones, as a share of all from 0 to 1.
    pub requests_share: f64,
    /// Cost of the chosen ones: requests, or groups.
    pub cost: u64,
    /// No choice that covers as much costs less.
    pub lower_bound: u64,
    /// On any trace the choice is at most so many times as dear as the cheapest: 1 + ln m.
    pub guarantee: f64,
    /// m: the most that one group covers, in units of the measure.
    pub largest: u64,
    /// Shapes of the window.
    pub shapes: u64,
    /// Requests of the window.
    pub requests: u64,
    /// Sessions of the window.
    pub sessions: u64,
    /// Requests that tell no group, which no canary can choose.
    pub without_group: u64,
    /// A random sample of the share that was asked about.
    pub random: Sample,
    /// A random sample of as large a share of the sessions as the chosen groups have of the requests.
    pub random_alike: Sample,
    /// Shapes that the chosen groups do not send, most frequent first.
    pub left: Vec<Left>,
}

/// A target that no choice reaches.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "all {groups} groups by {by} together cover {:.2} % of the {measure}, and {:.2} % are asked for: {without_group} of {requests} \
     requests tell no {by}; ask for less, or choose by something else", .covered * 100.0, .wanted * 100.0
)]
pub struct Unreachable {
    by: String,
    groups: usize,
    measure: &'static str,
    covered: f64,
    wanted: f64,
    without_group: u64,
    requests: u64,
}

fn weights(universe: &Universe, measure: Measure) -> Vec<u64> {
    let weight = |shape: &super::universe::UniverseShape| match measure {
        Measure::Shapes => 1,
        Measure::Calls => shape.requests,
        // Microseconds, so that sums stay exact in floating point.
        Measure::Time => shape.time_ns / 1_000,
    };
    universe.shapes.iter().map(weight).collect()
}

/// What a random sample of the sessions covers on average.
fn sample(universe: &Universe, weights: &[u64], share: f64) -> Sample {
    let sessions = ((universe.sessions as f64 * share).round() as u64).clamp(1, universe.sessions.max(1));
    let all: u64 = weights.iter().sum();
    let expected: f64 = universe
        .shapes
        .iter()
        .zip(weights)
        .map(|(shape, &weight)| hit(universe.sessions, shape.sessions, sessions) * weight as f64)
        .sum();
    Sample { share, sessions, covered: if all == 0 { 0.0 } else { expected / all as f64 } }
}

/// Chooses the groups that cover the target, and holds them against a random sample of `random` of the sessions.
pub fn choose(universe: &Universe, by: &By, target: Target, cost_of: Cost, random: f64) -> Result<Canary, Unreachable> {
    let weights = weights(universe, target.measure);
    let all: u64 = weights.iter().sum();
    // A share of whole things, rounded up: half of three shapes are two.
    let wanted = (all as f64 * target.share - 1e-6).ceil().max(0.0) as u64;
    let sets: Vec<Set> = universe
        .groups
        .iter()
        .map(|group| Set {
            cost: match cost_of {
                Cost::Requests => group.requests,
                Cost::Groups => 1,
            },
            elements: group.shapes.clone(),
        })
        .collect();
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let mut reachable = vec![false; weights.len()];
    for &at in universe.groups.iter().flat_map(|group| &group.shapes) {
        reachable[at] = true;
    }
    let found = cover(&sets, &weights, wanted).ok_or_else(|| {
        let reached: u64 =
            weights.iter().zip(&reachable).filter(|(_, reachable)| **reachable).map(|(weight, _)| weight).sum();
        Unreachable {
            by: by.name(),
            groups: universe.groups.len(),
            measure: target.measure.as_str(),
            covered: share(reached, all),
            wanted: target.share,
            without_group: universe.without_group,
            requests: universe.requests,
        }
    })?;
    let mut met = vec![false; weights.len()];
    let mut chosen = Vec::new();
    for &(at, weight) in &found.chosen {
        let Some(group) = universe.groups.get(at) else { continue };
        let new = group.shapes.iter().filter(|&&shape| !std::mem::replace(&mut met[shape], true)).count();
        chosen.push(Chosen {
            name: group.name.clone(),
            requests: group.requests,
            requests_share: share(group.requests, universe.requests),
            shapes: group.shapes.len() as u64,
            new_shapes: new as u64,
            covered: share(weight, all),
        });
    }
    let requests: u64 = chosen.iter().map(|group| group.requests).sum();
    let requests_share = share(requests, universe.requests);
    let guarantee = found.guarantee();
    Ok(Canary {
        by: by.name(),
        measure: target.measure,
        wanted: target.share,
        covered: chosen.last().map_or(0.0, |group| group.covered),
        cost_of,
        groups: universe.groups.len() as u64,
        requests_share,
        cost: found.cost,
        lower_bound: found.lower_bound,
        guarantee,
        largest: found.largest,
        shapes: universe.shapes.len() as u64,
        requests: universe.requests,
        sessions: universe.sessions,
        without_group: universe.without_group,
        random: sample(universe, &weights, random),
        random_alike: sample(universe, &weights, requests_share),
        left: left(universe, &met),
        chosen,
    })
}

fn left(universe: &Universe, met: &[bool]) -> Vec<Left> {
    let mut cheapest: Vec<Option<&super::universe::UniverseGroup>> = vec![None; universe.shapes.len()];
    for group in &universe.groups {
        for &shape in &group.shapes {
            if cheapest[shape].is_none_or(|other| group.requests < other.requests) {
                cheapest[shape] = Some(group);
            }
        }
    }
    let mut left: Vec<Left> = universe
        .shapes
        .iter()
        .zip(met)
        .zip(cheapest)
        .filter(|((_, met), _)| !**met)
        .map(|((shape, _), group)| Left {
            shape: Shape { id: ShapeId(shape.id), text: shape.text.clone() },
            requests: shape.requests,
            group: group.map(|group| group.name.clone()),
        })
        .collect();
    left.sort_by_key(|left| (std::cmp::Reverse(left.requests), left.shape.id));
    left
}
