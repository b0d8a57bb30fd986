//! A real pair behind a real router, in a directory of its own.
//!
//! - `mod.rs`: [`Sandbox`], its life from `create` to `destroy`
//! - [`node`]: one server
//! - `server`: what the sandbox needs of an engine; `postgresql` and `mysql` are the engines
//! - [`router`][]: pgpool-II, or the sample router
//! - `replication`: waiting for the replica, pausing and delaying it
//! - `snapshot`: the same bytes for every run
//! - `pair`: the `pair.toml` that replay reads
//! - [`state`][]: `sandbox.json`
//! - [`ports`], [`owner`], `process`, `wait`, `log`: what these share

mod log;
mod mysql;
pub mod node;
pub mod owner;
mod pair;
pub mod ports;
mod postgresql;
pub(crate) mod process;
mod replication;
pub mod router;
mod server;
mod snapshot;
pub mod state;
mod wait;

use std::path::{Path, PathBuf};

use node::Node;
pub use node::Stop;
use owner::Owner;
use ports::Ports;
use router::Router;
pub use server::StatementLog;
use server::{Server, Settings};
use splitproof_capture::trace::Engine;
use state::{Backends, RouterState, State};

use crate::error::{At, Error, Result};

/// The database of the sample workload.
pub const DATABASE: &str = "shop";

/// The longest directory name that leaves room for a Unix socket's name in it.
const LONGEST: usize = 80;

/// What a sandbox is made of.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The kind of servers.
    pub engine: Engine,
    /// Every port.
    pub ports: Ports,
    /// Whether MariaDB's performance_schema is on.
    pub performance_schema: bool,
}

impl Plan {
    /// A pair of this engine on free ports.
    pub fn new(engine: Engine) -> Result<Self> {
        Ok(Self { engine, ports: Ports::pick()?, performance_schema: false })
    }
}

