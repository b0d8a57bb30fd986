//! The integration tests of splitproof-analyze, one module per concern.

mod attribution;
mod bodies;
mod browser;
mod canary;
mod causal;
mod census;
mod check;
mod command;
mod compare;
mod effect;
mod engine;
mod figures;
mod models;
mod mysql;
mod noise;
mod page;
mod random;
mod routes;
mod scenario;
mod simulate;
mod staleness;
mod state;
mod void;
