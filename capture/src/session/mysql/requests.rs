//! What the client asks: its commands become rows.

use super::conversation::Conversation;
use super::follow::follow;
use super::framing::has_attributes;
use super::pending::{Asked, Pending, User};
use super::statements::LongData;
use crate::mysql::bulk::BulkFlags;
use crate::mysql::statement::LAST_PREPARED;
use crate::mysql::{
    Attributes, BulkExecute, Capabilities, ChangeUser, Code, Command, Content, Execute, ExecuteFlags, Invalid,
    LongData as Part, ParamType, Parameters, Query,
};
use crate::session::shared::Text;
use crate::trace::{Kind, Loss, Param, Request, Sink};

/// Data of a file or of long parameters kept for one request. What goes beyond it is counted, and the row is marked as
/// truncated.
const COPY_LIMIT: usize = 64 << 20;

impl Conversation {
    /// Takes one payload of the client that is no command: a part of a file, or of a proof who it is.
    pub fn client_data(&mut self, payload: &[u8]) {
        let Some(request) = self.queue.iter_mut().find(|request| request.sending || request.asked.is_authentication())
        else {
            return self.unexpected();
        };
        if !request.sending {
            // A proof is never looked at.
            return;
        }
        if payload.is_empty() {
            request.sending = false;
        } else if payload.len() > COPY_LIMIT.saturating_sub(request.copied) {
            request.row.truncated = true;
            request.copied = COPY_LIMIT;
            self.losses.add(Loss::CopyLimit, payload.len() as u64);
        } else {
            request.copied += payload.len();
            request.row.copy_data.push(payload.into());
        }
    }

    /// True while what the client sends is the content of a file.
    pub fn is_sending(&self) -> bool {
        self.queue.front().is_some_and(|request| request.sending)
    }

    /// Takes one command of the client, whose first byte came at `at_ns`.
    pub fn command(&mut self, at_ns: i64, payload: &[u8], out: &mut dyn Sink) -> Result<(), Invalid> {
        self.settle_tentative(out);
        self.learn(payload);
        match Command::decode(payload, self.capabilities)? {
            Command::Query(query) => self.query(at_ns, query),
            Command::Prepare { sql } => {
                let text = self.text(sql);
                let mut row = self.open(at_ns, Kind::Prepare, Code::STMT_PREPARE);
                set_text(&mut row, &text);
                self.queue.push_back(Pending::new(row, Asked::Prepare(text)));
            }
            Command::Execute(execute) => self.execute(at_ns, execute, payload),
            Command::BulkExecute(bulk) => self.bulk(at_ns, bulk, payload),
            Command::LongData(part) => self.long_data(at_ns, part),
            Command::Fetch { statement, rows } => {
                let mut row = self.open_statement(at_ns, Kind::Fetch, Code::STMT_FETCH, statement);
                row.row_limit = Some(rows);
                self.ask(row, Code::STMT_FETCH);
            }
            Command::Close { statement } => {
                self.drop_long_data(statement, out);
                let mut row = self.open(at_ns, Kind::Close, Code::STMT_CLOSE);
                row.statement = Some(number(statement));
                self.statements.close(statement);
                self.finish_unanswered(row, out);
            }
            Command::Reset { statement } => {
                self.drop_long_data(statement, out);
                let mut row = self.open(at_ns, Kind::Other, Code::STMT_RESET);
                row.statement = Some(number(statement));
                self.ask(row, Code::STMT_RESET);
            }
            Command::InitDb { database } => {
                let row = self.open(at_ns, Kind::InitDb, Code::INIT_DB);
                let database = self.shared.intern(database.strip_suffix(b"\0").unwrap_or(database));
                self.queue.push_back(Pending::new(row, Asked::InitDb(database)));
            }
            Command::ChangeUser(change) => self.change_user(at_ns, change),
            Command::ResetConnection => {
                let row = self.open(at_ns, Kind::Reset, Code::RESET_CONNECTION);
                self.queue.push_back(Pending::new(row, Asked::Reset));
            }
            Command::Ping => {
                let row = self.open(at_ns, Kind::Ping, Code::PING);
                self.ask(row, Code::PING);
            }
            Command::Quit if self.goodbye.is_some() => self.unexpected(),
            Command::Quit => {
                let row = self.open(at_ns, Kind::Disconnect, Code::QUIT);
                self.goodbye = Some(row);
            }
            other => {
                let code = other.code();
                let mut row = self.open(at_ns, Kind::Other, code);
                if keeps_body(code)
                    && let Some((_, body)) = payload.split_first()
                    && !body.is_empty()
                {
                    row.copy_data.push(body.into());
                }
                self.ask(row, code);
            }
        }
        Ok(())
    }

