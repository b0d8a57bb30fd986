//! One TCP connection: two streams and the decoder that they feed.

use super::{
    assembler::{Context, Limits},
    stream::{Receiver, Stream},
    tcp::{Endpoint, Segment, flags},
};
use crate::{
    session::{Close, Decoder, Start},
    trace::Engine,
};

/// The largest distance between a segment and the stream it belongs to: more than any window in use. Beyond it, in
/// both directions at once, the segment belongs to another connection between the same ports.
const FAR: u32 = 1 << 26;

/// A connection. It has a decoder from its first payload to its end; afterwards it stays for a while, so that late
/// repetitions are not taken for a new connection.
pub(super) struct Flow {
    link: Link,
    streams: Streams,
    /// Who sent the first FIN.
    ending: Option<Close>,
    closed: bool,
    last_ns: i64,
}

/// The two directions, by who sends.
#[derive(Default)]
struct Streams {
    client: Stream,
    server: Stream,
}

impl Streams {
    /// The sender's stream and the other one.
    #[inline]
    fn pair(&mut self, from_client: bool) -> (&mut Stream, &mut Stream) {
        match from_client {
            true => (&mut self.client, &mut self.server),
            false => (&mut self.server, &mut self.client),
        }
    }
}

/// What a connection is, and its decoder.
struct Link {
    client: Endpoint,
    server: Endpoint,
    engine: Engine,
    midway: bool,
    /// Its number, once it has carried data.
    session: Option<u64>,
    decoder: Option<Box<dyn Decoder>>,
}

impl Link {
    /// The decoder, which the first data opens: a port scan is not a session.
    #[inline]
    fn decoder(&mut self, cx: &mut Context<'_>) -> &mut dyn Decoder {
        &mut **self.decoder.get_or_insert_with(|| {
            let start = Start {
                client: self.client.to_string().into(),
                server: self.server.to_string().into(),
                midway: self.midway,
            };
            let (number, decoder) = cx.open(self.engine, start);
            self.session = Some(number);
            decoder
        })
    }
}

/// Feeds the bytes of one direction to the decoder.
struct Feed<'a, 'b> {
    client: bool,
    link: &'a mut Link,
    cx: &'a mut Context<'b>,
}

impl Receiver for Feed<'_, '_> {
    #[inline]
    fn bytes(&mut self, at_ns: i64, bytes: &[u8]) {
        let decoder = self.link.decoder(self.cx);
        match self.client {
            true => decoder.client(at_ns, bytes, self.cx.out),
            false => decoder.server(at_ns, bytes, self.cx.out),
        }
    }

    fn gap(&mut self, at_ns: i64, missing: u64) {
        let decoder = self.link.decoder(self.cx);
        match self.client {
            true => decoder.client_gap(at_ns, missing, self.cx.out),
            false => decoder.server_gap(at_ns, missing, self.cx.out),
        }
    }
}

impl Flow {
    /// A connection as its first packet shows it.
    pub fn new(segment: &Segment<'_>, from_client: bool, engine: Engine) -> Self {
        let (client, server) = match from_client {
            true => (segment.source, segment.destination),
            false => (segment.destination, segment.source),
        };
        let mut flow = Flow {
            link: Link { client, server, engine, midway: true, session: None, decoder: None },
            streams: Streams::default(),
            ending: None,
            closed: false,
            last_ns: i64::MIN,
        };
        if segment.has(flags::SYN) {
            flow.link.midway = false;
            let (own, other) = flow.streams.pair(from_client);
            own.start(segment.seq.wrapping_add(1));
            if segment.has(flags::ACK) {
                // the client's SYN was not seen, but this answers it
                other.start(segment.ack);
            }
        }
        flow
    }

    /// True when this end is the client.
    pub fn is_client(&self, end: Endpoint) -> bool {
        self.link.client == end
    }

    /// Its number, once it has carried data.
    pub fn session(&self) -> Option<u64> {
        self.link.session
    }

    /// Its decoder, while it is open.
    pub fn decoder(&self) -> Option<&dyn Decoder> {
        self.link.decoder.as_deref()
    }

    /// True when it has ended.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Time of its latest packet.
    pub fn last_ns(&self) -> i64 {
        self.last_ns
    }

    /// True when the segment belongs to a later connection between the same ports.
    #[inline]
    pub fn is_another(&self, segment: &Segment<'_>, from_client: bool) -> bool {
        let Streams { client, server } = &self.streams;
        let (own, other) = if from_client { (client, server) } else { (server, client) };
        if segment.has(flags::SYN) {
            // A repeated SYN has the number of the first; a connection that was joined midway is past its own.
            return self.link.midway || own.began().is_some_and(|first| first != segment.seq.wrapping_add(1));
        }
        let far = |seq: u32, stream: &Stream| {
            stream.next().is_some_and(|next| {
                let distance = seq.wrapping_sub(next);
                distance.min(distance.wrapping_neg()) > FAR
            })
        };
        segment.len() > 0 && segment.has(flags::ACK) && far(segment.seq, own) && far(segment.ack, other)
    }

