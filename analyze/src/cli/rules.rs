//! `rules`.

use std::io::{BufWriter, Write, stdout};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use splitproof_analyze::simulate::Router;
use splitproof_analyze::simulate::proxysql::{Config, diff, export, lint};

use super::models::router;

#[derive(Debug, clap::Args)]
pub struct RulesFlags {
    /// The router whose rules they are.
    #[arg(long, value_name = "NAME", value_parser = router())]
    router: Router,
    /// The states of the rules: one is looked at, further ones are compared with it (runtime, disk, configuration file).
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the rules of the first file as a script that deploys them, in the order in which they are tried.
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
}

/// Look at rule files.
pub struct Rules {
    states: Vec<(String, Config)>,
    export: Option<PathBuf>,
}

impl RulesFlags {
    /// The same, checked.
    pub fn plan(self) -> anyhow::Result<Rules> {
        ensure!(self.router == Router::Proxysql, "--router {}: it has no rules to look at", self.router.name());
        if let Some(path) = &self.export {
            ensure!(
                !self.files.contains(path),
                "{}: is one of the rule files; write the script elsewhere",
                path.display()
            );
        }
        let read = |path: PathBuf| Ok((path.display().to_string(), Config::read(&[path])?));
        let states: anyhow::Result<Vec<_>> = self.files.into_iter().map(read).collect();
        Ok(Rules { states: states?, export: self.export })
    }
}

/// Says what is remarkable about the rules and how states of them differ.
pub fn run(rules: &Rules) -> anyhow::Result<u8> {
    let Some((first, others)) = rules.states.split_first() else { return Ok(0) };
    let mut lines = Vec::new();
    for unknown in &first.1.unknown {
        lines.push(format!("{}: the model does not know {unknown}", first.0));
    }
    let findings = lint::findings(&first.1);
    let (remarks, mistakes): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| finding.is_remark());
    lines.extend(mistakes.iter().map(|finding| format!("{}: {finding}", first.0)));
    for other in others {
        lines.extend(diff::differences((&first.0, &first.1), (&other.0, &other.1)));
    }
    if let Some(path) = &rules.export {
        std::fs::write(path, export::script(&first.1))
            .with_context(|| format!("{}: cannot write the script", path.display()))?;
    }
    let mut out = BufWriter::new(stdout().lock());
    let found = lines.len();
    lines.extend(remarks.iter().map(|finding| format!("{}: {finding}", first.0)));
    let written = lines.iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| {
        let active = first.1.rules.iter().filter(|rule| rule.active).count();
        writeln!(out, "{} rules, {active} of them active; {found} problems and differences", first.1.rules.len())
    });
    super::enough(written.and_then(|()| out.flush())).context("cannot write to stdout")?;
    Ok(u8::from(found > 0))
}
