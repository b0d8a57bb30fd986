//! jsonlog: <https://www.postgresql.org/docs/current/runtime-config-logging.html#RUNTIME-CONFIG-LOGGING-JSONLOG>, also in the
//! wrappers of CloudNativePG, Google Cloud SQL and Docker.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use memchr::memmem;
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};

use super::entry::{Entry, Severity};
use super::lines::{Framed, Lines, Written};
use crate::log::{Input, Reader, Records, Settings};
use crate::trace::Loss;

/// What exports write out of order is put back within as many lines and bytes.
const WINDOW_LINES: usize = 100_000;
const WINDOW_BYTES: usize = 64 << 20;

/// Reads jsonlog.
pub(crate) struct Json {
    lines: Lines,
    /// Lines that wait for earlier ones, by time, line number in the session, and arrival.
    waiting: BTreeMap<(i64, u64, u64), Box<[u8]>>,
    waiting_bytes: usize,
    arrived: u64,
    /// The beginning of a line that Docker cut.
    partial: Vec<u8>,
}

/// A value that some writers quote and others do not.
#[derive(Debug, PartialEq)]
struct Text<'a>(Cow<'a, str>);

/// One entry, by the server's names or by those of csvlog's columns, which CloudNativePG uses.
#[derive(serde::Deserialize)]
struct Record<'a> {
    #[serde(borrow, alias = "log_time")]
    timestamp: Option<Text<'a>>,
    #[serde(borrow, alias = "user_name")]
    user: Option<Text<'a>>,
    #[serde(borrow, alias = "database_name")]
    dbname: Option<Text<'a>>,
    #[serde(borrow, alias = "process_id")]
    pid: Option<Text<'a>>,
    #[serde(borrow, alias = "connection_from")]
    remote_host: Option<Text<'a>>,
    #[serde(borrow)]
    remote_port: Option<Text<'a>>,
    #[serde(borrow)]
    session_id: Option<Text<'a>>,
    #[serde(borrow, alias = "session_line_num")]
    line_num: Option<Text<'a>>,
    #[serde(borrow, alias = "command_tag")]
    ps: Option<Text<'a>>,
    #[serde(borrow, alias = "session_start_time")]
    session_start: Option<Text<'a>>,
    #[serde(borrow)]
    error_severity: Option<Text<'a>>,
    #[serde(borrow, alias = "sql_state_code")]
    state_code: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
    #[serde(borrow)]
    detail: Option<Text<'a>>,
    #[serde(borrow)]
    context: Option<Text<'a>>,
    #[serde(borrow, alias = "query")]
    statement: Option<Text<'a>>,
    #[serde(borrow)]
    application_name: Option<Text<'a>>,
    #[serde(borrow)]
    backend_type: Option<Text<'a>>,
}

/// CloudNativePG's wrapper.
#[derive(serde::Deserialize)]
struct Wrapped<'a> {
    #[serde(borrow)]
    record: Record<'a>,
}

/// A line of the text log in the wrapper of Google Cloud's logging, or of Docker.
#[derive(serde::Deserialize)]
struct Payload<'a> {
    #[serde(borrow, rename = "textPayload", alias = "log")]
    text: Text<'a>,
    #[serde(borrow, alias = "time")]
    timestamp: Option<Text<'a>>,
}

/// What a line is.
enum Kind {
    Plain,
    CloudNative,
    Cloud,
    Docker,
}

impl Json {
    /// A reader for any number of files.
    pub fn new(settings: &Settings) -> Self {
        Json {
            lines: Lines::new(settings),
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            arrived: 0,
            partial: Vec::new(),
        }
    }

    /// Puts a line among those that wait. False where it has no time.
    fn wait(&mut self, line: &[u8], key: Option<(i64, u64)>) -> bool {
        let Some((at_ns, number)) = key else { return false };
        self.arrived += 1;
        self.waiting_bytes += line.len();
        self.waiting.insert((at_ns, number, self.arrived), line.into());
        true
    }

