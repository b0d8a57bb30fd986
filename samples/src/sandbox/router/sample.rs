//! The sample router in front of a sandbox's pair.

use std::process::Command;

use super::Router;
use crate::error::{At, Result};
use crate::sandbox::process;
use crate::sandbox::state::Backends;

/// The rule files that ship with the samples.
pub const SHIPPED: &[(&str, &str)] = &[
    ("today", include_str!("../../../router/today.yaml")),
    ("candidate", include_str!("../../../router/candidate.yaml")),
    ("parsed", include_str!("../../../router/parsed.yaml")),
];

/// Built and installed beside the sandbox.
pub const PROGRAM: &str = "splitproof-router";

/// Writes the rules; gives the command that starts the router with them.
///
/// It runs as the caller, who built it and can surely reach it; it needs no rights and refuses none.
pub fn command(router: &Router, rules: &str, backends: Backends) -> Result<Command> {
    let home = router.home();
    let config = home.join("rules.yaml");
    std::fs::write(&config, rules).at("write", &config)?;
    let (primary, replica) = router.backends(backends);
    let address = |port: u16| format!("127.0.0.1:{port}");
    let mut command = process::detached(process::beside_us(PROGRAM)?, &home);
    command.args(["--engine", router.engine.as_str()]);
    command.args(["--listen", &address(router.ports.router)]);
    command.args(["--primary", &address(primary), "--replica", &address(replica)]);
    // What the router asks for itself is no traffic, and does not pass the taps.
    for node in [router.ports.primary, router.ports.replica] {
        command.args(["--control", &address(node)]);
    }
    command.arg("--config").arg(config);
    command.arg("--log").arg(router.dir.join("log").join("router-statements.log"));
    Ok(command)
}
