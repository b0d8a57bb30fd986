//! Requests per second through a model: ProxySQL's with fifty rules, over the trace that sysbench left.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::figure::{Figure, Goal};
use crate::rounds::medians;
use crate::tool;

const ROUNDS: usize = 3;
const RULES: u32 = 50;

/// Measures the time in which the model alone decides, on one core.
pub fn measure(trace: &Path, folder: &Path) -> Result<Figure> {
    let rules = folder.join("fifty.cnf");
    std::fs::write(&rules, cnf()?).with_context(|| format!("write {}", rules.display()))?;
    let mut requests = 0.0;
    let [seconds] = medians(
        ROUNDS,
        [&mut || {
            let mut command = tool::one_core(tool::path("splitproof-analyze")?);
            command.args(["simulate", "--force", "--format", "json", "--router", "proxysql", "--rules"]).arg(&rules);
            let output = command
                .arg(trace)
                .arg("-o")
                .arg(folder.join("simulated"))
                .output()
                .context("start splitproof-analyze")?;
            if !output.status.success() {
                bail!("splitproof-analyze simulate fails: {}", String::from_utf8_lossy(&output.stderr));
            }
            let printed: Value = serde_json::from_slice(&output.stdout)?;
            requests = printed["counts"]["requests"].as_f64().context("counts.requests")?;
            printed["deciding_seconds"].as_f64().context("deciding_seconds")
        }],
    )?;
    Ok(Figure {
        name: "simulate_proxysql_million_per_second".into(),
        value: requests / seconds / 1e6,
        goal: Goal::AtLeast(1.0),
        detail: format!("{requests:.0} requests and {RULES} rules on one core: decided in {seconds:.2} s"),
    })
}

/// A split with rules of which only the last ones match.
fn cnf() -> Result<String> {
    let mut text = String::from(
        "mysql_servers = ( { address=\"db1\", hostgroup=10 }, { address=\"db2\", hostgroup=20 } )\n\
         mysql_replication_hostgroups = ( { writer_hostgroup=10, reader_hostgroup=20 } )\nmysql_query_rules = (\n",
    );
    for number in 1..=RULES - 2 {
        let pattern = format!("^SELECT .* FROM archive_{number} WHERE");
        writeln!(text, "  {{ rule_id={number}, match_digest=\"{pattern}\", destination_hostgroup=10, apply=1 }},")?;
    }
    text.push_str(
        "  { rule_id=98, match_digest=\"^SELECT.*FOR UPDATE\", destination_hostgroup=10, apply=1 },\n  \
         { rule_id=99, match_digest=\"^SELECT\", destination_hostgroup=20, apply=1 } )\n",
    );
    Ok(text)
}
