//! Packets to sessions: link layers, connections, files, and every packet accounted for.
//!
//! - [`wire`]: builds packets, and a decoder that writes down what it is told
//! - the other files: scenarios by theme

mod connections;
pub mod files;
mod formats;
mod fragments;
mod headers;
mod live;
mod mutilated;
mod tunnels;
pub mod wire;
