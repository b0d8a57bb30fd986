//! The integration tests of splitproof-analyze, one module per concern.

mod attribution;
mod bodies;
mod check;
mod command;
mod compare;
mod effect;
mod engine;
mod models;
mod mysql;
mod page;
mod scenario;
mod simulate;
mod staleness;
mod state;
mod void;