    /// Takes the earliest of the lines that wait.
    fn next(&mut self, out: &mut Records<'_>) -> bool {
        let Some((_, line)) = self.waiting.pop_first() else { return false };
        self.waiting_bytes -= line.len();
        match Kind::of(&line) {
            Kind::CloudNative => self.wrapped(&line, out),
            _ => self.payload(&line, out),
        }
        true
    }

    fn line(&mut self, line: &[u8], ended: bool, out: &mut Records<'_>) {
        match Kind::of(line) {
            Kind::Plain => match parse::<Record<'_>>(line) {
                Some(record) => self.record(&record, out),
                None => unusable(line, ended, out),
            },
            Kind::CloudNative => {
                let key = parse::<Wrapped<'_>>(line).and_then(|wrapped| {
                    let number = wrapped.record.line_num.and_then(|number| number.0.parse().ok()).unwrap_or(0);
                    Some((self.time(&wrapped.record.timestamp?)?.0, number))
                });
                if !self.wait(line, key) {
                    unusable(line, ended, out);
                }
            }
            Kind::Cloud => {
                let key = parse::<Payload<'_>>(line).and_then(|payload| Some((self.time(&payload.timestamp?)?.0, 0)));
                if !self.wait(line, key) {
                    unusable(line, ended, out);
                }
            }
            Kind::Docker => match parse::<Payload<'_>>(line) {
                Some(_) => self.payload(line, out),
                None => unusable(line, ended, out),
            },
        }
        while self.waiting.len() > WINDOW_LINES || self.waiting_bytes > WINDOW_BYTES {
            self.next(out);
        }
    }

    fn wrapped(&mut self, line: &[u8], out: &mut Records<'_>) {
        match parse::<Wrapped<'_>>(line) {
            Some(wrapped) => self.record(&wrapped.record, out),
            None => unusable(line, true, out),
        }
    }

    fn payload(&mut self, line: &[u8], out: &mut Records<'_>) {
        let Some(payload) = parse::<Payload<'_>>(line) else {
            return unusable(line, true, out);
        };
        let time = payload.timestamp.as_ref().and_then(|stamp| self.time(stamp));
        let time = time.map(|(at_ns, resolution_ns)| Written::At(at_ns, resolution_ns));
        let text = payload.text.0.as_bytes();
        let is_docker = matches!(Kind::of(line), Kind::Docker);
        if is_docker && !text.ends_with(b"\n") && self.partial.len() < WINDOW_BYTES {
            // Docker cuts lines at 16 KiB.
            self.partial.extend_from_slice(text);
            return;
        }
        let mut whole = std::mem::take(&mut self.partial);
        whole.extend_from_slice(text.strip_suffix(b"\n").unwrap_or(text));
        for (index, text) in whole.split(|&byte| byte == b'\n').enumerate() {
            // A message that was kept in one piece has its further lines as they were, with or without the server's tab.
            let further = index > 0 && !text.starts_with(b"\t");
            let tabbed = if further { Cow::Owned([b"\t", text].concat()) } else { Cow::Borrowed(text) };
            self.lines.line(Framed { text: &tabbed, time, ..Framed::default() }, out);
        }
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Records<'_>) {
        let stamp = record.timestamp.as_ref().and_then(|stamp| self.time(stamp));
        let (Some((stamp_ns, resolution_ns)), Some(message)) = (stamp, &record.message) else {
            out.entry(None);
            out.lost(Loss::LogForeign);
            return;
        };
        let text = |text: &Option<Text<'_>>| text.as_ref().map(|text| text.0.as_bytes().to_vec());
        let client = match (text(&record.remote_host), text(&record.remote_port)) {
            (Some(host), Some(port)) => Some([&host[..], b":", &port[..]].concat()),
            (host, _) => host,
        };
        let at_ns = self.lines.tick(stamp_ns, resolution_ns);
        out.entry(Some(at_ns));
        if message.0.contains('\0') || record.statement.as_ref().is_some_and(|statement| statement.0.contains('\0')) {
            out.lost(Loss::LogMalformed);
            return;
        }
        fn bytes<'a>(text: &'a Option<Text<'_>>) -> Option<&'a [u8]> {
            text.as_ref().map(|text| text.0.as_bytes())
        }
        let code = bytes(&record.state_code);
        let entry = Entry {
            at_ns,
            session: bytes(&record.session_id),
            pid: bytes(&record.pid),
            session_start_ns: record.session_start.as_ref().and_then(|stamp| self.time(stamp)).map(|(ns, _)| ns),
            user: bytes(&record.user),
            database: bytes(&record.dbname),
            application: bytes(&record.application_name),
            client: client.as_deref(),
            tag: bytes(&record.ps),
            backend: bytes(&record.backend_type),
            severity: Severity::told(bytes(&record.error_severity).unwrap_or_default(), code),
            code,
            message: message.0.as_bytes(),
            detail: bytes(&record.detail),
            context: bytes(&record.context),
            statement: bytes(&record.statement),
        };
        self.lines.entry(&entry, out);
    }

    /// `2024-06-27 00:00:07.369 CEST` or `2020-05-02T13:00:20.382318Z`: nanoseconds since 1970, and what that does not tell apart.
    fn time(&mut self, stamp: &Text<'_>) -> Option<(i64, i64)> {
        let text = stamp.0.as_bytes();
        let fraction = match text.get(19..)? {
            [b'.', rest @ ..] => 1 + rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
            _ => 0,
        };
        let (local, zone) = text.split_at_checked(19 + fraction)?;
        let ns = self.lines.times.read(local, zone.trim_ascii_start())?;
        let digits = u32::try_from(fraction.saturating_sub(1)).ok()?;
        Some((ns, 1_000_000_000 / 10_i64.pow(digits)))
    }
}

