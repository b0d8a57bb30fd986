//! What the client asks: its messages become rows.

use super::conversation::Conversation;
use super::names::{Change, Portal, Renaming, Statement};
use super::pending::{Copying, Pending, name};
use crate::postgresql::call::FunctionCall;
use crate::postgresql::extended::{Bind, Parse, Target};
use crate::postgresql::list::{Formats, Values};
use crate::postgresql::{Frame, Frontend, Invalid};
use crate::session::shared::Text;
use crate::sql::{self, Naming};
use crate::trace::{Kind, Loss, Param, Request};

/// COPY data kept for one request. What goes beyond it is counted, and the row is marked as truncated.
const COPY_LIMIT: usize = 64 << 20;

impl Conversation {
    /// Takes one message of the client, whose first byte came at `at_ns`.
    pub fn client_message(&mut self, at_ns: i64, frame: Frame<'_>) -> Result<(), Invalid> {
        match Frontend::decode(frame)? {
            Frontend::Query { sql } => self.query(at_ns, sql),
            Frontend::Parse(parse) => self.parse(at_ns, parse),
            Frontend::Bind(bind) => self.bind(at_ns, bind),
            Frontend::Describe(target) => self.describe(at_ns, target),
            Frontend::Execute { portal, limit } => self.execute(at_ns, portal, limit),
            Frontend::Close(target) => self.close_target(at_ns, target),
            Frontend::Sync => self.sync(at_ns),
            Frontend::Flush => self.flush(at_ns),
            Frontend::FunctionCall(call) => self.call(at_ns, call),
            message @ (Frontend::CopyData(_) | Frontend::CopyDone | Frontend::CopyFail(_)) => self.copy(frame, message),
            Frontend::Password(_) => self.password(),
            Frontend::Terminate if self.goodbye.is_some() => self.unexpected(),
            Frontend::Terminate => {
                let mut row = self.who.row(at_ns, Kind::Disconnect);
                row.messages.push('X');
                self.goodbye = Some(row);
            }
        }
        Ok(())
    }

    /// Opens a row of the current pipeline group.
    fn open(&mut self, at_ns: i64, kind: Kind, message: char) -> Request {
        let mut row = self.who.row(at_ns, kind);
        row.messages.push(message);
        row.pipeline_group = Some(self.group);
        self.group_open = true;
        self.copy_aborted = false;
        row
    }

    /// Opens a row that is a pipeline group of its own.
    fn open_alone(&mut self, at_ns: i64, kind: Kind, message: char) -> Request {
        if self.group_open {
            self.group = self.group.saturating_add(1);
        }
        let row = self.open(at_ns, kind, message);
        self.end_group();
        row
    }

    fn end_group(&mut self) {
        self.group = self.group.saturating_add(1);
        self.group_open = false;
    }

    /// The last row of the current group, which later messages may still join.
    fn last_open(&mut self) -> Option<&mut Pending> {
        if self.group_open { self.queue.requests.back_mut() } else { None }
    }

    fn query(&mut self, at_ns: i64, sql: &[u8]) {
        self.names.simple_query();
        let text = self.shared.text(sql);
        let mut row = self.open_alone(at_ns, Kind::Query, 'Q');
        set_text(&mut row, &text);
        let mut request = Pending::new(row);
        request.changes = self.rename_by_sql(&self.renamings(sql));
        self.queue.push(request);
    }

    /// The names that a text gives and takes away: SQL's PREPARE shares them with Parse.
    fn renamings(&self, sql: &[u8]) -> Vec<Renaming> {
        let found = sql::namings(sql).into_iter().map(|naming| match naming {
            Naming::Prepare { name: called, body } => Renaming::Prepare(name(&called), self.shared.text(body)),
            Naming::Deallocate { name: called } => Renaming::Deallocate(name(&called)),
            Naming::DeallocateAll => Renaming::DeallocateAll,
        });
        found.collect()
    }

    fn rename_by_sql(&mut self, renamings: &[Renaming]) -> Vec<Change> {
        let mut changes = Vec::new();
        for renaming in renamings {
            match renaming {
                Renaming::Prepare(name, text) => {
                    let (declared, described, renames) = (Vec::new(), Vec::new(), Vec::new());
                    let statement = Statement { text: text.clone(), declared, described, renames };
                    changes.push(self.names.prepare(name, statement));
                }
                Renaming::Deallocate(name) => changes.push(self.names.close_statement(name)),
                Renaming::DeallocateAll => changes.extend(self.names.close_all_statements()),
            }
        }
        changes
    }

