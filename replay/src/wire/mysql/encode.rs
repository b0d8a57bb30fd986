//! From a recorded request to its commands.

use splitproof_capture::mysql::{
    BulkExecute, Capabilities, Code, Command, Content, Execute, ExecuteFlags, LongData, ParamType, Parameter, Query,
    Unencodable, packet,
};
use splitproof_capture::trace::{Param, Request};

use super::Statements;
use crate::wire::Incomplete;

impl From<Unencodable> for Incomplete {
    fn from(_: Unencodable) -> Self {
        Incomplete
    }
}

/// The first bytes of a request's commands, which its row lists in hexadecimal. What is no byte ends the list.
pub fn codes(messages: &str) -> impl Iterator<Item = u8> {
    let pairs = (0..messages.len()).step_by(2).map_while(|at| messages.get(at..at + 2));
    pairs.map_while(|pair| u8::from_str_radix(pair, 16).ok())
}

/// Appends the commands of a request to `out`, each a packet or several. COM_CHANGE_USER, which needs a proof, is not among
/// them.
///
/// # Errors
/// When something that a command needs was not recorded. `out` may then hold the commands before it.
pub fn encode(
    request: &Request,
    capabilities: Capabilities,
    statements: &mut Statements,
    out: &mut Vec<u8>,
) -> Result<(), Incomplete> {
    let mut any = false;
    let sent_ahead = codes(&request.messages).take_while(|code| *code == Code::STMT_SEND_LONG_DATA.0).count();
    if sent_ahead > 0 {
        long_data(request, sent_ahead, capabilities, statements, out)?;
        any = true;
    }
    for code in codes(&request.messages).skip(sent_ahead) {
        command(request, Code(code), capabilities, statements, out)?;
        any = true;
    }
    if any { Ok(()) } else { Err(Incomplete) }
}

fn command(
    request: &Request,
    code: Code,
    capabilities: Capabilities,
    statements: &mut Statements,
    out: &mut Vec<u8>,
) -> Result<(), Incomplete> {
    let body = || request.copy_data.first().map(|body| &**body);
    let recorded = || number(request).ok_or(Incomplete);
    let command = match code {
        Code::QUERY => {
            let attributes = parameters(request);
            // As the client itself does where the server cannot take them.
            let can = capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
            let attributes = if can { attributes.as_slice() } else { &[] };
            return write(out, |out| Query::write(out, capabilities, attributes, text(request)?));
        }
        Code::STMT_PREPARE => {
            statements.preparing(number(request));
            Command::Prepare { sql: text(request).map_err(|_| Incomplete)? }
        }
        Code::STMT_EXECUTE => return execute(request, capabilities, statements, out),
        Code::STMT_BULK_EXECUTE => {
            let statement = statements.now(recorded()?);
            let (flags, body) = body().and_then(<[u8]>::split_first_chunk).ok_or(Incomplete)?;
            let flags = splitproof_capture::mysql::bulk::BulkFlags(u16::from_le_bytes(*flags));
            Command::BulkExecute(BulkExecute { statement, flags, body })
        }
        Code::STMT_FETCH => {
            let rows = request.row_limit.ok_or(Incomplete)?;
            Command::Fetch { statement: statements.now(recorded()?), rows }
        }
        Code::STMT_CLOSE => {
            let statement = statements.now(recorded()?);
            statements.close(recorded()?);
            Command::Close { statement }
        }
        Code::STMT_RESET => Command::Reset { statement: statements.now(recorded()?) },
        Code::INIT_DB => Command::InitDb { database: request.database.as_deref().ok_or(Incomplete)?.as_bytes() },
        Code::RESET_CONNECTION => {
            statements.forget();
            Command::ResetConnection
        }
        Code::PING => Command::Ping,
        Code::QUIT => Command::Quit,
        Code::STATISTICS | Code::PROCESS_INFO | Code::DEBUG => Command::Other { code, body: b"" },
        Code::FIELD_LIST | Code::CREATE_DB | Code::DROP_DB | Code::REFRESH | Code::SET_OPTION => {
            Command::Other { code, body: body().ok_or(Incomplete)? }
        }
        _ => return Err(Incomplete),
    };
    write(out, |out| command.encode(capabilities, out))
}

