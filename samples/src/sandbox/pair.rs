//! The `pair.toml` of a sandbox.

use std::path::{Path, PathBuf};

use super::{DATABASE, Sandbox, server};
use crate::error::{At, Result};

impl Sandbox {
    /// The text of the pair's description for replay: the router, both nodes, and a tap in front of each at
    /// the port that the router's backends point to.
    pub fn pair_toml(&self) -> String {
        let ports = self.ports();
        let engine = self.state.engine.as_str();
        let superuser = server::of(self.state.engine).superuser();
        let [primary, replica] = self.node_names();
        let node = |name: &str, role: &str, port: u16, tap: u16| {
            format!(
                "\n[[node]]\n\
                 name = \"{name}\"\n\
                 role = \"{role}\"\n\
                 url = \"{engine}://{superuser}@127.0.0.1:{port}/{DATABASE}\"\n\
                 evidence = \"tap\"\n\
                 tap = \"127.0.0.1:{tap}\"\n"
            )
        };
        format!(
            "# The sandbox in {dir}, written by splitproof-sandbox.\n\
             engine = \"{engine}\"\n\
             \n\
             [router]\n\
             url = \"{engine}://127.0.0.1:{router}/\"\n\
             {primary}{replica}\n\
             [defaults]\n\
             user = \"shop\"\n\
             database = \"{DATABASE}\"\n",
            dir = self.dir.display(),
            router = ports.router,
            primary = node(primary, "primary", ports.primary, ports.tap_primary),
            replica = node(replica, "replica", ports.replica, ports.tap_replica),
        )
    }

    /// Writes `pair.toml` to `path`, or into the sandbox's directory; gives where it is.
    pub fn write_pair_toml(&self, path: Option<&Path>) -> Result<PathBuf> {
        let path = path.map_or_else(|| self.dir.join("pair.toml"), Path::to_owned);
        std::fs::write(&path, self.pair_toml()).at("write", &path)?;
        Ok(path)
    }
}
