//! Shapes and facts of statements that others collected, and of our fixtures and recorded samples, before and after.

use std::path::{Path, PathBuf};

use splitproof_capture::redact::{Key, Redactor};
use splitproof_capture::sql::{self, Dialect, Facts};
use splitproof_capture::trace::{Engine, Kind, Loss, Request};

use crate::corpus::decode;
use crate::sql::statements;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The statements of a fixture: what stands after `sql:` in it, unescaped as YAML's double quotes are.
fn fixture(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(workspace().join("samples/fixtures").join(name)).expect("is there");
    let quoted = text.lines().filter_map(|line| {
        let rest = line.split_once("sql: \"")?.1;
        let end = rest.char_indices().find(|&(at, letter)| letter == '"' && !rest[..at].ends_with('\\'))?.0;
        serde_json::from_str(&format!("\"{}\"", &rest[..end])).ok()
    });
    quoted.collect()
}

/// What must not change: all facts but the words of an error and the values of user-defined settings.
fn facts(dialect: Dialect, sql: &str) -> Facts {
    let mut facts = dialect.facts(sql);
    facts.error = facts.error.map(|_| String::new());
    facts
}

/// How many of the texts were redacted, of how many.
fn unchanged(texts: &[String], engine: Engine) -> (usize, usize) {
    let dialect = Dialect::of(engine);
    let mut redactor = Redactor::new(Key::from_bytes([7; 16]), engine);
    let mut kept = 0;
    for sql in texts {
        let shape = dialect.shape_id(sql);
        let mut row =
            Request { sql: Some(sql.as_str().into()), shape_id: Some(shape), ..Request::new(1, 0, 0, Kind::Query) };
        redactor.request(&mut row);
        let Some(new) = row.sql else {
            println!("{engine}: left out: {sql}");
            continue;
        };
        kept += 1;
        assert_eq!(dialect.shape_id(&new), shape, "{sql}\n{new}");
        assert_eq!(facts(dialect, &new), facts(dialect, sql), "{sql}\n{new}");
    }
    assert_eq!(redactor.losses().get(Loss::Redacted), (texts.len() - kept) as u64);
    (kept, texts.len())
}

#[test]
fn shapes_and_facts_of_the_corpus_are_unchanged() {
    let Some(statements) = statements() else { return };
    for engine in Engine::ALL {
        let (kept, all) = unchanged(&statements, *engine);
        println!("{engine}: {kept} of {all} texts");
        assert!(kept * 100 >= all * 98, "{engine}: only {kept} of {all} texts could be redacted");
    }
}

#[test]
fn shapes_and_facts_of_the_fixtures_are_unchanged() {
    for (name, engine, least) in [("postgresql.yaml", Engine::Postgresql, 80), ("mysql.yaml", Engine::Mysql, 80)] {
        let texts = fixture(name);
        assert!(texts.len() >= least, "{name}: {}", texts.len());
        assert_eq!(unchanged(&texts, engine), (texts.len(), texts.len()), "{name}");
    }
}

#[test]
fn shapes_and_facts_of_the_sample_traces_are_unchanged() {
    for (name, engine, port) in
        [("shop-postgresql.pcap", Engine::Postgresql, 5432), ("shop-mysql.pcap", Engine::Mysql, 3306)]
    {
        let decoded = decode(engine, &workspace().join("samples").join(name), &[port]);
        let mut texts: Vec<String> =
            decoded.requests.iter().filter_map(|row| row.sql.as_deref().map(str::to_owned)).collect();
        texts.sort();
        texts.dedup();
        assert!(texts.len() > 20, "{name}: {}", texts.len());
        assert_eq!(unchanged(&texts, engine), (texts.len(), texts.len()), "{name}");
    }
}

/// Our own words are ours: a text without a literal is what it was.
#[test]
fn a_text_without_values_is_what_it_was() {
    let mut redactor = Redactor::new(Key::from_bytes([7; 16]), Engine::Postgresql);
    for text in ["BEGIN", "COMMIT", "SELECT a, \"b c\" FROM t WHERE d = $1 FOR UPDATE", "DEALLOCATE ALL", ""] {
        let mut row = Request {
            sql: Some(text.into()),
            shape_id: Some(sql::shape_id(text)),
            ..Request::new(1, 0, 0, Kind::Query)
        };
        redactor.request(&mut row);
        assert_eq!(row.sql.as_deref(), Some(text));
    }
}
