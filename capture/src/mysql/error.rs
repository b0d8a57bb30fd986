//! What can be wrong with a message.

use thiserror::Error;

/// The bytes are not a message of the protocol, and more bytes would not make them one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("invalid {message} at byte {offset}: {what}")]
pub struct Invalid {
    /// The message, by its name in the MySQL or MariaDB documentation; "packet" where it is not known.
    pub message: &'static str,
    /// Bytes from the start of the payload (behind the packet header) to the field.
    pub offset: usize,
    /// What is wrong with the field.
    pub what: &'static str,
}

/// The content cannot be expressed as a message of the protocol. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("cannot be sent as {message}: {what}")]
pub struct Unencodable {
    /// The message, by its name in the MySQL or MariaDB documentation.
    pub message: &'static str,
    /// Which rule of the protocol the content breaks.
    pub what: &'static str,
}
