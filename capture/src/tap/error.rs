//! Why a relay cannot start.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

/// A relay cannot start.
#[derive(Debug, Error)]
pub enum Error {
    /// The address to listen on cannot be had.
    #[error("cannot listen on {listen}: {source}; choose a free address of this machine")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The server's name is not known.
    #[error("cannot find the server {upstream}: {source}; give it as HOST:PORT or ADDRESS:PORT")]
    Resolve {
        /// The name as given.
        upstream: String,
        /// What the system says.
        source: io::Error,
    },
    /// The relay would connect to itself.
    #[error("the server {upstream} is the relay's own address; give the address that the database listens on")]
    Loop {
        /// The server's address.
        upstream: SocketAddr,
    },
    /// The thread that decodes cannot be started.
    #[error("cannot start the thread that decodes: {source}")]
    Thread {
        /// What the system says.
        source: io::Error,
    },
}
