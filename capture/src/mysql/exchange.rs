//! The answer to one command: what each packet of it is, and where it ends.
//!
//! A packet of the server does not say what it is. Whether 0xfe begins a row, the end of the rows or a request for another
//! password depends on the command and on the packets before; whether an EOF packet stands behind the columns depends on
//! the capabilities. [`Exchange`] keeps what is needed of both. It reads what decides (the number of columns, the status
//! flags) and passes the rest on unread, so that a row costs one comparison.

use super::answer::Answer;
use super::auth::{AuthMore, AuthNextFactor, AuthSwitch};
use super::capabilities::Capabilities;
use super::code::Code;
use super::column_count::ColumnCount;
use super::command::Command;
use super::err::ErrPacket;
use super::error::Invalid;
use super::ok::OkPacket;
use super::packet;
use super::prepare_ok::PrepareOk;
use super::progress::Progress;
use super::statement::ExecuteFlags;
use super::status::Status;

/// Most columns that a result may have; the servers stop at 4096.
const MOST_COLUMNS: u64 = 0xffff;

/// The state of one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    capabilities: Capabilities,
    /// Whether EOF packets stand behind descriptions; `None` while that is not known.
    eof: Option<bool>,
    code: Code,
    state: State,
    /// The highest first byte that begins a row and cannot begin anything else.
    row: u8,
    /// An execution asked for a cursor.
    cursor: bool,
    awaits_client: bool,
    /// Columns of the present result.
    columns: u64,
}

/// What the next packet can be. Any can be an ERR packet or a progress report as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// OK, or EOF in its place.
    Simple,
    /// OK, the number of columns, or a request for a file.
    Result,
    /// COM_STMT_PREPARE_OK.
    Prepare,
    /// A step of authentication.
    Authentication,
    /// A line of text.
    Text,
    /// A packet of another protocol, up to an EOF packet.
    Events,
    /// Descriptions of columns, up to the end.
    FieldList,
    /// This many descriptions of columns.
    Columns(u64),
    /// EOF behind the columns.
    ColumnsEnd,
    /// Rows, up to the end.
    Rows,
    /// This many descriptions of parameters, and then as many of columns.
    Parameters(u64, u64),
    /// EOF behind the parameters; this many descriptions of columns follow.
    ParametersEnd(u64),
    /// This many descriptions of columns of a prepared statement.
    Prepared(u64),
    /// EOF behind them.
    PreparedEnd,
    /// None.
    Complete,
}

/// First byte of a row in the text protocol: the length of its first column (or NULL), but not 0xfe, which needs care.
const TEXT_ROW: u8 = 0xfd;
/// First byte of a row in the binary protocol.
const BINARY_ROW: u8 = 0x00;

impl Exchange {
    /// The answer to a command with this first byte. `capabilities` are those agreed.
    ///
    /// For COM_STMT_EXECUTE with a cursor use [`Exchange::of`], or add [`Exchange::with_cursor`].
    pub fn new(code: Code, capabilities: Capabilities) -> Self {
        let state = match code {
            code if code.is_unanswered() => State::Complete,
            Code::QUERY | Code::STMT_EXECUTE | Code::STMT_BULK_EXECUTE | Code::PROCESS_INFO => State::Result,
            Code::STMT_PREPARE => State::Prepare,
            Code::STMT_FETCH => State::Rows,
            Code::FIELD_LIST => State::FieldList,
            Code::STATISTICS => State::Text,
            Code::CHANGE_USER => State::Authentication,
            Code::BINLOG_DUMP
            | Code::BINLOG_DUMP_GTID
            | Code::TABLE_DUMP
            | Code::CLONE
            | Code::SUBSCRIBE_GROUP_REPLICATION_STREAM => State::Events,
            _ => State::Simple,
        };
        let row = match code {
            Code::STMT_EXECUTE | Code::STMT_BULK_EXECUTE | Code::STMT_FETCH => BINARY_ROW,
            _ => TEXT_ROW,
        };
        let eof = Some(!capabilities.contains(Capabilities::DEPRECATE_EOF));
        Exchange { capabilities, eof, code, state, row, cursor: false, awaits_client: false, columns: 0 }
    }

