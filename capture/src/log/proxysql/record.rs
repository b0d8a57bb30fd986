//! One record of the binary format.
//!
//! Nothing in a record tells its layout, which grew with the versions. Its declared length does: read in the right layout, a
//! record ends where that says, or one byte before. Since 2.4.6 the length counts the number of a prepared statement for every
//! record, and only those of prepared statements have it.

use std::borrow::Cow;

use super::{Asked, Event, value};
use crate::mysql::Kind;
use crate::trace::Param;

/// Bytes of the declared length.
pub(super) const LENGTH: usize = 8;
/// The longest record that is believed.
pub(super) const LIMIT: u64 = 64 << 20;

/// A layout, by the version that it came with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layout {
    /// 1.x to 2.0.5: no counts.
    First,
    /// 2.0.6: rows affected and sent.
    Rows,
    /// 2.4.6: number of the prepared statement.
    Statement,
    /// 2.5.3: last insert id.
    InsertId,
    /// 3.0.1: parameters of executions, and a record about the file itself.
    Parameters,
}

impl Layout {
    /// Every layout, the latest first.
    pub const ALL: [Layout; 5] = [Layout::Parameters, Layout::InsertId, Layout::Statement, Layout::Rows, Layout::First];
}

/// ProxySQL answered by itself.
const NO_HOSTGROUP: u64 = u64::MAX;
const QUERY: u8 = 0;
const EXECUTE: u8 = 16;
const PREPARE: u8 = 17;
const METADATA: u8 = 18;
/// Times before 2010 and after 2100 are none.
const TIMES: std::ops::Range<u64> = 1_262_304_000_000_000..4_102_444_800_000_000;

/// The declared length of the record at the start of `bytes`; `None` where there is none that is believed.
pub(super) fn declared(bytes: &[u8]) -> Option<usize> {
    let length = u64::from_le_bytes(*bytes.first_chunk()?);
    (1..=LIMIT).contains(&length).then(|| usize::try_from(length).ok()).flatten()
}

/// Reads the record at the start of `bytes` in a layout: its event, and its length in bytes. `None` where it is none. A record
/// without an event is about the file itself: it tells which version wrote it.
pub(super) fn read(bytes: &[u8], layout: Layout) -> Option<(Option<Event<'_>>, usize)> {
    let declared = declared(bytes)?;
    let rest = bytes.get(LENGTH..)?;
    let mut fields = Fields { rest: rest.get(..declared.min(rest.len()))? };
    let before = fields.rest.len();
    let (record, counted) = record(&mut fields, layout)?;
    let used = before - fields.rest.len();
    (used + usize::from(counted) == declared).then_some((record, LENGTH + used))
}

/// The record, and whether a byte more was declared than it has.
fn record<'a>(fields: &mut Fields<'a>, layout: Layout) -> Option<(Option<Event<'a>>, bool)> {
    let kind = fields.byte()?;
    let asked = match kind {
        QUERY => Asked::Query,
        EXECUTE if layout > Layout::First => Asked::Execute,
        PREPARE if layout > Layout::First => Asked::Prepare,
        METADATA if layout == Layout::Parameters => Asked::Query,
        _ => return None,
    };
    let thread = fields.int()?;
    let [user, database, client] = [fields.string()?, fields.string()?, fields.string()?];
    let hostgroup = Some(fields.int()?).filter(|&hostgroup| hostgroup != NO_HOSTGROUP);
    let server = if hostgroup.is_some() { fields.string()? } else { b"" };
    let [start, end] = [fields.int()?, fields.int()?];
    let has_statement = matches!(asked, Asked::Prepare | Asked::Execute);
    let statement = if layout >= Layout::Statement && has_statement { Some(fields.int()?) } else { None };
    let affected = if layout >= Layout::Rows { Some(fields.int()?) } else { None };
    let last_insert_id = if layout >= Layout::InsertId { Some(fields.int()?) } else { None };
    let rows = if layout >= Layout::Rows { Some(fields.int()?) } else { None };
    let _digest = fields.int()?;
    let sql = fields.string()?;
    let params = if layout >= Layout::Parameters && asked == Asked::Execute { fields.params()? } else { None };
    let counted = layout >= Layout::Statement && !has_statement;
    if kind == METADATA {
        return Some((None, counted));
    }
    if !TIMES.contains(&start) || !TIMES.contains(&end) || thread > u32::MAX.into() {
        return None;
    }
    // Before 2.0.6 there are bytes of freed memory in the place of a text to which ProxySQL answered by itself.
    let garbled = layout == Layout::First && hostgroup.is_none();
    let event = Event {
        asked,
        thread,
        user: Cow::Borrowed(user),
        database: Cow::Borrowed(database),
        client: Cow::Borrowed(client),
        hostgroup,
        server: Cow::Borrowed(server),
        start_ns: i64::try_from(start).ok()?.checked_mul(1000)?,
        duration_ns: end.saturating_sub(start).saturating_mul(1000),
        statement: statement.map(u32::try_from).transpose().ok()?,
        sql: (!garbled).then_some(Cow::Borrowed(sql)),
        replaced: false,
        params,
        rows,
        affected,
        last_insert_id: last_insert_id.filter(|id| *id > 0),
        errno: None,
        error: None,
        gtid: None,
    };
    Some((Some(event), counted))
}

