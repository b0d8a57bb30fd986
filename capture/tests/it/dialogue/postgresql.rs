//! Dialogues of PostgreSQL, and its messages.

use splitproof_capture::postgresql::copy::{CopyDirection, CopyResponse};
use splitproof_capture::postgresql::extended::{Bind, Parse, Target, write_parameter_description};
use splitproof_capture::postgresql::report::{write_error, write_notice};
use splitproof_capture::postgresql::row::{Column, DataRow, RowDescription};
use splitproof_capture::postgresql::startup::{Startup, write_startup};
use splitproof_capture::postgresql::{Backend, Frontend, call};
use splitproof_capture::trace::{Engine, TransactionStatus};

pub use super::{Event, START_NS, TICK_NS, expect, expect_with_losses, line};

#[derive(Clone, Debug, Default)]
pub struct Postgresql;

impl super::Protocol for Postgresql {
    const ENGINE: Engine = Engine::Postgresql;
}

pub type Dialogue = super::Dialogue<Postgresql>;

impl Dialogue {
    /// A session that is ready for its first request, which is the row with seq 1.
    pub fn session() -> Self {
        Self::raw()
            .client([startup(&[("user", "shop"), ("database", "shopdb"), ("application_name", "till")])])
            .server([auth_ok(), status("application_name", "till"), key(7, b"sesame!!"), ready('I')])
    }
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
