//! From a recorded request to the bytes of its messages.

use splitproof_capture::postgresql::Unencodable;
use splitproof_capture::postgresql::call::FunctionCall;
use splitproof_capture::postgresql::extended::{Bind, Parse, Target};
use splitproof_capture::postgresql::frontend::Frontend;
use splitproof_capture::trace::{Kind, Request};

/// Why the messages of a request cannot be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// The SQL text is not in the trace.
    #[error("the statement's text was not recorded")]
    Text,
    /// What a Describe or Close aims at is not in the trace.
    #[error("the statement or portal was not recorded")]
    Target,
    /// The trace lists a message that a client does not send.
    #[error("the trace lists a message of type {0:?}, which a client does not send")]
    Message(char),
    /// Several COPY FROM STDIN in one text, in a trace that does not say which data belongs to which.
    #[error("several COPY FROM STDIN in one request, and the trace does not say where the data of one ends")]
    SeveralCopies,
    /// The content breaks a rule of the protocol.
    #[error(transparent)]
    Unencodable(#[from] Unencodable),
}

/// The messages of a request, cut where the client has to wait for the server to ask for COPY data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// What is sent first.
    pub first: &'a str,
    /// What is sent each time that the server asks for COPY data.
    pub copies: Vec<Copied<'a>>,
    /// What follows the COPY data.
    pub rest: &'a str,
}

/// The data of one COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied<'a> {
    /// Its messages.
    pub data: &'a [Box<[u8]>],
    /// How it ends: `c` or `f`; `None` when the client never ended it.
    pub end: Option<u8>,
}

/// Cuts the messages of a request.
///
/// # Errors
/// [`Unknown::SeveralCopies`].
pub fn parts(request: &Request) -> Result<Parts<'_>, Unknown> {
    let messages = request.messages.as_str();
    let is_end = |message: char| matches!(message, 'c' | 'f');
    let mut data = request.copy_data.as_slice();
    let (first, ends, rest) = match messages.find(is_end) {
        Some(at) => {
            let (first, from) = messages.split_at(at);
            let after = from.trim_start_matches(is_end);
            (first, &from.as_bytes()[..from.len() - after.len()], after)
        }
        None => (messages, &[][..], ""),
    };
    // One COPY follows the other only within a simple query. Traces of earlier programs do not tell the lengths.
    let told = ends.len() == request.copy_lengths.len();
    if rest.contains(is_end) || (ends.len() > 1 && !told) {
        return Err(Unknown::SeveralCopies);
    }
    let mut copies = Vec::new();
    for (index, &end) in ends.iter().enumerate() {
        let length = if told { request.copy_lengths[index] as usize } else { data.len() };
        let (own, later) = data.split_at(length.min(data.len()));
        copies.push(Copied { data: own, end: Some(end) });
        data = later;
    }
    if !data.is_empty() {
        copies.push(Copied { data, end: None });
    }
    Ok(Parts { first, copies, rest })
}

/// Appends messages of a request to `out`: those that `messages` lists by their type bytes.
///
/// # Errors
/// When something that the message needs was not recorded. `out` may then hold the messages before it.
pub fn encode(request: &Request, messages: &str, out: &mut Vec<u8>) -> Result<(), Unknown> {
    for message in messages.chars() {
        match message {
            'Q' => Frontend::Query { sql: text(request)? }.encode(out)?,
            'P' => {
                let types = request.param_types.as_deref().unwrap_or_default();
                Parse::write(out, statement(request)?, text(request)?, types)?;
            }
            'B' => {
                let params = request.params.iter().map(|param| param.value.as_deref());
                let (portal, statement) = (portal(request)?, statement(request)?);
                Bind::write(out, portal, statement, &request.param_formats, params, &request.result_formats)?;
            }
            'D' => Frontend::Describe(target(request)?).encode(out)?,
            'E' => {
                let limit = request.row_limit.unwrap_or(0).cast_signed();
                Frontend::Execute { portal: portal(request)?, limit }.encode(out)?;
            }
            'C' => Frontend::Close(target(request)?).encode(out)?,
            'S' => Frontend::Sync.encode(out)?,
            'H' => Frontend::Flush.encode(out)?,
            'F' => {
                let function = request.statement.as_deref().and_then(|oid| oid.parse().ok()).ok_or(Unknown::Target)?;
                let args = request.params.iter().map(|param| param.value.as_deref());
                let result_format = request.result_formats.first().copied().unwrap_or(0);
                FunctionCall::write(out, function, &request.param_formats, args, result_format)?;
            }
            'X' => Frontend::Terminate.encode(out)?,
            other => return Err(Unknown::Message(other)),
        }
    }
    Ok(())
}