    /// Of a session that was joined midway: what its commands show of the capabilities.
    fn learn(&mut self, payload: &[u8]) {
        if self.capabilities_known {
            return;
        }
        match payload.split_first() {
            Some((&code, body)) if Code(code) == Code::QUERY => {
                self.capabilities = match has_attributes(body) {
                    true => self.capabilities | Capabilities::QUERY_ATTRIBUTES,
                    false => self.capabilities.without(Capabilities::QUERY_ATTRIBUTES),
                };
            }
            Some((&code, &[_, _, _, _, flags, ..]))
                if Code(code) == Code::STMT_EXECUTE && ExecuteFlags(flags).contains(ExecuteFlags::PARAMETER_COUNT) =>
            {
                self.capabilities |= Capabilities::QUERY_ATTRIBUTES;
            }
            _ => {}
        }
    }

    fn open(&mut self, at_ns: i64, kind: Kind, code: Code) -> Request {
        let mut row = self.who.row(at_ns, kind);
        add_message(&mut row, code);
        row
    }

    /// A row with the text of a statement; without it, which is counted, where its preparation was not seen.
    fn open_statement(&mut self, at_ns: i64, kind: Kind, code: Code, statement: u32) -> Request {
        let mut row = self.open(at_ns, kind, code);
        row.statement = Some(number(statement));
        match self.statements.get(statement) {
            Some(known) => set_text(&mut row, &known.text),
            None => self.losses.add(Loss::UnknownStatement, 1),
        }
        row
    }

    fn ask(&mut self, row: Request, code: Code) {
        self.queue.push_back(Pending::new(row, Asked::Command(code)));
    }

    fn query(&mut self, at_ns: i64, query: Query<'_>) {
        let text = self.text(query.sql);
        let mut row = self.open(at_ns, Kind::Query, Code::QUERY);
        set_text(&mut row, &text);
        if !query.attributes.is_empty() {
            set_params(&mut row, query.attributes, &mut []);
        }
        self.queue.push_back(Pending::new(row, Asked::Query(follow(&text.sql))));
    }

    fn execute(&mut self, at_ns: i64, execute: Execute<'_>, payload: &[u8]) {
        let id = execute.statement;
        let (mut row, mut long) = match self.statements.take_long_data(id) {
            Some(LongData { mut row, values, .. }) => {
                row.kind = Kind::Execute;
                add_message(&mut row, Code::STMT_EXECUTE);
                (row, values)
            }
            None => (self.open(at_ns, Kind::Execute, Code::STMT_EXECUTE), Vec::new()),
        };
        row.statement = Some(number(id));
        if execute.flags.0 != 0 {
            row.result_formats = vec![execute.flags.0.into()];
        }
        let cursor = execute.flags.intersects(ExecuteFlags::CURSOR);
        let mut body = None;
        if id == LAST_PREPARED
            && let Some(text) = self.preparing()
        {
            // A client that does not wait: how many parameters there are is in an answer that has not come.
            set_text(&mut row, &text);
            body = Some(payload.into());
        } else {
            self.read_execute(&mut row, execute, payload, &mut long);
        }
        self.queue.push_back(Pending::new(row, Asked::Execute { cursor, body }));
    }

    /// The text of the statement that was sent last, if its preparation is not answered yet.
    fn preparing(&self) -> Option<Text> {
        self.queue.iter().rev().find_map(|request| match &request.asked {
            Asked::Prepare(text) => Some(text.clone()),
            _ => None,
        })
    }

    /// Reads text and parameters of an execution into its row; or keeps the bytes, where what it takes is not known.
    pub fn read_execute(
        &mut self,
        row: &mut Request,
        execute: Execute<'_>,
        payload: &[u8],
        long: &mut [(u16, Vec<u8>)],
    ) {
        let capabilities = self.capabilities;
        let Some(statement) = self.statements.get_mut(execute.statement) else {
            self.losses.add(Loss::UnknownStatement, 1);
            return keep_body(row, payload, long);
        };
        set_text(row, &statement.text);
        let numbers: Vec<u16> = long.iter().map(|(number, _)| *number).collect();
        match execute.parameters(capabilities, statement.known(&numbers)) {
            Ok(parameters) => {
                let types: Option<Vec<ParamType>> =
                    parameters.sent_types().then(|| parameters.iter().map(|parameter| parameter.kind).collect());
                set_params(row, parameters, long);
                if let Some(types) = types {
                    row.param_types = Some(types.iter().map(|kind| kind.0.into()).collect());
                    statement.types = types;
                }
            }
            Err(_) => {
                // The types were sent before the recording, or in a gap; or this is no execution.
                self.losses.add(Loss::UnknownParameters, 1);
                keep_body(row, payload, long);
            }
        }
    }

    fn bulk(&mut self, at_ns: i64, bulk: BulkExecute<'_>, payload: &[u8]) {
        let mut row = self.open_statement(at_ns, Kind::Execute, Code::STMT_BULK_EXECUTE, bulk.statement);
        keep_body(&mut row, payload, &mut []);
        if bulk.flags.contains(BulkFlags::SEND_TYPES)
            && let Some(statement) = self.statements.get_mut(bulk.statement)
        {
            let types = bulk.body.chunks_exact(2).take(statement.parameters.into());
            statement.types =
                types.filter_map(|pair| Some(ParamType(u16::from_le_bytes(pair.try_into().ok()?)))).collect();
        }
        self.ask(row, Code::STMT_BULK_EXECUTE);
    }

