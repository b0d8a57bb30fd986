//! The fixture's shapes against the window's.

use serde::{Deserialize, Serialize};

use super::Shape;

/// Which statement shapes of the window the fixture asserts on, and the other way round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShapeCoverage {
    /// Shapes in the window.
    pub window_shapes: u64,
    /// Shapes in the fixture.
    pub fixture_shapes: u64,
    /// Shapes in both.
    pub shared_shapes: u64,
    /// Requests in the window.
    pub window_requests: u64,
    /// Requests of the window whose shape is in the fixture.
    pub covered_requests: u64,
    /// Shapes of the window that the fixture lacks, with their requests; most frequent first.
    pub not_in_fixture: Vec<(Shape, u64)>,
    /// Shapes of the fixture that the window lacks.
    pub not_in_window: Vec<Shape>,
}
