//! Control connections: one to each node, beside the replayed traffic.
//!
//! - [`connect`]: opens them and checks that the pair is what `pair.toml` says
//! - [`Control`]: one of them, over the driver of the pair's engine (`postgresql.rs`, `mysql.rs`)
//! - [`Identity`], [`Lineage`]: what a node says about itself
//! - [`ClockOffset`]: how its clock differs from ours
//! - [`recorded_server`]: refuses targets that are a server of the recording

mod check;
mod clock_offset;
mod connection;
mod error;
mod identity;
mod mysql;
mod postgresql;
mod target;

pub use check::connect;
pub use clock_offset::ClockOffset;
pub use connection::{Client, Control};
pub use error::{ControlError, DriverError};
pub use identity::{Identity, Lineage};
pub use mysql::{Family, MysqlControl};
pub(crate) use mysql::{OPENING, is_on, required, text, value};
pub use postgresql::PostgresqlControl;
pub use target::{Targets, recorded_server};
