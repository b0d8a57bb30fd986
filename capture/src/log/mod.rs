//! Traffic from server logs.
//!
//! Bytes pass through these files, top to bottom:
//!
//! - [`Source`]: the files in order, opened and decompressed (`source`, `input`); one [`Format`] for all of them
//! - [`Format`]: the formats by name. Each is one implementation of `Reader` in a folder of its engine or router
//! - `Records`: where a reader accounts for every entry and puts its rows (`records`)
//! - `Sessions`: the sessions of a log by what names them there, and the order of their rows (`sessions`, `lanes`)
//! - `time`: time stamps and zones; `syslog`: lines that went through syslog
//! - [`Statistics`]: the figures of the closing summary; [`Unread`]: where the entries are that could not be read
//!
//! An entry is what the server logged at one time: a line of text with the lines that continue it, a record of CSV, an
//! object of JSON. Each entry makes a request, adds to one, or is counted among the losses.

mod error;
mod format;
mod input;
mod lanes;
mod maxscale;
mod mysql;
mod pgpool;
mod postgresql;
mod proxysql;
mod records;
mod sessions;
mod source;
mod statistics;
mod syslog;
mod time;
mod unread;

pub use error::Error;
pub use format::{Format, Settings};
pub use postgresql::{InvalidPrefix, Prefix};
pub use source::{Control, Ended, Observer, Overlap, Progress, Source};
pub use statistics::Statistics;
pub use time::Zone;
pub use unread::Unread;

use input::{Input, Line};
use records::Records;

/// Reads one log format. A reader keeps its state from one file to the next.
trait Reader {
    /// Reads an input to its end. An entry may not go on in the next file.
    fn read(&mut self, input: &mut Input, out: &mut Records<'_>);

    /// After the last file: rows that were waiting for more come out.
    fn finish(&mut self, out: &mut Records<'_>);
}
