//! What one SQL text is: its shape, cheap enough for every request, and its facts, found once per shape.
//!
//! - [`shape_id`], [`normalize`], [`Normalizer`]: the text without its literals, and its digest
//! - [`Dialect`]: whose SQL it is; without one, a text is PostgreSQL's, and [`mysql`] holds the other engine's
//! - [`Shapes`]: shape ids on the hot path of a capture, and one sample of each shape
//! - [`Facts`], [`Statement`], [`StatementKind`]: what a statement does; [`Dialect::facts`] finds it
//! - [`Body`]: what a stored routine's body holds; [`postgresql::body`] and [`mysql::body`] read it
//! - [`State`]: what a MySQL statement takes from its session and leaves there
//! - [`namings`]: the statements that SQL's PREPARE gives a name, and the names that DEALLOCATE takes away
//! - [`mask_password`]: takes out what must not enter a trace

mod body;
mod dialect;
mod facts;
mod glance;
mod hint;
mod kind;
mod lexer;
mod list;
pub mod mysql;
mod password;
pub mod postgresql;
mod prepared;
mod shape;
mod shapes;
mod state;

pub use body::Body;
pub use dialect::Dialect;
pub use facts::{Effect, Facts, Function, Relation, RowLock, Setting, Statement};
pub(crate) use glance::{Copies, copies, has_parameters};
pub use kind::{Discard, HandlerVerb, Isolation, StatementKind, TransactionMode, XaVerb};
pub use password::mask_password;
pub use prepared::{Naming, namings};
pub use shape::{Normalizer, normalize, shape_id};
pub use shapes::{Shape, Shapes};
pub use state::{Assignment, Follows, LockWait, Scope, State};
