//! What a client sends after the start.

use super::authentication::Secret;
use super::call::FunctionCall;
use super::error::{Invalid, Unencodable};
use super::extended::{self, Bind, Parse, Target};
use super::frame::{Direction, Frame};
use super::query;
use super::read::Reader;
use super::write;

/// A message of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frontend<'a> {
    /// `Q`: run this text, which may hold several statements.
    Query {
        /// The text.
        sql: &'a [u8],
    },
    /// `P`: prepare a statement.
    Parse(Parse<'a>),
    /// `B`: make a portal of a prepared statement.
    Bind(Bind<'a>),
    /// `D`: tell the parameters and columns of a statement, or the columns of a portal.
    Describe(Target<'a>),
    /// `E`: run a portal, or go on with it.
    Execute {
        /// Name of the portal.
        portal: &'a [u8],
        /// Most rows to return before the portal is suspended; none when zero (or negative).
        limit: i32,
    },
    /// `C`: forget a statement or portal.
    Close(Target<'a>),
    /// `S`: end of a pipeline group.
    Sync,
    /// `H`: send what there is of answers.
    Flush,
    /// `F`: call a function outside SQL.
    FunctionCall(FunctionCall<'a>),
    /// `d`: data of a COPY.
    CopyData(&'a [u8]),
    /// `c`: end of a COPY.
    CopyDone,
    /// `f`: end of a COPY that is to fail with this message.
    CopyFail(&'a [u8]),
    /// `p`: a step of authentication, to be read by [`Response::decode`](super::authentication::Response::decode).
    Password(Secret<'a>),
    /// `X`: the client is going.
    Terminate,
}

impl<'a> Frontend<'a> {
    /// Reads a message that the client sent.
    pub fn decode(frame: Frame<'a>) -> Result<Self, Invalid> {
        let read = |name| Reader::new(name, frame);
        match frame.tag {
            b'Q' => query::text(read("Query")).map(|sql| Frontend::Query { sql }),
            b'P' => Parse::decode(read("Parse")).map(Frontend::Parse),
            b'B' => Bind::decode(read("Bind")).map(Frontend::Bind),
            b'D' => Target::decode(read("Describe")).map(Frontend::Describe),
            b'E' => extended::execute(read("Execute")).map(|(portal, limit)| Frontend::Execute { portal, limit }),
            b'C' => Target::decode(read("Close")).map(Frontend::Close),
            b'S' => read("Sync").end(Frontend::Sync),
            b'H' => read("Flush").end(Frontend::Flush),
            b'F' => FunctionCall::decode(read("FunctionCall")).map(Frontend::FunctionCall),
            b'd' => Ok(Frontend::CopyData(frame.body)),
            b'c' => read("CopyDone").end(Frontend::CopyDone),
            b'f' => query::text(read("CopyFail")).map(Frontend::CopyFail),
            b'p' => Ok(Frontend::Password(Secret(frame.body))),
            b'X' => read("Terminate").end(Frontend::Terminate),
            _ => Err(read("message").invalid(0, "a client sends no message of this type")),
        }
    }

    /// The type byte.
    pub fn tag(&self) -> u8 {
        match self {
            Frontend::Query { .. } => b'Q',
            Frontend::Parse(_) => b'P',
            Frontend::Bind(_) => b'B',
            Frontend::Describe(_) => b'D',
            Frontend::Execute { .. } => b'E',
            Frontend::Close(_) => b'C',
            Frontend::Sync => b'S',
            Frontend::Flush => b'H',
            Frontend::FunctionCall(_) => b'F',
            Frontend::CopyData(_) => b'd',
            Frontend::CopyDone => b'c',
            Frontend::CopyFail(_) => b'f',
            Frontend::Password(_) => b'p',
            Frontend::Terminate => b'X',
        }
    }

    /// Appends the message to `out`.
    ///
    /// Messages with lists can be written from their parts as well: [`Parse::write`], [`Bind::write`],
    /// [`FunctionCall::write`].
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        let tag = self.tag();
        let bytes = |out: &mut Vec<u8>, name, bytes: &[u8]| {
            write::message(out, Direction::Client, tag, name, |out| {
                out.extend_from_slice(bytes);
                Ok(())
            })
        };
        let fields = |out: &mut Vec<u8>, name, fields: &dyn Fn(&mut Vec<u8>) -> write::Field| {
            write::message(out, Direction::Client, tag, name, fields)
        };
        match self {
            Frontend::Query { sql } => fields(out, "Query", &|out| write::string(out, sql)),
            Frontend::Parse(parse) => parse.encode(out),
            Frontend::Bind(bind) => bind.encode(out),
            Frontend::Describe(target) => fields(out, "Describe", &|out| target.write(out)),
            Frontend::Execute { portal, limit } => fields(out, "Execute", &|out| {
                write::string(out, portal)?;
                out.extend(limit.to_be_bytes());
                Ok(())
            }),
            Frontend::Close(target) => fields(out, "Close", &|out| target.write(out)),
            Frontend::Sync => bytes(out, "Sync", b""),
            Frontend::Flush => bytes(out, "Flush", b""),
            Frontend::FunctionCall(call) => call.encode(out),
            Frontend::CopyData(data) => bytes(out, "CopyData", data),
            Frontend::CopyDone => bytes(out, "CopyDone", b""),
            Frontend::CopyFail(message) => fields(out, "CopyFail", &|out| write::string(out, message)),
            Frontend::Password(secret) => bytes(out, "PasswordMessage", secret.0),
            Frontend::Terminate => bytes(out, "Terminate", b""),
        }
    }
}
