//! Traffic from packets: capture files, and live interfaces through libpcap.
//!
//! A packet passes through these files, top to bottom:
//!
//! - [`Source`]: capture files or an interface (`source`, `file`, `live`)
//! - [`Assembler`]: the table of connections; accounts for every packet
//! - `link`, `ip`, `tcp`: the headers, down to a TCP segment; `tunnel`: mirrored and tunnelled packets;
//!   `fragments`: IP packets that were sent in pieces
//! - `flow`: one connection, from SYN (or midway) to FIN or RST
//! - [`Stream`]: one direction of a connection: segments in any order to bytes in order
//! - [`Ports`]: which server port speaks which protocol; nothing else decides that
//! - [`Tunnel`]: what an interface lets pass besides them (`filter`)
//! - [`Statistics`]: the figures of the closing summary

mod assembler;
mod error;
mod file;
mod filter;
mod flow;
mod fragments;
mod ip;
mod link;
mod live;
mod ports;
mod source;
mod statistics;
mod stream;
mod tcp;
mod tunnel;

pub use assembler::{Assembler, Limits, Open, sessions};
pub use error::Error;
pub use filter::{InvalidTunnel, Tunnel};
pub use live::Live;
pub use ports::{InvalidPort, PortOption, Ports};
pub use source::{Control, Cut, Ended, Progress, Reason, Source};
pub use statistics::Statistics;
pub use stream::{Counts, Receiver, Stream};