    /// The answer in a connection whose handshake was not seen.
    ///
    /// Whether `DEPRECATE_EOF` is agreed is learnt from the answer, as soon as it matters: an EOF packet has five bytes, an OK
    /// packet in its place at least seven. [`Exchange::deprecates_eof`] tells it, for the capabilities of the next commands.
    pub fn joined(code: Code) -> Self {
        Exchange { eof: None, ..Exchange::new(code, Capabilities::ASSUMED) }
    }

    /// The answer to this command.
    pub fn of(command: &Command<'_>, capabilities: Capabilities) -> Self {
        let exchange = Exchange::new(command.code(), capabilities);
        match command {
            Command::Execute(execute) if execute.flags.intersects(ExecuteFlags::CURSOR) => exchange.with_cursor(),
            _ => exchange,
        }
    }

    /// The steps of authentication between the client's response to the handshake and OK or ERR.
    ///
    /// Only [`Answer::AuthSwitch`], [`Answer::AuthMore`], [`Answer::AuthNextFactor`], [`Answer::Ok`] and [`Answer::Err`]
    /// come out.
    pub fn authentication(capabilities: Capabilities) -> Self {
        Exchange::new(Code::CHANGE_USER, capabilities)
    }

    /// The execution asked for a cursor: rows need not follow the columns.
    #[must_use]
    pub fn with_cursor(mut self) -> Self {
        self.cursor = true;
        self
    }

    /// First byte of the command.
    pub fn code(&self) -> Code {
        self.code
    }

    /// True when nothing of the answer is missing; at once for a command without an answer.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// True when the answer may be complete: whether an EOF packet follows is not known. Only after [`Exchange::joined`].
    pub fn may_be_complete(&self) -> bool {
        self.eof.is_none() && matches!(self.state, State::PreparedEnd | State::ParametersEnd(0))
    }

    /// Whether `DEPRECATE_EOF` is agreed; `None` where that is not known yet.
    pub fn deprecates_eof(&self) -> Option<bool> {
        self.eof.map(|eof| !eof)
    }

    /// True when the server awaits data of the client before it goes on: the content of a file, as packets up to an empty
    /// one, or a step of authentication.
    ///
    /// After [`Answer::AuthMore`] it depends on the method whether it does; this then says true.
    pub fn awaits_client(&self) -> bool {
        self.awaits_client
    }

    /// True when rows of this answer are in the binary protocol.
    pub fn is_binary(&self) -> bool {
        self.row == BINARY_ROW
    }

    /// Columns of the present or last result set; for a prepared statement those of its result.
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// True when the next packet of the server, with this payload, is a row by its first byte. [`Exchange::next`] says the
    /// same of it, and changes nothing; this is for those who have many rows to pass by.
    #[inline]
    pub fn is_row(&self, payload: &[u8]) -> bool {
        matches!(self.state, State::Rows) && payload.first().is_some_and(|&first| first <= self.row)
    }

