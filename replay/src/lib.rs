//! Drive recorded traffic through a router into a real pair, with the original timing, and keep what came back.

pub mod catalog;
pub mod clock;
pub mod pair;
