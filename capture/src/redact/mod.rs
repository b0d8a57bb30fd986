//! Redaction: every literal and parameter becomes another one of the same type and form, by a key.
//!
//! - [`Key`]: the secret; equal values stay equal wherever the same key was used
//! - [`Redactor`]: changes the rows of one recording, and its shapes
//! - [`redact`](fn@redact): a trace that was recorded without it
//! - `number`, `time`, `text`: values by what they say; `postgresql`, `mysql`: parameters by their types; `copy`: data of COPY
//! - `statement`, `token`, `comment`: the literals of a text and its comments
//!
//! Numbers, dates, and strings of up to about 24 letters are exchanged one for one (a Feistel network over their number of
//! possible values, with SipHash-2-4 as round function), so that different values stay different; longer ones by a hash.

mod comment;
mod copy;
mod format;
mod key;
mod mysql;
mod number;
mod postgresql;
mod row;
mod statement;
mod text;
mod time;
mod token;
mod trace;

pub use key::{Key, KeyError};
pub use row::Redactor;
pub use trace::{Error, redact};
