//! What the commands share that need a model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use splitproof_analyze::simulate::proxysql::Holds;
use splitproof_analyze::simulate::{Model, Options, Router, load};
use splitproof_capture::trace::Reader;
use splitproof_replay::catalog::Catalog;

/// Which model, and with which rules.
#[derive(Debug, clap::Args)]
pub struct ModelFlags {
    /// The router whose model is asked.
    #[arg(long, value_name = "NAME", value_parser = router())]
    pub router: Router,
    /// Its rule files, in the forms that docs/models.md names.
    #[arg(long, value_name = "FILE", required = true)]
    pub rules: Vec<PathBuf>,
    /// A run whose catalogue says what the pair's functions do [default: that of the trace, where it is a run].
    #[arg(long, value_name = "RUN")]
    pub catalog: Option<PathBuf>,
    #[command(flatten)]
    pub hostgroups: HostgroupFlags,
}

/// What the rule files may not say.
#[derive(Debug, clap::Args)]
pub struct HostgroupFlags {
    /// ProxySQL: what a hostgroup holds, `10=primary` or `20=replica`, where the files do not list the servers.
    #[arg(long = "hostgroup", value_name = "N=ROLE")]
    pub hostgroups: Vec<String>,
}

/// A router by its name.
pub fn router() -> impl TypedValueParser<Value = Router> {
    let by_name = |name: String| Router::ALL.iter().copied().find(|router| router.name() == name).ok_or("not known");
    PossibleValuesParser::new(Router::ALL.iter().map(|router| router.name())).try_map(by_name)
}

impl HostgroupFlags {
    /// The options in the form that models take.
    pub fn options(&self) -> anyhow::Result<Options> {
        let mut options = Options::default();
        for text in &self.hostgroups {
            let form = || format!("--hostgroup {text}: write N=primary or N=replica");
            let (number, role) = text.split_once('=').with_context(form)?;
            let holds = match role {
                "primary" => Holds::Primary,
                "replica" => Holds::Replica,
                _ => bail!(form()),
            };
            options.hostgroups.push((number.parse().with_context(form)?, holds));
        }
        Ok(options)
    }
}

impl ModelFlags {
    /// The model with its rules, and with what is known of the pair that a trace was made on.
    pub fn load(&self, trace: Option<&Path>) -> anyhow::Result<Box<dyn Model>> {
        let mut options = self.hostgroups.options()?;
        if let Some(dir) = self.catalog.as_deref().or(trace) {
            let catalog = Catalog::read(&Reader::open(dir)?)?;
            if catalog.is_none() && self.catalog.is_some() {
                bail!("{}: has no catalog.json; name a run", dir.display());
            }
            options.catalog = catalog.map(Arc::new);
        }
        Ok(load(self.router, &self.rules, &options)?)
    }
}
