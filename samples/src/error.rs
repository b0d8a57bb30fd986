//! What can go wrong in the sandbox: what it was, where, and what to do about it.

use std::path::{Path, PathBuf};

/// Any failure of the sandbox or of the sample workload.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried, as a verb: `read`, `create`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// A program that Debian's packages bring is not there.
    #[error("{program} not found{looked}; install it with: apt-get install {package}", looked = looked_in(.looked))]
    NotInstalled {
        /// The missing program.
        program: &'static str,
        /// Where it was looked for, if at a fixed place.
        looked: Option<&'static str>,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A program of this workspace is not there.
    #[error("{} is not built; build it with: cargo build --workspace", path.display())]
    NotBuilt {
        /// Where it should be.
        path: PathBuf,
    },
    /// Running as root, and no unprivileged user to hand the servers to.
    #[error("the servers do not run as root and none of the users {tried} exists; run as an ordinary user instead")]
    NoUser {
        /// The user names that were tried.
        tried: String,
    },
    /// The directory cannot hold a sandbox.
    #[error("{}: {why}", path.display())]
    Directory {
        /// The directory that was named.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// The state file is not one of ours.
    #[error("{} is not a sandbox state file: {source}; remove the directory and run `create` again", path.display())]
    State {
        /// The state file.
        path: PathBuf,
        /// Where the JSON is wrong.
        source: serde_json::Error,
    },
    /// No block of free ports was found.
    #[error("no {0} free neighbouring ports on 127.0.0.1 between 20000 and 31999")]
    NoPorts(usize),
    /// Somebody else listens on a node's port.
    #[error(
        "cannot start the {node} on 127.0.0.1:{port}: {source}; stop what listens there, or `create` another sandbox"
    )]
    PortTaken {
        /// The node.
        node: &'static str,
        /// Its port.
        port: u16,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// Only a MariaDB pair has what was asked for.
    #[error("the sandbox in {} is for {product}, which has no {what}; make one with `create --engine mysql`", dir.display())]
    Unsupported {
        /// The sandbox's directory.
        dir: PathBuf,
        /// What runs in it.
        product: &'static str,
        /// What was asked for.
        what: &'static str,
    },
    /// The replica has stopped applying, and will not go on by itself.
    #[error("the {node} cannot apply what the primary has written: {reason}")]
    Replication {
        /// The replica's name.
        node: &'static str,
        /// The server's reason.
        reason: String,
    },
    /// A server answered something that the sandbox cannot use.
    #[error("{what}: {answer:?}")]
    Unexpected {
        /// What was asked.
        what: &'static str,
        /// The answer.
        answer: String,
    },
    /// A server tool failed.
    #[error("{program} failed with {status}: {output}{log}")]
    Tool {
        /// The program.
        program: String,
        /// Its exit status.
        status: String,
        /// What it printed.
        output: String,
        /// The tail of the server's log, where there is one.
        log: String,
    },
    /// A condition did not come true in time.
    #[error("{what} did not happen within {seconds} s{log}")]
    Timeout {
        /// The awaited condition.
        what: String,
        /// How long it was awaited.
        seconds: u64,
        /// The tail of the server's log, where there is one.
        log: String,
    },
    /// A server or router ended as soon as it was started.
    #[error("{program} ended right after its start{log}")]
    Ended {
        /// The program.
        program: &'static str,
        /// The tail of its log.
        log: String,
    },
    /// An operation needs running servers, or stopped ones.
    #[error("{what}; {remedy}")]
    Precondition {
        /// What is not as it must be.
        what: String,
        /// The command that helps.
        remedy: String,
    },
    /// The name is neither a shipped router configuration nor a file.
    #[error("{name:?} is neither a shipped configuration ({shipped}) nor a file")]
    NoSuchRouter {
        /// What was asked for.
        name: String,
        /// The shipped names.
        shipped: String,
    },
    /// A client of the sample workload failed where it must not.
    #[error("session {session} of the workload: {what}")]
    Workload {
        /// Number of the session.
        session: usize,
        /// What happened.
        what: String,
    },
}

/// Result with the sandbox's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

fn looked_in(looked: &Option<&'static str>) -> String {
    looked.map(|at| format!(" ({at})")).unwrap_or_default()
}

/// Adds the path to an I/O error.
pub(crate) trait At<T> {
    /// Says what was tried on which file.
    fn at(self, action: &'static str, path: &Path) -> Result<T>;
}

impl<T> At<T> for std::io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::File { action, path: path.to_owned(), source })
    }
}
