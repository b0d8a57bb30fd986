//! The rows and shapes of a recording.

use std::collections::HashMap;
use std::sync::Arc;

use compact_str::CompactString;
use xxhash_rust::xxh3::xxh3_128;

use super::copy::Format;
use super::format;
use super::key::{Key, Use};
use super::statement;
use crate::sql::literals::Shaper;
use crate::sql::mysql::{Family, Mode, Server};
use crate::sql::{self, Dialect};
use crate::trace::{Engine, Kind, Loss, Losses, Param, Request, Shape};

/// Texts that are remembered with what became of them.
const REMEMBERED: usize = 1 << 14;

/// Changes rows so that no literal and no parameter is left in them. One for all rows of a recording.
#[derive(Debug)]
pub struct Redactor {
    key: Key,
    engine: Engine,
    shaper: Shaper,
    texts: HashMap<u128, Option<Arc<str>>>,
    losses: Losses,
}

impl Redactor {
    /// For a recording of this engine, which may become known later.
    pub fn new(key: Key, engine: Engine) -> Self {
        Redactor { key, engine, shaper: Shaper::default(), texts: HashMap::new(), losses: Losses::default() }
    }

    /// The engine, where it is learnt from the traffic.
    pub fn engine(&mut self, engine: Engine) {
        self.engine = engine;
    }

    /// Requests whose text or bytes had to be left out.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Replaces every value of a request.
    pub fn request(&mut self, request: &mut Request) {
        let complete = self.data(request) & self.text(request);
        if !complete {
            self.losses.add(Loss::Redacted, 1);
            request.truncated = true;
        }
        match request.kind {
            // The number of the session at which it is aimed.
            Kind::Cancel => {}
            Kind::Connect => self.settings(&mut request.params),
            _ => request.params.iter_mut().for_each(|param| self.param(param)),
        }
        if request.kind != Kind::Call && self.engine == Engine::Postgresql {
            // The number of a function, or of MySQL's statement, is no value.
            request.statement = request.statement.as_deref().map(|name| self.name(name));
            request.portal = request.portal.as_deref().map(|name| self.name(name));
        }
        request.error_message = request.error_message.as_deref().map(|text| self.message(text));
        request.copy_failure = request.copy_failure.as_deref().map(|text| self.message(text));
        request.last_insert_id = request.last_insert_id.map(|id| self.key.whole(id.into()) as u64);
        for checksum in [&mut request.checksum_full, &mut request.checksum_rows, &mut request.checksum_rowset] {
            *checksum = checksum.map(|sum| self.key.hash(Use::Checksum, &[&sum.to_be_bytes()]));
        }
        request.redacted = true;
    }

