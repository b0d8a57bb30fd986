//! Where each request belongs.
//!
//! - [`Judge`]: the pair's [`Functions`] and one [`Profile`] per statement shape
//! - [`Effects`]: the tables that a statement reads and writes, what it calls included
//! - [`Session`]: one client connection's state, which settles what a shape alone cannot
//! - [`RequestView`]: what the judgement needs of a request
//! - [`Verdict`], [`Intent`], [`Reason`], [`Pin`], [`Control`], [`Fit`]: where it belongs, why, and what it is tied to
//! - [`Determinism`], [`Variation`]: why its answer may differ from one run to the next
//!
//! The rules:
//!
//! - A read outside a transaction that calls nothing volatile, takes no lock and touches no temporary table may run
//!   on any node: `replica`. Functions that are declared volatile and yet change nothing (`random()`, `pg_sleep()`, and
//!   those whose body only reads) leave it there, and the primary is as good.
//! - What writes, locks, defines or maintains, and whatever is not understood, belongs to the primary.
//! - Inside BEGIN READ ONLY reads stay `replica`. In any other transaction reads and control statements are `same`:
//!   they belong where the transaction runs, which is the primary from its first write on. SERIALIZABLE transactions
//!   belong to the primary, since a hot standby refuses them.
//! - Temporary tables, SQL-level prepared statements and cursors are `same`: they live where they were made.
//! - MySQL and MariaDB: what asks for an earlier statement's insert id, rows or warnings, and what reads a user variable
//!   that a query filled, is `same`; while LOCK TABLES holds locks everything is.
//! - What sets session state is `all`: every server that the session may use must see it.

mod determinism;
mod functions;
mod judge;
mod profile;
mod reason;
mod revertible;
mod rules;
mod session;
mod system;
mod transaction;
mod verdict;
mod view;

pub use determinism::{Determinism, Variation};
pub use functions::{Call, Effects, Functions};
pub use judge::Judge;
pub use profile::{Class, Profile, StatementProfile};
pub use reason::Reason;
pub use session::Session;
pub use verdict::{Control, Fit, Intent, Pin, Verdict};
pub use view::RequestView;

#[cfg(test)]
mod tests;
