//! The file of known statements.
//!
//! YAML; `samples/fixtures/postgresql.yaml` and `samples/fixtures/mysql.yaml` are the catalogues that ship, and describe the
//! format in their headers.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use splitproof_capture::trace::Engine;

use crate::intent::Intent;
use crate::yaml;

/// The version of the format.
pub const VERSION: u32 = 1;

/// A file of known statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixture {
    /// Where it was read from.
    pub path: PathBuf,
    /// Whose statements they are.
    pub engine: Engine,
    /// The database in which the cases run; `None` is the one that the router's URL names.
    pub database: Option<String>,
    /// SQL that prepares the database, run on the primary before the cases.
    pub setup: String,
    /// The cases, in order.
    pub cases: Vec<Case>,
}

/// One connection through the router.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name, unique in the file.
    pub id: String,
    /// What goes wrong without it, or why it is right.
    pub why: String,
    /// Where the case comes from: links or documents.
    #[serde(default)]
    pub source: Vec<String>,
    /// How its statements are sent.
    #[serde(default)]
    pub protocol: Protocol,
    /// Its statements, in order.
    pub session: Vec<Step>,
}

/// How statements are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// As a text (PostgreSQL Query, MySQL COM_QUERY).
    #[default]
    Simple,
    /// Prepared without a name, bound and executed (PostgreSQL Parse, Bind, Describe, Execute, Sync; MySQL
    /// COM_STMT_PREPARE, COM_STMT_EXECUTE).
    Extended,
}

/// One statement and where it belongs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The text.
    pub sql: String,
    /// Parameters in text format; null is NULL. Only in the extended protocol.
    #[serde(default)]
    pub params: Vec<Option<String>>,
    /// Data for COPY FROM STDIN. Only for PostgreSQL, in the simple protocol.
    #[serde(default)]
    pub data: Option<String>,
    /// Where it belongs; left out, the statement is judged like any request of a trace.
    #[serde(default)]
    pub safe: Option<Intent>,
    /// Where it may run as well.
    #[serde(default)]
    pub allowed: Vec<Intent>,
    /// Why a replica carries it out without an error though it belongs to the primary: the fault that no error tells.
    #[serde(default)]
    pub silent: Option<String>,
    /// The SQLSTATE (PostgreSQL) or number (MySQL) of the error that it is expected to end with.
    #[serde(default)]
    pub error: Option<String>,
}

/// Why a fixture cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FixtureError {
    /// It cannot be read.
    #[error("{}: cannot read the fixture: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It is not YAML, or lacks its outer fields.
    #[error("{}: {problem}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What the parser says, with line and column.
        problem: String,
    },
    /// A case is wrong.
    #[error("{}: case {case}: {field}: {problem}", path.display())]
    Case {
        /// The file.
        path: PathBuf,
        /// The case's id, or its place in the file.
        case: String,
        /// The field.
        field: String,
        /// What is wrong with it, and what it should be.
        problem: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    engine: String,
    #[serde(default)]
    database: Option<String>,
    #[serde(default)]
    setup: String,
    cases: Vec<serde_json::Value>,
}

impl Fixture {
    /// Reads and checks a fixture.
    pub fn read(path: &Path) -> Result<Fixture, FixtureError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| FixtureError::Read { path: path.to_owned(), source })?;
        Fixture::parse(path, &text)
    }

    /// Checks the text of a fixture; `path` is only for messages.
    pub fn parse(path: &Path, text: &str) -> Result<Fixture, FixtureError> {
        let syntax = |problem: String| FixtureError::Syntax { path: path.to_owned(), problem };
        let file: File = yaml::read(text).map_err(syntax)?;
        if file.version != VERSION {
            return Err(syntax(format!("version {} is not known: this program reads version {VERSION}", file.version)));
        }
        let Some(engine) = Engine::from_word(&file.engine) else {
            let problem = format!("engine \"{}\" is not known: use \"postgresql\" or \"mysql\"", file.engine);
            return Err(syntax(problem));
        };
        if file.cases.is_empty() {
            return Err(syntax("there are no cases".to_owned()));
        }
        let mut ids = HashSet::new();
        let mut cases = Vec::with_capacity(file.cases.len());
        for (index, value) in file.cases.into_iter().enumerate() {
            let name =
                value.get("id").and_then(|id| id.as_str()).map_or_else(|| format!("#{}", index + 1), str::to_owned);
            let wrong = |field: String, problem: String| FixtureError::Case {
                path: path.to_owned(),
                case: name.clone(),
                field,
                problem,
            };
            let case = case(value).map_err(|(field, problem)| wrong(field, problem))?;
            check(&case, engine).map_err(|(field, problem)| wrong(field, problem))?;
            if !ids.insert(case.id.clone()) {
                return Err(wrong("id".to_owned(), "is used twice: give each case a name of its own".to_owned()));
            }
            cases.push(case);
        }
        Ok(Fixture { path: path.to_owned(), engine, database: file.database, setup: file.setup, cases })
    }
}

/// What is wrong: field and problem.
type Wrong = (String, String);

