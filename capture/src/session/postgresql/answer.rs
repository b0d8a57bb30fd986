//! What came back to one request: counts and checksums, taken message by message.

use crate::checksum::Checksums;
use crate::postgresql::Frame;
use crate::postgresql::query::command_tag;
use crate::session::ending::nanos_between;
use crate::trace::Request;

/// The server's messages that answer one request, counted and hashed as they pass. Memory does not grow with them.
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
    /// Rows of the result set that has not ended yet.
    open_rows: u64,
    /// A result ended, or a portal was suspended: there is something to compare.
    complete: bool,
    /// The client is the one that sends the data of a COPY.
    copy_in: bool,
}

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
        self.open_rows = 0;
        self.complete = false;
        self.copy_in = false;
    }

    /// Takes one message of the server that belongs to this answer. ReadyForQuery does not, nor does what the
    /// server may send at any time (ParameterStatus, NotificationResponse).
    pub fn message(&mut self, at_ns: i64, frame: Frame<'_>) {
        self.bytes += frame.len as u64;
        match frame.tag {
            b'D' | b'd' | b'V' => {
                self.first_row_ns.get_or_insert(at_ns);
                self.open_rows += 1;
                self.checksums.row(frame.body);
                // A function call ends with ReadyForQuery; it has no tag.
                if frame.tag == b'V' {
                    self.end_result(b"");
                }
            }
            b'C' => self.end_result(frame.body.strip_suffix(b"\0").unwrap_or(frame.body)),
            b'I' => self.end_result(b""),
            b's' => {
                self.count_rows(true);
                self.complete = true;
            }
            b'N' => self.warnings = self.warnings.saturating_add(1),
            b'E' => self.count_rows(false),
            b'G' => self.copy_in = true,
            b'H' | b'W' => self.copy_in = false,
            _ => {}
        }
    }

    fn end_result(&mut self, tag: &[u8]) {
        self.checksums.end_result(tag);
        self.complete = true;
        let (command, count) = command_tag(tag);
        match command {
            b"INSERT" | b"UPDATE" | b"DELETE" | b"MERGE" => {
                self.count_affected(count);
                self.count_rows(false);
            }
            // One message of COPY data need not be one row (in the binary format it is not), so the tag counts.
            b"COPY" => {
                self.open_rows = 0;
                match (self.copy_in, count) {
                    (true, count) => self.count_affected(count),
                    (false, Some(count)) => *self.rows.get_or_insert(0) += count,
                    (false, None) => {}
                }
            }
            b"SELECT" | b"FETCH" => {
                // CREATE TABLE AS and SELECT INTO answer SELECT and the number of rows that they stored.
                if self.open_rows == 0 && count.is_some_and(|count| count > 0) {
                    self.count_affected(count);
                } else {
                    self.count_rows(true);
                }
            }
            _ => self.count_rows(false),
        }
    }

    fn count_affected(&mut self, count: Option<u64>) {
        if let Some(count) = count {
            let affected = self.affected.get_or_insert(0);
            *affected = affected.saturating_add(count);
        }
    }

    fn count_rows(&mut self, even_none: bool) {
        if self.open_rows > 0 || even_none {
            *self.rows.get_or_insert(0) += self.open_rows;
        }
        self.open_rows = 0;
    }

    /// Writes into a row what is known now. Checksums stand only in a row whose answer is whole.
    pub fn write_to(&self, row: &mut Request) {
        row.result_bytes = Some(self.bytes);
        row.warnings = Some(self.warnings);
        row.rows = self.rows;
        row.affected = self.affected;
        row.first_row_ns = self.first_row_ns.map(|at| nanos_between(row.start_ns, at));
        let digest = (self.complete && row.error_code.is_none()).then(|| self.checksums.digest());
        row.checksum_full = digest.map(|digest| digest.full);
        row.checksum_rows = digest.map(|digest| digest.rows);
        row.checksum_rowset = digest.map(|digest| digest.rowset);
    }
}