fn execute(
    request: &Request,
    capabilities: Capabilities,
    statements: &mut Statements,
    out: &mut Vec<u8>,
) -> Result<(), Incomplete> {
    let statement = statements.now(number(request).ok_or(Incomplete)?);
    // Where the parameters could not be read, the row has the bytes behind the statement's number.
    if let Some(raw) = request.copy_data.first() {
        let (&[flags, a, b, c, d], body) = raw.split_first_chunk::<5>().ok_or(Incomplete)?;
        let iterations = u32::from_le_bytes([a, b, c, d]);
        let execute = Execute { statement, flags: ExecuteFlags(flags), iterations, body };
        return write(out, |out| Command::Execute(execute).encode(capabilities, out));
    }
    let flags = request.result_formats.first().map_or(Some(0), |flags| u8::try_from(*flags).ok()).ok_or(Incomplete)?;
    let parameters = parameters(request);
    let send_types = statements.sends_types(statement, request.param_types.is_some());
    write(out, |out| Execute::write(out, capabilities, statement, ExecuteFlags(flags), &parameters, send_types))
}

/// Sends parameters ahead, in as many parts as the client did. Where one part ended and the next began is not recorded: the last
/// parameter is cut into equal ones.
fn long_data(
    request: &Request,
    parts: usize,
    capabilities: Capabilities,
    statements: &Statements,
    out: &mut Vec<u8>,
) -> Result<(), Incomplete> {
    let statement = statements.now(number(request).ok_or(Incomplete)?);
    let values = ahead(request);
    let (last, first) = values.split_last().ok_or(Incomplete)?;
    let whole = first.iter().map(|(parameter, value)| (*parameter, *value));
    let (parameter, value) = *last;
    let left = parts.saturating_sub(first.len()).max(1);
    let size = value.len().div_ceil(left).max(1);
    let cut = (0..left)
        .map(|part| (parameter, value.get(part * size..).map_or(&b""[..], |rest| &rest[..rest.len().min(size)])));
    for (parameter, data) in whole.chain(cut) {
        let part = LongData { statement, parameter, data };
        write(out, |out| Command::LongData(part).encode(capabilities, out))?;
    }
    Ok(())
}

/// The parameters that are sent ahead, by number.
fn ahead(request: &Request) -> Vec<(u16, &[u8])> {
    let is_executed = codes(&request.messages).any(|code| code == Code::STMT_EXECUTE.0);
    if request.copy_data.is_empty() {
        let long = request.params.iter().zip(&request.param_formats).zip(0..);
        return long
            .filter(|((_, format), _)| **format != 0)
            .map(|((param, _), number)| (number, param.value.as_deref().unwrap_or_default()))
            .collect();
    }
    // Numbers and values stand behind the bytes of the execution, or alone.
    let entries = request.copy_data.iter().skip(usize::from(is_executed));
    entries
        .filter_map(|entry| entry.split_first_chunk())
        .map(|(number, value)| (u16::from_le_bytes(*number), value))
        .collect()
}

fn parameters(request: &Request) -> Vec<Parameter<'_>> {
    let of = |(index, param): (usize, &'_ Param)| -> (u16, usize) { (param.type_id as u16, index) };
    let kinds = request.params.iter().enumerate().map(of);
    kinds
        .zip(&request.params)
        .map(|((kind, index), param)| Parameter {
            name: request.param_names.get(index).map_or(b"", |name| name.as_bytes()),
            kind: ParamType(kind),
            value: match &param.value {
                _ if request.param_formats.get(index).is_some_and(|format| *format != 0) => Content::Long,
                None => Content::Null,
                Some(value) => Content::Bytes(value),
            },
        })
        .collect()
}

fn text(request: &Request) -> Result<&[u8], Unencodable> {
    let raw = request.sql_raw.as_deref();
    let missing = Unencodable { message: "statement", what: "its text was not recorded" };
    raw.or(request.sql.as_deref().map(str::as_bytes)).ok_or(missing)
}

fn number(request: &Request) -> Option<u32> {
    request.statement.as_deref()?.parse().ok()
}

fn write(out: &mut Vec<u8>, message: impl FnOnce(&mut Vec<u8>) -> Result<(), Unencodable>) -> Result<(), Incomplete> {
    Ok(packet::write_with(out, &mut 0, message)?)
}

#[cfg(test)]
mod tests {
    use splitproof_capture::trace::Kind;

    use super::*;

    fn request(kind: Kind, messages: &str, statement: Option<u32>) -> Request {
        let mut request = Request::new(1, 0, 0, kind);
        request.messages = messages.into();
        request.statement = statement.map(|number| number.to_string().into());
        request
    }

    fn sent(request: &Request) -> Result<Vec<u8>, Incomplete> {
        let mut statements = Statements::default();
        statements.preparing(Some(7));
        statements.prepared(2);
        let mut out = Vec::new();
        encode(request, Capabilities::ASSUMED, &mut statements, &mut out).map(|()| out)
    }

