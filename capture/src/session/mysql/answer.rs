//! What came back to one request: counts and checksums, taken packet by packet.

use crate::checksum::Checksums;
use crate::mysql::{Answer as Part, OkPacket, Status};
use crate::session::ending::nanos_between;
use crate::trace::{Request, TransactionStatus};

/// The server's packets that answer one request, counted and hashed as they pass. Memory does not grow with them.
///
/// The recorder and the replayer both describe an answer with this, so that their rows can be compared.
#[derive(Clone, Default)]
pub struct Answer {
    checksums: Checksums,
    bytes: u64,
    warnings: u32,
    first_row_ns: Option<i64>,
    rows: Option<u64>,
    affected: Option<u64>,
    last_insert_id: Option<u64>,
    status: Option<Status>,
    /// Rows of the result set that has not ended yet.
    open_rows: u64,
    /// A result ended: there is something to compare.
    complete: bool,
}

/// What ends a result set in the completion information, and what stands for an OK packet.
const RESULT: u8 = 0;
const DONE: u8 = 1;

impl Answer {
    /// Nothing came back so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything, for the next request.
    pub fn reset(&mut self) {
        self.checksums.reset();
        self.bytes = 0;
        self.warnings = 0;
        self.first_row_ns = None;
        self.rows = None;
        self.affected = None;
        self.last_insert_id = None;
        self.status = None;
        self.open_rows = 0;
        self.complete = false;
    }

    /// Takes one row.
    #[inline]
    pub fn row(&mut self, at_ns: i64, payload: &[u8]) {
        self.bytes += payload.len() as u64;
        self.first_row_ns.get_or_insert(at_ns);
        self.open_rows += 1;
        self.checksums.row(payload);
    }

    /// Takes one packet of the server: its payload, and what it is.
    pub fn packet(&mut self, at_ns: i64, payload: &[u8], part: &Part<'_>) {
        if matches!(part, Part::Row) {
            return self.row(at_ns, payload);
        }
        self.bytes += payload.len() as u64;
        match part {
            Part::Ok(ok) => {
                self.end(ok);
                let affected = self.affected.get_or_insert(0);
                *affected = affected.saturating_add(ok.affected);
                if ok.last_insert_id != 0 {
                    self.last_insert_id = Some(ok.last_insert_id);
                }
                self.finish_result(DONE, ok);
            }
            Part::ResultEnd(end) | Part::CursorOpen(end) => {
                self.end(end);
                *self.rows.get_or_insert(0) += std::mem::take(&mut self.open_rows);
                // An EOF packet tells nothing else, and an OK packet in its place must not count for more.
                self.finish_result(RESULT, &OkPacket { warnings: end.warnings, ..OkPacket::default() });
            }
            Part::ColumnsEnd(end) | Part::ParametersEnd(end) => self.status = Some(end.status),
            Part::PrepareOk(prepared) => self.warnings = self.warnings.saturating_add(prepared.warnings.into()),
            Part::Err(_) if self.open_rows > 0 => {
                *self.rows.get_or_insert(0) += std::mem::take(&mut self.open_rows);
            }
            _ => {}
        }
    }

    fn end(&mut self, end: &OkPacket<'_>) {
        self.warnings = self.warnings.saturating_add(end.warnings.into());
        self.status = Some(end.status);
    }

    fn finish_result(&mut self, what: u8, end: &OkPacket<'_>) {
        let mut tag = Vec::with_capacity(19 + end.info.len());
        tag.push(what);
        tag.extend(end.affected.to_le_bytes());
        tag.extend(end.last_insert_id.to_le_bytes());
        tag.extend(end.warnings.to_le_bytes());
        tag.extend_from_slice(end.info);
        self.checksums.end_result(&tag);
        self.complete = true;
    }

    /// The state of the session as last told.
    pub fn status(&self) -> Option<Status> {
        self.status
    }

    /// Writes into a row what is known now. Checksums stand only in a row whose answer is whole.
    pub fn write_to(&self, row: &mut Request) {
        row.result_bytes = Some(self.bytes);
        row.warnings = Some(self.warnings);
        row.rows = self.rows;
        row.affected = self.affected;
        row.last_insert_id = self.last_insert_id;
        row.first_row_ns = self.first_row_ns.map(|at| nanos_between(row.start_ns, at));
        self.write_status_to(row);
        let digest = (self.complete && row.error_code.is_none()).then(|| self.checksums.digest());
        row.checksum_full = digest.map(|digest| digest.full);
        row.checksum_rows = digest.map(|digest| digest.rows);
        row.checksum_rowset = digest.map(|digest| digest.rowset);
    }

    /// Writes into a row only how the session is now.
    pub fn write_status_to(&self, row: &mut Request) {
        // An ERR packet does not tell the state, and an error can end a transaction.
        let status = self.status.filter(|_| row.error_code.is_none());
        row.transaction = status.map(|status| match status.contains(Status::IN_TRANS) {
            true => TransactionStatus::Open,
            false => TransactionStatus::Idle,
        });
        row.autocommit = status.map(|status| status.contains(Status::AUTOCOMMIT));
    }
}