/// Statements are read one by one, so that a message can say which one is wrong.
fn case(mut value: serde_json::Value) -> Result<Case, Wrong> {
    let steps = value.get_mut("session").map(serde_json::Value::take);
    let steps = match steps {
        Some(serde_json::Value::Array(steps)) => steps,
        Some(_) => return Err(("session".to_owned(), "must be a list of statements".to_owned())),
        None => Vec::new(),
    };
    if let Some(fields) = value.as_object_mut()
        && fields.contains_key("session")
    {
        fields.insert("session".to_owned(), serde_json::Value::Array(Vec::new()));
    }
    let mut case: Case = serde_json::from_value(value).map_err(|error| field_of(&error, "case"))?;
    for (index, step) in steps.into_iter().enumerate() {
        let step = serde_json::from_value(step).map_err(|error| field_of(&error, &format!("session[{index}]")))?;
        case.session.push(step);
    }
    Ok(case)
}

/// Messages about fields name them between backquotes.
fn field_of(error: &serde_json::Error, within: &str) -> Wrong {
    let message = error.to_string();
    let sentence = splitproof_capture::plain(&message);
    match message.split('`').nth(1).filter(|_| message.contains("field")) {
        Some(field) => (format!("{within}.{field}"), sentence),
        None => (within.to_owned(), sentence),
    }
}

fn check(case: &Case, engine: Engine) -> Result<(), Wrong> {
    if case.id.is_empty() {
        return Err(("id".to_owned(), "is empty".to_owned()));
    }
    if case.session.is_empty() {
        return Err(("session".to_owned(), "is empty: list the statements".to_owned()));
    }
    for (index, step) in case.session.iter().enumerate() {
        let field = |name: &str| format!("session[{index}].{name}");
        if step.sql.contains('\0') {
            return Err((field("sql"), "holds a NUL, which the protocol cannot carry".to_owned()));
        }
        if !step.params.is_empty() && case.protocol == Protocol::Simple {
            return Err((field("params"), "need `protocol: extended`".to_owned()));
        }
        if step.data.is_some() && case.protocol == Protocol::Extended {
            return Err((field("data"), "needs `protocol: simple`".to_owned()));
        }
        if step.data.is_some() && engine != Engine::Postgresql {
            return Err((field("data"), "is for COPY, which only PostgreSQL has".to_owned()));
        }
        if let Some(safe @ (Intent::None | Intent::Unknown)) = step.safe {
            return Err((field("safe"), format!("\"{safe}\" is no place: use primary, replica, same or all")));
        }
        if let Some(other) = step.allowed.iter().find(|place| !matches!(place, Intent::Primary | Intent::Replica)) {
            return Err((field("allowed"), format!("\"{other}\" is no node: use primary or replica")));
        }
        if step.silent.is_some() && step.safe != Some(Intent::Primary) {
            return Err((field("silent"), "is for statements with `safe: primary`".to_owned()));
        }
        match (engine, step.error.as_deref()) {
            (Engine::Postgresql, Some(code)) if code.len() != 5 => {
                return Err((field("error"), "is no SQLSTATE: five letters or digits".to_owned()));
            }
            (Engine::Mysql, Some(code)) if code.parse::<u16>().is_err() => {
                return Err((field("error"), "is no error number, such as 1213".to_owned()));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(cases: &str) -> String {
        let text = format!("version: 1\nengine: postgresql\ncases:\n{cases}");
        Fixture::parse(Path::new("f.yaml"), &text).expect_err("is wrong").to_string()
    }

    #[test]
    fn messages_name_file_case_and_field() {
        assert_eq!(problem("  []"), "f.yaml: there are no cases");
        let unknown = problem("  - {id: a, why: b, session: [{sql: x, save: primary}]}");
        assert!(unknown.starts_with("f.yaml: case a: session[0].save: unknown field `save`"), "{unknown}");
        let missing = problem("  - {id: a, session: [{sql: x}]}");
        assert!(missing.starts_with("f.yaml: case a: case.why: missing field `why`"), "{missing}");
        let place = problem("  - {id: a, why: b, session: [{sql: x, safe: somewhere}]}");
        assert!(place.starts_with("f.yaml: case a: session[0]: unknown value `somewhere`: use "), "{place}");
        assert_eq!(
            problem("  - {id: a, why: b, session: [{sql: 5}]}"),
            "f.yaml: case a: session[0]: expected a string, found integer `5`"
        );
        assert_eq!(
            problem("  - {id: a, why: b, session: []}"),
            "f.yaml: case a: session: is empty: list the statements"
        );
        assert_eq!(
            problem("  - {id: a, why: b, session: [{sql: x, params: [z]}]}"),
            "f.yaml: case a: session[0].params: need `protocol: extended`"
        );
        let twice = "  - {id: a, why: b, session: [{sql: x}]}\n  - {id: a, why: b, session: [{sql: x}]}";
        assert!(problem(twice).starts_with("f.yaml: case a: id: is used twice"));
        assert!(problem("  - {why: b, session: [{sql: x}]}").starts_with("f.yaml: case #1: case.id"));
    }

    #[test]
    fn what_is_no_fixture_is_refused_with_its_place() {
        for text in [
            "",
            "version: 2\nengine: postgresql\ncases: [{}]",
            "version: 1\nengine: oracle\ncases: [{}]",
            "- a: [",
            "\0",
        ] {
            let error = Fixture::parse(Path::new("f.yaml"), text).expect_err("is wrong").to_string();
            assert!(error.starts_with("f.yaml: "), "{error}");
        }
    }
}