    fn long_data(&mut self, at_ns: i64, part: Part<'_>) {
        // The row begins with the first part, so that an execution takes as long as its data took.
        let mut long = self.statements.take_long_data(part.statement).unwrap_or_else(|| {
            let mut row = self.who.row(at_ns, Kind::Other);
            row.statement = Some(number(part.statement));
            LongData::new(row)
        });
        add_message(&mut long.row, Code::STMT_SEND_LONG_DATA);
        if part.data.len() > COPY_LIMIT.saturating_sub(long.kept) {
            long.row.truncated = true;
            long.kept = COPY_LIMIT;
            self.losses.add(Loss::CopyLimit, part.data.len() as u64);
        } else {
            long.add(part.parameter, part.data);
        }
        self.statements.keep_long_data(part.statement, long);
    }

    /// What was sent ahead is not executed any more.
    fn drop_long_data(&mut self, statement: u32, out: &mut dyn Sink) {
        if let Some(long) = self.statements.take_long_data(statement) {
            self.finish_unanswered(long_data_row(long), out);
        }
    }

    fn change_user(&mut self, at_ns: i64, change: ChangeUser<'_>) {
        let row = self.open(at_ns, Kind::ChangeUser, Code::CHANGE_USER);
        let intern = |name: &[u8]| (!name.is_empty()).then(|| self.shared.intern(name));
        let user = User {
            user: intern(change.user),
            database: intern(change.database),
            application: change.attributes.and_then(program).and_then(intern),
            collation: change.collation,
        };
        self.queue.push_back(Pending::new(row, Asked::ChangeUser(Box::new(user))));
    }
}

/// What the client's program calls itself.
pub(super) fn program(attributes: Attributes<'_>) -> Option<&[u8]> {
    attributes.get(b"program_name")
}

/// The row of parameters that were sent and never executed.
pub(super) fn long_data_row(long: LongData) -> Request {
    let LongData { mut row, values, .. } = long;
    row.copy_data = values.iter().map(|(number, value)| long_entry(*number, value)).collect();
    row
}

fn long_entry(number: u16, value: &[u8]) -> Box<[u8]> {
    [&number.to_le_bytes(), value].concat().into()
}

/// Keeps the bytes after the statement's number, and after them each parameter that was sent ahead.
fn keep_body(row: &mut Request, payload: &[u8], long: &mut [(u16, Vec<u8>)]) {
    row.copy_data.push(payload.get(5..).unwrap_or_default().into());
    row.copy_data.extend(long.iter().map(|(number, value)| long_entry(*number, value)));
}

/// Commands whose bytes a replay needs. Others are between servers, and may hold passwords.
fn keeps_body(code: Code) -> bool {
    matches!(
        code,
        Code::FIELD_LIST | Code::CREATE_DB | Code::DROP_DB | Code::REFRESH | Code::PROCESS_KILL | Code::SET_OPTION
    )
}

fn add_message(row: &mut Request, code: Code) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for digit in [code.0 >> 4, code.0 & 15] {
        row.messages.push(DIGITS.get(usize::from(digit)).copied().unwrap_or(b'?').into());
    }
}

fn number(statement: u32) -> compact_str::CompactString {
    compact_str::format_compact!("{statement}")
}

pub(super) fn set_text(row: &mut Request, text: &Text) {
    row.sql = Some(text.sql.clone());
    row.sql_raw.clone_from(&text.raw);
    row.shape_id = Some(text.shape_id);
}

fn set_params(row: &mut Request, parameters: Parameters<'_>, long: &mut [(u16, Vec<u8>)]) {
    row.params.reserve(parameters.len());
    let mut named = false;
    for (index, parameter) in parameters.iter().enumerate() {
        named |= !parameter.name.is_empty();
        let value = match parameter.value {
            Content::Null => None,
            Content::Bytes(bytes) => Some(bytes.into()),
            Content::Long => {
                let sent = long.iter_mut().find(|(number, _)| usize::from(*number) == index);
                Some(sent.map(|(_, value)| std::mem::take(value).into_boxed_slice()).unwrap_or_default())
            }
        };
        row.params.push(Param { type_id: parameter.kind.0.into(), binary: true, value });
    }
    if named {
        row.param_names = parameters.iter().map(|parameter| String::from_utf8_lossy(parameter.name).into()).collect();
    }
    if !long.is_empty() {
        let is_long = |index: usize| long.iter().any(|(number, _)| usize::from(*number) == index);
        row.param_formats = (0..parameters.len()).map(|index| is_long(index).into()).collect();
    }
}
