//! A small language for PostgreSQL dialogues: what each side sends, byte for byte, and what rows come of it.

use std::fmt::Write as _;
use std::sync::Arc;

use splitproof_capture::postgresql::copy::{CopyDirection, CopyResponse};
use splitproof_capture::postgresql::extended::{Bind, Parse, Target, write_parameter_description};
use splitproof_capture::postgresql::report::{write_error, write_notice};
use splitproof_capture::postgresql::row::{Column, DataRow, RowDescription};
use splitproof_capture::postgresql::startup::{Startup, write_startup};
use splitproof_capture::postgresql::{Backend, Frontend, call};
use splitproof_capture::session::postgresql::Session;
use splitproof_capture::session::{Close, Decoder, Shared, Start};
use splitproof_capture::trace::{Engine, Losses, Request, TransactionStatus};

/// What happens on a connection, one thing every microsecond.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Client(Vec<u8>),
    Server(Vec<u8>),
    ClientGap(u64),
    ServerGap(u64),
    Close(Close),
}

/// A connection from its first byte on.
#[derive(Clone, Debug, Default)]
pub struct Dialogue {
    pub events: Vec<Event>,
    pub midway: bool,
}

/// Time of the first event.
pub const START_NS: i64 = 1_700_000_000_000_000_000;
/// Time between two events.
pub const TICK_NS: i64 = 1_000;

impl Dialogue {
    /// A connection on which nothing was sent.
    pub fn raw() -> Self {
        Self::default()
    }

    /// A session that is ready for its first request, which is the row with seq 1.
    pub fn session() -> Self {
        Self::raw()
            .client([startup(&[("user", "shop"), ("database", "shopdb"), ("application_name", "till")])])
            .server([auth_ok(), status("application_name", "till"), key(7, b"sesame!!"), ready('I')])
    }

    /// A connection that is older than the recording.
    pub fn midway() -> Self {
        Dialogue { midway: true, ..Self::default() }
    }

    pub fn client<const N: usize>(mut self, messages: [Vec<u8>; N]) -> Self {
        self.events.push(Event::Client(messages.concat()));
        self
    }

    pub fn server<const N: usize>(mut self, messages: [Vec<u8>; N]) -> Self {
        self.events.push(Event::Server(messages.concat()));
        self
    }

    pub fn client_gap(mut self, missing: u64) -> Self {
        self.events.push(Event::ClientGap(missing));
        self
    }

    pub fn server_gap(mut self, missing: u64) -> Self {
        self.events.push(Event::ServerGap(missing));
        self
    }

    pub fn close(mut self, how: Close) -> Self {
        self.events.push(Event::Close(how));
        self
    }

    /// The rows, in the order in which they were finished, and the losses.
    pub fn run(&self) -> (Vec<Request>, Losses) {
        self.run_with(&Shared::new(Engine::Postgresql), |bytes| vec![bytes])
    }

    /// The same, with every event's bytes delivered in the pieces that `cut` makes of them.
    pub fn run_with(&self, shared: &Shared, mut cut: impl FnMut(&[u8]) -> Vec<&[u8]>) -> (Vec<Request>, Losses) {
        let start =
            Start { client: Arc::from("10.0.0.1:40000"), server: Arc::from("10.0.0.2:5432"), midway: self.midway };
        let mut session = Session::new(3, start, shared);
        let mut rows = Vec::new();
        for (event, at_ns) in self.events.iter().zip((START_NS..).step_by(TICK_NS as usize)) {
            match event {
                Event::Client(bytes) => cut(bytes).iter().for_each(|piece| session.client(at_ns, piece, &mut rows)),
                Event::Server(bytes) => cut(bytes).iter().for_each(|piece| session.server(at_ns, piece, &mut rows)),
                Event::ClientGap(missing) => session.client_gap(at_ns, *missing, &mut rows),
                Event::ServerGap(missing) => session.server_gap(at_ns, *missing, &mut rows),
                Event::Close(how) => session.close(at_ns, *how, &mut rows),
            }
        }
        let losses = session.losses().clone();
        (rows, losses)
    }

