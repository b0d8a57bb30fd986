//! One direction of a session: bytes to records, and the keys that open them.

use super::opener::{Opened, Opener};
use super::record::{self, HEADER, NotTls, kind};

/// How far the number of a record may be from the last after a gap. It bounds the work; a gap of a megabyte of short rows
/// has so many records.
const MOST_LOST: u64 = 1 << 14;

/// Work that is done to find the place in one direction after gaps, bytes that are decrypted in vain. Beyond it the rest
/// of the direction is given up.
const BUDGET: usize = 512 << 20;

/// What a direction is protected with.
pub(super) enum Keys {
    /// Nothing yet.
    Plain,
    /// Nothing yet, but these keys from the next ChangeCipherSpec on: TLS 1.2.
    Agreed(Box<Opener>),
    /// The handshake of TLS 1.3, whose secret is missing: its records are passed over, up to the first that these keys
    /// open.
    Unknown(Box<Opener>),
    /// The handshake of TLS 1.3, and what comes after it.
    Handshake(Box<Opener>, Box<Opener>),
    /// The data.
    Data(Box<Opener>),
}

/// The place in a direction was lost with bytes that were not captured.
struct Search {
    /// Records that may have been in what is missing.
    records: u64,
}

/// One direction.
pub(super) struct Side {
    pub keys: Keys,
    /// Bytes that are not used yet. The first of them came at `since_ns`.
    pub held: Vec<u8>,
    pub since_ns: i64,
    /// The start of a handshake message whose end is in a later record.
    pub message: Vec<u8>,
    search: Option<Search>,
    budget: usize,
    /// True once a record was opened.
    opened: bool,
    content: Vec<u8>,
}

/// What is next in a direction.
pub(super) enum Next<'a> {
    /// A record, with its type and its content.
    Record(u8, &'a [u8]),
    /// So many bytes are of no use: the rest of records that are not whole.
    Passed(u64),
    /// A record that its keys do not open, of so many bytes.
    Refused(u64),
    /// Nothing more is whole.
    Wait,
    /// The bytes are not TLS.
    NotTls,
}

impl Side {
    pub fn new() -> Self {
        Side {
            keys: Keys::Plain,
            held: Vec::new(),
            since_ns: 0,
            message: Vec::new(),
            search: None,
            budget: BUDGET,
            opened: false,
            content: Vec::new(),
        }
    }

    /// Takes bytes that arrived.
    pub fn arrived(&mut self, at_ns: i64, bytes: &[u8]) {
        if self.held.is_empty() {
            self.since_ns = at_ns;
        }
        self.held.extend_from_slice(bytes);
    }

    /// Bytes are missing here. Returns how many that were held are of no use now.
    pub fn gap(&mut self, missing: u64) -> u64 {
        let passed = self.held.len() as u64;
        self.held.clear();
        self.message.clear();
        let shortest = self.openers().map(Opener::shortest).min().unwrap_or(1) + HEADER;
        let before = self.search.as_ref().map_or(0, |search| search.records);
        let records = before + (missing + passed) / shortest as u64 + 2;
        self.search = Some(Search { records: records.min(MOST_LOST) });
        passed
    }

    /// True once a record was opened.
    pub fn has_opened(&self) -> bool {
        self.opened
    }

    fn openers(&self) -> impl Iterator<Item = &Opener> {
        let (first, second) = match &self.keys {
            Keys::Plain => (None, None),
            Keys::Agreed(opener) | Keys::Unknown(opener) | Keys::Data(opener) => (Some(&**opener), None),
            Keys::Handshake(first, second) => (Some(&**first), Some(&**second)),
        };
        first.into_iter().chain(second)
    }