    fn param(type_id: u32, value: Option<&[u8]>) -> Param {
        Param { type_id, binary: true, value: value.map(Into::into) }
    }

    #[test]
    fn the_codes_of_a_row() {
        assert_eq!(codes("181817").collect::<Vec<_>>(), [0x18, 0x18, 0x17]);
        assert_eq!(codes("fa").collect::<Vec<_>>(), [0xfa]);
        assert_eq!(codes("03x").collect::<Vec<_>>(), [0x03]);
        assert_eq!(codes("zz03é").count(), 0);
    }

    #[test]
    fn a_text_is_sent_as_recorded() {
        let mut query = request(Kind::Query, "03", None);
        assert_eq!(sent(&query), Err(Incomplete));
        query.sql = Some("SELECT 1".into());
        assert_eq!(sent(&query).unwrap(), b"\x09\0\0\0\x03SELECT 1");
        query.sql_raw = Some((*b"SELECT '\xe9'").into());
        assert_eq!(sent(&query).unwrap(), b"\x0b\0\0\0\x03SELECT '\xe9'");
    }

    #[test]
    fn an_execution_names_the_present_statement() {
        let mut execute = request(Kind::Execute, "17", Some(7));
        // A LONGLONG, and a NULL of type VAR_STRING: the bytes that mariadb's client sends.
        execute.params = vec![param(8, Some(&5i64.to_le_bytes())), param(0xfd, None)];
        execute.param_types = Some(vec![8, 0xfd]);
        let body = b"\x17\x02\0\0\0\0\x01\0\0\0\x02\x01\x08\0\xfd\0\x05\0\0\0\0\0\0\0";
        assert_eq!(&sent(&execute).unwrap()[4..], body);
        execute.statement = Some("9".into());
        assert_eq!(&sent(&execute).unwrap()[4..9], b"\x17\0\0\0\0", "what was never prepared does not exist");
        execute.statement = Some("4294967295".into());
        assert_eq!(&sent(&execute).unwrap()[4..9], b"\x17\xff\xff\xff\xff");
    }

    #[test]
    fn long_data_is_sent_ahead_in_as_many_parts() {
        let mut execute = request(Kind::Execute, "18181817", Some(7));
        execute.params = vec![param(0xfc, Some(b"ab")), param(0xfc, Some(b"cdefg"))];
        execute.param_types = Some(vec![0xfc, 0xfc]);
        execute.param_formats = vec![1, 1];
        let bytes = sent(&execute).unwrap();
        let mut rest = bytes.as_slice();
        let mut payloads = Vec::new();
        while let Some(packet) = packet::next(rest) {
            payloads.push(packet.payload);
            rest = &rest[packet.len()..];
        }
        let parts = [&b"\x18\x02\0\0\0\0\0ab"[..], b"\x18\x02\0\0\0\x01\0cde", b"\x18\x02\0\0\0\x01\0fg"];
        assert_eq!(payloads[..3], parts);
        assert_eq!(payloads[3], b"\x17\x02\0\0\0\0\x01\0\0\0\0\x01\xfc\0\xfc\0");
    }

    #[test]
    fn other_commands_come_out_with_what_they_need() {
        assert_eq!(sent(&request(Kind::Close, "19", Some(7))).unwrap(), b"\x05\0\0\0\x19\x02\0\0\0");
        let mut fetch = request(Kind::Fetch, "1c", Some(7));
        fetch.row_limit = Some(5);
        assert_eq!(sent(&fetch).unwrap(), b"\x09\0\0\0\x1c\x02\0\0\0\x05\0\0\0");
        let mut init = request(Kind::InitDb, "02", None);
        assert_eq!(sent(&init), Err(Incomplete));
        init.database = Some("shop".into());
        assert_eq!(sent(&init).unwrap(), b"\x05\0\0\0\x02shop");
        assert_eq!(sent(&request(Kind::Ping, "0e", None)).unwrap(), b"\x01\0\0\0\x0e");
        for refused in ["", "08", "12", "11", "zz"] {
            assert_eq!(sent(&request(Kind::Other, refused, None)), Err(Incomplete), "{refused}");
        }
        let mut bulk = request(Kind::Execute, "fa", Some(7));
        bulk.copy_data = vec![Box::from(*b"\x80\0\x08\0body")];
        assert_eq!(&sent(&bulk).unwrap()[4..], b"\xfa\x02\0\0\0\x80\0\x08\0body");
        bulk.copy_data.clear();
        assert_eq!(sent(&bulk), Err(Incomplete));
    }
}
