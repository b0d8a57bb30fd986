//! Changes of the session that a server tells in its OK packets: [session state tracking].
//!
//! [session state tracking]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html#sect_protocol_basic_ok_packet_sessinfo

use std::iter::FusedIterator;

use super::error::Invalid;
use super::read::{self, Reader};
use super::write;

/// One change of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// `SESSION_TRACK_SYSTEM_VARIABLES`: a variable was set.
    SystemVariable {
        /// Its name, such as `sql_mode`.
        name: &'a [u8],
        /// Its value as text.
        value: &'a [u8],
    },
    /// `SESSION_TRACK_SCHEMA`: the current database.
    Schema(&'a [u8]),
    /// `SESSION_TRACK_STATE_CHANGE`: whether something of the session's state changed: `1` or `0`.
    StateChange(&'a [u8]),
    /// `SESSION_TRACK_GTIDS` (MySQL): identifiers of transactions.
    Gtids {
        /// How they are written; always 0, which is text.
        encoding: u8,
        /// The identifiers.
        gtids: &'a [u8],
    },
    /// `SESSION_TRACK_TRANSACTION_CHARACTERISTICS`: statements that make an equal transaction.
    TransactionCharacteristics(&'a [u8]),
    /// `SESSION_TRACK_TRANSACTION_STATE` (MariaDB: `…_TRANSACTION_TYPE`): eight letters such as `T_R_____`.
    TransactionState(&'a [u8]),
    /// A kind of change that is not known here, or whose content is not as documented.
    Other {
        /// Its number.
        kind: u8,
        /// Its content.
        data: &'a [u8],
    },
}

const NAME: &str = "session state";

impl<'a> Change<'a> {
    /// A change of this kind, other than of variables; `None` where the content is not as documented.
    fn of(kind: u8, data: &'a [u8]) -> Option<Self> {
        let text = || read::string(data).filter(|(_, rest)| rest.is_empty()).map(|(text, _)| text);
        Some(match kind {
            1 => Change::Schema(text()?),
            // The only content that has no length of its own.
            2 => Change::StateChange(data),
            3 => {
                let (&encoding, rest) = data.split_first()?;
                let (gtids, b"") = read::string(rest)? else { return None };
                Change::Gtids { encoding, gtids }
            }
            4 => Change::TransactionCharacteristics(text()?),
            5 => Change::TransactionState(text()?),
            _ => return None,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut field = Vec::new();
        let kind = match *self {
            Change::SystemVariable { name, value } => {
                write::string(&mut field, name);
                write::string(&mut field, value);
                0
            }
            Change::Schema(name) => {
                write::string(&mut field, name);
                1
            }
            Change::StateChange(changed) => {
                field.extend_from_slice(changed);
                2
            }
            Change::Gtids { encoding, gtids } => {
                field.push(encoding);
                write::string(&mut field, gtids);
                3
            }
            Change::TransactionCharacteristics(statements) => {
                write::string(&mut field, statements);
                4
            }
            Change::TransactionState(state) => {
                write::string(&mut field, state);
                5
            }
            Change::Other { kind, data } => {
                field.extend_from_slice(data);
                kind
            }
        };
        out.push(kind);
        write::string(out, &field);
    }
}

/// Changes of the session. Their bytes were checked when they were decoded; items are read as they are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionState<'a>(&'a [u8]);

impl<'a> SessionState<'a> {
    /// True when nothing changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The changes in order.
    pub fn iter(&self) -> SessionStateIter<'a> {
        SessionStateIter { changes: self.0, variables: b"" }
    }

    /// The identifier of the transaction that the command committed: MySQL's `session_track_gtids`, or MariaDB's
    /// `last_gtid` where `session_track_system_variables` names it.
    pub fn gtid(&self) -> Option<&'a [u8]> {
        self.iter().find_map(|change| match change {
            Change::Gtids { gtids, .. } => Some(gtids),
            Change::SystemVariable { name: b"last_gtid", value } => Some(value),
            _ => None,
        })
    }

    /// The value that the command gave to this system variable.
    pub fn variable(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.iter()
            .filter_map(|change| match change {
                Change::SystemVariable { name: known, value } if known == name => Some(value),
                _ => None,
            })
            .last()
    }

    /// The database that the command made the current one.
    pub fn schema(&self) -> Option<&'a [u8]> {
        self.iter()
            .filter_map(|change| match change {
                Change::Schema(name) => Some(name),
                _ => None,
            })
            .last()
    }

    /// Bytes that hold these changes, for [`SessionState::from_bytes`].
    pub fn bytes<'v>(changes: impl IntoIterator<Item = Change<'v>>) -> Vec<u8> {
        let mut out = Vec::new();
        changes.into_iter().for_each(|change| change.write(&mut out));
        out
    }

    /// The changes in `bytes`, which hold changes and nothing else.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Invalid> {
        Self::check(Reader::new(NAME, bytes))
    }

    /// Reads the length of all changes, and the changes.
    pub(super) fn decode(read: &mut Reader<'a>) -> Result<Self, Invalid> {
        let changes = read.string()?;
        Self::check(Reader::at(NAME, read.offset() - changes.len(), changes))
    }

    fn check(mut read: Reader<'a>) -> Result<Self, Invalid> {
        let changes = read.peek();
        while !read.is_empty() {
            read.u8()?;
            read.string()?;
        }
        Ok(SessionState(changes))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write::string(out, self.0);
    }
}

