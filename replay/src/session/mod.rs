//! One recorded session, replayed on one connection.
//!
//! - [`Task`]: the session from connect to disconnect
//! - [`gate`]: what is sent, and what is withheld for which reason
//! - [`late`]: why a request was sent late
//! - [`login`]: as whom the session starts
//! - [`queue`]: the recorded requests on their way from the reader
//! - [`Patience`]: how long a router that does not answer at all is waited for
//! - [`Stop`]: the signal to send nothing more

pub mod gate;
pub mod late;
pub mod login;
mod patience;
pub mod queue;
mod reason;
mod stop;
mod task;

pub use patience::Patience;
pub use reason::NotSent;
pub use stop::Stop;
pub use task::{Ended, Scene, Task};