    fn parse(&mut self, at_ns: i64, parse: Parse<'_>) {
        let text = self.shared.text(parse.sql);
        let declared: Vec<u32> = parse.param_types.iter().collect();
        let mut row = self.open(at_ns, Kind::Prepare, 'P');
        set_text(&mut row, &text);
        let statement = name(parse.statement);
        row.param_types = Some(declared.clone());
        let renames = self.renamings(parse.sql);
        let change = self.names.prepare(&statement, Statement { text, declared, described: Vec::new(), renames });
        row.statement = Some(statement);
        let mut request = Pending::new(row);
        request.changes.push(change);
        self.queue.push(request);
    }

    fn bind(&mut self, at_ns: i64, bind: Bind<'_>) {
        let mut row = self.open(at_ns, Kind::Execute, 'B');
        let (statement, portal) = (name(bind.statement), name(bind.portal));
        let source = self.names.statement(&statement).cloned();
        match &source {
            Some(source) => {
                set_text(&mut row, &source.text);
                row.param_types = Some(source.declared.clone());
            }
            None => self.losses.add(Loss::UnknownStatement, 1),
        }
        let type_of = |index| source.as_ref().map_or(0, |source| source.param_type(index));
        row.params = params(bind.param_formats, bind.params, type_of);
        row.param_formats = bind.param_formats.iter().collect();
        row.result_formats = bind.result_formats.iter().collect();
        let changes = source.as_ref().map(|source| self.rename_by_sql(&source.renames)).unwrap_or_default();
        self.names.bind(&portal, Portal { statement: statement.clone(), source, group: self.group });
        row.statement = Some(statement);
        row.portal = Some(portal);
        self.queue.push(Pending { changes, ..Pending::new(row) });
    }

    fn describe(&mut self, at_ns: i64, target: Target<'_>) {
        let joins = |last: &&mut Pending| {
            let row = &last.row;
            let named = match target {
                Target::Statement(name) => row.kind == Kind::Prepare && is_named(row.statement.as_deref(), name),
                Target::Portal(name) => row.kind == Kind::Execute && is_named(row.portal.as_deref(), name),
            };
            named && !last.holds(b'D') && !last.holds(b'E')
        };
        if let Some(last) = self.last_open().filter(joins) {
            last.row.messages.push('D');
            return;
        }
        let mut row = self.open(at_ns, Kind::Other, 'D');
        set_target(&mut row, target);
        self.queue.push(Pending::new(row));
    }

    fn execute(&mut self, at_ns: i64, portal: &[u8], limit: i32) {
        let limit = Some(u32::try_from(limit).unwrap_or(0));
        let joins = |last: &&mut Pending| {
            last.row.kind == Kind::Execute && is_named(last.row.portal.as_deref(), portal) && !last.holds(b'E')
        };
        if let Some(last) = self.last_open().filter(joins) {
            last.row.messages.push('E');
            last.row.row_limit = limit;
            return;
        }
        let mut row = self.open(at_ns, Kind::Fetch, 'E');
        let portal = name(portal);
        let known = self.names.portal(&portal);
        row.statement = known.map(|known| known.statement.clone());
        match known.and_then(|known| known.source.as_ref()) {
            Some(source) => {
                set_text(&mut row, &source.text);
                row.param_types = Some(source.declared.clone());
            }
            None => self.losses.add(Loss::UnknownStatement, 1),
        }
        row.portal = Some(portal);
        row.row_limit = limit;
        self.queue.push(Pending::new(row));
    }

    fn close_target(&mut self, at_ns: i64, target: Target<'_>) {
        let mut row = self.open(at_ns, Kind::Close, 'C');
        set_target(&mut row, target);
        let mut request = Pending::new(row);
        match (target, request.row.statement.as_deref(), request.row.portal.as_deref()) {
            (Target::Statement(_), Some(name), _) => request.changes.push(self.names.close_statement(name)),
            (Target::Portal(_), _, Some(name)) => self.names.close_portal(name),
            _ => {}
        }
        self.queue.push(request);
    }

