//! Why a connection cannot be used any more.

use std::io;

/// Why a connection cannot be used any more.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The server ended it.
    #[error("the server closed the connection")]
    Closed,
    /// The system reports an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What the server sends is not the protocol.
    #[error("the server sent bytes that are not messages of the protocol")]
    Invalid,
}
