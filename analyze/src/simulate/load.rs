//! The models by name, and loading them.

use std::path::PathBuf;
use std::sync::Arc;

use splitproof_capture::trace::Engine;
use splitproof_replay::catalog::Catalog;

use super::pgpool::Pgpool;
use super::proxysql::Proxysql;
use super::{Error, Model};

/// A router that there is a model of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Router {
    /// ProxySQL's query rules.
    Proxysql,
    /// pgpool-II in streaming replication mode.
    Pgpool,
}

impl Router {
    /// Every one.
    pub const ALL: &[Router] = &[Router::Proxysql, Router::Pgpool];

    /// Its name on the command line and in runs.
    pub fn name(self) -> &'static str {
        match self {
            Router::Proxysql => "proxysql",
            Router::Pgpool => "pgpool",
        }
    }

    /// The protocol that it speaks, as far as the model goes.
    pub fn engine(self) -> Engine {
        match self {
            Router::Proxysql => Engine::Mysql,
            Router::Pgpool => Engine::Postgresql,
        }
    }
}

/// What a model needs beside its rule files.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// ProxySQL: what a hostgroup holds, where the rule files do not say.
    pub hostgroups: Vec<(u32, super::proxysql::Holds)>,
    /// pgpool: what the pair's functions and tables are, which it asks the primary.
    pub catalog: Option<Arc<Catalog>>,
}

/// Reads the rule files of a router.
pub fn load(router: Router, rules: &[PathBuf], options: &Options) -> Result<Box<dyn Model>, Error> {
    match router {
        Router::Proxysql => Ok(Box::new(Proxysql::load(rules, options)?)),
        Router::Pgpool => Ok(Box::new(Pgpool::load(rules, options)?)),
    }
}
