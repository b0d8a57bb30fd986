//! The rows of several traces in one order, each request once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

use xxhash_rust::xxh3::xxh3_128;

use super::clock::what;
use super::sessions::Numbers;
use crate::trace::{self, Kind, Param, Request, Requests};

/// One trace that is read.
struct Source {
    requests: Requests,
    offset_ns: i64,
    next: Option<Request>,
}

/// A request that may still be seen again.
struct Held {
    request: Request,
    what: u128,
    /// The traces that saw it; the request is of the last one that is named first.
    kept: usize,
    traces: Vec<usize>,
}

/// What of a session that several traces saw was written.
#[derive(Default)]
struct Joint {
    next_seq: u32,
    last_start_ns: i64,
    /// Whether its beginning is in none of the traces, as its first row tells.
    midway: bool,
    /// What a trace's pipeline groups lack to be those of the others.
    groups: HashMap<usize, i64>,
    /// Places of the requests that are held.
    held: VecDeque<(i64, u64)>,
}

/// Streams the rows of traces by their start, with the clocks put right. What may come again waits as long as the clocks
/// may be wrong; that is all that is held.
pub(super) struct Rows<'a> {
    sources: Vec<Source>,
    heads: BinaryHeap<Reverse<(i64, usize)>>,
    numbers: &'a Numbers,
    tolerance_ns: i64,
    held: BTreeMap<(i64, u64), Held>,
    joint: HashMap<u64, Joint>,
    ready: VecDeque<Request>,
    arrived: u64,
    /// Requests that two traces saw, and that are written once.
    pub duplicates: u64,
    /// Rows read.
    pub read: u64,
}

impl<'a> Rows<'a> {
    pub fn new(traces: Vec<(Requests, i64)>, numbers: &'a Numbers, tolerance_ns: i64) -> Result<Self, trace::Error> {
        let sources =
            traces.into_iter().map(|(requests, offset_ns)| Source { requests, offset_ns, next: None }).collect();
        let mut rows = Rows {
            sources,
            heads: BinaryHeap::new(),
            numbers,
            tolerance_ns,
            held: BTreeMap::new(),
            joint: HashMap::new(),
            ready: VecDeque::new(),
            arrived: 0,
            duplicates: 0,
            read: 0,
        };
        for at in 0..rows.sources.len() {
            rows.advance(at)?;
        }
        Ok(rows)
    }

    /// The next row; not quite in the order of start, but in that of each session.
    pub fn next(&mut self) -> Result<Option<Request>, trace::Error> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Ok(Some(ready));
            }
            let Some(Reverse((start, at))) = self.heads.pop() else {
                let Some((place, held)) = self.held.pop_first() else { return Ok(None) };
                let request = self.write(place, held);
                return Ok(Some(request));
            };
            self.release(start.saturating_sub(self.tolerance_ns.saturating_mul(2)));
            if let Some(request) = self.advance(at)? {
                self.read += 1;
                self.take(at, request);
            }
        }
    }

    /// Takes the next row of a trace, and reads the one after it.
    fn advance(&mut self, at: usize) -> Result<Option<Request>, trace::Error> {
        let Some(source) = self.sources.get_mut(at) else { return Ok(None) };
        let mut next = source.requests.next().transpose()?;
        if let Some(next) = &mut next {
            next.start_ns = next.start_ns.saturating_add(source.offset_ns);
            self.heads.push(Reverse((next.start_ns, at)));
        }
        Ok(std::mem::replace(&mut source.next, next))
    }

    fn take(&mut self, at: usize, mut request: Request) {
        if let Some(number) = self.numbers.of(at, request.session) {
            request.session = number;
        }
        if request.kind == Kind::Cancel {
            self.aim(at, &mut request);
        }
        if !self.numbers.is_joint(request.session) {
            self.ready.push_back(request);
            return;
        }
        let what = fingerprint(&request);
        let joint = self.joint.entry(request.session).or_default();
        let twin = joint.held.iter().find(|place| {
            place.0.abs_diff(request.start_ns) <= self.tolerance_ns.unsigned_abs()
                && self.held.get(place).is_some_and(|held| held.what == what && !held.traces.contains(&at))
        });
        match twin.copied() {
            Some(place) => {
                let Some(held) = self.held.get_mut(&place) else { return };
                self.duplicates += 1;
                held.traces.push(at);
                if let Some((known, new)) = held.request.pipeline_group.zip(request.pipeline_group) {
                    // The one that counts less joined the session later.
                    let shift = |trace: usize| joint.groups.get(&trace).copied().unwrap_or(0);
                    let (known, new) = (i64::from(known) + shift(held.kept), i64::from(new) + shift(at));
                    let (trace, lacks) = if known > new { (at, known - new) } else { (held.kept, new - known) };
                    *joint.groups.entry(trace).or_default() += lacks;
                }
                if worth(&request) > worth(&held.request) {
                    (held.request, held.kept) = (request, at);
                }
            }
            None => {
                let place = (request.start_ns, self.arrived);
                self.arrived += 1;
                joint.held.push_back(place);
                self.held.insert(place, Held { request, what, kept: at, traces: vec![at] });
            }
        }
    }

    /// Gives out what began before this time.
    fn release(&mut self, before_ns: i64) {
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 < before_ns) {
            let (place, held) = entry.remove_entry();
            let request = self.write(place, held);
            self.ready.push_back(request);
        }
    }

    /// Numbers a row of a session that several traces saw.
    fn write(&mut self, place: (i64, u64), held: Held) -> Request {
        let Held { mut request, kept, .. } = held;
        let joint = self.joint.entry(request.session).or_default();
        joint.held.retain(|other| *other != place);
        if joint.next_seq == 0 {
            joint.midway = request.joined_midway;
        }
        request.joined_midway = joint.midway;
        request.seq = joint.next_seq;
        joint.next_seq += 1;
        // A row that is kept from another trace may seem to begin before the one that it follows.
        request.start_ns = request.start_ns.max(joint.last_start_ns);
        joint.last_start_ns = request.start_ns;
        let shift = joint.groups.get(&kept).copied().unwrap_or(0);
        request.pipeline_group =
            request.pipeline_group.map(|group| u32::try_from(i64::from(group) + shift).unwrap_or(group));
        request
    }

    /// A cancel request names the session at which it is aimed.
    fn aim(&self, at: usize, request: &mut Request) {
        for Param { value, .. } in &mut request.params {
            let target = value.as_deref().and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
            if let Some(number) = target.and_then(|target| self.numbers.of(at, target)) {
                *value = Some(number.to_string().into_bytes().into());
            }
        }
    }
}

/// What a request asks for, with its parameters.
fn fingerprint(request: &Request) -> u128 {
    let mut bytes = what(request).to_le_bytes().to_vec();
    if !matches!(request.kind, Kind::Connect | Kind::Disconnect) {
        for param in &request.params {
            bytes.push(param.value.is_some().into());
            bytes.extend(param.value.iter().flat_map(|value| value.iter()));
        }
        bytes.extend(request.copy_data.len().to_le_bytes());
    }
    xxh3_128(&bytes)
}

/// Which of two rows of one request tells more: answered, whole, undoubted.
fn worth(request: &Request) -> [bool; 4] {
    [request.duration_ns.is_some(), !request.truncated, !request.joined_midway, !request.gap_before]
}
