//! Intended against actual.

use serde::{Deserialize, Serialize};

use super::Destination;

/// Requests counted by where they belong and where they ran. Only cells that occur are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    /// The cells, by intent and destination.
    pub cells: Vec<Cell>,
    /// The same per shape, most requests first.
    pub shapes: Vec<ShapeCells>,
}

/// The cells of one shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeCells {
    /// The shape.
    pub shape: super::Shape,
    /// Its cells.
    pub cells: Vec<Cell>,
}

/// One cell of the grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Where the requests belong: `primary`, `replica`, `same` or `all`.
    pub intent: String,
    /// Where they ran.
    pub destination: Destination,
    /// How many.
    pub requests: u64,
}

impl Grid {
    /// Requests in one cell.
    pub fn count(&self, intent: &str, destination: Destination) -> u64 {
        self.cells
            .iter()
            .filter(|cell| cell.intent == intent && cell.destination == destination)
            .map(|cell| cell.requests)
            .sum()
    }

    /// Every cell, those with no requests included.
    pub fn every(&self, destinations: &[Destination]) -> Vec<Cell> {
        let intents = ["primary", "replica", "same", "all", "unknown"];
        let cells = intents.iter().flat_map(|intent| {
            destinations.iter().map(|&destination| Cell {
                intent: (*intent).to_owned(),
                destination,
                requests: self.count(intent, destination),
            })
        });
        cells.collect()
    }

    /// Requests of one intent.
    pub fn of_intent(&self, intent: &str) -> u64 {
        self.cells.iter().filter(|cell| cell.intent == intent).map(|cell| cell.requests).sum()
    }
}
