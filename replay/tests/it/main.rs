//! The replayer against scripted servers. Replays against real servers are in the tests of `samples`.

mod play;
mod server;
mod session;
mod timing;