    /// The rows after the connect row, one line each, and the losses as words.
    pub fn lines(&self) -> (Vec<String>, String) {
        let (mut rows, losses) = self.run();
        rows.sort_by_key(|row| row.seq);
        let mut words = String::new();
        for (loss, amount) in losses.iter() {
            write!(words, "{}{}={amount}", if words.is_empty() { "" } else { " " }, loss.name()).unwrap();
        }
        let lines = rows.iter().filter(|row| row.kind.as_str() != "connect").map(line).collect();
        (lines, words)
    }
}

/// Compares the rows after the connect row, and wants nothing lost.
#[track_caller]
pub fn expect(dialogue: &Dialogue, lines: &[&str]) {
    expect_with_losses(dialogue, lines, "");
}

/// Compares the rows after the connect row, and the losses.
#[track_caller]
pub fn expect_with_losses(dialogue: &Dialogue, lines: &[&str], losses: &str) {
    let (rows, lost) = dialogue.lines();
    assert_eq!(rows.join("\n"), lines.join("\n"));
    assert_eq!(lost, losses);
}

/// A row in one line: kind, messages, SQL, outcome, and whatever else is set.
pub fn line(row: &Request) -> String {
    let mut line = format!("{} {}", row.kind, row.messages);
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            write!(line, " {name}{value}").unwrap();
        }
    };
    add("", row.statement.as_ref().map(|name| format!("s:{name}")));
    add("", row.portal.as_ref().map(|name| format!("p:{name}")));
    add("", row.sql.as_ref().map(|sql| format!("\"{sql}\"")));
    add("", Some(row.outcome.to_string()));
    add("", row.error_code.as_ref().map(ToString::to_string));
    add("rows=", row.rows.map(|rows| rows.to_string()));
    add("affected=", row.affected.map(|rows| rows.to_string()));
    add("warnings=", row.warnings.filter(|&count| count > 0).map(|count| count.to_string()));
    add("group=", row.pipeline_group.map(|group| group.to_string()));
    add("took=", row.duration_ns.map(|ns| (ns / TICK_NS as u64).to_string()));
    add("", row.transaction.map(|status| status.to_string()));
    add("", row.truncated.then(|| "truncated".into()));
    add("", row.gap_before.then(|| "gap-before".into()));
    add("", row.joined_midway.then(|| "midway".into()));
    line
}

fn front(message: Frontend<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(&mut out).unwrap();
    out
}

fn back(message: Backend<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(&mut out).unwrap();
    out
}

pub fn startup(params: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    let params = params.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    write_startup(&mut out, (3, 0), params).unwrap();
    out
}

pub fn ssl_request() -> Vec<u8> {
    let mut out = Vec::new();
    Startup::SslRequest.encode(&mut out).unwrap();
    out
}

pub fn gss_request() -> Vec<u8> {
    let mut out = Vec::new();
    Startup::GssEncRequest.encode(&mut out).unwrap();
    out
}

pub fn cancel(process_id: i32, secret: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Startup::Cancel { process_id, secret }.encode(&mut out).unwrap();
    out
}

pub fn password(secret: &str) -> Vec<u8> {
    let length = u32::try_from(secret.len() + 5).unwrap();
    [b"p".as_slice(), &length.to_be_bytes(), secret.as_bytes(), b"\0"].concat()
}

pub fn query(sql: &str) -> Vec<u8> {
    front(Frontend::Query { sql: sql.as_bytes() })
}

pub fn parse(name: &str, sql: &str, types: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    Parse::write(&mut out, name.as_bytes(), sql.as_bytes(), types).unwrap();
    out
}

pub fn bind(portal: &str, statement: &str) -> Vec<u8> {
    bind_with(portal, statement, &[], &[], &[])
}

pub fn bind_with(portal: &str, statement: &str, formats: &[i16], params: &[Option<&[u8]>], results: &[i16]) -> Vec<u8> {
    let mut out = Vec::new();
    let params = params.iter().copied();
    Bind::write(&mut out, portal.as_bytes(), statement.as_bytes(), formats, params, results).unwrap();
    out
}

pub fn describe_statement(name: &str) -> Vec<u8> {
    front(Frontend::Describe(Target::Statement(name.as_bytes())))
}

pub fn describe_portal(name: &str) -> Vec<u8> {
    front(Frontend::Describe(Target::Portal(name.as_bytes())))
}

