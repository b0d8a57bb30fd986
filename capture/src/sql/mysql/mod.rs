//! MySQL and MariaDB texts, by a token-level parser of our own.
//!
//! - [`Mode`], [`Server`], [`Family`]: what of `sql_mode` and of the server changes how a text is read
//! - [`normalize`], [`shape_id`], [`Normalizer`]: the text without its literals, and its digest
//! - [`mask_password`]: takes out what must not enter a trace

mod keyword;
mod lexer;
mod literal;
mod mode;
mod password;
mod shape;

pub use mode::{Family, Mode, Server};
pub use password::mask_password;
pub use shape::{Normalizer, normalize, shape_id};