impl<'a> IntoIterator for SessionState<'a> {
    type Item = Change<'a>;
    type IntoIter = SessionStateIter<'a>;

    fn into_iter(self) -> SessionStateIter<'a> {
        self.iter()
    }
}

/// Iterator over [`SessionState`].
#[derive(Clone, Debug)]
pub struct SessionStateIter<'a> {
    changes: &'a [u8],
    /// The rest of a change that tells several variables.
    variables: &'a [u8],
}

impl<'a> Iterator for SessionStateIter<'a> {
    type Item = Change<'a>;

    fn next(&mut self) -> Option<Change<'a>> {
        if self.variables.is_empty() {
            let (&kind, rest) = self.changes.split_first()?;
            let (data, rest) = read::string(rest)?;
            self.changes = rest;
            if kind != 0 || !holds_variables(data) {
                return Some(Change::of(kind, data).unwrap_or(Change::Other { kind, data }));
            }
            self.variables = data;
        }
        let (name, value, rest) = variable(self.variables)?;
        self.variables = rest;
        Some(Change::SystemVariable { name, value })
    }
}

/// Name and value of the variable at the start of `bytes`, and what follows it.
fn variable(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (name, rest) = read::string(bytes)?;
    let (value, rest) = read::string(rest)?;
    Some((name, value, rest))
}

/// True when `data` holds variables, at least one, and nothing else. The documentation allows several; the servers send one.
fn holds_variables(data: &[u8]) -> bool {
    let mut rest = data;
    while let Some((_, _, after)) = variable(rest) {
        if after.is_empty() {
            return true;
        }
        rest = after;
    }
    false
}

impl FusedIterator for SessionStateIter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::hex;

    #[test]
    fn every_kind() {
        let bytes = hex("00 0f 0a 6175746f636f6d6d6974 03 4f4646  01 05 04 74657374  02 01 31
            03 05 00 03 613a31  04 04 03 424547  05 09 08 545f5f5f5f5f5f5f  63 02 6162");
        let state = SessionState::from_bytes(&bytes).unwrap();
        let changes: Vec<_> = state.iter().collect();
        assert_eq!(
            changes,
            [
                Change::SystemVariable { name: b"autocommit", value: b"OFF" },
                Change::Schema(b"test"),
                Change::StateChange(b"1"),
                Change::Gtids { encoding: 0, gtids: b"a:1" },
                Change::TransactionCharacteristics(b"BEG"),
                Change::TransactionState(b"T_______"),
                Change::Other { kind: 0x63, data: b"ab" },
            ]
        );
        assert_eq!(SessionState::bytes(changes), bytes);
        assert_eq!((state.schema(), state.gtid()), (Some(&b"test"[..]), Some(&b"a:1"[..])));
    }

    #[test]
    fn the_last_change_of_a_variable_holds() {
        let set = |value| Change::SystemVariable { name: b"sql_mode", value };
        let bytes = SessionState::bytes([set(b"ANSI"), set(b"")]);
        let state = SessionState::from_bytes(&bytes).unwrap();
        assert_eq!((state.variable(b"sql_mode"), state.variable(b"autocommit")), (Some(&b""[..]), None));
    }

    #[test]
    fn mariadb_tells_its_gtid_as_a_variable() {
        let bytes = SessionState::bytes([Change::SystemVariable { name: b"last_gtid", value: b"0-1-12" }]);
        assert_eq!(SessionState::from_bytes(&bytes).unwrap().gtid(), Some(&b"0-1-12"[..]));
    }

    #[test]
    fn several_variables_in_one_change() {
        let state = SessionState::from_bytes(b"\0\x08\x01a\x01b\x01c\x01d").unwrap();
        let expected = [(&b"a"[..], &b"b"[..]), (b"c", b"d")];
        let changes = expected.map(|(name, value)| Change::SystemVariable { name, value });
        assert_eq!(state.iter().collect::<Vec<_>>(), changes);
    }

    #[test]
    fn what_is_not_as_documented_is_passed_on() {
        // A field longer than its change, one shorter, a variable without a value.
        for data in ["05 74657374", "03 74657374", "0161"] {
            let data = hex(data);
            for kind in 0..=5 {
                let bytes = SessionState::bytes([Change::Other { kind, data: &data }]);
                let state = SessionState::from_bytes(&bytes).unwrap();
                let change = state.iter().next().unwrap();
                // The last is a whole text as well, and a change of state may hold anything.
                let known = kind == 2 || (data.len() == 2 && matches!(kind, 1 | 4 | 5));
                assert_eq!(change == Change::Other { kind, data: &data }, !known, "{change:?}");
            }
        }
    }

    #[test]
    fn malformed() {
        for (bytes, offset) in [("01 05 04 746573", 2), ("01", 1), ("01 05 04 74657374 01 fb", 8)] {
            let error = SessionState::from_bytes(&hex(bytes)).unwrap_err();
            assert_eq!(error.offset, offset, "{bytes}: {error}");
        }
    }
}
