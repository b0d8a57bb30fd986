//! Statements of the binary protocol, each under one number on whatever server it runs.

use std::collections::HashMap;
use std::sync::Arc;

use crate::router::node::NodeId;
use crate::router::text::Text;

/// Bytes of COM_STMT_EXECUTE before its parameters: command, statement, flags, iterations.
pub(super) const EXECUTE_HEAD: usize = 10;

/// Number that stands for the statement prepared last (MariaDB).
const LAST: u32 = u32::MAX;

/// A prepared statement of a session.
#[derive(Debug)]
pub(super) struct Prepared {
    pub text: Arc<Text>,
    pub parameters: u16,
    /// The types of its parameters as last sent.
    pub types: Option<Arc<[u8]>>,
    /// Long data that was sent ahead, as the client sent it.
    pub long: Vec<Arc<[u8]>>,
    /// Where it ran last, and so where its cursor is.
    pub node: NodeId,
}

/// The prepared statements of a session, by the router's number.
#[derive(Debug, Default)]
pub(super) struct Statements {
    known: HashMap<u32, Prepared>,
    last: u32,
}

impl Statements {
    /// The number of the next statement.
    pub fn next(&self) -> u32 {
        self.last.wrapping_add(1)
    }

    pub fn insert(&mut self, number: u32, prepared: Prepared) {
        self.last = number;
        self.known.insert(number, prepared);
    }

    /// What a client means by a number.
    pub fn resolve(&self, number: u32) -> u32 {
        if number == LAST { self.last } else { number }
    }

    pub fn get(&self, number: u32) -> Option<&Prepared> {
        self.known.get(&number)
    }

    pub fn get_mut(&mut self, number: u32) -> Option<&mut Prepared> {
        self.known.get_mut(&number)
    }

    pub fn remove(&mut self, number: u32) {
        self.known.remove(&number);
    }

    /// The session was made as new. Numbers go on.
    pub fn clear(&mut self) {
        self.known.clear();
    }
}

/// The number in a command on a prepared statement.
pub(super) fn number(payload: &[u8]) -> Option<u32> {
    payload.get(1..5)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The same command on another number.
pub(super) fn renumbered(payload: &[u8], number: u32) -> Vec<u8> {
    let mut out = payload.to_vec();
    if let Some(place) = out.get_mut(1..5) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    out
}

/// Where the types of an execution stand, and whether they are sent.
struct Place {
    /// The byte that says so.
    flag: usize,
    sent: bool,
    types: usize,
}

fn place(payload: &[u8], parameters: u16) -> Option<Place> {
    if parameters == 0 {
        return None;
    }
    let flag = EXECUTE_HEAD + usize::from(parameters).div_ceil(8);
    Some(Place { flag, sent: *payload.get(flag)? == 1, types: 2 * usize::from(parameters) })
}

/// The types that an execution sends.
pub(super) fn types(payload: &[u8], parameters: u16) -> Option<Arc<[u8]>> {
    let place = place(payload, parameters).filter(|place| place.sent)?;
    payload.get(place.flag + 1..place.flag + 1 + place.types).map(Arc::from)
}

/// The execution with its types, for a server that does not know them; as it is where they are there already.
pub(super) fn with_types(payload: Vec<u8>, parameters: u16, types: Option<&Arc<[u8]>>) -> Vec<u8> {
    let (Some(place), Some(types)) = (place(&payload, parameters).filter(|place| !place.sent), types) else {
        return payload;
    };
    let (head, rest) = payload.split_at(place.flag);
    let values = rest.get(1..).unwrap_or_default();
    [head, &[1], types, values].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_added_for_a_server_that_has_not_seen_them() {
        // Statement 7, no flags, one iteration; one parameter, not NULL; type LONGLONG; value 5.
        let head = [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let first = [&head[..], &[1, 8, 0], &5u64.to_le_bytes()].concat();
        let again = [&head[..], &[0], &6u64.to_le_bytes()].concat();
        let sent = types(&first, 1);
        assert_eq!(sent.as_deref(), Some(&[8, 0][..]));
        assert_eq!(types(&again, 1), None);
        let expected = [&head[..], &[1, 8, 0], &6u64.to_le_bytes()].concat();
        assert_eq!(with_types(again.clone(), 1, sent.as_ref()), expected);
        assert_eq!(with_types(first.clone(), 1, sent.as_ref()), first);
        assert_eq!(with_types(again.clone(), 1, None), again);
        assert_eq!(with_types(head.to_vec(), 0, sent.as_ref()), head);
        // Cut short: the server says what is wrong with it.
        assert_eq!(with_types(vec![0x17, 7], 9, sent.as_ref()), [0x17, 7]);
    }

    #[test]
    fn numbers_are_replaced() {
        let fetch = [0x1c, 1, 0, 0, 0, 10, 0, 0, 0];
        assert_eq!(number(&fetch), Some(1));
        assert_eq!(renumbered(&fetch, 0x0102_0304), [0x1c, 4, 3, 2, 1, 10, 0, 0, 0]);
        assert_eq!((number(&[0x1c, 1]), renumbered(&[0x1c, 1], 9)), (None, vec![0x1c, 1]));
    }
}
