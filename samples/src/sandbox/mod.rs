//! A real pair behind a real router, in a directory of its own.
//!
//! - `mod.rs`: [`Sandbox`], its life from `create` to `destroy`
//! - [`node`]: one PostgreSQL server
//! - [`router`][]: pgpool-II
//! - `snapshot`: the same bytes for every run
//! - `pair`: the `pair.toml` that replay reads
//! - [`state`][]: `sandbox.json`
//! - [`ports`], [`owner`], `process`, `wait`, `log`: what these share

mod log;
pub mod node;
pub mod owner;
mod pair;
pub mod ports;
mod process;
pub mod router;
mod snapshot;
pub mod state;
mod wait;

use std::path::{Path, PathBuf};

use node::Node;
pub use node::Stop;
use owner::Owner;
use ports::Ports;
use router::Router;
use state::{Backends, RouterState, State};

use crate::error::{At, Error, Result};

/// The database of the sample workload.
pub const DATABASE: &str = "shop";

/// The longest directory name that leaves room for a Unix socket's name in it.
const LONGEST: usize = 80;

/// How long the standby may take to apply what the primary has written, in seconds.
const CATCH_UP: u64 = 60;

/// A primary, a streaming standby and pgpool-II.
///
/// Everything lives under one directory and listens on 127.0.0.1 only. A sandbox that is dropped stops its
/// servers, unless [`Sandbox::keep_running`] was called; its directory stays.
#[derive(Debug)]
pub struct Sandbox {
    dir: PathBuf,
    state: State,
    stop_on_drop: bool,
}

impl Sandbox {
    /// Makes a sandbox in `dir`, which must be empty or not exist, with both nodes stopped. Run by root, it
    /// gives the directory to the unprivileged user that the servers will run as.
    pub fn create(dir: impl AsRef<Path>) -> Result<Self> {
        Self::create_with(dir, Ports::pick()?)
    }

    /// Like [`Sandbox::create`], on these ports.
    pub fn create_with(dir: impl AsRef<Path>, ports: Ports) -> Result<Self> {
        let dir = absolute(dir.as_ref())?;
        let state = State {
            owner: Owner::find()?,
            ports,
            postgresql_bin: node::find_bin()?,
            prepared: false,
            node_pids: None,
            router: None,
        };
        claim(&dir, &state.owner)?;
        let sandbox = Self { dir, state, stop_on_drop: true };
        // The state first: whatever goes wrong later, `destroy` knows the directory as a sandbox.
        sandbox.save()?;
        for name in ["log", "router"] {
            let path = sandbox.dir.join(name);
            std::fs::create_dir(&path).at("create", &path)?;
            sandbox.state.owner.own(&path)?;
        }
        let (primary, standby) = (sandbox.primary(), sandbox.standby());
        primary.init()?;
        let mut copy = sandbox.state.owner.command("cp", &sandbox.dir);
        copy.arg("--archive").arg(primary.data()).arg(standby.data());
        owner::run(copy, None)?;
        standby.configure(Some(primary.port))?;
        Ok(sandbox)
    }