    /// Says what the next packet of the server is.
    ///
    /// `payload` is the whole payload. Of one that is continued by further packets, the first packet's part will do as well,
    /// if the continuations are then kept from this function. Fails where the packet cannot stand here; the state is
    /// then as before.
    #[inline]
    pub fn next<'p>(&mut self, payload: &'p [u8]) -> Result<Answer<'p>, Invalid> {
        if self.is_row(payload) { Ok(Answer::Row) } else { self.other(payload.first().copied(), payload) }
    }

    fn other<'p>(&mut self, first: Option<u8>, payload: &'p [u8]) -> Result<Answer<'p>, Invalid> {
        let Some(first) = first else {
            return match self.state {
                // The server has nothing to say.
                State::Text => {
                    self.state = State::Complete;
                    Ok(Answer::Statistics(payload))
                }
                _ => Err(self.invalid("the payload is empty")),
            };
        };
        if first == ErrPacket::HEADER && self.state != State::Complete {
            return self.error(payload);
        }
        if self.eof.is_some() {
            return self.read(first, payload);
        }
        let before = self.clone();
        self.learn(first, payload);
        let answer = self.read(first, payload);
        if answer.is_err() {
            *self = before;
        }
        answer
    }

    fn read<'p>(&mut self, first: u8, payload: &'p [u8]) -> Result<Answer<'p>, Invalid> {
        match self.state {
            State::Result => self.result(first, payload),
            State::Columns(left) => {
                self.state = match left {
                    0 | 1 => self.behind_columns(),
                    _ => State::Columns(left - 1),
                };
                Ok(Answer::Column)
            }
            State::ColumnsEnd => self.columns_end(payload),
            State::Rows => self.row_or_end(first, payload),
            State::Simple if first == OkPacket::HEADER || first == OkPacket::END_HEADER => self.ok(payload),
            State::Simple => Err(self.invalid("the answer is neither OK nor ERR")),
            State::Prepare => self.prepare(payload),
            State::Parameters(left, columns) => {
                self.state = match left {
                    0 | 1 if self.has_eof() => State::ParametersEnd(columns),
                    0 | 1 => Self::described(columns),
                    _ => State::Parameters(left - 1, columns),
                };
                Ok(Answer::Parameter)
            }
            State::ParametersEnd(columns) => {
                let end = self.eof(payload)?;
                self.state = Self::described(columns);
                Ok(Answer::ParametersEnd(end))
            }
            State::Prepared(left) => {
                self.state = match left {
                    0 | 1 if self.has_eof() => State::PreparedEnd,
                    0 | 1 => State::Complete,
                    _ => State::Prepared(left - 1),
                };
                Ok(Answer::Column)
            }
            State::PreparedEnd => {
                let end = self.eof(payload)?;
                self.state = State::Complete;
                Ok(Answer::ColumnsEnd(end))
            }
            State::FieldList if first == OkPacket::END_HEADER => {
                let end = OkPacket::decode(payload, self.capabilities)?;
                self.state = State::Complete;
                Ok(Answer::ColumnsEnd(end))
            }
            State::FieldList => Ok(Answer::Column),
            State::Text => {
                self.state = State::Complete;
                Ok(Answer::Statistics(payload))
            }
            State::Authentication => self.authenticate(first, payload),
            State::Events if first == OkPacket::END_HEADER && payload.len() < 9 => {
                let end = OkPacket::decode(payload, self.capabilities)?;
                self.state = State::Complete;
                Ok(Answer::ResultEnd(end))
            }
            State::Events => Ok(Answer::Event),
            State::Complete => Err(self.invalid("the answer was complete before this packet")),
        }
    }

    /// Learns from this packet, where it can, whether EOF packets stand behind descriptions.
    #[cold]
    fn learn(&mut self, first: u8, payload: &[u8]) {
        let ends = first == OkPacket::END_HEADER && payload.len() < packet::FULL;
        let eof = ends && payload.len() <= OkPacket::LONGEST_EOF;
        match self.state {
            State::ColumnsEnd if !eof => self.state = State::Rows,
            State::ParametersEnd(columns) if !eof => self.state = Self::described(columns),
            State::PreparedEnd if !eof => self.state = State::Complete,
            State::ColumnsEnd | State::ParametersEnd(_) | State::PreparedEnd => {}
            State::Authentication | State::Events => return,
            _ if !ends => return,
            _ => {}
        }
        self.eof = Some(eof);
        if !eof {
            self.capabilities |= Capabilities::DEPRECATE_EOF;
        }
    }

    #[cold]
    fn error<'p>(&mut self, payload: &'p [u8]) -> Result<Answer<'p>, Invalid> {
        if payload.starts_with(&Progress::HEADER) {
            return Progress::decode(payload).map(Answer::Progress);
        }
        let error = ErrPacket::decode(payload)?;
        self.state = State::Complete;
        self.awaits_client = false;
        Ok(Answer::Err(error))
    }

    fn result<'p>(&mut self, first: u8, payload: &'p [u8]) -> Result<Answer<'p>, Invalid> {
        match first {
            OkPacket::HEADER => self.ok(payload),
            0xfb => {
                self.awaits_client = true;
                let (_, filename) = payload.split_at(1);
                Ok(Answer::LocalInfile { filename })
            }
            _ => {
                let count = ColumnCount::decode(payload)?;
                if count.columns == 0 || count.columns > MOST_COLUMNS {
                    return Err(self.invalid("the number of columns is not 1 to 65535"));
                }
                self.awaits_client = false;
                self.columns = count.columns;
                self.state = match count.described {
                    true => State::Columns(count.columns),
                    false => self.behind_columns(),
                };
                Ok(Answer::ColumnCount(count))
            }
        }
    }

    fn ok<'p>(&mut self, payload: &'p [u8]) -> Result<Answer<'p>, Invalid> {
        let ok = OkPacket::decode(payload, self.capabilities)?;
        self.awaits_client = false;
        self.finish(ok.status);
        Ok(Answer::Ok(ok))
    }

    /// One result is done.
    fn finish(&mut self, status: Status) {
        let more = status.contains(Status::MORE_RESULTS) && self.code != Code::STMT_FETCH;
        self.state = if more { State::Result } else { State::Complete };
    }

    fn columns_end<'p>(&mut self, payload: &'p [u8]) -> Result<Answer<'p>, Invalid> {
        let end = self.eof(payload)?;
        if self.opens_cursor(end.status) {
            self.finish(end.status);
            return Ok(Answer::CursorOpen(end));
        }
        self.state = State::Rows;
        Ok(Answer::ColumnsEnd(end))
    }

    fn row_or_end<'p>(&mut self, first: u8, payload: &'p [u8]) -> Result<Answer<'p>, Invalid> {
        if first <= self.row {
            return Ok(Answer::Row);
        }
        if first != OkPacket::END_HEADER {
            return Err(self.invalid("a row of the binary protocol does not begin with 0x00"));
        }
        // A text row begins so when its first column has 16 MiB or more; the end of a result never is that long.
        if payload.len() >= packet::FULL {
            return Ok(Answer::Row);
        }
        let end = OkPacket::decode(payload, self.capabilities)?;
        self.finish(end.status);
        Ok(if self.opens_cursor(end.status) { Answer::CursorOpen(end) } else { Answer::ResultEnd(end) })
    }

    fn prepare<'p>(&mut self, payload: &'p [u8]) -> Result<Answer<'p>, Invalid> {
        let answer = PrepareOk::decode(payload)?;
        self.columns = answer.columns.into();
        self.state = match (answer.described, answer.parameters) {
            (false, _) => State::Complete,
            (true, 0) => Self::described(answer.columns.into()),
            (true, parameters) => State::Parameters(parameters.into(), answer.columns.into()),
        };
        Ok(Answer::PrepareOk(answer))
    }

    fn authenticate<'p>(&mut self, first: u8, payload: &'p [u8]) -> Result<Answer<'p>, Invalid> {
        let answer = match first {
            OkPacket::HEADER => return self.ok(payload),
            AuthSwitch::HEADER => Answer::AuthSwitch(AuthSwitch::decode(payload)?),
            AuthMore::HEADER => Answer::AuthMore(AuthMore::decode(payload)?),
            AuthNextFactor::HEADER => Answer::AuthNextFactor(AuthNextFactor::decode(payload)?),
            _ => return Err(self.invalid("the packet is no step of authentication")),
        };
        self.awaits_client = true;
        Ok(answer)
    }

    fn described(columns: u64) -> State {
        if columns == 0 { State::Complete } else { State::Prepared(columns) }
    }

    fn behind_columns(&self) -> State {
        if self.has_eof() { State::ColumnsEnd } else { State::Rows }
    }

    /// True where an EOF packet stands behind descriptions, or may.
    fn has_eof(&self) -> bool {
        self.eof != Some(false)
    }

    fn opens_cursor(&self, status: Status) -> bool {
        self.cursor && self.code == Code::STMT_EXECUTE && status.contains(Status::CURSOR_EXISTS)
    }

    fn eof<'p>(&self, payload: &'p [u8]) -> Result<OkPacket<'p>, Invalid> {
        match payload.first() {
            Some(&OkPacket::END_HEADER) => OkPacket::decode(payload, self.capabilities),
            _ => Err(self.invalid("no EOF packet follows the descriptions")),
        }
    }

    #[cold]
    fn invalid(&self, what: &'static str) -> Invalid {
        Invalid { message: self.code.name().unwrap_or("command"), offset: 0, what }
    }
}

#[cfg(test)]
mod tests;