/// The fields of a record that are not read yet.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    /// A number as MySQL's protocol encodes its length.
    fn int(&mut self) -> Option<u64> {
        let width = match self.byte()? {
            byte @ 0..=0xfa => return Some(byte.into()),
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            _ => return None,
        };
        let mut number = [0; 8];
        number.get_mut(..width)?.copy_from_slice(self.bytes(width)?);
        Some(u64::from_le_bytes(number))
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.int()?;
        self.bytes(usize::try_from(length).ok()?)
    }

    /// The parameters of an execution; none where they are not logged, or one cannot be read.
    fn params(&mut self) -> Option<Option<Vec<Param>>> {
        let count = usize::try_from(self.int()?).ok().filter(|&count| count <= u16::MAX.into())?;
        if count == 0 {
            return Some(None);
        }
        let nulls = self.bytes(count.div_ceil(8))?;
        let mut params = Some(Vec::with_capacity(count));
        for index in 0..count {
            let kind = u16::from_le_bytes(self.bytes(2)?.try_into().ok()?);
            let text = self.string()?;
            let is_null = nulls.get(index / 8)? >> (index % 8) & 1 == 1;
            let param = u8::try_from(kind).ok().and_then(|kind| value::param(Kind(kind), (!is_null).then_some(text)));
            params = params.zip(param).map(|(mut params, param)| {
                params.push(param);
                params
            });
        }
        Some(params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record that a blog shows, of ProxySQL 1.4: <https://blog.ssrf.in/post/read-proxysql-querylog/>
    const FIRST: &[u8] = b"\x5f\0\0\0\0\0\0\0\0\x02\x04root\x09sampledb1\x0f127.0.0.1:46392\0\x0e127.0.0.1:3306\
        \xfe\x19\x8c6Qxo\x05\0\xfep\x8d6Qxo\x05\0\xfe\xd6\xeb\xa7_\x9dAdG\x12SELECT * FROM user";

    #[test]
    fn a_record_of_the_first_layout() {
        let (record, length) = read(FIRST, Layout::First).expect("a record");
        assert_eq!(length, FIRST.len());
        let event = record.expect("an event");
        assert_eq!(event.sql.as_deref(), Some(&b"SELECT * FROM user"[..]));
        assert_eq!(
            (&*event.user, &*event.database, &*event.client),
            (&b"root"[..], &b"sampledb1"[..], &b"127.0.0.1:46392"[..])
        );
        assert_eq!((event.hostgroup, &*event.server), (Some(0), &b"127.0.0.1:3306"[..]));
        // ProxySQL's own tool prints 2018-06-25 14:37:12.841241 and .841584.
        assert_eq!((event.start_ns, event.duration_ns), (1_529_937_432_841_241_000, 343_000));
        assert_eq!((event.rows, event.affected), (None, None));
        for layout in [Layout::Rows, Layout::Statement, Layout::InsertId, Layout::Parameters] {
            assert_eq!(read(FIRST, layout), None, "{layout:?}");
        }
    }

    #[test]
    fn the_length_tells_the_layout() {
        let numbers: &[(Layout, &[u8])] = &[
            (Layout::Rows, b"\x03\x07"),
            (Layout::Statement, b"\x05\x03\x07"),
            (Layout::InsertId, b"\x05\x03\x09\x07"),
            (Layout::Parameters, b"\x05\x03\x09\x07"),
        ];
        for &(layout, numbers) in numbers {
            let mut body = vec![EXECUTE, 2, 1, b'u', 1, b'd', 0, 1, 1, b's'];
            for _ in 0..2 {
                body.push(0xfe);
                body.extend(1_700_000_000_000_000_u64.to_le_bytes());
            }
            body.extend(numbers);
            body.extend(b"\x00\x08SELECT ?");
            if layout == Layout::Parameters {
                // One parameter, not NULL, LONGLONG, "42"
                body.extend(b"\x01\x00\x08\x00\x0242");
            }
            let record = [&(body.len() as u64).to_le_bytes()[..], &body].concat();
            let found: Vec<Layout> = Layout::ALL.into_iter().filter(|&other| read(&record, other).is_some()).collect();
            assert_eq!(found, [layout]);
            let Some((Some(event), _)) = read(&record, layout) else { panic!("{layout:?}") };
            assert_eq!((event.affected, event.rows), (Some(3), Some(7)));
            assert_eq!(event.statement, (layout > Layout::Rows).then_some(5));
            assert_eq!(
                event.params.map(|params| params[0].value.clone()),
                (layout == Layout::Parameters).then(|| Some(42_u64.to_le_bytes().into()))
            );
            assert!(read(&record[..record.len() - 1], layout).is_none(), "cut");
        }
    }
}
