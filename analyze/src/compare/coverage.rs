//! The fixture's shapes against the window's.

use std::collections::{BTreeMap, HashMap};

use super::judged::Shapes;
use crate::census::Known;
use crate::comparison::{Shape, ShapeCoverage, ShapeId};

/// Compares the shapes of a trace with those of a fixture.
pub fn coverage_of_trace(window: &Known, fixture: &Known) -> ShapeCoverage {
    let requests = window.shapes.iter().map(|(&id, known)| (id, known.requests)).collect();
    let texts = window.shapes.iter().map(|(&id, known)| (id, known.text.as_str().into())).collect();
    let fixture: Vec<(u64, String)> = fixture.shapes.iter().map(|(&id, known)| (id, known.text.clone())).collect();
    coverage(&requests, &fixture, &Shapes::new(texts))
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
