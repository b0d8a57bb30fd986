//! TLS sessions, decrypted with the secrets of a key log. No I/O: bytes of both directions in, their content out.
//!
//! - [`KeyLog`]: the secrets, from files and from captures
//! - [`Connection`]: both directions of one session; [`Refusal`] says why it cannot be decrypted
//! - `hello`: what the two sides agree on; `suite`: how that is encrypted
//! - `side`: one direction, its records (`record`) and its place in them after a gap
//! - `opener`: keys, and the records that they open
//!
//! TLS 1.2 and 1.3 with AES-GCM and ChaCha20-Poly1305 are decrypted; others are named.

mod connection;
mod hello;
mod key_log;
mod opener;
mod record;
mod side;
mod suite;

pub use connection::{Connection, Piece, Plain, Refusal};
pub use key_log::{InvalidKeyLog, KeyLog};
pub use record::is_record;