    /// The shapes that a capture collected, with other samples. One whose sample must be left out is left out itself: what it
    /// takes for names may be data.
    pub fn shapes<'a>(&mut self, shapes: impl IntoIterator<Item = &'a sql::Shape>) -> Vec<sql::Shape> {
        let shapes = shapes.into_iter().filter_map(|shape| {
            let sample = statement::redact(&self.key, &mut self.shaper, shape.sample.as_bytes(), shape.dialect)?;
            Some(sql::Shape { sample: String::from_utf8(sample).ok()?, ..shape.clone() })
        });
        shapes.collect()
    }

    /// A shape of a trace, with another sample; `None` as for [`shapes`](Self::shapes).
    pub fn shape(&mut self, mut shape: Shape) -> Option<Shape> {
        shape.sample = self.statement(&shape.sample, Some(shape.shape_id))?;
        Some(shape)
    }

    /// The text; false where it had to be left out.
    fn text(&mut self, request: &mut Request) -> bool {
        let Some(sql) = request.sql.take() else { return true };
        match request.sql_raw.take() {
            None => request.sql = self.statement(&sql, request.shape_id),
            Some(raw) => {
                let new = self.raw(&sql, &raw, request.shape_id);
                request.sql = new.as_deref().map(|raw| String::from_utf8_lossy(raw).into());
                request.sql_raw = new.filter(|raw| std::str::from_utf8(raw).is_err()).map(Into::into);
            }
        }
        request.sql.is_some()
    }

    fn statement(&mut self, sql: &str, shape_id: Option<u64>) -> Option<Arc<str>> {
        let known = xxh3_128(sql.as_bytes()) ^ u128::from(shape_id.unwrap_or(0));
        if let Some(known) = self.texts.get(&known) {
            return known.clone();
        }
        let new = self.dialect(sql, shape_id).and_then(|dialect| {
            let new = statement::redact(&self.key, &mut self.shaper, sql.as_bytes(), dialect)?;
            String::from_utf8(new).ok().map(Arc::from)
        });
        if self.texts.len() >= REMEMBERED {
            self.texts.clear();
        }
        self.texts.insert(known, new.clone());
        new
    }

    /// A text that is not UTF-8. In some character sets a letter ends with a backslash, which would hide a quote.
    fn raw(&mut self, sql: &str, raw: &[u8], shape_id: Option<u64>) -> Option<Vec<u8>> {
        if raw.windows(2).any(|pair| matches!(pair, [high, b'\\'] if !high.is_ascii())) {
            return None;
        }
        let dialect = self.dialect(sql, shape_id)?;
        statement::redact(&self.key, &mut self.shaper, raw, dialect)
    }

    /// How the session read the text: a row does not tell its `sql_mode`, but its shape does.
    fn dialect(&self, sql: &str, shape_id: Option<u64>) -> Option<Dialect> {
        let usual = Dialect::of(self.engine);
        let Some(shape_id) = shape_id else { return Some(usual) };
        if usual.shape_id(sql) == shape_id {
            return Some(usual);
        }
        let servers = [Server::default(), Server { family: Family::MySql, version: 80_036 }];
        let modes = servers.into_iter().flat_map(|server| {
            (0..4).map(move |bits| Mode {
                ansi_quotes: bits & 1 > 0,
                no_backslash_escapes: bits & 2 > 0,
                ..Mode::of(server)
            })
        });
        let mut modes = modes.filter(|_| self.engine == Engine::Mysql).map(Dialect::Mysql);
        modes.find(|dialect| dialect.shape_id(sql) == shape_id)
    }

    fn param(&self, param: &mut Param) {
        match self.engine {
            Engine::Postgresql => self.key.postgresql(param),
            Engine::Mysql => self.key.mysql(param),
        }
    }

    /// What the client set when it connected, each a name and its value. As in SET, the values of settings stay, except
    /// those that an application defines, which have a dot in their names.
    fn settings(&self, params: &mut [Param]) {
        for pair in params.chunks_mut(2) {
            let [name, Param { value: Some(value), .. }] = pair else { continue };
            let name = name.value.as_deref().unwrap_or_default();
            let is_custom = |name: &[u8]| name.contains(&b'.') && !sql::is_of_router(name);
            if is_custom(name) {
                *value = self.key.text(value).into();
            } else if name == b"options" {
                let parts = value.split(|&byte| byte == b' ').map(|part| {
                    let equals = part.iter().position(|&byte| byte == b'=').unwrap_or(part.len());
                    let (name, rest) = part.split_at(equals);
                    let name_only = name.strip_prefix(b"-c").or(name.strip_prefix(b"--")).unwrap_or(name);
                    match rest {
                        [b'=', value @ ..] if is_custom(name_only) => [name, b"=", &self.key.text(value)].concat(),
                        // The rest of a value with spaces in it may be anything.
                        [] if !name.is_empty() && !name.starts_with(b"-") => self.key.text(name),
                        _ => part.to_vec(),
                    }
                });
                *value = parts.collect::<Vec<_>>().join(&b' ').into();
            }
        }
    }

    /// The name of a statement or portal. Names that a driver counts up stay, because texts may name them too (DEALLOCATE).
    fn name(&self, name: &str) -> CompactString {
        const COUNTED: &[&str] = &[
            "",
            "S_",
            "C_",
            "a",
            "s",
            "p",
            "P",
            "c",
            "stmt",
            "stmt_",
            "_p",
            "_PLAN",
            "P_",
            "p_",
            "s_",
            "__asyncpg_stmt___",
            "__asyncpg_portal___",
            "pdo_stmt_",
            "sqlx_s_",
            "lrupsc__",
            "_pg_",
            "_pg__",
            "dbdpg_p_",
            "B_",
            "portal",
            "portal_",
        ];
        let letters: String = name.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        if COUNTED.contains(&letters.as_str()) && name.len() <= 32 {
            return name.into();
        }
        CompactString::from_utf8_lossy(&self.key.pattern(name.as_bytes()))
    }

    /// A sentence in which values may stand anywhere: equal ones stay equal, and nothing else.
    fn message(&self, text: &str) -> Arc<str> {
        let hash = self.key.hash(Use::Message, &[text.as_bytes()]) as u64;
        format!("redacted:{hash:016x}").into()
    }

    /// Data that the client sent; false where it had to be left out.
    fn data(&mut self, request: &mut Request) -> bool {
        if request.copy_data.is_empty() {
            return true;
        }
        if request.kind != Kind::Copy {
            // Commands of MySQL whose body holds names and numbers of the server's. Any other is an execution that could not
            // be read, and may be of any form.
            let is_command = matches!(request.messages.as_str(), "04" | "05" | "06" | "07" | "0c" | "1b");
            if !is_command {
                request.copy_data = Vec::new();
            }
            return is_command;
        }
        let sql = request.sql.as_deref().unwrap_or_default();
        let dialect = self.dialect(sql, request.shape_id).unwrap_or(Dialect::of(self.engine));
        let formats = format::formats(sql.as_bytes(), dialect);
        let mut lengths = request.copy_lengths.iter().map(|&length| length as usize);
        let mut rest = request.copy_data.as_mut_slice();
        let mut formats = formats.into_iter();
        let mut format = Format::unknown(self.engine);
        while !rest.is_empty() {
            // What belongs to no COPY that ended belongs to the last one.
            let length = lengths.next().unwrap_or(rest.len()).min(rest.len());
            let (messages, after) = rest.split_at_mut(length);
            format = formats.next().unwrap_or(format);
            self.key.copy(messages, &format);
            rest = after;
        }
        true
    }
}
