//! IP packets that were sent in pieces, put together again.

use std::collections::{HashMap, hash_map::Entry};

use foldhash::fast::RandomState;

use super::tunnel::Piece;

/// How long the missing pieces of a packet are waited for, nanoseconds: as long as Linux waits.
const WAIT_NS: i64 = 30_000_000_000;

/// How long a packet that was whole is remembered, so that pieces seen twice are recognised, nanoseconds.
const LINGER_NS: i64 = 1_000_000_000;

/// Memory for all packets, bytes. Beyond it the oldest are given up.
const MEMORY: usize = 64 << 20;

/// The longest payload of a packet.
const LONGEST: usize = 65_535;

/// What a piece costs beside its bytes.
const PIECE: usize = 64;

/// What the pieces of a packet have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    source: u128,
    destination: u128,
    protocol: u8,
    id: u32,
}

/// A packet of which not all pieces came, or all did just now.
struct Pending {
    began_ns: i64,
    /// By their offset; none overlaps the one before.
    pieces: Vec<(usize, Box<[u8]>)>,
    /// Length of the payload, once its end was seen.
    total: Option<usize>,
    bytes: usize,
    /// Packets that came for it; none once they are accounted for.
    packets: u64,
    done: bool,
}

/// A packet that was put together.
pub(super) struct Whole {
    pub source: u128,
    pub destination: u128,
    pub protocol: u8,
    pub payload: Vec<u8>,
    /// Packets in which its pieces came.
    pub packets: u64,
}

/// What a piece did.
pub(super) enum Pushed {
    /// Others are missing.
    Waiting,
    /// It was the last that was missing.
    Whole(Whole),
    /// It came again after its packet was whole.
    Repeated,
}

/// The packets of which pieces are missing.
#[derive(Default)]
pub(super) struct Fragments {
    pending: HashMap<Key, Pending, RandomState>,
    memory: usize,
    swept_ns: i64,
    /// Pieces that were given up and not told yet.
    lost: u64,
}

impl Pending {
    fn new(began_ns: i64) -> Self {
        Pending { began_ns, pieces: Vec::new(), total: None, bytes: 0, packets: 0, done: false }
    }

    /// Memory that it takes.
    fn cost(&self) -> usize {
        size_of::<(Key, Pending)>() + self.bytes + self.pieces.len() * PIECE
    }

    fn has(&self, offset: usize, data: &[u8]) -> bool {
        self.pieces.iter().any(|(at, piece)| *at == offset && **piece == *data)
    }

    /// Keeps a piece. Of pieces that overlap the earlier one counts, and the packet stays incomplete: senders do not
    /// make such pieces.
    fn add(&mut self, offset: usize, data: &[u8], more: bool) {
        self.packets += 1;
        let end = offset + data.len();
        if !more {
            self.total.get_or_insert(end);
        }
        let at = self.pieces.partition_point(|(at, piece)| at + piece.len() <= offset);
        let free = self.pieces.get(at).is_none_or(|(next, _)| end <= *next);
        if free && !data.is_empty() {
            self.pieces.insert(at, (offset, data.into()));
            self.bytes += data.len();
        }
    }

    /// The payload, when nothing of it is missing.
    fn whole(&self) -> Option<Vec<u8>> {
        let total = self.total.filter(|&total| total == self.bytes)?;
        let mut payload = Vec::with_capacity(total);
        for (offset, piece) in &self.pieces {
            if *offset != payload.len() {
                return None;
            }
            payload.extend_from_slice(piece);
        }
        Some(payload)
    }
}

impl Fragments {
    /// Takes a piece.
    pub fn push(&mut self, at_ns: i64, piece: &Piece<'_>) -> Pushed {
        let &Piece { source, destination, protocol, part, payload } = piece;
        let key = Key { source, destination, protocol, id: part.id };
        if part.offset + payload.data.len() > LONGEST {
            self.lost += 1;
            return Pushed::Waiting;
        }
        let mut entry = match self.pending.entry(key) {
            Entry::Occupied(entry) => entry,
            Entry::Vacant(entry) => {
                let entry = entry.insert_entry(Pending::new(at_ns));
                self.memory += entry.get().cost();
                entry
            }
        };
        let pending = entry.get_mut();
        let before = pending.cost();
        if pending.done {
            if pending.has(part.offset, payload.data) {
                return Pushed::Repeated;
            }
            // The number was used again.
            *pending = Pending::new(at_ns);
        }
        pending.add(part.offset, payload.data, part.more);
        let whole = pending.whole();
        let packets = pending.packets;
        if whole.is_some() {
            (pending.done, pending.packets, pending.began_ns) = (true, 0, at_ns);
        }
        self.memory = self.memory + pending.cost() - before;
        if self.memory > MEMORY {
            self.shed();
        }
        match whole {
            Some(payload) => Pushed::Whole(Whole { source, destination, protocol, payload, packets }),
            None => Pushed::Waiting,
        }
    }

    /// Gives up what has waited too long. Returns how many pieces were given up since the last call.
    pub fn expire(&mut self, now_ns: i64) -> u64 {
        if now_ns.saturating_sub(self.swept_ns) >= LINGER_NS || now_ns < self.swept_ns {
            self.swept_ns = now_ns;
            self.give_up(|pending| {
                let wait = if pending.done { LINGER_NS } else { WAIT_NS };
                now_ns.saturating_sub(pending.began_ns) >= wait
            });
        }
        std::mem::take(&mut self.lost)
    }

    /// Makes room: gives up the older half.
    #[cold]
    fn shed(&mut self) {
        let mut times: Vec<i64> = self.pending.values().map(|pending| pending.began_ns).collect();
        let middle = times.len() / 2;
        if middle < times.len() {
            let (_, &mut middle, _) = times.select_nth_unstable(middle);
            self.give_up(|pending| pending.began_ns <= middle);
        }
    }

    fn give_up(&mut self, over: impl Fn(&Pending) -> bool) {
        let (memory, lost) = (&mut self.memory, &mut self.lost);
        self.pending.retain(|_, pending| {
            let over = over(pending);
            if over {
                *memory -= pending.cost();
                *lost += pending.packets;
            }
            !over
        });
    }
}
