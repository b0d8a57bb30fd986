//! Executions that no client asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{example, names, shorten};
use crate::attribution::Extra;
use crate::comparison::{DuplicatedWrite, RouterMade, Shape, ShapeId};

/// Different router-made shapes that are kept; the others are only counted.
const SHAPES: usize = 10_000;

#[derive(Debug)]
struct Made {
    shape: Shape,
    executions: BTreeMap<usize, u64>,
    writes: bool,
    sql: String,
}

/// Collects executions that no client asked for.
#[derive(Debug)]
pub struct Extras {
    nodes: Vec<Arc<str>>,
    made: HashMap<u64, Made>,
    duplicated: HashMap<u64, DuplicatedWrite>,
    made_writes: u64,
    duplicates: u64,
}

/// What was found about extra executions.
#[derive(Debug)]
pub struct Found {
    /// One entry per shape, most frequent first.
    pub router_made: Vec<RouterMade>,
    /// One entry per shape, most frequent first.
    pub duplicated: Vec<DuplicatedWrite>,
    /// Executions of writes that no client asked for.
    pub made_writes: u64,
    /// Second executions of writes that a client asked for once.
    pub duplicates: u64,
}

impl Extras {
    /// Nothing found yet, on these nodes.
    pub fn new(nodes: Vec<Arc<str>>) -> Self {
        Extras { nodes, made: HashMap::new(), duplicated: HashMap::new(), made_writes: 0, duplicates: 0 }
    }

    /// An extra execution; `writes` when the statement may change data, COMMIT included when it repeats one.
    pub fn push(&mut self, extra: &Extra, shape: &Arc<str>, writes: bool) {
        let id = extra.execution.shape_id.unwrap_or(0);
        if let (Some((session, seq)), true) = (extra.repeats.or(extra.echoes), writes) {
            self.duplicates += 1;
            let node = names(&[extra.node], &self.nodes);
            let found = self.duplicated.entry(id).or_insert_with(|| {
                let mut example = example(&extra.execution, node.clone());
                (example.session, example.seq) = (session, seq);
                DuplicatedWrite {
                    shape: Shape { id: ShapeId(id), text: shape.to_string() },
                    executions: 0,
                    nodes: Vec::new(),
                    baseline: None,
                    example,
                }
            });
            found.executions += 1;
            if node.first().is_some_and(|name| !found.nodes.contains(name)) {
                found.nodes.extend(node);
            }
            return;
        }
        self.made_writes += u64::from(writes);
        if self.made.len() >= SHAPES && !self.made.contains_key(&id) {
            return;
        }
        let made = self.made.entry(id).or_insert_with(|| Made {
            shape: Shape { id: ShapeId(id), text: shape.to_string() },
            executions: BTreeMap::new(),
            writes,
            sql: shorten(extra.execution.sql.as_deref().unwrap_or("")),
        });
        made.writes |= writes;
        *made.executions.entry(extra.node).or_default() += 1;
    }

    /// Lists what was found, most frequent first.
    pub fn finish(self) -> Found {
        let nodes = self.nodes;
        let name = |node: usize| nodes.get(node).map_or_else(String::new, |name| name.to_string());
        let mut router_made: Vec<RouterMade> = self
            .made
            .into_values()
            .map(|made| RouterMade {
                shape: made.shape,
                executions: made.executions.into_iter().map(|(node, count)| (name(node), count)).collect(),
                writes: made.writes,
                baseline: None,
                sql: made.sql,
            })
            .collect();
        let total = |made: &RouterMade| made.executions.iter().map(|(_, count)| count).sum::<u64>();
        router_made.sort_by(|a, b| {
            b.writes.cmp(&a.writes).then_with(|| total(b).cmp(&total(a))).then_with(|| a.shape.id.cmp(&b.shape.id))
        });
        let mut duplicated: Vec<DuplicatedWrite> = self.duplicated.into_values().collect();
        duplicated.sort_by(|a, b| b.executions.cmp(&a.executions).then_with(|| a.shape.id.cmp(&b.shape.id)));
        Found { router_made, duplicated, made_writes: self.made_writes, duplicates: self.duplicates }
    }
}
