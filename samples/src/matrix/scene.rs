//! The sessions, and what each fault must show.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use splitproof_capture::sql::Dialect;
use splitproof_capture::trace::Engine;

use super::finding::Finding;
use crate::router::Fault;
use crate::router::node;

/// A file of `samples/matrix/`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// The sessions. Each is played several times, on rows of its own.
    pub sessions: Vec<Session>,
    /// What each fault must show, by its name; and what a change of the configuration must show, by a name of its own.
    pub faults: BTreeMap<String, Expected>,
}

/// What one client does on one connection.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Its name.
    pub id: String,
    /// How often it is played.
    #[serde(default = "times")]
    pub times: u32,
    /// Its statements.
    pub steps: Vec<Step>,
}

fn times() -> u32 {
    3
}

/// One statement.
#[derive(Debug, Deserialize)]
#[serde(from = "Written")]
pub struct Step {
    /// The text. `{me}` stands for a number from 1 on that differs each time the session is played, `{n}` for one above all
    /// identifiers of the seed data.
    pub sql: String,
    /// Its parameter, which makes it a prepared statement of the protocol.
    pub param: Option<String>,
    /// True when any node may serve it and no transaction holds it.
    pub eligible: bool,
    /// The faults under which this statement must be named.
    pub shows: Vec<String>,
    /// The faults under which it may be.
    pub may_show: Vec<String>,
    /// True when the next statement follows at once.
    pub hurries: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Full(Full),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Full {
    sql: String,
    param: Option<String>,
    #[serde(default)]
    eligible: bool,
    #[serde(default)]
    shows: Vec<String>,
    #[serde(default)]
    may_show: Vec<String>,
    #[serde(default)]
    hurries: bool,
}

impl From<Written> for Step {
    fn from(written: Written) -> Self {
        let full = match written {
            Written::Full(full) => full,
            Written::Text(sql) => {
                Full { sql, param: None, eligible: false, shows: Vec::new(), may_show: Vec::new(), hurries: false }
            }
        };
        let Full { sql, param, eligible, shows, may_show, hurries } = full;
        Step { sql, param, eligible, shows, may_show, hurries }
    }
}

/// Which of the statements that any node may serve a fault must show, beside those that name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Eligible {
    /// None.
    #[default]
    None,
    /// Any may be shown.
    Any,
    /// At least one, and any may.
    Some,
    /// All of them.
    All,
}

/// What a fault must show.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The finding that names it.
    pub finding: Finding,
    /// Which eligible statements it must or may show.
    #[serde(default)]
    pub eligible: Eligible,
    /// What follows from it in the same sessions, and why.
    #[serde(default)]
    pub also: BTreeMap<Finding, String>,
    /// Lines that replace those of the router's configuration with the same key.
    #[serde(default)]
    pub configuration: String,
    /// True when it shows only while nothing else happens: the sessions that show it are recorded by themselves, one after
    /// another.
    #[serde(default)]
    pub alone: bool,
    /// How far the replica applies behind the primary, seconds.
    #[serde(default)]
    pub delay: u32,
}

impl Scene {
    /// The shipped scene of an engine.
    pub fn of(engine: Engine) -> Result<Self> {
        let text = match engine {
            Engine::Postgresql => include_str!("../../matrix/postgresql.yaml"),
            Engine::Mysql => include_str!("../../matrix/mysql.yaml"),
        };
        Self::parse(text, engine).with_context(|| format!("samples/matrix/{}.yaml", engine.as_str()))
    }

    /// A scene in a file.
    pub fn read(path: &Path, engine: Engine) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text, engine).with_context(|| path.display().to_string())
    }

    fn parse(text: &str, engine: Engine) -> Result<Self> {
        let scene: Scene = serde_saphyr::from_str(text)?;
        scene.check(engine)?;
        Ok(scene)
    }

    /// Every fault of the engine has an expectation, and what a statement names is expected somewhere.
    fn check(&self, engine: Engine) -> Result<()> {
        for fault in faults(engine) {
            let expected = self.faults.get(fault.name()).with_context(|| format!("{fault} has no expectation"))?;
            let shown = self.steps().any(|step| step.is_shown_by(fault.name()));
            let wanted = matches!(expected.eligible, Eligible::Some | Eligible::All);
            ensure!(shown || wanted, "no statement shows {fault}");
        }
        for step in self.steps() {
            let named = step.shows.iter().chain(&step.may_show);
            let unknown = named.into_iter().find(|name| !self.faults.contains_key(*name));
            ensure!(unknown.is_none(), "{}: shows {unknown:?}, for which nothing is expected", step.sql);
        }
        Ok(())
    }

    /// The sessions with a statement that shows a fault.
    pub fn showing(&self, fault: &str) -> impl Iterator<Item = (usize, &Session)> {
        let shows = move |session: &Session| session.steps.iter().any(|step| step.is_shown_by(fault));
        self.sessions.iter().enumerate().filter(move |(_, session)| shows(session))
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.sessions.iter().flat_map(|session| &session.steps)
    }
}

/// The faults that make sense on an engine.
pub fn faults(engine: Engine) -> impl Iterator<Item = Fault> {
    let engine = match engine {
        Engine::Postgresql => node::Engine::Postgresql,
        Engine::Mysql => node::Engine::Mysql,
    };
    Fault::ALL.iter().copied().filter(move |fault| fault.engines().contains(&engine))
}

impl Step {
    /// Whether it must be named under a fault.
    pub fn is_shown_by(&self, fault: &str) -> bool {
        self.shows.iter().any(|shown| shown == fault)
    }

    /// Its text in the session's `number`th appearance on the stage.
    pub fn text(&self, number: u32) -> String {
        filled(&self.sql, number)
    }

    /// Its shape, as reports name it.
    pub fn shape(&self, engine: Engine) -> String {
        format!("{:016x}", Dialect::of(engine).shape_id(&self.text(1)))
    }
}

/// A text with its placeholders filled.
pub fn filled(text: &str, number: u32) -> String {
    text.replace("{me}", &number.to_string()).replace("{n}", &(9_000_000 + number).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_scenes_expect_something_of_every_fault() {
        for engine in [Engine::Postgresql, Engine::Mysql] {
            let scene = Scene::of(engine).unwrap();
            // A number is a row of the seed data, which has 200 articles.
            assert!(scene.sessions.iter().map(|session| session.times).sum::<u32>() <= 200);
            for name in scene.faults.keys() {
                assert!(faults(engine).any(|fault| fault.name() == name) || name == "causal-reads-off", "{name}");
            }
        }
    }

    #[test]
    fn a_fault_that_nothing_shows_is_refused() {
        let scene: Scene = serde_saphyr::from_str("sessions: []\nfaults: {}").unwrap();
        assert!(scene.check(Engine::Mysql).unwrap_err().to_string().contains("has no expectation"));
    }
}
