//! Traffic from packets: capture files and live interfaces, through libpcap.
//!
//! A packet passes through these files, top to bottom:
//!
//! - [`Source`]: capture files or an interface, read through libpcap (`source`, `file`, `live`; `damage` finds
//!   where a broken file breaks)
//! - [`Assembler`]: the table of connections; accounts for every packet
//! - `link`, `ip`, `tcp`: the headers, down to a TCP segment
//! - `flow`: one connection, from SYN (or midway) to FIN or RST
//! - [`Stream`]: one direction of a connection: segments in any order to bytes in order
//! - [`Ports`]: which server port speaks which protocol; nothing else decides that
//! - [`Statistics`]: the figures of the closing summary

mod assembler;
mod damage;
mod error;
mod file;
mod flow;
mod ip;
mod link;
mod live;
mod ports;
mod source;
mod statistics;
mod stream;
mod tcp;

pub use assembler::{Assembler, Limits, Open, sessions};
pub use error::Error;
pub use live::Live;
pub use ports::{InvalidPort, PortOption, Ports};
pub use source::{Control, Cut, Ended, Progress, Reason, Source};
pub use statistics::Statistics;
pub use stream::{Counts, Receiver, Stream};
