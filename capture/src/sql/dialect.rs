//! The SQL of one engine, as a value.

use std::borrow::Cow;

use super::{Facts, mysql, postgresql};
use crate::trace::Engine;

/// Whose SQL a text is, with what changes how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL.
    Postgresql,
    /// MySQL or MariaDB.
    Mysql(mysql::Mode),
}

impl Dialect {
    /// The dialect of an engine, with the default mode of its oldest supported server.
    pub fn of(engine: Engine) -> Self {
        match engine {
            Engine::Postgresql => Dialect::Postgresql,
            Engine::Mysql => Dialect::Mysql(mysql::Mode::default()),
        }
    }

    /// The normalised text of a statement.
    pub fn normalize(self, sql: &str) -> String {
        Normalizer::default().run(sql, self).to_owned()
    }

    /// The shape id of a statement: xxh3-64 (seed 0) of its normalised text.
    pub fn shape_id(self, sql: &str) -> u64 {
        Normalizer::default().id(sql, self)
    }

    /// The facts of a text. Meant for once per shape.
    pub fn facts(self, sql: &str) -> Facts {
        match self {
            Dialect::Postgresql => postgresql::facts(sql),
            Dialect::Mysql(mode) => mysql::facts(sql, &mode),
        }
    }

    /// Equal for dialects that give every text the same shape and the same tokens.
    pub(super) fn seed(self) -> u64 {
        match self {
            Dialect::Postgresql => 0,
            Dialect::Mysql(mode) => {
                let flags = u64::from(mode.ansi_quotes) | u64::from(mode.no_backslash_escapes) << 1;
                let family = u64::from(mode.server.family == mysql::Family::MySql);
                1 | flags << 1 | family << 3 | u64::from(mode.server.version) << 4
            }
        }
    }

    /// Replaces the passwords that a statement holds with `'***'`.
    pub fn mask_password(self, sql: &str) -> Cow<'_, str> {
        match self {
            Dialect::Postgresql => super::mask_password(sql),
            Dialect::Mysql(mode) => mysql::mask_password(sql, &mode),
        }
    }
}

/// Normalises texts of any dialect one after another in the same buffers.
#[derive(Debug, Default)]
pub(super) struct Normalizer {
    postgresql: super::Normalizer,
    mysql: mysql::Normalizer,
}

impl Normalizer {
    pub fn run(&mut self, sql: &str, dialect: Dialect) -> &str {
        match dialect {
            Dialect::Postgresql => self.postgresql.run(sql),
            Dialect::Mysql(mode) => self.mysql.run(sql, &mode),
        }
    }

    pub fn id(&mut self, sql: &str, dialect: Dialect) -> u64 {
        match dialect {
            Dialect::Postgresql => self.postgresql.id(sql),
            Dialect::Mysql(mode) => self.mysql.id(sql, &mode),
        }
    }
}
