//! The application's routes.

use serde::{Deserialize, Serialize};

use super::{Example, Shape};
use crate::route::Route;

/// The routes of a run, and what they do to the primary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Routes {
    /// The routes, those that keep the primary busy longest first.
    pub list: Vec<RouteSummary>,
    /// Requests that name neither a route nor an application.
    pub without_route: u64,
    /// True where the times on the primary come from its own trace; in a recording they are those that clients waited.
    pub measured: bool,
    /// How long the primary worked in all, milliseconds; in a recording: how long clients waited.
    pub primary_ms: f64,
    /// The busiest second of the primary: how many statements it worked on at once, on average over that second.
    pub primary_peak: f64,
    /// The same if it had served what replicas served of movable reads as well.
    pub primary_peak_with_all: f64,
}

/// One route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RouteSummary {
    /// The route; an application where its statements name no route.
    pub route: Route,
    /// False for an application.
    pub tagged: bool,
    /// Requests that execute a statement.
    pub calls: u64,
    /// How long clients waited for them, milliseconds.
    pub time_ms: f64,
    /// Those that ran on the primary.
    pub primary_calls: u64,
    /// How long it worked on them, milliseconds; in a recording: how long clients waited.
    pub primary_ms: f64,
    /// The same as a share of all that the primary did, from 0 to 1.
    pub primary_share: f64,
    /// Reads that a replica may serve.
    pub eligible: u64,
    /// True when every statement could run in a copy of the application that is connected to a replica.
    pub movable: bool,
    /// Requests that could not.
    pub held: u64,
    /// What holds it on the primary, most frequent first.
    pub held_by: Vec<ShapeOfRoute>,
    /// Requests that write behind a method that promises to change nothing (GET, HEAD, OPTIONS). Null where no method is told.
    pub hidden_writes: Option<u64>,
    /// What moving it would take off the primary, as a share of all that the primary did, from 0 to 1: the whole route where it is
    /// movable, else nothing, since a route moves as a whole.
    pub relief: f64,
    /// What its eligible reads alone would, where the router chooses by statement.
    pub relief_by_statement: f64,
    /// How old an answer would be: of the eligible reads, those with a commit on their tables within the time before them.
    pub older_at: Vec<OlderAt>,
    /// Eligible reads on whose tables no commit was seen before: any replica that has the data of the window's beginning will do.
    pub untouched: u64,
    /// Who served its eligible reads.
    pub served: Served,
    /// The primary's busiest second if all that replicas served of this route came back to it.
    pub peak_with_it: f64,
}

/// How old the answers of a replica would be that is so far behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OlderAt {
    /// How far the replica is behind, milliseconds.
    pub lag_ms: u64,
    /// Reads that it would answer as of before a commit.
    pub reads: u64,
    /// Those among them that would miss a commit of their own session.
    pub own: u64,
}

/// Who served the reads of a route that a replica may serve, counted apart: a fallback is no success of the new path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// The primary alone: the old path.
    pub old: u64,
    /// Replicas alone: the new path.
    pub new: u64,
    /// A replica was tried and the primary answered in the end.
    pub fallback: u64,
    /// Nobody: no node that would take it, the replica cancelled or refused it, or the connection broke.
    pub refused: u64,
    /// Nobody knows where.
    pub unknown: u64,
}

/// A shape of a route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShapeOfRoute {
    /// The shape.
    pub shape: Shape,
    /// Its requests in this route.
    pub requests: u64,
    /// Why it belongs where it does.
    pub reason: String,
    /// True when it changes data.
    pub writes: bool,
    /// One of them.
    pub example: Example,
}
