//! The prepared statements of a session, by number.

use std::collections::HashMap;

use crate::mysql::statement::LAST_PREPARED;
use crate::mysql::{Known, ParamType};
use crate::session::shared::Text;
use crate::trace::Request;

/// A prepared statement.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub text: Text,
    /// Parameters, as the server told.
    pub parameters: u16,
    /// Their types as last sent.
    pub types: Vec<ParamType>,
}

/// Parameters that were sent ahead of an execution.
#[derive(Debug)]
pub(super) struct LongData {
    /// The row that they began.
    pub row: Request,
    /// Numbers of the parameters, and their values so far. A parameter without a part sent is not in it.
    pub values: Vec<(u16, Vec<u8>)>,
    /// Bytes kept so far.
    pub kept: usize,
}

impl LongData {
    /// Nothing sent so far.
    pub fn new(row: Request) -> Self {
        LongData { row, values: Vec::new(), kept: 0 }
    }

    /// Adds a part to the value of a parameter.
    pub fn add(&mut self, parameter: u16, part: &[u8]) {
        self.kept += part.len();
        match self.values.iter_mut().find(|(number, _)| *number == parameter) {
            Some((_, value)) => value.extend_from_slice(part),
            None => self.values.push((parameter, part.to_vec())),
        }
    }
}

/// Everything that has a number.
#[derive(Debug, Default)]
pub(super) struct Statements {
    by_id: HashMap<u32, Statement>,
    long: HashMap<u32, LongData>,
    last: Option<u32>,
}

impl Statements {
    /// The server gave a statement its number.
    pub fn prepared(&mut self, id: u32, text: Text, parameters: u16) {
        self.by_id.insert(id, Statement { text, parameters, types: Vec::new() });
        self.last = Some(id);
    }

    /// The number that the client means.
    fn resolve(&self, id: u32) -> u32 {
        if id == LAST_PREPARED { self.last.unwrap_or(id) } else { id }
    }

    pub fn get(&self, id: u32) -> Option<&Statement> {
        self.by_id.get(&self.resolve(id))
    }

    pub fn get_mut(&mut self, id: u32) -> Option<&mut Statement> {
        self.by_id.get_mut(&self.resolve(id))
    }

    /// Keeps what was sent ahead until the statement is executed.
    pub fn keep_long_data(&mut self, id: u32, long: LongData) {
        self.long.insert(id, long);
    }

    /// Takes what was sent ahead.
    pub fn take_long_data(&mut self, id: u32) -> Option<LongData> {
        self.long.remove(&id)
    }

    /// Takes everything that was sent ahead, in the order of its rows.
    pub fn clear_long_data(&mut self) -> Vec<LongData> {
        let mut all: Vec<_> = std::mem::take(&mut self.long).into_values().collect();
        all.sort_by_key(|long| long.row.seq);
        all
    }

    pub fn close(&mut self, id: u32) {
        self.by_id.remove(&id);
    }

    /// The session begins anew.
    pub fn forget(&mut self) {
        self.by_id.clear();
        self.last = None;
    }

    /// What the client sent meanwhile is not known: it may have been other types. Numbers are not used again.
    pub fn forget_types(&mut self) {
        self.by_id.values_mut().for_each(|statement| statement.types.clear());
    }
}

impl Statement {
    /// What has to be known to read an execution. `long` are the parameters that were sent ahead.
    pub fn known<'a>(&'a self, long: &'a [u16]) -> Known<'a> {
        Known { parameters: self.parameters, types: &self.types, long }
    }
}