    /// The next record. `used` is how many bytes at the start of what is held were used before.
    pub fn next(&mut self, used: &mut usize) -> Next<'_> {
        if self.search.is_some() {
            return self.find(used);
        }
        let bytes = self.held.get(*used..).unwrap_or_default();
        let (header, length) = match record::header(bytes) {
            Ok(Some(found)) => found,
            Ok(None) => return Next::Wait,
            Err(NotTls) if self.opened => return self.passed_whole(used),
            Err(NotTls) => return Next::NotTls,
        };
        let Some(body) = bytes.get(HEADER..HEADER + length) else { return Next::Wait };
        let range = *used + HEADER..*used + HEADER + length;
        *used += HEADER + length;
        let kind = header[0];
        let opened = match &mut self.keys {
            Keys::Plain | Keys::Agreed(_) => return Next::Record(kind, self.held.get(range).unwrap_or_default()),
            // From TLS 1.3 on these are sent for the sake of old routers, and mean nothing.
            _ if kind == kind::CHANGE_CIPHER_SPEC && length == 1 => return Next::Passed(0),
            // Before it knows the keys, a client may say that it does not like them.
            Keys::Handshake(..) | Keys::Unknown(_) if kind == kind::ALERT && length == 2 => return Next::Passed(0),
            Keys::Unknown(opener) => match opener.open(0, header, body, &mut self.content) {
                Some(opened) => {
                    opener.seq = 1;
                    Some(opened)
                }
                None => return Next::Passed(0),
            },
            Keys::Handshake(opener, _) | Keys::Data(opener) => {
                let opened = opener.open(opener.seq, header, body, &mut self.content);
                opener.seq += u64::from(opened.is_some());
                opened
            }
        };
        if let Keys::Unknown(_) = self.keys {
            self.data();
        }
        match opened {
            Some(Opened { kind, len }) => {
                self.opened = true;
                Next::Record(kind, self.content.get(..len).unwrap_or_default())
            }
            None => Next::Refused((HEADER + length) as u64),
        }
    }

    /// The bytes that are held do not begin with a record, although one did before: the place is searched behind them.
    fn passed_whole(&mut self, used: &mut usize) -> Next<'_> {
        self.search = Some(Search { records: 2 });
        self.find(used)
    }

    /// A record could not be opened: those after it may have its number, or a later one.
    pub fn search(&mut self) {
        self.message.clear();
        self.search.get_or_insert(Search { records: 2 });
    }

    /// Goes to the keys of the data.
    pub fn data(&mut self) {
        self.keys = match std::mem::replace(&mut self.keys, Keys::Plain) {
            Keys::Agreed(opener) | Keys::Unknown(opener) | Keys::Handshake(_, opener) => Keys::Data(opener),
            keys => keys,
        };
    }

    /// Goes to the keys after an update.
    pub fn update(&mut self) {
        if let Keys::Data(opener) = &mut self.keys
            && let Some(updated) = opener.updated()
        {
            **opener = updated;
        }
    }

    /// Looks for a record that opens: with one of the numbers that it may have, and with the keys that may be in use.
    fn find(&mut self, used: &mut usize) -> Next<'_> {
        let Some(Search { records }) = self.search else { return Next::Wait };
        let begin = *used;
        let mut at = begin;
        // The first place where there may be a record that is not whole yet. What looks like one there may be anything, and a
        // record that opens behind it says so: it is not waited for.
        let mut incomplete = None;
        loop {
            let bytes = self.held.get(at..).unwrap_or_default();
            if bytes.is_empty() || self.budget == 0 {
                // Given up, or all was looked at.
                let kept = incomplete.filter(|_| self.budget > 0);
                *used = kept.unwrap_or(self.held.len());
                return waits(begin, *used);
            }
            let (header, length) = match record::header(bytes) {
                Ok(Some((header, length))) if self.is_plausible(header[0], length) => (header, length),
                Ok(None) => {
                    incomplete.get_or_insert(at);
                    at += 1;
                    continue;
                }
                _ => {
                    at += 1;
                    continue;
                }
            };
            let Some(body) = bytes.get(HEADER..HEADER + length) else {
                incomplete.get_or_insert(at);
                at += 1;
                continue;
            };
            let mut content = std::mem::take(&mut self.content);
            let (found, budget) = self.number(header, body, records, &mut content);
            (self.content, self.budget) = (content, budget);
            if let Some((candidate, seq)) = found {
                self.search = None;
                self.settle(candidate, seq);
                *used = at;
                return Next::Passed((at - begin) as u64);
            }
            at += 1;
        }
    }

    fn is_plausible(&self, kind: u8, length: usize) -> bool {
        let shortest = self.openers().map(Opener::shortest).min();
        shortest.is_some_and(|shortest| length >= shortest) && (kind == kind::DATA || kind >= kind::ALERT)
    }

    /// The keys that open a record, the first or the second, and its number; and the budget that is left.
    fn number(
        &self,
        header: [u8; HEADER],
        body: &[u8],
        records: u64,
        content: &mut Vec<u8>,
    ) -> (Option<(usize, u64)>, usize) {
        let mut budget = self.budget;
        let after = match &self.keys {
            Keys::Data(opener) => opener.updated(),
            _ => None,
        };
        for (candidate, opener) in self.openers().chain(&after).enumerate() {
            let first = if candidate == 0 { opener.seq } else { 0 };
            let found = (first..first.saturating_add(records)).find(|&seq| {
                budget = budget.saturating_sub(body.len() + 64);
                budget > 0 && opener.open(seq, header, body, content).is_some()
            });
            if let Some(seq) = found {
                return (Some((candidate, seq)), budget);
            }
        }
        (None, budget)
    }

    /// Makes the keys that were found the current ones.
    fn settle(&mut self, candidate: usize, seq: u64) {
        match self.keys {
            Keys::Handshake(..) if candidate == 0 => {}
            Keys::Data(_) if candidate == 0 => {}
            Keys::Data(_) => self.update(),
            _ => self.data(),
        }
        if let Keys::Handshake(opener, _) | Keys::Data(opener) = &mut self.keys {
            opener.seq = seq;
        }
        self.opened = true;
    }
}

/// Passes over what is between, and waits for more.
fn waits(begin: usize, at: usize) -> Next<'static> {
    if at == begin { Next::Wait } else { Next::Passed((at - begin) as u64) }
}
