//! What of production a window and a fixture cover.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use splitproof_capture::sql::Dialect;
use splitproof_capture::sql::mysql::digest_text;
use splitproof_capture::trace::Engine;

use super::entry::{Census, Source};
use super::group::{Group, Grouped, Intents};
use super::known::Known;
use super::text::key;
use crate::comparison::{Shape, ShapeId};

/// A part of production's statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Statements.
    pub shapes: u64,
    /// How often they ran.
    pub calls: u64,
    /// How long in all, milliseconds.
    pub time_ms: f64,
}

impl Share {
    fn add(&mut self, group: &Group) {
        self.shapes += 1;
        self.calls += group.calls;
        self.time_ms += group.time_ms;
    }

    /// The three as shares of a whole, from 0 to 1; of nothing they are 0.
    pub fn of(&self, whole: &Share) -> [f64; 3] {
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        [
            share(self.shapes as f64, whole.shapes as f64),
            share(self.calls as f64, whole.calls as f64),
            share(self.time_ms, whole.time_ms),
        ]
    }
}

/// What of production one set of shapes covers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Covered {
    /// Production's statements that are in it.
    #[serde(flatten)]
    pub share: Share,
    /// Those among them that were recognised by the shape itself.
    pub exact: u64,
    /// Those that were recognised by words and names only, since the view writes the statement in another way.
    pub by_words: u64,
    /// Those of which the view keeps only the beginning, and it is that of exactly one shape or more.
    pub by_beginning: u64,
}

/// A statement of production that is missing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Missing {
    /// The statement as the view has it.
    pub text: String,
    /// How often it ran.
    pub calls: u64,
    /// How long in all, milliseconds.
    pub time_ms: f64,
    /// Where it belongs, taken alone; null where only its beginning is known.
    pub intent: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// What of production a window and a fixture cover.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CensusCoverage {
    /// The exports.
    pub sources: Vec<Source>,
    /// All of production's statements whose text is known.
    pub all: Share,
    /// Entries whose text the view hides or gave up telling apart.
    pub without_text: Share,
    /// What the window holds of them.
    pub window: Covered,
    /// In a run with evidence: what of them was replayed, and its place is known.
    pub judged: Option<Covered>,
    /// What the fixture asserts on, where one was given.
    pub fixture: Option<Covered>,
    /// What the window or the fixture holds.
    pub either: Share,
    /// Production's statements that are not in the window; the longest time first.
    pub not_in_window: Vec<Missing>,
    /// Those that are not in the fixture either: what nobody imagined. Null where no fixture was given.
    pub never_imagined: Option<Vec<Missing>>,
    /// Shapes of the window that production's census lacks, with their requests.
    pub not_in_census: Vec<(Shape, u64)>,
}

/// A set of shapes, to be asked for the statements of a census.
struct Index<'a> {
    known: &'a Known,
    /// In the order of the texts, so that those with the same beginning stand together.
    keys: BTreeSet<(String, u64)>,
}

/// How a statement of a census was recognised.
enum Match {
    Exact(u64),
    Words(Vec<u64>),
    Beginning(Vec<u64>),
}

impl Match {
    fn shapes(&self) -> &[u64] {
        match self {
            Match::Exact(shape) => std::slice::from_ref(shape),
            Match::Words(shapes) | Match::Beginning(shapes) => shapes,
        }
    }
}

impl<'a> Index<'a> {
    fn new(known: &'a Known, dialect: Dialect) -> Self {
        let mut keys = BTreeSet::new();
        for (&id, shape) in &known.shapes {
            match dialect {
                Dialect::Postgresql => drop(keys.insert((key(&shape.text, Engine::Postgresql), id))),
                Dialect::Mysql(mode) => {
                    keys.insert((key(&shape.text, Engine::Mysql), id));
                    keys.insert((key(&digest_text(&shape.sample, &mode), Engine::Mysql), id));
                }
            }
        }
        Index { known, keys }
    }

    fn find(&self, group: &Group) -> Option<Match> {
        if !group.cut && self.known.shapes.contains_key(&group.shape) {
            return Some(Match::Exact(group.shape));
        }
        if group.key.is_empty() {
            return None;
        }
        let from = self.keys.range((group.key.clone(), 0)..);
        let same =
            from.take_while(|(text, _)| if group.cut { text.starts_with(&group.key) } else { *text == group.key });
        let mut shapes: Vec<u64> = same.map(|&(_, id)| id).collect();
        shapes.sort_unstable();
        shapes.dedup();
        match (shapes.is_empty(), group.cut) {
            (true, _) => None,
            (false, true) => Some(Match::Beginning(shapes)),
            (false, false) => Some(Match::Words(shapes)),
        }
    }
}

impl Covered {
    fn add(&mut self, group: &Group, by: &Match) {
        self.share.add(group);
        match by {
            Match::Exact(_) => self.exact += 1,
            Match::Words(_) => self.by_words += 1,
            Match::Beginning(_) => self.by_beginning += 1,
        }
    }
}

/// Holds a census against a window and a fixture. `judged` are the window's shapes with a request whose place is known, where there
/// is evidence of that.
pub fn coverage(
    census: &Census,
    dialect: Dialect,
    window: &Known,
    judged: Option<&BTreeSet<u64>>,
    fixture: Option<&Known>,
) -> CensusCoverage {
    let grouped = Grouped::of(census, dialect);
    let in_window = Index::new(window, dialect);
    let in_fixture = fixture.map(|fixture| Index::new(fixture, dialect));
    let mut intents = Intents::new(dialect, None);
    let mut found = CensusCoverage {
        sources: census.sources.clone(),
        without_text: Share {
            shapes: grouped.without_text,
            calls: grouped.without_text_calls,
            time_ms: grouped.without_text_ms,
        },
        judged: judged.map(|_| Covered::default()),
        fixture: fixture.map(|_| Covered::default()),
        never_imagined: fixture.map(|_| Vec::new()),
        ..CensusCoverage::default()
    };
    let mut met: BTreeSet<u64> = BTreeSet::new();
    for group in &grouped.groups {
        found.all.add(group);
        let here = in_window.find(group);
        let there = in_fixture.as_ref().and_then(|index| index.find(group));
        if let Some(by) = &here {
            found.window.add(group, by);
            met.extend(by.shapes());
            if let (Some(covered), Some(judged)) = (&mut found.judged, judged)
                && by.shapes().iter().any(|shape| judged.contains(shape))
            {
                covered.add(group, by);
            }
        }
        if let (Some(by), Some(covered)) = (&there, &mut found.fixture) {
            covered.add(group, by);
        }
        if here.is_some() || there.is_some() {
            found.either.add(group);
        }
        if here.is_none() {
            let verdict = intents.of(group);
            let missing = Missing {
                text: group.text.clone(),
                calls: group.calls,
                time_ms: group.time_ms,
                intent: verdict.as_ref().map(|verdict| verdict.intent.to_string()),
                reason: verdict.as_ref().map(|verdict| verdict.reason.to_string()),
            };
            if let (None, Some(list)) = (&there, &mut found.never_imagined) {
                list.push(missing.clone());
            }
            found.not_in_window.push(missing);
        }
    }
    let others = window.shapes.iter().filter(|(id, _)| !met.contains(id));
    found.not_in_census =
        others.map(|(&id, shape)| (Shape { id: ShapeId(id), text: shape.text.clone() }, shape.requests)).collect();
    found.not_in_census.sort_by_key(|(shape, requests)| (std::cmp::Reverse(*requests), shape.id));
    found
}
