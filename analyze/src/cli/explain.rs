//! `explain`.

use std::io::{BufWriter, Write, stdout};

use anyhow::Context;
use serde::Serialize;
use splitproof_analyze::simulate::{self, Model, Node, Router, Sent, Who};

use super::flags::Format;
use super::models::ModelFlags;

#[derive(Debug, clap::Args)]
pub struct ExplainFlags {
    #[command(flatten)]
    model: ModelFlags,
    /// Who sends them.
    #[arg(long)]
    user: Option<String>,
    /// In which database.
    #[arg(long)]
    database: Option<String>,
    /// application_name.
    #[arg(long)]
    application: Option<String>,
    /// The client's address.
    #[arg(long, value_name = "ADDRESS")]
    client: Option<String>,
    /// What to print on stdout.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The statements, in order.
    #[arg(required = true, value_name = "SQL")]
    statements: Vec<String>,
}

/// Send texts through a model.
pub struct Explain {
    router: Router,
    model: Box<dyn Model>,
    who: Who,
    statements: Vec<String>,
    format: Format,
}

impl ExplainFlags {
    /// The same, checked.
    pub fn plan(self) -> anyhow::Result<Explain> {
        let model = self.model.load(None)?;
        let who = Who { user: self.user, database: self.database, application: self.application, client: self.client };
        Ok(Explain { router: self.model.router, model, who, statements: self.statements, format: self.format })
    }
}

/// A statement with its decision, as JSON.
#[derive(Serialize)]
struct Printed<'a> {
    sql: &'a str,
    /// `node`, `router`, `refused` or `unknown`.
    sent: &'static str,
    /// The nodes that get it, or may get it.
    nodes: Vec<&'a str>,
    /// The error's number, where the router refuses it.
    error: Option<&'a str>,
    rule: Option<&'a str>,
    reason: &'a str,
}

/// Says where the statements go.
pub fn run(explain: &Explain) -> anyhow::Result<u8> {
    let about = explain.model.about();
    let steps = simulate::explain(explain.router, explain.model.as_ref(), &explain.who, &explain.statements);
    let printed: Vec<Printed<'_>> = steps
        .iter()
        .map(|step| {
            let names = |nodes: simulate::Nodes| {
                let named = nodes.iter().filter_map(|node| about.nodes.get(node));
                named.map(|node: &Node| node.name.as_str()).collect()
            };
            let (sent, nodes, error) = match &step.decision.sent {
                Sent::To(nodes) => ("node", names(*nodes), None),
                Sent::OneOf(nodes) => ("unknown", names(*nodes), None),
                Sent::Router => ("router", Vec::new(), None),
                Sent::Refused(code) => ("refused", Vec::new(), Some(&**code)),
            };
            let (rule, reason) = (step.decision.rule.as_deref(), &*step.decision.reason);
            Printed { sql: &step.sql, sent, nodes, error, rule, reason }
        })
        .collect();
    let mut out = BufWriter::new(stdout().lock());
    let written = match explain.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &printed).map_err(Into::into).and_then(|()| writeln!(out))
        }
        Format::Text => text(&printed, &about.unknown, &mut out),
    };
    super::enough(written.and_then(|()| out.flush())).context("cannot write to stdout")?;
    Ok(0)
}

fn text(printed: &[Printed<'_>], unknown: &[String], out: &mut dyn Write) -> std::io::Result<()> {
    for step in printed {
        let place = match (step.sent, step.error) {
            ("node", _) => step.nodes.join(" and "),
            ("router", _) => "no node".to_owned(),
            (_, Some(code)) => format!("error {code}"),
            _ => format!("{}, which is not known", step.nodes.join(" or ")),
        };
        let rule = step.rule.map(|rule| format!("{rule}, ")).unwrap_or_default();
        writeln!(out, "{}\n  -> {place}: {rule}{}", step.sql, step.reason)?;
    }
    for unknown in unknown {
        writeln!(out, "not known to the model: {unknown}")?;
    }
    Ok(())
}