pub fn execute(portal: &str, limit: i32) -> Vec<u8> {
    front(Frontend::Execute { portal: portal.as_bytes(), limit })
}

pub fn close_statement(name: &str) -> Vec<u8> {
    front(Frontend::Close(Target::Statement(name.as_bytes())))
}

pub fn close_portal(name: &str) -> Vec<u8> {
    front(Frontend::Close(Target::Portal(name.as_bytes())))
}

pub fn sync() -> Vec<u8> {
    front(Frontend::Sync)
}

pub fn flush() -> Vec<u8> {
    front(Frontend::Flush)
}

pub fn terminate() -> Vec<u8> {
    front(Frontend::Terminate)
}

pub fn copy_data(data: &str) -> Vec<u8> {
    front(Frontend::CopyData(data.as_bytes()))
}

pub fn copy_done() -> Vec<u8> {
    front(Frontend::CopyDone)
}

pub fn copy_fail(why: &str) -> Vec<u8> {
    front(Frontend::CopyFail(why.as_bytes()))
}

pub fn function_call(function: u32, args: &[Option<&[u8]>]) -> Vec<u8> {
    let mut out = Vec::new();
    call::FunctionCall::write(&mut out, function, &[1], args.iter().copied(), 1).unwrap();
    out
}

pub fn auth_ok() -> Vec<u8> {
    b"R\0\0\0\x08\0\0\0\0".to_vec()
}

pub fn status(name: &str, value: &str) -> Vec<u8> {
    back(Backend::ParameterStatus { name: name.as_bytes(), value: value.as_bytes() })
}

pub fn key(process_id: i32, secret: &[u8]) -> Vec<u8> {
    back(Backend::BackendKeyData { process_id, secret })
}

pub fn ready(status: char) -> Vec<u8> {
    back(Backend::ReadyForQuery(match status {
        'I' => TransactionStatus::Idle,
        'T' => TransactionStatus::Open,
        _ => TransactionStatus::Failed,
    }))
}

pub fn tag(tag: &str) -> Vec<u8> {
    back(Backend::CommandComplete { tag: tag.as_bytes() })
}

pub fn columns(names: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    let columns = names.iter().map(|name| Column {
        name: name.as_bytes(),
        table: 0,
        attribute: 0,
        type_id: 25,
        type_size: -1,
        type_modifier: -1,
        format: 0,
    });
    RowDescription::write(&mut out, columns).unwrap();
    out
}

pub fn row(values: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    DataRow::write(&mut out, values.iter().map(|value| Some(value.as_bytes()))).unwrap();
    out
}

pub fn error(code: &str, message: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let fields = [(b'S', b"ERROR".as_slice()), (b'C', code.as_bytes()), (b'M', message.as_bytes())];
    write_error(&mut out, fields).unwrap();
    out
}

pub fn notice(message: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let fields = [(b'S', b"WARNING".as_slice()), (b'C', b"01000"), (b'M', message.as_bytes())];
    write_notice(&mut out, fields).unwrap();
    out
}

pub fn param_types(types: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    write_parameter_description(&mut out, types).unwrap();
    out
}

pub fn empty_query() -> Vec<u8> {
    back(Backend::EmptyQueryResponse)
}

pub fn parsed() -> Vec<u8> {
    back(Backend::ParseComplete)
}

pub fn bound() -> Vec<u8> {
    back(Backend::BindComplete)
}

pub fn closed() -> Vec<u8> {
    back(Backend::CloseComplete)
}

pub fn no_data() -> Vec<u8> {
    back(Backend::NoData)
}

pub fn suspended() -> Vec<u8> {
    back(Backend::PortalSuspended)
}

pub fn copy_start(direction: CopyDirection) -> Vec<u8> {
    let mut out = Vec::new();
    CopyResponse::write(&mut out, direction, false, &[0]).unwrap();
    out
}

pub fn server_copy_data(data: &str) -> Vec<u8> {
    back(Backend::CopyData(data.as_bytes()))
}

pub fn server_copy_done() -> Vec<u8> {
    back(Backend::CopyDone)
}

pub fn call_result(value: Option<&[u8]>) -> Vec<u8> {
    back(Backend::FunctionCallResponse(value))
}
