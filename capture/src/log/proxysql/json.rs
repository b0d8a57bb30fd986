//! Events as JSON (`mysql-eventslog_format = 2`): one object a line, with keys that depend on the version.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Asked, Conversations, Event, value};
use crate::log::{Input, Reader, Records, Settings};
use crate::trace::{Loss, Param};

/// What an object may hold that takes more than one line.
const OBJECT_LIMIT: usize = 64 << 20;

/// Reads events as JSON.
#[derive(Default)]
pub(crate) struct Json {
    objects: Objects,
}

/// Puts lines together to objects, and objects to sessions.
#[derive(Default)]
pub(super) struct Objects {
    /// The beginning of an object, and the number of its line.
    pending: Vec<u8>,
    line: u64,
    /// Events of PostgreSQL, which are of another engine.
    foreign: u64,
    conversations: Conversations,
}

impl Json {
    /// A reader for any number of files.
    pub fn new(_: &Settings) -> Self {
        Json::default()
    }
}

impl Reader for Json {
    fn read(&mut self, input: &mut Input, out: &mut Records<'_>) {
        let mut first = true;
        input.each_line(out, |line, out| {
            if std::mem::take(&mut first) && memchr::memchr(0, line.bytes).is_some() {
                out.problem("these events are binary: give --format proxysql-binary");
            }
            self.objects.line(line.bytes, out);
        });
        self.objects.end_of_file(out);
    }

    fn finish(&mut self, _: &mut Records<'_>) {
        self.objects.conversations.finish();
    }
}

impl Objects {
    /// Takes a line.
    pub fn line(&mut self, line: &[u8], out: &mut Records<'_>) {
        let text = line.trim_ascii_end();
        if text.is_empty() && self.pending.is_empty() {
            return;
        }
        if !self.pending.is_empty() {
            let goes_on = !line.starts_with(b"{") && self.pending.len() + text.len() <= OBJECT_LIMIT;
            if goes_on {
                self.pending.push(b'\n');
                self.pending.extend_from_slice(text);
                // An object ends with its last brace: no need to try before.
                if text.ends_with(b"}") {
                    let pending = std::mem::take(&mut self.pending);
                    self.objects(&pending, out);
                }
                return;
            }
            self.pending.clear();
            out.entry(None);
            out.began_at(self.line);
            out.lost(Loss::LogTruncated);
        }
        self.objects(text, out);
    }

    /// A file ends.
    pub fn end_of_file(&mut self, out: &mut Records<'_>) {
        if !std::mem::take(&mut self.pending).is_empty() {
            out.entry(None);
            out.began_at(self.line);
            out.lost(Loss::LogTruncated);
        }
        let foreign = std::mem::take(&mut self.foreign);
        if foreign > 0 {
            let what = format!("{foreign} events are of ProxySQL's PostgreSQL side, which is not read");
            out.problem(what);
        }
    }

    /// Takes one or more objects.
    fn objects(&mut self, text: &[u8], out: &mut Records<'_>) {
        let mut objects = serde_json::Deserializer::from_slice(text).into_iter::<Object<'_>>();
        loop {
            let start = objects.byte_offset();
            match objects.next() {
                None => return,
                Some(Ok(object)) => self.object(object, out),
                Some(Err(error)) if error.is_eof() => {
                    self.pending = text.get(start..).unwrap_or_default().to_vec();
                    self.line = out.line();
                    return;
                }
                Some(Err(_)) => {
                    out.entry(None);
                    return out.lost(Loss::LogMalformed);
                }
            }
        }
    }

    /// Passes an event on, whichever format it came in.
    pub fn event(&mut self, event: &Event<'_>, out: &mut Records<'_>) {
        out.entry(Some(event.start_ns.saturating_add_unsigned(event.duration_ns)));
        self.conversations.event(event, out);
    }

    /// The log ends.
    pub fn finish(&mut self) {
        self.conversations.finish();
    }

    fn object(&mut self, mut object: Object<'_>, out: &mut Records<'_>) {
        let name = object.event.take().unwrap_or_default();
        let asked = match &*name {
            "COM_QUERY" => Some(Asked::Query),
            "COM_STMT_PREPARE" => Some(Asked::Prepare),
            "COM_STMT_EXECUTE" => Some(Asked::Execute),
            _ => None,
        };
        if let Some(event) = asked.and_then(|asked| object.event(asked)) {
            return self.event(&event, out);
        }
        out.entry(None);
        out.lost(match &*name {
            // Of the audit log.
            _ if name.starts_with("MySQL_Client_") => Loss::LogMessage,
            _ if name.starts_with("Admin_") || name.starts_with("SQLite3_") => Loss::LogServer,
            _ => {
                self.foreign += u64::from(name.starts_with("PGSQL_"));
                Loss::LogMalformed
            }
        });
    }
}

/// An object, as far as its keys are of use.
#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    event: Option<Cow<'a, str>>,
    thread_id: Option<u64>,
    #[serde(borrow)]
    username: Option<Cow<'a, str>>,
    #[serde(borrow)]
    schemaname: Option<Cow<'a, str>>,
    #[serde(borrow)]
    client: Option<Cow<'a, str>>,
    hostgroup_id: Option<i64>,
    #[serde(borrow)]
    server: Option<Cow<'a, str>>,
    starttime_timestamp_us: Option<u64>,
    endtime_timestamp_us: Option<u64>,
    client_stmt_id: Option<u32>,
    #[serde(borrow)]
    query: Option<Cow<'a, str>>,
    #[serde(borrow)]
    parameters: Option<Vec<Parameter<'a>>>,
    rows_sent: Option<u64>,
    rows_affected: Option<u64>,
    last_insert_id: Option<u64>,
    errno: Option<u64>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
    #[serde(borrow)]
    last_gtid: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Parameter<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    value: Option<Cow<'a, str>>,
}

impl<'a> Object<'a> {
    /// `None` where a key is missing that every event has.
    fn event(self, asked: Asked) -> Option<Event<'a>> {
        let start_ns = i64::try_from(self.starttime_timestamp_us?).ok()?.checked_mul(1000)?;
        let micros = self.endtime_timestamp_us?.saturating_sub(self.starttime_timestamp_us?);
        let query = self.query?;
        Some(Event {
            asked,
            thread: self.thread_id?,
            user: bytes(self.username),
            database: bytes(self.schemaname),
            client: bytes(self.client),
            hostgroup: self.hostgroup_id.and_then(|number| u64::try_from(number).ok()),
            server: bytes(self.server),
            start_ns,
            duration_ns: micros.saturating_mul(1000),
            statement: self.client_stmt_id,
            replaced: query.contains('\u{fffd}'),
            sql: Some(bytes(Some(query))),
            params: self.parameters.and_then(|parameters| parameters.iter().map(Parameter::param).collect()),
            rows: self.rows_sent,
            affected: self.rows_affected,
            last_insert_id: self.last_insert_id.filter(|id| *id > 0),
            errno: self.errno,
            error: self.error.map(|text| bytes(Some(text))),
            gtid: self.last_gtid.map(|text| bytes(Some(text))),
        })
    }
}

impl Parameter<'_> {
    fn param(&self) -> Option<Param> {
        value::param(value::kind(&self.kind)?, self.value.as_deref().map(str::as_bytes))
    }
}

fn bytes(text: Option<Cow<'_, str>>) -> Cow<'_, [u8]> {
    match text {
        None => Cow::Borrowed(b""),
        Some(Cow::Borrowed(text)) => Cow::Borrowed(text.as_bytes()),
        Some(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
    }
}