    /// Takes up the sandbox that another command or process made in `dir`.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        let dir = absolute(dir.as_ref())?;
        let state = State::load(&dir)?;
        Ok(Self { dir, state, stop_on_drop: true })
    }

    /// Leaves the servers running when this value is dropped.
    pub fn keep_running(&mut self) {
        self.stop_on_drop = false;
    }

    /// Starts both nodes, if they do not run, and waits until the standby streams and has caught up. The
    /// first time it also makes the roles `shop` and `report` and the database `shop`.
    pub fn up(&mut self) -> Result<()> {
        self.start_nodes()
    }

    /// Stops the router and both nodes, and kills what is left of them.
    pub fn down(&mut self) -> Result<()> {
        let router = self.stop_router();
        let nodes = self.stop_nodes(Stop::Fast);
        router?;
        nodes.map(drop)
    }

    /// Stops everything and removes the directory.
    pub fn destroy(mut self) -> Result<()> {
        self.down()?;
        std::fs::remove_dir_all(&self.dir).at("remove", &self.dir)
    }

    /// Starts the router, or starts it again, with a shipped configuration (`today`, `candidate`) or a file
    /// of pgpool settings. Its backends are the taps that a replay opens: it serves clients once they are there.
    pub fn router(&mut self, config: &str) -> Result<()> {
        self.router_with(config, Backends::Taps)
    }

    /// Like [`Sandbox::router`], with a choice of backends.
    pub fn router_with(&mut self, config: &str, backends: Backends) -> Result<()> {
        let settings = router::load(config)?;
        self.stop_router()?;
        let router = Router { dir: &self.dir, ports: self.state.ports, owner: &self.state.owner };
        let pid = router.start(&settings, backends)?;
        self.state.router = Some(RouterState { config: config.to_owned(), backends, pid });
        self.save()
    }

    /// Pauses the standby's replay: it keeps receiving, and answers from the past.
    pub fn pause_replay(&self) -> Result<()> {
        self.need_nodes()?;
        let standby = self.standby();
        standby.sql("postgres", "SELECT pg_wal_replay_pause()")?;
        wait::until("the standby's replay pausing", CATCH_UP, Some(&standby.log()), || {
            standby.sql("postgres", "SELECT pg_get_wal_replay_pause_state()").map(|state| state == "paused")
        })
    }

    /// Lets the standby's replay go on.
    pub fn resume_replay(&self) -> Result<()> {
        self.need_nodes()?;
        self.standby().sql("postgres", "SELECT pg_wal_replay_resume()").map(drop)
    }

    /// Waits until the standby has applied everything that the primary has written up to now.
    pub fn wait_caught_up(&self) -> Result<()> {
        self.need_nodes()?;
        let (primary, standby) = (self.primary(), self.standby());
        let target = primary.sql("postgres", "SELECT pg_current_wal_lsn()")?;
        let applied = format!("SELECT pg_last_wal_replay_lsn() >= '{target}'");
        wait::until(&format!("the standby applying {target}"), CATCH_UP, Some(&standby.log()), || {
            standby.sql("postgres", &applied).map(|answer| answer == "t")
        })
    }

    /// The sandbox's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Every port.
    pub fn ports(&self) -> Ports {
        self.state.ports
    }

    /// The state as the state file has it.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The primary.
    pub fn primary(&self) -> Node<'_> {
        self.node("primary", self.state.ports.primary)
    }

    /// The standby.
    pub fn standby(&self) -> Node<'_> {
        self.node("standby", self.state.ports.standby)
    }

    /// Where pgpool logs, among others, each statement with the node it sent it to.
    pub fn router_log(&self) -> PathBuf {
        Router { dir: &self.dir, ports: self.state.ports, owner: &self.state.owner }.log()
    }

    /// The router's state, when its process runs.
    pub fn running_router(&self) -> Option<&RouterState> {
        let router = Router { dir: &self.dir, ports: self.state.ports, owner: &self.state.owner };
        self.state.router.as_ref().filter(|state| router.runs(state.pid))
    }

    fn node(&self, name: &'static str, port: u16) -> Node<'_> {
        Node { name, port, dir: &self.dir, bin: &self.state.postgresql_bin, owner: &self.state.owner }
    }

    fn start_nodes(&mut self) -> Result<()> {
        self.primary().start()?;
        if !self.state.prepared {
            self.prepare()?;
            self.state.prepared = true;
            self.save()?;
        }
        self.standby().start()?;
        self.state.node_pids = self.primary().pid().zip(self.standby().pid());
        self.save()?;
        let standby = self.standby();
        wait::until("the standby streaming", CATCH_UP, Some(&standby.log()), || {
            standby
                .sql("postgres", "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'")
                .map(|count| count == "1")
        })?;
        self.wait_caught_up()
    }

    fn prepare(&self) -> Result<()> {
        let primary = self.primary();
        primary.sql("postgres", "CREATE ROLE shop LOGIN; CREATE ROLE report LOGIN IN ROLE pg_read_all_data")?;
        primary.sql("postgres", &format!("CREATE DATABASE {DATABASE} OWNER shop"))?;
        Ok(())
    }

    /// Stops both nodes; says whether either of them ran.
    fn stop_nodes(&mut self, how: Stop) -> Result<bool> {
        let ran = self.primary().pid().is_some() || self.standby().pid().is_some();
        // The primary first: it ends only when the standby has received everything.
        let primary = self.primary().stop(how);
        let standby = self.standby().stop(how);
        self.state.node_pids = None;
        self.save()?;
        primary?;
        standby?;
        Ok(ran)
    }

    /// Stops the router; gives how it was started, if it ran.
    fn stop_router(&mut self) -> Result<Option<RouterState>> {
        let Some(state) = self.state.router.take() else { return Ok(None) };
        let router = Router { dir: &self.dir, ports: self.state.ports, owner: &self.state.owner };
        let ran = router.runs(state.pid);
        router.stop(state.pid)?;
        self.save()?;
        Ok(ran.then_some(state))
    }

    pub(crate) fn need_nodes(&self) -> Result<()> {
        match [self.primary(), self.standby()].into_iter().find(|node| node.pid().is_none()) {
            None => Ok(()),
            Some(node) => {
                let what = format!("the {} is not running", node.name);
                Err(Error::Precondition { what, remedy: "start the pair with `up`".to_owned() })
            }
        }
    }

    fn save(&self) -> Result<()> {
        self.state.save(&self.dir)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if self.stop_on_drop && self.dir.exists() {
            // Nobody is left to tell; `down` can be called again and says what is wrong.
            let _ = self.down();
        }
    }
}

fn absolute(dir: &Path) -> Result<PathBuf> {
    std::path::absolute(dir).at("find", dir)
}

/// Makes `dir` the sandbox's own: creates it, or takes an empty one.
fn claim(dir: &Path, owner: &Owner) -> Result<()> {
    let refuse = |why: String| Error::Directory { path: dir.to_owned(), why };
    if dir.as_os_str().len() > LONGEST {
        return Err(refuse(format!(
            "longer than {LONGEST} bytes, too long for a Unix socket in it; choose a shorter one"
        )));
    }
    if dir.as_os_str().to_string_lossy().contains(['\'', '\n', '\u{fffd}']) {
        return Err(refuse("cannot stand in a configuration file; choose a plainer name".to_owned()));
    }
    let ours = !dir.exists();
    std::fs::create_dir_all(dir).at("create", dir)?;
    if std::fs::read_dir(dir).at("read", dir)?.next().is_some() {
        return Err(refuse("not empty; choose another directory, or `destroy` the sandbox in it".to_owned()));
    }
    owner.own(dir)?;
    let mut reach = owner.command("test", Path::new("/"));
    reach.arg("-w").arg(dir);
    owner::run(reach, None).map(drop).map_err(|_| {
        if ours {
            // Nothing was put into it; leave no trace of the attempt.
            let _ = std::fs::remove_dir(dir);
        }
        refuse(format!("user {} cannot reach it; choose a directory such as /tmp/splitproof", owner.name))
    })
}