    fn sync(&mut self, at_ns: i64) {
        match self.last_open() {
            Some(last) => {
                last.row.messages.push('S');
                // While the server awaits COPY data it reads over Sync, so that the group goes on.
                if last.copying == Copying::In {
                    last.void = last.row.messages.len();
                    return;
                }
            }
            None => {
                let row = self.open(at_ns, Kind::Other, 'S');
                self.queue.push(Pending::new(row));
            }
        }
        self.end_group();
    }

    fn flush(&mut self, at_ns: i64) {
        match self.last_open() {
            Some(last) => last.row.messages.push('H'),
            None => {
                let row = self.open(at_ns, Kind::Other, 'H');
                self.queue.push(Pending::new(row));
            }
        }
    }

    fn call(&mut self, at_ns: i64, call: FunctionCall<'_>) {
        let mut row = self.open_alone(at_ns, Kind::Call, 'F');
        // A function has no name on the wire: its OID stands in the place of a statement's name.
        row.statement = Some(compact_str::format_compact!("{}", call.function));
        row.params = params(call.arg_formats, call.args, |_| 0);
        row.param_formats = call.arg_formats.iter().collect();
        row.result_formats = vec![call.result_format];
        self.queue.push(Pending::new(row));
    }

    /// CopyData, CopyDone or CopyFail.
    fn copy(&mut self, frame: Frame<'_>, message: Frontend<'_>) {
        if self.copy_aborted {
            // The client had not read the error yet, and the server ignores this; or its request was given up at a gap.
            self.copy_aborted = frame.tag == b'd';
            return;
        }
        // The client may have been recorded before the server's CopyInResponse: then it is the last request.
        let target = match self.queue.copying() {
            Some(_) => self.queue.copying(),
            None => self.queue.requests.back_mut().filter(|last| last.holds(b'Q') || last.holds(b'E')),
        };
        let Some(request) = target else {
            self.unexpected();
            return;
        };
        if frame.tag == b'd' {
            if frame.body.len() > COPY_LIMIT.saturating_sub(request.copied) {
                request.row.truncated = true;
                request.copied = COPY_LIMIT;
                self.losses.add(Loss::CopyLimit, frame.body.len() as u64);
            } else {
                request.copied += frame.body.len();
                request.row.copy_data.push(frame.body.into());
            }
            return;
        }
        let before: u32 = request.row.copy_lengths.iter().sum();
        let messages = u32::try_from(request.row.copy_data.len()).unwrap_or(u32::MAX);
        request.row.copy_lengths.push(messages.saturating_sub(before));
        if let Frontend::CopyFail(why) = message {
            request.row.copy_failure = Some(String::from_utf8_lossy(why).into());
        }
        request.row.messages.push(char::from(frame.tag));
        request.copying = Copying::Sent;
        // In the extended protocol the Sync that counts comes after the data; earlier ones were void.
        if request.holds(b'E')
            && let Some(group) = request.row.pipeline_group
        {
            self.group = group;
            self.group_open = true;
        }
    }

    /// Authentication messages are never looked at; they only belong to the start-up.
    fn password(&mut self) {
        if self.established {
            self.unexpected();
        }
    }
}

fn params(formats: Formats<'_>, values: Values<'_>, type_of: impl Fn(usize) -> u32) -> Vec<Param> {
    let param = |(index, value): (usize, Option<&[u8]>)| Param {
        type_id: type_of(index),
        binary: formats.code(index) == Some(1),
        value: value.map(Box::from),
    };
    values.iter().enumerate().map(param).collect()
}

fn set_text(row: &mut Request, text: &Text) {
    row.sql = Some(text.sql.clone());
    row.sql_raw.clone_from(&text.raw);
    row.shape_id = Some(text.shape_id);
}

fn set_target(row: &mut Request, target: Target<'_>) {
    match target {
        Target::Statement(statement) => row.statement = Some(name(statement)),
        Target::Portal(portal) => row.portal = Some(name(portal)),
    }
}

/// Compares with a name from the wire, without an allocation where it is UTF-8.
fn is_named(known: Option<&str>, wire: &[u8]) -> bool {
    known.is_some_and(|known| match str::from_utf8(wire) {
        Ok(wire) => known == wire,
        Err(_) => known == name(wire).as_str(),
    })
}
