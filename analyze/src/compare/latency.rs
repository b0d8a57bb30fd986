//! Durations of both runs side by side.

use std::collections::BTreeMap;

use super::judged::Shapes;
use crate::comparison::{Latency, NodeLatency, Quantiles};
use crate::engine::Durations;

#[derive(Default)]
struct Both {
    read: bool,
    whole: [Option<Quantiles>; 2],
    nodes: BTreeMap<String, [Option<Quantiles>; 2]>,
}

fn quantiles(row: &Durations) -> Quantiles {
    Quantiles {
        requests: row.requests,
        p50_ms: row.p50_ns / 1e6,
        p99_ms: row.p99_ns / 1e6,
        max_ms: row.max_ns / 1e6,
        total_ms: row.total_ns / 1e6,
    }
}

/// A change in percent of the baseline's value.
pub(super) fn delta_pct(baseline: f64, candidate: f64) -> Option<f64> {
    (baseline > 0.0).then(|| (candidate - baseline) / baseline * 100.0)
}

/// Durations of all reads that a replica may serve.
pub(super) fn reads(rows: &[Durations]) -> Option<Quantiles> {
    rows.iter().find(|row| row.part == "reads" && row.requests > 0).map(quantiles)
}

/// Puts the durations of each shape side by side.
pub(super) fn assemble(shapes: &Shapes, baseline: &[Durations], candidate: &[Durations]) -> Vec<Latency> {
    let mut by_shape: BTreeMap<u64, Both> = BTreeMap::new();
    for (side, rows) in [baseline, candidate].into_iter().enumerate() {
        for row in rows {
            let Some(id) = row.shape else { continue };
            let both = by_shape.entry(id).or_default();
            let slot = match &row.nodes {
                Some(nodes) => both.nodes.entry(nodes.clone()).or_default(),
                None => {
                    both.read = row.read && (side == 0 || both.whole[0].is_none() || both.read);
                    &mut both.whole
                }
            };
            slot[side] = Some(quantiles(row));
        }
    }
    let mut list: Vec<Latency> = by_shape
        .into_iter()
        .map(|(id, both)| {
            let [old, new] = both.whole;
            let delta =
                |value: fn(&Quantiles) -> f64| old.zip(new).and_then(|(old, new)| delta_pct(value(&old), value(&new)));
            Latency {
                shape: shapes.shape(id),
                read: both.read,
                baseline: old,
                candidate: new,
                p50_delta_pct: delta(|quantiles| quantiles.p50_ms),
                p99_delta_pct: delta(|quantiles| quantiles.p99_ms),
                nodes: both
                    .nodes
                    .into_iter()
                    .map(|(node, [baseline, candidate])| NodeLatency { node, baseline, candidate })
                    .collect(),
            }
        })
        .collect();
    let slower =
        |row: &Latency| row.candidate.map_or(0.0, |new| new.total_ms) - row.baseline.map_or(0.0, |old| old.total_ms);
    list.sort_by(|a, b| slower(b).total_cmp(&slower(a)).then_with(|| a.shape.id.cmp(&b.shape.id)));
    list
}
