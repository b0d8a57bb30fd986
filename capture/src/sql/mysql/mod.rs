//! MySQL and MariaDB texts, by a token-level parser of our own.
//!
//! - [`Mode`], [`Server`], [`Family`]: what of `sql_mode` and of the server changes how a text is read
//! - [`normalize`], [`shape_id`], [`Normalizer`]: the text without its literals, and its digest
//! - [`facts`]: what a text does; [`body`]: what the body of a stored program does
//! - [`builtin`]: what the functions do that the servers bring with them
//! - [`split`]: the statements of a text
//! - [`digest_text`]: the text under which performance_schema counts a statement
//! - [`with_values`]: a prepared statement with its parameters, or a text, in one notation
//! - [`mask_password`]: takes out what must not enter a trace

mod digest;
mod facts;
mod functions;
mod glance;
mod keyword;
mod lexer;
mod literal;
mod mode;
mod password;
mod shape;
mod split;
mod values;

pub use digest::digest_text;
pub use facts::{body, facts};
pub use functions::{Builtin, builtin};
pub(crate) use glance::{ends_in_line_comment, has_parameters, loads_local, prepares_and_executes};
pub use mode::{Family, Mode, Server};
pub use password::mask_password;
pub use shape::{Normalizer, normalize, shape_id};
pub use split::split;
pub use values::{Sent, with_values};
