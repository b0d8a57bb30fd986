//! Events in ProxySQL's own binary format (`mysql-eventslog_format = 1`).

use super::json::Objects;
use super::record::{self, LENGTH, Layout};
use crate::log::{Input, Reader, Records, Settings};
use crate::trace::Loss;

/// Bytes in which the next record is looked for after damage.
const WINDOW: usize = 1 << 20;

/// Reads binary events of any version. Where the format was changed while a file was written, it goes on as JSON.
pub(crate) struct Binary {
    buffer: Vec<u8>,
    /// The record that comes next begins here.
    at: usize,
    /// The layout of the last record.
    layout: Layout,
    objects: Objects,
}

impl Binary {
    /// A reader for any number of files.
    pub fn new(_: &Settings) -> Self {
        Binary { buffer: Vec::new(), at: 0, layout: Layout::Parameters, objects: Objects::default() }
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// Reads on until there are so many bytes. False where the file has fewer.
    fn fill(&mut self, bytes: usize, input: &mut Input) -> bool {
        if self.rest().len() < bytes && self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        while self.rest().len() < bytes {
            let more = input.fill();
            let length = more.len();
            if length == 0 {
                return false;
            }
            self.buffer.extend_from_slice(more);
            input.consume(length);
        }
        true
    }

    /// Takes what comes next. False at the end of the file.
    fn next(&mut self, begun: &mut bool, input: &mut Input, out: &mut Records<'_>) -> bool {
        let whole = self.fill(LENGTH, input);
        if self.rest().is_empty() {
            return false;
        }
        if self.rest().starts_with(b"{\"") {
            self.line(input, out);
            *begun = true;
            return true;
        }
        if whole && let Some(declared) = record::declared(self.rest()) {
            self.fill(LENGTH + declared, input);
            out.reached = input.reached();
            if self.record(out) {
                *begun = true;
                return true;
            }
        }
        self.pass_over(*begun, input, out);
        *begun = true;
        true
    }

    /// Takes a record. False where there is none.
    fn record(&mut self, out: &mut Records<'_>) -> bool {
        let layouts = [self.layout].into_iter().chain(Layout::ALL);
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        let found = layouts.into_iter().find_map(|layout| Some((layout, record::read(rest, layout)?)));
        let Some((layout, (record, length))) = found else { return false };
        match record {
            Some(event) => self.objects.event(&event, out),
            None => {
                out.entry(None);
                out.lost(Loss::LogServer);
            }
        }
        (self.layout, self.at) = (layout, self.at + length);
        true
    }

    /// Takes a line of JSON.
    fn line(&mut self, input: &mut Input, out: &mut Records<'_>) {
        let limit = usize::try_from(record::LIMIT).unwrap_or(usize::MAX);
        let mut looked = 0;
        let end = loop {
            let rest = self.rest();
            if let Some(end) = memchr::memchr(b'\n', rest.get(looked..).unwrap_or_default()) {
                break looked + end + 1;
            }
            looked = rest.len();
            if looked > limit || !self.fill(looked + 1, input) {
                break looked;
            }
        };
        out.reached = input.reached();
        let line = self.buffer.get(self.at..self.at + end).unwrap_or_default();
        self.objects.line(line.strip_suffix(b"\n").unwrap_or(line), out);
        self.at += end;
    }

    /// Passes over what is no record, up to the next one.
    fn pass_over(&mut self, begun: bool, input: &mut Input, out: &mut Records<'_>) {
        let from = input.reached().bytes - self.rest().len() as u64;
        let mut passed = 0;
        let mut found = false;
        let mut first = 1;
        while !found {
            let whole = !self.fill(WINDOW, input);
            let rest = self.rest();
            // Of what may begin a record only what is here whole, unless more could follow.
            let sure = if whole { rest.len() } else { rest.len() / 2 };
            let next = (first..sure).find(|&at| begins(rest.get(at..).unwrap_or_default()));
            found = next.is_some() || whole;
            let length = next.unwrap_or(sure.max(first)).min(rest.len());
            passed += length as u64;
            self.at += length;
            first = 0;
            if whole && next.is_none() {
                break;
            }
        }
        out.reached = input.reached();
        out.entry(None);
        out.began_at(from);
        // It is the beginning or the end of a record where the file begins or ends with it.
        let is_end = self.rest().is_empty();
        out.lost(if is_end || !begun { Loss::LogTruncated } else { Loss::LogMalformed });
        out.missing(Loss::Undecodable, passed);
    }
}

/// Whether there is a record, whole, or an object of JSON.
fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(b"{\"client\":")
        || record::declared(bytes).is_some_and(|declared| LENGTH + declared <= bytes.len() + 1)
            && Layout::ALL.into_iter().any(|layout| record::read(bytes, layout).is_some())
}

impl Reader for Binary {
    fn read(&mut self, input: &mut Input, out: &mut Records<'_>) {
        self.buffer.clear();
        self.at = 0;
        if self.fill(2, input) && self.rest().starts_with(b"{\"") {
            out.problem("these events are JSON: give --format proxysql-json");
        }
        let mut begun = false;
        while self.next(&mut begun, input, out) {}
        self.objects.end_of_file(out);
    }

    fn finish(&mut self, _: &mut Records<'_>) {
        self.objects.finish();
    }
}
