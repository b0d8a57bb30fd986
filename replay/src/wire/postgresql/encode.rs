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
    /// Two COPY FROM STDIN in one text; where one's data ends and the other's begins is not recorded.
    #[error("more than one COPY FROM STDIN in one request")]
    SeveralCopies,
    /// The content breaks a rule of the protocol.
    #[error(transparent)]
    Unencodable(#[from] Unencodable),
}

/// The messages of a request, cut where the client has to wait for the server to ask for COPY data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// What is sent first.
    pub first: &'a str,
    /// How COPY data ends, when there is any: `c` or `f`; `None` when the client never ended it.
    pub copy: Option<Option<u8>>,
    /// What follows the COPY data.
    pub rest: &'a str,
}

/// Cuts the messages of a request.
///
/// # Errors
/// [`Unknown::SeveralCopies`].
pub fn parts(request: &Request) -> Result<Parts<'_>, Unknown> {
    let messages = request.messages.as_str();
    let is_end = |message: char| matches!(message, 'c' | 'f');
    let Some((first, rest)) = messages.split_once(is_end) else {
        let copy = if request.copy_data.is_empty() { None } else { Some(None) };
        return Ok(Parts { first: messages, copy, rest: "" });
    };
    if rest.contains(is_end) {
        return Err(Unknown::SeveralCopies);
    }
    Ok(Parts { first, copy: Some(messages.as_bytes().get(first.len()).copied()), rest })
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
        assert_eq!(parts(&copy), Ok(Parts { first: "BDES", copy: Some(Some(b'c')), rest: "S" }));
        copy.messages = "Qf".into();
        assert_eq!(parts(&copy), Ok(Parts { first: "Q", copy: Some(Some(b'f')), rest: "" }));
        copy.messages = "Q".into();
        assert_eq!(parts(&copy), Ok(Parts { first: "Q", copy: None, rest: "" }));
        copy.copy_data = vec![Box::from(*b"1\n")];
        assert_eq!(parts(&copy), Ok(Parts { first: "Q", copy: Some(None), rest: "" }));
        copy.messages = "Qcc".into();
        assert_eq!(parts(&copy), Err(Unknown::SeveralCopies));
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