/// A primary, a replica and a router.
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
    /// Makes a PostgreSQL sandbox in `dir`, which must be empty or not exist, with both nodes stopped. Run by root, it
    /// gives the directory to the unprivileged user that the servers will run as.
    pub fn create(dir: impl AsRef<Path>) -> Result<Self> {
        Self::create_with(dir, Plan::new(Engine::Postgresql)?)
    }

    /// Like [`Sandbox::create`], as planned.
    pub fn create_with(dir: impl AsRef<Path>, plan: Plan) -> Result<Self> {
        let dir = absolute(dir.as_ref())?;
        let server = server::of(plan.engine);
        if plan.performance_schema && plan.engine != Engine::Mysql {
            return Err(server::unsupported(plan.engine, &dir, "performance_schema"));
        }
        let state = State {
            engine: plan.engine,
            owner: Owner::find()?,
            ports: plan.ports,
            bin: server.find_programs()?,
            prepared: false,
            statement_log: None,
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
        let (primary, replica) = (sandbox.primary(), sandbox.replica());
        let settings = Settings { upstream: None, performance_schema: plan.performance_schema };
        server.init(&primary)?;
        server.configure(&primary, settings)?;
        let mut copy = sandbox.state.owner.command("cp", &sandbox.dir);
        copy.arg("--archive").arg(primary.data()).arg(replica.data());
        owner::run(copy, None)?;
        server.configure(&replica, Settings { upstream: Some(primary.port), ..settings })?;
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

    /// Starts both nodes, if they do not run, and waits until the replica receives and has caught up. The
    /// first time it also makes the users `shop` and `report` and the database `shop`.
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

    /// Starts the router, or starts it again, with a shipped configuration (`today`, `candidate`) or a file. Its
    /// backends are the taps that a replay opens: it serves clients once they are there.
    pub fn router(&mut self, config: &str) -> Result<()> {
        self.router_with(config, Backends::Taps, &[])
    }

    /// Like [`Sandbox::router`], with a choice of backends and more arguments on its command line.
    pub fn router_with(&mut self, config: &str, backends: Backends, arguments: &[String]) -> Result<()> {
        let found = router::Config::find(self.state.engine, config)?;
        self.stop_router()?;
        let pid = self.the_router().start(&found, backends, arguments)?;
        let arguments = arguments.to_vec();
        self.state.router = Some(RouterState { config: config.to_owned(), backends, arguments, pid });
        self.save()
    }

    /// Switches each node's log of all statements on or off, now and at every start. Only MariaDB has that switch.
    pub fn log_statements(&mut self, to: Option<StatementLog>) -> Result<()> {
        self.need_nodes()?;
        for node in [self.primary(), self.replica()] {
            node.log_statements(to)?;
        }
        self.state.statement_log = to;
        self.save()
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

    /// What kind of servers these are.
    pub fn engine(&self) -> Engine {
        self.state.engine
    }

    /// The primary.
    pub fn primary(&self) -> Node<'_> {
        self.node("primary", self.state.ports.primary)
    }

    /// The replica.
    pub fn replica(&self) -> Node<'_> {
        self.node(self.server().replica_name(), self.state.ports.replica)
    }

    /// Where the router logs; pgpool, among others, each statement with the node it sent it to.
    pub fn router_log(&self) -> PathBuf {
        self.the_router().log()
    }

    /// The router's state, when its process runs.
    pub fn running_router(&self) -> Option<&RouterState> {
        self.state.router.as_ref().filter(|state| self.the_router().runs(state.pid))
    }

    fn the_router(&self) -> Router<'_> {
        let State { engine, ports, owner, .. } = &self.state;
        Router { dir: &self.dir, engine: *engine, ports: *ports, owner }
    }

    fn server(&self) -> &'static dyn Server {
        server::of(self.state.engine)
    }

    fn node_names(&self) -> [&'static str; 2] {
        [self.primary().name, self.replica().name]
    }

    fn node(&self, name: &'static str, port: u16) -> Node<'_> {
        let State { engine, bin, owner, .. } = &self.state;
        Node { name, port, dir: &self.dir, engine: *engine, bin, owner }
    }

    fn start_nodes(&mut self) -> Result<()> {
        self.primary().start()?;
        self.replica().start()?;
        self.state.node_pids = self.primary().pid().zip(self.replica().pid());
        self.save()?;
        if !self.state.prepared {
            self.server().prepare(&self.primary())?;
            self.server().follow(&self.replica(), &self.primary())?;
            self.state.prepared = true;
            self.save()?;
        }
        if let Some(to) = self.state.statement_log {
            self.log_statements(Some(to))?;
        }
        self.wait_receiving()?;
        self.wait_caught_up()
    }

    /// Stops both nodes; says whether either of them ran.
    fn stop_nodes(&mut self, how: Stop) -> Result<bool> {
        let ran = self.primary().pid().is_some() || self.replica().pid().is_some();
        // The primary first: PostgreSQL's ends only when its standby has received everything.
        let primary = self.primary().stop(how);
        let standby = self.replica().stop(how);
        self.state.node_pids = None;
        self.save()?;
        primary?;
        standby?;
        Ok(ran)
    }

    /// Stops the router; gives how it was started, if it ran.
    fn stop_router(&mut self) -> Result<Option<RouterState>> {
        let Some(state) = self.state.router.take() else { return Ok(None) };
        let router = self.the_router();
        let ran = router.runs(state.pid);
        router.stop(state.pid)?;
        self.save()?;
        Ok(ran.then_some(state))
    }

    pub(crate) fn need_nodes(&self) -> Result<()> {
        match [self.primary(), self.replica()].into_iter().find(|node| node.pid().is_none()) {
            None => Ok(()),
            Some(node) => {
                let what = format!("the {} is not running", node.name);
                Err(Error::Precondition { what, remedy: "start the pair with `up`".to_owned() })
            }
        }
    }

    /// The answer to a command that only a MariaDB pair has.
    pub(crate) fn unsupported(&self, what: &'static str) -> Error {
        server::unsupported(self.state.engine, &self.dir, what)
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
