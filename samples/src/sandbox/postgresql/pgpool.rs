//! pgpool-II in front of the PostgreSQL pair.

use std::path::PathBuf;
use std::process::Command;

use crate::error::{At, Result};
use crate::sandbox::router::Router;
use crate::sandbox::state::Backends;

/// The router configurations that ship with the samples.
pub const SHIPPED: [(&str, &str); 2] = [
    ("today", include_str!("../../../pgpool/today.conf")),
    ("candidate", include_str!("../../../pgpool/candidate.conf")),
];

/// The settings that every shipped configuration shares.
const COMMON: &str = include_str!("../../../pgpool/common.conf");

/// Where Debian's package puts it.
pub const PROGRAM: &str = "/usr/sbin/pgpool";

/// Writes the configuration; gives the command that starts pgpool with it.
pub fn command(router: &Router, settings: &str, backends: Backends) -> Result<Command> {
    let file = configure(router, settings, backends)?;
    let home = router.home();
    let mut pgpool = router.owner.command(PROGRAM, &home);
    pgpool.arg("-f").arg(file).arg("-F").arg(home.join("pcp.conf"));
    // In the foreground, so that its log goes where we say; without the node states of an earlier life.
    pgpool.args(["-n", "-D"]);
    Ok(pgpool)
}

fn configure(router: &Router, settings: &str, backends: Backends) -> Result<PathBuf> {
    let (primary, replica) = router.backends(backends);
    let home = router.home();
    let place = format!(
        "\n# Of this sandbox.\n\
         port = {listen}\n\
         pcp_port = {admin}\n\
         socket_dir = '{home}'\n\
         pcp_socket_dir = '{home}'\n\
         wd_ipc_socket_dir = '{home}'\n\
         pid_file_name = '{home}/pgpool.pid'\n\
         logdir = '{home}'\n\
         backend_port0 = {primary}\n\
         backend_port1 = {replica}\n",
        listen = router.ports.router,
        admin = router.ports.router_admin,
        home = home.display(),
    );
    for (name, text) in [("pgpool.conf", format!("{COMMON}\n{settings}{place}")), ("pcp.conf", String::new())] {
        let path = home.join(name);
        std::fs::write(&path, text).at("write", &path)?;
        router.owner.own(&path)?;
    }
    Ok(home.join("pgpool.conf"))
}
