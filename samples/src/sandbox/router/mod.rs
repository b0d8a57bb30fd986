//! The router in front of the pair: pgpool-II or the sample router.
//!
//! - `mod.rs`: [`Router`], the process, whatever its program
//! - [`Config`]: which program with which rules
//! - `sample`: the sample router's command line; pgpool's is beside PostgreSQL's

mod sample;

use std::fs::OpenOptions;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use splitproof_capture::trace::Engine;

use super::owner::Owner;
use super::ports::Ports;
use super::postgresql::pgpool;
use super::state::Backends;
use super::{process, wait};
use crate::error::{At, Error, Result};

/// How long a router may take to listen or to end, in seconds.
const PATIENCE: u64 = 30;

/// Which router, and its rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Config {
    /// pgpool-II with these settings.
    Pgpool(String),
    /// The sample router with these rules.
    Sample(String),
}

impl Config {
    /// Finds a configuration: a shipped one by its name, or a file. For PostgreSQL the shipped ones are pgpool's, and a
    /// file is pgpool's unless it is YAML; everything else is for the sample router.
    pub fn find(engine: Engine, config: &str) -> Result<Self> {
        let path = Path::new(config);
        let yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        let pgpool = engine == Engine::Postgresql && !yaml;
        let kind = if pgpool { Self::Pgpool } else { Self::Sample };
        let shipped: &[(&str, &str)] = if pgpool { &pgpool::SHIPPED } else { sample::SHIPPED };
        if let Some((_, text)) = shipped.iter().find(|(name, _)| *name == config) {
            return Ok(kind((*text).to_owned()));
        }
        if !path.is_file() {
            let names: Vec<_> = shipped.iter().map(|(name, _)| *name).collect();
            return Err(Error::NoSuchRouter { name: config.to_owned(), shipped: names.join(", ") });
        }
        std::fs::read_to_string(path).at("read", path).map(kind)
    }
}

/// The router of one sandbox.
#[derive(Debug, Clone, Copy)]
pub struct Router<'a> {
    /// The sandbox's directory.
    pub dir: &'a Path,
    /// The engine whose protocol it speaks.
    pub engine: Engine,
    /// Its ports.
    pub ports: Ports,
    /// The user that pgpool runs as.
    pub owner: &'a Owner,
}

impl Router<'_> {
    /// Its directory, with the written configuration.
    pub fn home(&self) -> PathBuf {
        self.dir.join("router")
    }

    /// Its log.
    pub fn log(&self) -> PathBuf {
        self.dir.join("log").join("router.log")
    }

    /// Where its backends listen: the primary, and the replica.
    pub(super) fn backends(&self, backends: Backends) -> (u16, u16) {
        match backends {
            Backends::Taps => (self.ports.tap_primary, self.ports.tap_replica),
            Backends::Nodes => (self.ports.primary, self.ports.replica),
        }
    }

    /// Writes the configuration and starts the router; gives its process id once it listens.
    pub fn start(&self, config: &Config, backends: Backends, more: &[String]) -> Result<i32> {
        let (program, command) = match config {
            Config::Pgpool(settings) => ("pgpool", pgpool::command(self, settings, backends)?),
            Config::Sample(rules) => (sample::PROGRAM, sample::command(self, rules, backends)?),
        };
        let pid = self.spawn(program, command, more)?;
        let log = self.log();
        let address = SocketAddr::from(([127, 0, 0, 1], self.ports.router));
        let listening = wait::until(&format!("{program} listening"), PATIENCE, Some(&log), || {
            Ok(!self.runs(pid) || TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok())
        });
        if !self.runs(pid) {
            return Err(Error::Ended { program, log: super::log::tail(&log) });
        }
        if listening.is_err() {
            self.stop(pid)?;
        }
        listening.map(|()| pid)
    }

    fn spawn(&self, program: &'static str, mut command: Command, more: &[String]) -> Result<i32> {
        let log = self.log();
        let to_log = OpenOptions::new().create(true).append(true).open(&log).at("open", &log)?;
        self.owner.own(&log)?;
        let also = to_log.try_clone().at("open", &log)?;
        command.args(more).stdout(to_log).stderr(also);
        let path = PathBuf::from(command.get_program());
        process::spawn(command).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound if program == "pgpool" => {
                Error::NotInstalled { program, looked: Some(pgpool::PROGRAM), package: "pgpool2" }
            }
            std::io::ErrorKind::NotFound => Error::NotBuilt { path },
            _ => Error::File { action: "start", path, source },
        })
    }

    /// Ends the router and its children, whatever it takes.
    pub fn stop(&self, pid: i32) -> Result<()> {
        if !self.runs(pid) {
            return Ok(());
        }
        // For pgpool SIGINT is the fast shutdown: it does not wait for clients.
        process::signal(pid, Signal::INT);
        let gone = || Ok(!self.runs(pid));
        if wait::until("the router ending", PATIENCE / 3, None, gone).is_err() {
            process::kill_group(pid);
        }
        wait::until("the router ending after SIGKILL", PATIENCE / 3, Some(&self.log()), gone)
    }

    /// Whether the process is this sandbox's router.
    pub fn runs(&self, pid: i32) -> bool {
        process::runs(pid, &self.home())
    }
}
