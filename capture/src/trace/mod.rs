//! The trace: a directory of Parquet files and a manifest that says what clients asked, when, and what came back.
//!
//! What it holds: [`Request`] (one row, one thing a client asked for), [`Shape`], [`Position`] (in a run, a sample of a
//! node's replication position), and [`Manifest`] (`trace.json`) with the [`Losses`] and the sessions that are
//! [`Encrypted`]. `docs/trace.md` describes them.
//!
//! - [`Sink`]: where sources put finished requests
//! - [`Writer`]: the sink that writes a trace directory (`stream.rs`, `age.rs`, `file.rs`)
//! - [`Reader`], [`Requests`]: a trace in start order with bounded memory (`merge.rs`, `rows.rs`)
//! - [`rebuild`]: a manifest that was lost, from the files
//! - `column/`: how a row's fields become columns; `words.rs`: enums that are stored as words

mod age;
mod column;
mod directory;
mod encrypted;
mod error;
mod file;
mod loss;
mod manifest;
mod merge;
mod position;
mod reader;
mod rebuild;
mod request;
mod rows;
mod shape;
mod stream;
mod words;
mod writer;

pub use column::Column;
pub use directory::{Existing, Leftover, check_directory};
pub use encrypted::Encrypted;
pub use error::Error;
pub(crate) use file::seal;
pub use loss::{Loss, Losses};
pub use manifest::{Engine, FORMAT, File, Group, Manifest, Sealed, TOOL, Table, Window};
pub use merge::Requests;
pub use position::{Position, Role};
pub use reader::Reader;
pub use rebuild::rebuild;
pub use request::{Kind, LateCause, Outcome, Param, Request, Sink, TransactionStatus};
pub use rows::Columns;
pub use shape::Shape;
pub use writer::{NodeWriter, Options, PositionWriter, Writer};
