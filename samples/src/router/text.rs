//! Texts, each parsed once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use splitproof_capture::sql::mysql::Mode;
use splitproof_capture::sql::{self, Dialect, Statement};

use super::node::Engine;

/// Texts remembered, and the longest of them.
const REMEMBERED: usize = 8_192;
const LONGEST: usize = 16 * 1024;

/// One text and what it says.
#[derive(Debug)]
pub struct Text {
    /// The text as it was sent.
    pub sql: Box<str>,
    /// Its statements, in order.
    pub statements: Vec<Arc<Statement>>,
    /// Whether it could not be parsed.
    pub unparsable: bool,
    dialect: Dialect,
    digest: OnceLock<String>,
}

impl Text {
    fn new(engine: Engine, sql: &str) -> Self {
        let facts = match engine {
            Engine::Postgresql => sql::postgresql::facts(sql),
            Engine::Mysql => sql::mysql::facts(sql, &Mode::default()),
        };
        Text {
            dialect: match engine {
                Engine::Postgresql => Dialect::Postgresql,
                Engine::Mysql => Dialect::Mysql(Mode::default()),
            },
            sql: sql.into(),
            statements: facts.statements.into_iter().map(Arc::new).collect(),
            unparsable: facts.error.is_some(),
            digest: OnceLock::new(),
        }
    }

    /// The text without its literals.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| self.dialect.normalize(&self.sql).replace("/**/", "").trim().to_owned())
    }

    /// True when a comment stands before the statement.
    pub fn begins_with_comment(&self) -> bool {
        let text = self.sql.trim_start();
        text.starts_with("/*") || text.starts_with("--") || text.starts_with('#')
    }
}

/// The texts seen lately.
#[derive(Debug)]
pub struct Texts {
    engine: Engine,
    known: Mutex<HashMap<Box<str>, Arc<Text>>>,
}

impl Texts {
    /// None yet.
    pub fn new(engine: Engine) -> Self {
        Texts { engine, known: Mutex::default() }
    }

    /// A text, parsed now or earlier.
    pub fn get(&self, sql: &str) -> Arc<Text> {
        if let Some(text) = self.lock().get(sql) {
            return Arc::clone(text);
        }
        let text = Arc::new(Text::new(self.engine, sql));
        if sql.len() <= LONGEST {
            let mut known = self.lock();
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(sql.into(), Arc::clone(&text));
        }
        text
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Box<str>, Arc<Text>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
