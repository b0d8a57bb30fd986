//! The replayer against scripted servers, and its MySQL parts against a real MariaDB. Whole replays against real servers are in the
//! tests of `samples`.

mod mariadb;
mod mysql_nodes;
mod play;
mod server;
mod session;
mod timing;
