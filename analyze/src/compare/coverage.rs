//! The fixture's shapes against the window's.

use std::collections::{BTreeMap, HashMap};

use splitproof_capture::trace::{self, Reader};

use super::judged::Shapes;
use crate::attribution::needs_execution;
use crate::comparison::{Shape, ShapeCoverage, ShapeId};
use crate::run::dialect;

/// Compares the shapes of a trace with those of a fixture, with their texts.
pub fn coverage_of_trace(trace: &Reader, fixture: &[(u64, String)]) -> Result<ShapeCoverage, trace::Error> {
    let dialect = dialect(trace.manifest().engine, "");
    let (mut window, mut texts) = (HashMap::new(), HashMap::new());
    for request in trace.requests() {
        let request = request?;
        let Some(sql) = request.sql.as_deref().filter(|_| needs_execution(&request)) else { continue };
        let id = request.shape_id.unwrap_or_else(|| dialect.shape_id(sql));
        *window.entry(id).or_default() += 1;
        texts.entry(id).or_insert_with(|| dialect.normalize(sql).into());
    }
    Ok(coverage(&window, fixture, &Shapes::new(texts)))
}

/// Compares the shapes of a window, with their requests, with those of a fixture, with their texts.
pub(super) fn coverage(window: &HashMap<u64, u64>, fixture: &[(u64, String)], shapes: &Shapes) -> ShapeCoverage {
    let fixture: BTreeMap<u64, &String> = fixture.iter().map(|(id, text)| (*id, text)).collect();
    let mut not_in_fixture: Vec<(Shape, u64)> = window
        .iter()
        .filter(|(id, _)| !fixture.contains_key(id))
        .map(|(&id, &requests)| (shapes.shape(id), requests))
        .collect();
    not_in_fixture.sort_by_key(|(shape, requests)| (std::cmp::Reverse(*requests), shape.id));
    let not_in_window: Vec<Shape> = fixture
        .iter()
        .filter(|(id, _)| !window.contains_key(id))
        .map(|(&id, &text)| Shape { id: ShapeId(id), text: text.clone() })
        .collect();
    let window_requests: u64 = window.values().sum();
    let missing: u64 = not_in_fixture.iter().map(|(_, requests)| requests).sum();
    ShapeCoverage {
        window_shapes: window.len() as u64,
        fixture_shapes: fixture.len() as u64,
        shared_shapes: (fixture.len() - not_in_window.len()) as u64,
        window_requests,
        covered_requests: window_requests - missing,
        not_in_fixture,
        not_in_window,
    }
}