impl Reader for Json {
    fn read(&mut self, input: &mut Input, out: &mut Records<'_>) {
        input.each_line(out, |line, out| {
            if line.cut > 0 {
                out.entry(None);
                out.lost(Loss::LogTruncated);
                out.missing(Loss::Oversized, line.cut);
            } else if !line.bytes.trim_ascii().is_empty() {
                self.line(line.bytes, line.ended, out);
            }
        });
        while self.next(out) {}
        if !std::mem::take(&mut self.partial).is_empty() {
            out.entry(None);
            out.lost(Loss::LogTruncated);
        }
        self.lines.end_of_file(true, out);
    }

    fn finish(&mut self, out: &mut Records<'_>) {
        self.lines.finish(out);
    }
}

impl Kind {
    fn of(line: &[u8]) -> Self {
        if memmem::find(line, b"\"textPayload\":").is_some() {
            Kind::Cloud
        } else if memmem::find(line, b"\"record\":{").is_some() && memmem::find(line, b"\"log_time\":").is_some() {
            Kind::CloudNative
        } else if line.starts_with(b"{\"log\":") {
            Kind::Docker
        } else {
            Kind::Plain
        }
    }
}

/// Reads an object. Text in another encoding than UTF-8 is read with U+FFFD in its place.
fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

fn unusable(line: &[u8], ended: bool, out: &mut Records<'_>) {
    out.entry(None);
    let is_object = serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
    let cut = !ended || (line.starts_with(b"{") && !line.trim_ascii_end().ends_with(b"}"));
    out.lost(match () {
        () if is_object => Loss::LogForeign,
        () if cut => Loss::LogTruncated,
        () => Loss::LogMalformed,
    });
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_borrowed_str<E: serde::de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Text<'de>, E> {
                Err(E::custom(format_args!("{number} is no whole number")))
            }
        }
        deserializer.deserialize_any(Any).map_err(D::Error::custom)
    }
}
