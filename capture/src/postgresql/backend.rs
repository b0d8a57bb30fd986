//! What a server sends.

use super::authentication::Authentication;
use super::call;
use super::copy::{CopyDirection, CopyResponse};
use super::error::{Invalid, Unencodable};
use super::extended;
use super::frame::{Direction, Frame};
use super::list::Oids;
use super::query;
use super::read::Reader;
use super::report::{self, Fields, Notification};
use super::row::{DataRow, RowDescription};
use super::startup::{self, Negotiation};
use super::write;
use crate::trace::TransactionStatus;

/// A message of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend<'a> {
    /// `R`: a step of authentication.
    Authentication(Authentication<'a>),
    /// `K`: what a client needs to cancel.
    BackendKeyData {
        /// Process identifier of the server process.
        process_id: i32,
        /// The key, 4 bytes in protocol 3.0 and up to 256 in 3.2.
        secret: &'a [u8],
    },
    /// `v`: the version and options that the server can do.
    NegotiateProtocolVersion(Negotiation<'a>),
    /// `S`: the value of a run-time parameter.
    ParameterStatus {
        /// Name of the parameter.
        name: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
    /// `Z`: the server awaits the next request.
    ReadyForQuery(TransactionStatus),
    /// `T`: the columns of the rows that follow.
    RowDescription(RowDescription<'a>),
    /// `D`: one row.
    DataRow(DataRow<'a>),
    /// `C`: a statement is done.
    CommandComplete {
        /// What was done, to be read by [`query::command_tag`].
        tag: &'a [u8],
    },
    /// `I`: the text held no statement.
    EmptyQueryResponse,
    /// `E`: an error.
    ErrorResponse(Fields<'a>),
    /// `N`: a notice or warning.
    NoticeResponse(Fields<'a>),
    /// `1`: a statement is prepared.
    ParseComplete,
    /// `2`: a portal is there.
    BindComplete,
    /// `3`: a statement or portal is forgotten.
    CloseComplete,
    /// `n`: the statement or portal described returns no rows.
    NoData,
    /// `t`: the parameters of the statement described.
    ParameterDescription(Oids<'a>),
    /// `s`: the row limit was reached before the end.
    PortalSuspended,
    /// `G`: the client is to send data.
    CopyInResponse(CopyResponse<'a>),
    /// `H`: the server is going to send data.
    CopyOutResponse(CopyResponse<'a>),
    /// `W`: both are going to send data.
    CopyBothResponse(CopyResponse<'a>),
    /// `d`: data of a COPY.
    CopyData(&'a [u8]),
    /// `c`: end of the data of a COPY.
    CopyDone,
    /// `A`: a NOTIFY of some session.
    NotificationResponse(Notification<'a>),
    /// `V`: the result of a function called outside SQL; `None` is NULL.
    FunctionCallResponse(Option<&'a [u8]>),
}

impl<'a> Backend<'a> {
    /// Reads a message that the server sent.
    pub fn decode(frame: Frame<'a>) -> Result<Self, Invalid> {
        let read = |name| Reader::new(name, frame);
        match frame.tag {
            b'R' => Authentication::decode(read("Authentication")).map(Backend::Authentication),
            b'K' => {
                let mut read = read("BackendKeyData");
                let (process_id, secret) = startup::key(&mut read)?;
                read.end(Backend::BackendKeyData { process_id, secret })
            }
            b'v' => Negotiation::decode(read("NegotiateProtocolVersion")).map(Backend::NegotiateProtocolVersion),
            b'S' => report::parameter_status(read("ParameterStatus"))
                .map(|(name, value)| Backend::ParameterStatus { name, value }),
            b'Z' => query::status(read("ReadyForQuery")).map(Backend::ReadyForQuery),
            b'T' => RowDescription::decode(read("RowDescription")).map(Backend::RowDescription),
            b'D' => DataRow::decode(read("DataRow")).map(Backend::DataRow),
            b'C' => query::text(read("CommandComplete")).map(|tag| Backend::CommandComplete { tag }),
            b'I' => read("EmptyQueryResponse").end(Backend::EmptyQueryResponse),
            b'E' => Fields::decode(read("ErrorResponse")).map(Backend::ErrorResponse),
            b'N' => Fields::decode(read("NoticeResponse")).map(Backend::NoticeResponse),
            b'1' => read("ParseComplete").end(Backend::ParseComplete),
            b'2' => read("BindComplete").end(Backend::BindComplete),
            b'3' => read("CloseComplete").end(Backend::CloseComplete),
            b'n' => read("NoData").end(Backend::NoData),
            b't' => extended::parameter_description(read("ParameterDescription")).map(Backend::ParameterDescription),
            b's' => read("PortalSuspended").end(Backend::PortalSuspended),
            b'G' => CopyResponse::decode(read("CopyInResponse")).map(Backend::CopyInResponse),
            b'H' => CopyResponse::decode(read("CopyOutResponse")).map(Backend::CopyOutResponse),
            b'W' => CopyResponse::decode(read("CopyBothResponse")).map(Backend::CopyBothResponse),
            b'd' => Ok(Backend::CopyData(frame.body)),
            b'c' => read("CopyDone").end(Backend::CopyDone),
            b'A' => Notification::decode(read("NotificationResponse")).map(Backend::NotificationResponse),
            b'V' => call::response(read("FunctionCallResponse")).map(Backend::FunctionCallResponse),
            _ => Err(read("message").invalid(0, "a server sends no message of this type")),
        }
    }

    /// The type byte.
    pub fn tag(&self) -> u8 {
        match self {
            Backend::Authentication(_) => b'R',
            Backend::BackendKeyData { .. } => b'K',
            Backend::NegotiateProtocolVersion(_) => b'v',
            Backend::ParameterStatus { .. } => b'S',
            Backend::ReadyForQuery(_) => b'Z',
            Backend::RowDescription(_) => b'T',
            Backend::DataRow(_) => b'D',
            Backend::CommandComplete { .. } => b'C',
            Backend::EmptyQueryResponse => b'I',
            Backend::ErrorResponse(_) => b'E',
            Backend::NoticeResponse(_) => b'N',
            Backend::ParseComplete => b'1',
            Backend::BindComplete => b'2',
            Backend::CloseComplete => b'3',
            Backend::NoData => b'n',
            Backend::ParameterDescription(_) => b't',
            Backend::PortalSuspended => b's',
            Backend::CopyInResponse(_) => b'G',
            Backend::CopyOutResponse(_) => b'H',
            Backend::CopyBothResponse(_) => b'W',
            Backend::CopyData(_) => b'd',
            Backend::CopyDone => b'c',
            Backend::NotificationResponse(_) => b'A',
            Backend::FunctionCallResponse(_) => b'V',
        }
    }

    /// Appends the message to `out`.
    ///
    /// Messages with lists can be written from their parts as well: [`RowDescription::write`], [`DataRow::write`],
    /// [`CopyResponse::write`], [`report::write_error`], [`report::write_notice`],
    /// [`extended::write_parameter_description`].
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        let tag = self.tag();
        let fields = |out: &mut Vec<u8>, name, fields: &dyn Fn(&mut Vec<u8>) -> write::Field| {
            write::message(out, Direction::Server, tag, name, fields)
        };
        let empty = |out: &mut Vec<u8>, name| fields(out, name, &|_| Ok(()));
        match self {
            Backend::Authentication(request) => fields(out, "Authentication", &|out| request.write(out)),
            Backend::BackendKeyData { process_id, secret } => {
                fields(out, "BackendKeyData", &|out| startup::put_key(out, *process_id, secret))
            }
            Backend::NegotiateProtocolVersion(answer) => {
                fields(out, "NegotiateProtocolVersion", &|out| answer.write(out))
            }
            Backend::ParameterStatus { name, value } => fields(out, "ParameterStatus", &|out| {
                write::string(out, name)?;
                write::string(out, value)
            }),
            Backend::ReadyForQuery(status) => fields(out, "ReadyForQuery", &|out| {
                out.push(query::status_byte(*status));
                Ok(())
            }),
            Backend::RowDescription(description) => description.encode(out),
            Backend::DataRow(row) => row.encode(out),
            Backend::CommandComplete { tag } => fields(out, "CommandComplete", &|out| write::string(out, tag)),
            Backend::EmptyQueryResponse => empty(out, "EmptyQueryResponse"),
            Backend::ErrorResponse(error) => fields(out, "ErrorResponse", &|out| error.write(out)),
            Backend::NoticeResponse(notice) => fields(out, "NoticeResponse", &|out| notice.write(out)),
            Backend::ParseComplete => empty(out, "ParseComplete"),
            Backend::BindComplete => empty(out, "BindComplete"),
            Backend::CloseComplete => empty(out, "CloseComplete"),
            Backend::NoData => empty(out, "NoData"),
            Backend::ParameterDescription(types) => fields(out, "ParameterDescription", &|out| types.write(out)),
            Backend::PortalSuspended => empty(out, "PortalSuspended"),
            Backend::CopyInResponse(response) => response.encode(CopyDirection::In, out),
            Backend::CopyOutResponse(response) => response.encode(CopyDirection::Out, out),
            Backend::CopyBothResponse(response) => response.encode(CopyDirection::Both, out),
            Backend::CopyData(data) => fields(out, "CopyData", &|out| {
                out.extend_from_slice(data);
                Ok(())
            }),
            Backend::CopyDone => empty(out, "CopyDone"),
            Backend::NotificationResponse(notification) => {
                fields(out, "NotificationResponse", &|out| notification.write(out))
            }
            Backend::FunctionCallResponse(value) => {
                fields(out, "FunctionCallResponse", &|out| write::value(out, *value))
            }
        }
    }
}