    /// Takes one packet of this connection.
    #[inline]
    pub fn packet(
        &mut self,
        at_ns: i64,
        segment: &Segment<'_>,
        from_client: bool,
        limits: &Limits,
        cx: &mut Context<'_>,
    ) {
        self.last_ns = self.last_ns.max(at_ns);
        if self.closed {
            cx.statistics.after_close_bytes += u64::from(segment.len());
            return;
        }
        if segment.flags & (flags::SYN | flags::FIN | flags::RST) != 0 {
            return self.control(at_ns, segment, from_client, limits, cx);
        }
        self.data(at_ns, segment, segment.seq, from_client, limits, cx);
    }

    #[inline]
    fn data(
        &mut self,
        at_ns: i64,
        segment: &Segment<'_>,
        seq: u32,
        from_client: bool,
        limits: &Limits,
        cx: &mut Context<'_>,
    ) {
        let (own, other) = self.streams.pair(from_client);
        // First the acknowledgement: what the sender had received comes before what it says now.
        if segment.has(flags::ACK) {
            other.acknowledged(at_ns, segment.ack, &mut Feed { client: !from_client, link: &mut self.link, cx });
        }
        if own.finished() {
            cx.statistics.after_close_bytes += u64::from(segment.len());
        } else if segment.len() > 0 {
            let mut feed = Feed { client: from_client, link: &mut self.link, cx };
            own.segment(at_ns, seq, segment.payload, segment.missing, &mut feed);
            if own.buffered() > limits.buffered {
                own.bound(at_ns, limits.buffered, i64::MIN, &mut feed);
            }
        }
    }

    /// A packet with SYN, FIN or RST.
    #[cold]
    fn control(&mut self, at_ns: i64, segment: &Segment<'_>, from_client: bool, limits: &Limits, cx: &mut Context<'_>) {
        let mut seq = segment.seq;
        if segment.has(flags::SYN) {
            seq = seq.wrapping_add(1);
            let (own, _) = self.streams.pair(from_client);
            if own.next().is_none() {
                own.start(seq);
            }
        }
        if segment.has(flags::RST) {
            cx.statistics.after_close_bytes += u64::from(segment.len());
            // A blind reset with a made-up number ends nothing.
            let (own, _) = self.streams.pair(from_client);
            if own.next().is_none_or(|next| seq.wrapping_sub(next).wrapping_add(1) <= FAR) {
                self.close(at_ns, self.ending.unwrap_or(Close::Reset), cx);
            }
            return;
        }
        self.data(at_ns, segment, seq, from_client, limits, cx);
        if segment.has(flags::FIN) {
            let (own, _) = self.streams.pair(from_client);
            let fin = seq.wrapping_add(segment.len());
            own.fin(at_ns, fin, &mut Feed { client: from_client, link: &mut self.link, cx });
            self.ending.get_or_insert(if from_client { Close::Client } else { Close::Server });
        }
        if self.streams.client.finished() && self.streams.server.finished() {
            self.close(at_ns, self.ending.unwrap_or(Close::Reset), cx);
        }
    }

    /// Memory taken by data that waits behind holes, bytes.
    pub fn buffered(&self) -> usize {
        self.streams.client.buffered() + self.streams.server.buffered()
    }

    /// Gives up holes that have waited since before `oldest_ns`.
    pub fn give_up(&mut self, at_ns: i64, oldest_ns: i64, cx: &mut Context<'_>) {
        let link = &mut self.link;
        self.streams.client.bound(at_ns, usize::MAX, oldest_ns, &mut Feed { client: true, link, cx });
        self.streams.server.bound(at_ns, usize::MAX, oldest_ns, &mut Feed { client: false, link, cx });
    }

    /// Ends the connection: hands over what waits, and closes the decoder. `how` is what is known if no FIN was seen.
    pub fn end(&mut self, at_ns: i64, how: Close, cx: &mut Context<'_>) {
        self.close(at_ns, self.ending.unwrap_or(how), cx);
    }

    fn close(&mut self, at_ns: i64, how: Close, cx: &mut Context<'_>) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        let link = &mut self.link;
        self.streams.client.flush(at_ns, &mut Feed { client: true, link, cx });
        self.streams.server.flush(at_ns, &mut Feed { client: false, link, cx });
        cx.statistics.streams.merge(self.streams.client.counts());
        cx.statistics.streams.merge(self.streams.server.counts());
        if let Some(mut decoder) = link.decoder.take() {
            decoder.close(at_ns, how, cx.out);
            cx.losses.merge(decoder.losses());
        }
    }
}
