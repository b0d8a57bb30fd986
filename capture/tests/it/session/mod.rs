//! Dialogues of PostgreSQL sessions, and the rows that they become.

mod copy;
mod end;
mod extended;
mod simple;
mod start;
