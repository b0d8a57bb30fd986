//! pgpool-II in front of the pair.

use std::fs::OpenOptions;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use super::owner::Owner;
use super::ports::Ports;
use super::state::Backends;
use super::{process, wait};
use crate::error::{At, Error, Result};

/// The router configurations that ship with the samples.
pub const SHIPPED: [(&str, &str); 2] =
    [("today", include_str!("../../pgpool/today.conf")), ("candidate", include_str!("../../pgpool/candidate.conf"))];

/// The settings that every shipped configuration shares.
const COMMON: &str = include_str!("../../pgpool/common.conf");

/// How long pgpool may take to listen or to end, in seconds.
const PATIENCE: u64 = 30;

const PROGRAM: &str = "/usr/sbin/pgpool";

/// pgpool of one sandbox.
#[derive(Debug, Clone, Copy)]
pub struct Router<'a> {
    /// The sandbox's directory.
    pub dir: &'a Path,
    /// Its ports.
    pub ports: Ports,
    /// The user it runs as.
    pub owner: &'a Owner,
}

impl Router<'_> {
    /// Its directory, with the written configuration.
    pub fn home(&self) -> PathBuf {
        self.dir.join("router")
    }

    /// Its log, with one line per statement and node.
    pub fn log(&self) -> PathBuf {
        self.dir.join("log").join("router.log")
    }

    /// Writes the configuration and starts pgpool; gives its process id once it listens.
    pub fn start(&self, settings: &str, backends: Backends) -> Result<i32> {
        let file = self.configure(settings, backends)?;
        let log = self.log();
        let to_log = OpenOptions::new().create(true).append(true).open(&log).at("open", &log)?;
        self.owner.own(&log)?;
        let also = to_log.try_clone().at("open", &log)?;
        let mut pgpool = self.owner.command(PROGRAM, &self.home());
        pgpool.arg("-f").arg(&file).arg("-F").arg(self.home().join("pcp.conf"));
        // In the foreground, so that its log goes where we say; without the node states of an earlier life.
        pgpool.args(["-n", "-D"]).stdout(to_log).stderr(also);
        let mut child = pgpool.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::NotInstalled { program: "pgpool", looked: Some(PROGRAM), package: "pgpool2" }
            }
            _ => Error::File { action: "start", path: PROGRAM.into(), source: error },
        })?;
        let pid = i32::try_from(child.id()).unwrap_or(i32::MAX);
        // Collects its exit status whenever it ends, so that no zombie is left that looks alive.
        std::thread::spawn(move || child.wait());
        let address = SocketAddr::from(([127, 0, 0, 1], self.ports.router));
        let listening = wait::until("pgpool listening", PATIENCE, Some(&log), || {
            Ok(!self.runs(pid) || TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok())
        });
        if !self.runs(pid) {
            return Err(Error::RouterEnded { log: super::log::tail(&log) });
        }
        if listening.is_err() {
            self.stop(pid)?;
        }
        listening.map(|()| pid)
    }

    /// Ends pgpool and its children, whatever it takes.
    pub fn stop(&self, pid: i32) -> Result<()> {
        if !self.runs(pid) {
            return Ok(());
        }
        // SIGINT is pgpool's fast shutdown: it does not wait for clients.
        process::signal(pid, Signal::INT);
        let gone = || Ok(!self.runs(pid));
        if wait::until("pgpool ending", PATIENCE / 3, None, gone).is_err() {
            process::kill_group(pid);
        }
        wait::until("pgpool ending after SIGKILL", PATIENCE / 3, Some(&self.log()), gone)
    }

    /// Whether the process is this sandbox's pgpool.
    pub fn runs(&self, pid: i32) -> bool {
        process::runs(pid, &self.home())
    }

    fn configure(&self, settings: &str, backends: Backends) -> Result<PathBuf> {
        let (primary, standby) = match backends {
            Backends::Taps => (self.ports.tap_primary, self.ports.tap_standby),
            Backends::Nodes => (self.ports.primary, self.ports.standby),
        };
        let home = self.home();
        let place = format!(
            "\n# Of this sandbox.\n\
             port = {router}\n\
             pcp_port = {admin}\n\
             socket_dir = '{home}'\n\
             pcp_socket_dir = '{home}'\n\
             wd_ipc_socket_dir = '{home}'\n\
             pid_file_name = '{home}/pgpool.pid'\n\
             logdir = '{home}'\n\
             backend_port0 = {primary}\n\
             backend_port1 = {standby}\n",
            router = self.ports.router,
            admin = self.ports.router_admin,
            home = home.display(),
        );
        for (name, text) in [("pgpool.conf", format!("{COMMON}\n{settings}{place}")), ("pcp.conf", String::new())] {
            let path = home.join(name);
            std::fs::write(&path, text).at("write", &path)?;
            self.owner.own(&path)?;
        }
        Ok(home.join("pgpool.conf"))
    }
}

/// The text of a shipped configuration or of a file with pgpool settings.
pub fn load(config: &str) -> Result<String> {
    if let Some((_, text)) = SHIPPED.iter().find(|(name, _)| *name == config) {
        return Ok((*text).to_owned());
    }
    let path = Path::new(config);
    if !path.is_file() {
        let shipped = SHIPPED.map(|(name, _)| name).join(", ");
        return Err(Error::NoSuchRouter { name: config.to_owned(), shipped });
    }
    std::fs::read_to_string(path).at("read", path)
}
