//! Copies of the pair's data, so that every run starts from the same bytes.

use std::path::Path;

use super::owner;
use super::{Sandbox, Stop};
use crate::error::{At, Error, Result};

const DIRECTORY: &str = "snapshot";

impl Sandbox {
    /// Stops the pair, copies both data directories with all their logs, and starts again what ran.
    /// A later snapshot replaces an earlier one.
    pub fn snapshot(&mut self) -> Result<()> {
        let to = self.dir.join(DIRECTORY);
        let new = self.dir.join("snapshot.new");
        self.stopped(Stop::Fast, |sandbox| {
            remove(&new)?;
            std::fs::create_dir(&new).at("create", &new)?;
            sandbox.state.owner.own(&new)?;
            for name in sandbox.node_names() {
                sandbox.copy(&sandbox.dir.join(name), &new.join(name))?;
            }
            remove(&to)?;
            std::fs::rename(&new, &to).at("create", &to)
        })
    }

    /// Puts both data directories back as the snapshot has them, and starts again what ran.
    pub fn restore(&mut self) -> Result<()> {
        let from = self.dir.join(DIRECTORY);
        if !from.is_dir() {
            let what = format!("there is no snapshot in {}", self.dir.display());
            return Err(Error::Precondition { what, remedy: "make one with `snapshot`".to_owned() });
        }
        self.stopped(Stop::Immediate, |sandbox| {
            for name in sandbox.node_names() {
                let data = sandbox.dir.join(name);
                remove(&data)?;
                sandbox.copy(&from.join(name), &data)?;
            }
            Ok(())
        })
    }

    /// Does something while the nodes and the router are stopped. The router is started again as well: it
    /// keeps connections, which the nodes' restart has broken.
    fn stopped(&mut self, how: Stop, work: impl FnOnce(&Self) -> Result<()>) -> Result<()> {
        let router = self.stop_router()?;
        let ran = self.stop_nodes(how)?;
        work(self)?;
        if ran {
            self.start_nodes()?;
        }
        match router {
            Some(router) => self.router_with(&router.config, router.backends, &router.arguments),
            None => Ok(()),
        }
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        // cp shares the blocks where the file system can, and keeps modes, which PostgreSQL checks.
        let mut cp = self.state.owner.command("cp", &self.dir);
        cp.args(["--archive", "--reflink=auto", "--"]).arg(from).arg(to);
        owner::run(cp, None).map(drop)
    }
}

fn remove(dir: &Path) -> Result<()> {
    if dir.exists() { std::fs::remove_dir_all(dir).at("remove", dir) } else { Ok(()) }
}
