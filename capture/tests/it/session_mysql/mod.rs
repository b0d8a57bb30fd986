//! Dialogues of MySQL sessions, and the rows that they become.

mod compression;
mod gaps;
mod midway;
mod prepared;
mod properties;
mod start;
mod text;