fn text(request: &Request) -> Result<&[u8], Unknown> {
    let raw = request.sql_raw.as_deref();
    raw.or(request.sql.as_deref().map(str::as_bytes)).ok_or(Unknown::Text)
}

fn statement(request: &Request) -> Result<&[u8], Unknown> {
    request.statement.as_deref().map(str::as_bytes).ok_or(Unknown::Target)
}

fn portal(request: &Request) -> Result<&[u8], Unknown> {
    request.portal.as_deref().map(str::as_bytes).ok_or(Unknown::Target)
}

/// An execute describes its portal though it names its statement too; elsewhere only one of the two is recorded.
fn target(request: &Request) -> Result<Target<'_>, Unknown> {
    match request.kind {
        Kind::Prepare => statement(request).map(Target::Statement),
        Kind::Execute | Kind::Fetch | Kind::Copy => portal(request).map(Target::Portal),
        _ if request.portal.is_some() => portal(request).map(Target::Portal),
        _ => statement(request).map(Target::Statement),
    }
}

#[cfg(test)]
mod tests {
    use compact_str::CompactString;
    use splitproof_capture::postgresql::frame;
    use splitproof_capture::trace::Param;

    use super::*;

    fn request(kind: Kind, messages: &str) -> Request {
        let mut request = Request::new(1, 0, 0, kind);
        request.messages = CompactString::new(messages);
        request
    }

    fn tags(bytes: &[u8]) -> String {
        let mut tags = String::new();
        let mut rest = bytes;
        while let Some(frame) = frame::next_from(frame::Direction::Client, rest).unwrap() {
            tags.push(frame.tag.into());
            rest = &rest[frame.len..];
        }
        assert!(rest.is_empty());
        tags
    }

    #[test]
    fn the_recorded_messages_come_out_in_order() {
        let mut execute = request(Kind::Execute, "BDES");
        execute.statement = Some("s1".into());
        execute.portal = Some("".into());
        execute.params = vec![
            Param { type_id: 23, binary: true, value: Some(Box::from(*b"\0\0\0\x07")) },
            Param { type_id: 25, binary: true, value: None },
        ];
        execute.param_formats = vec![1];
        execute.result_formats = vec![0, 1];
        execute.row_limit = Some(50);
        let mut out = Vec::new();
        encode(&execute, &execute.messages, &mut out).unwrap();
        assert_eq!(tags(&out), "BDES");
        let expected =
            b"B\0\0\0\x20\0s1\0\0\x01\0\x01\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff\0\x02\0\0\0\x01D\0\0\0\x06P\0";
        assert_eq!(&out[..expected.len()], expected);
        let frame::Frame { body, .. } = frame::next(&out[expected.len()..]).unwrap().unwrap();
        assert_eq!(body, b"\0\0\0\0\x32");
    }

    #[test]
    fn describe_and_close_aim_at_what_was_recorded() {
        let mut out = Vec::new();
        let mut describe = request(Kind::Other, "D");
        describe.statement = Some("s".into());
        encode(&describe, "D", &mut out).unwrap();
        let mut close = request(Kind::Close, "C");
        close.portal = Some("p".into());
        encode(&close, "C", &mut out).unwrap();
        assert_eq!(out, b"D\0\0\0\x07Ss\0C\0\0\0\x07Pp\0");
        assert_eq!(encode(&request(Kind::Close, "C"), "C", &mut out), Err(Unknown::Target));
    }

