//! The sandbox against real servers.

mod sandbox;