    #[test]
    fn text_that_is_not_utf8_is_sent_as_recorded() {
        let mut query = request(Kind::Query, "Q");
        assert_eq!(encode(&query, "Q", &mut Vec::new()), Err(Unknown::Text));
        query.sql = Some("SELECT '\u{fffd}'".into());
        query.sql_raw = Some((*b"SELECT '\xe9'").into());
        let mut out = Vec::new();
        encode(&query, "Q", &mut out).unwrap();
        assert_eq!(out, b"Q\0\0\0\x0fSELECT '\xe9'\0");
    }

    #[test]
    fn copy_is_cut_where_its_data_goes() {
        let mut copy = request(Kind::Copy, "BDEScS");
        let (one, two): (Box<[u8]>, Box<[u8]>) = (Box::from(*b"1\n"), Box::from(*b"2\n"));
        let (first, both) = ([one.clone()], [one, two]);
        let of = |first, data, end, rest| Ok(Parts { first, copies: vec![Copied { data, end }], rest });
        assert_eq!(parts(&copy), of("BDES", &[], Some(b'c'), "S"));
        copy.messages = "Qf".into();
        assert_eq!(parts(&copy), of("Q", &[], Some(b'f'), ""));
        copy.messages = "Q".into();
        assert_eq!(parts(&copy), Ok(Parts { first: "Q", copies: Vec::new(), rest: "" }));
        copy.copy_data = first.to_vec();
        assert_eq!(parts(&copy), of("Q", &first, None, ""));
        copy.messages = "Qc".into();
        assert_eq!(parts(&copy), of("Q", &first, Some(b'c'), ""), "as earlier programs recorded it");
        copy.copy_data = both.to_vec();
        copy.messages = "Qcc".into();
        assert_eq!(parts(&copy), Err(Unknown::SeveralCopies), "as earlier programs recorded it");
    }

    #[test]
    fn each_copy_of_a_text_keeps_its_own_data() {
        let mut copy = request(Kind::Copy, "Qcfc");
        let data: Vec<Box<[u8]>> = [b"1", b"2", b"3", b"4"].map(|data| Box::from(*data)).into();
        copy.copy_data = data.clone();
        copy.copy_lengths = vec![2, 0, 1];
        let expected =
            [(&data[..2], Some(b'c')), (&data[2..2], Some(b'f')), (&data[2..3], Some(b'c')), (&data[3..], None)];
        let expected = expected.map(|(data, end)| Copied { data, end }).to_vec();
        assert_eq!(parts(&copy), Ok(Parts { first: "Q", copies: expected, rest: "" }));
    }

    /// The server infers their types, as it did when the log was written.
    #[test]
    fn parameters_of_a_log_are_text_of_unknown_type() {
        let mut prepare = request(Kind::Prepare, "P");
        (prepare.statement, prepare.sql) = (Some("s".into()), Some("SELECT $1, $2".into()));
        let mut out = Vec::new();
        encode(&prepare, "P", &mut out).unwrap();
        assert_eq!(out, b"P\0\0\0\x16s\0SELECT $1, $2\0\0\0");
        let mut execute = request(Kind::Execute, "B");
        (execute.statement, execute.portal) = (Some("s".into()), Some("".into()));
        execute.params = vec![
            Param { type_id: 0, binary: false, value: Some(Box::from(*b"7")) },
            Param { type_id: 0, binary: false, value: None },
        ];
        out.clear();
        encode(&execute, "B", &mut out).unwrap();
        assert_eq!(out, b"B\0\0\0\x16\0s\0\0\0\0\x02\0\0\0\x017\xff\xff\xff\xff\0\0");
    }

    #[test]
    fn a_call_names_its_function_by_number() {
        let mut call = request(Kind::Call, "F");
        call.statement = Some("957".into());
        call.params = vec![Param { type_id: 0, binary: true, value: Some(Box::from(*b"\0\0\0\x07")) }];
        call.param_formats = vec![1];
        call.result_formats = vec![1];
        let mut out = Vec::new();
        encode(&call, "F", &mut out).unwrap();
        assert_eq!(out, b"F\0\0\0\x18\0\0\x03\xbd\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x07\0\x01");
    }

    #[test]
    fn a_message_that_no_client_sends_is_refused() {
        assert_eq!(encode(&request(Kind::Other, "Z"), "Z", &mut Vec::new()), Err(Unknown::Message('Z')));
    }
}
