//! Scenarios are told line by line; the number of the line is the time:
//!
//! - `3 def`: a segment whose first byte is byte 3 of the stream; `3 def+4`: four more bytes were cut off
//! - `ack 6`: the peer has the first six bytes
//! - `fin 6`: a FIN after six bytes
//! - `bound 50`, `older 2`: gives up holes until at most so many bytes wait, or none since before that time
//! - `flush`: the connection ends
//!
//! What comes out is written as `abc` for bytes and `[3]` for a gap of three.

use std::ops::Range;

use proptest::{prelude::*, sample::Index};

use super::*;

#[derive(Default)]
struct Heard {
    text: String,
    times: Vec<i64>,
}

impl Receiver for Heard {
    fn bytes(&mut self, at_ns: i64, bytes: &[u8]) {
        self.text.push_str(&String::from_utf8_lossy(bytes));
        self.times.push(at_ns);
    }

    fn gap(&mut self, at_ns: i64, missing: u64) {
        self.text.push_str(&format!("[{missing}]"));
        self.times.push(at_ns);
    }
}

/// Plays a scenario on a stream whose first byte has sequence number `first`.
fn play_from(first: u32, script: &str) -> (Heard, Stream) {
    let mut heard = Heard::default();
    let mut stream = Stream::default();
    stream.start(first);
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    for (at, line) in (1..).zip(lines) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let number = || rest.parse::<u32>().expect("a number");
        match word {
            "ack" => stream.acknowledged(at, first.wrapping_add(number()), &mut heard),
            "fin" => stream.fin(at, first.wrapping_add(number()), &mut heard),
            "bound" => stream.bound(at, number() as usize, i64::MIN, &mut heard),
            "older" => stream.bound(at, usize::MAX, number().into(), &mut heard),
            "flush" => stream.flush(at, &mut heard),
            _ => {
                let offset: i32 = word.parse().expect("an offset");
                let (data, missing) = rest.split_once('+').unwrap_or((rest, "0"));
                let missing = missing.parse().expect("a number of bytes");
                stream.segment(at, first.wrapping_add_signed(offset), data.as_bytes(), missing, &mut heard);
            }
        }
    }
    (heard, stream)
}

/// What comes out must not depend on where the sequence numbers wrap.
fn play(script: &str) -> String {
    let (heard, _) = play_from(1000, script);
    for wrap_after in 0..24 {
        assert_eq!(play_from(0_u32.wrapping_sub(wrap_after), script).0.text, heard.text, "wrap after {wrap_after}");
    }
    heard.text
}

#[test]
fn in_order() {
    assert_eq!(play("0 abc \n 3 def \n 6 ghi"), "abcdefghi");
}

#[test]
fn reordered() {
    assert_eq!(play("6 ghi \n 3 def \n 0 abc \n 9 j"), "abcdefghij");
}

#[test]
fn repeated() {
    assert_eq!(play("0 abc \n 0 abc \n 3 def \n 3 def \n 0 abcdef \n 6 g"), "abcdefg");
}

#[test]
fn repeated_while_waiting() {
    assert_eq!(play("3 def \n 3 def \n 3 de \n 4 e \n 0 abc"), "abcdef");
}

#[test]
fn the_first_of_overlapping_bytes_wins() {
    assert_eq!(play("0 abc \n 1 XXd \n 4 e"), "abcde");
    assert_eq!(play("3 def \n 0 abcXXXg \n 7 h"), "abcdefgh");
    assert_eq!(play("2 c \n 6 g \n 0 abXdefXhi"), "abcdefghi");
    assert_eq!(play("4 ef \n 2 cdXX \n 5 Xg \n 0 ab"), "abcdefg");
}

#[test]
fn a_hole_waits_for_its_segment() {
    assert_eq!(play("0 abc \n 6 ghi \n 9 j"), "abc");
    assert_eq!(play("0 abc \n 6 ghi \n ack 3 \n 3 def"), "abcdefghi");
}

#[test]
fn an_acknowledged_hole_is_a_gap() {
    assert_eq!(play("0 abc \n 6 ghi \n ack 9 \n 9 j"), "abc[3]ghij");
    assert_eq!(play("0 abc \n ack 6 \n 6 ghi"), "abc[3]ghi");
    assert_eq!(play("0 abc \n 6 ghi \n 12 m \n ack 9 \n 9 jkl"), "abc[3]ghijklm");
}

#[test]
fn an_acknowledgement_alone_is_no_gap() {
    // The capture may show the acknowledgement first.
    assert_eq!(play("0 abc \n ack 6 \n 3 def"), "abcdef");
}

#[test]
fn an_acknowledgement_inside_a_hole_is_no_gap() {
    assert_eq!(play("0 abc \n 6 ghi \n ack 5"), "abc");
    assert_eq!(play("0 abc \n 6 ghi \n ack 5 \n 3 def"), "abcdefghi");
    // but once the rest of the hole is there, its acknowledged part will not come
    assert_eq!(play("0 abc \n 6 ghi \n ack 5 \n 5 f"), "abc[2]fghi");
}

#[test]
fn a_late_segment_does_not_fill_a_gap() {
    let (heard, stream) = play_from(7, "0 abc \n 6 ghi \n ack 9 \n 3 def \n 9 j");
    assert_eq!(heard.text, "abc[3]ghij");
    assert_eq!(stream.counts(), Counts { delivered: 7, cut: 0, repeated: 3, early: 1, gaps: 1, gap_bytes: 3 });
}

/// Found by fuzzing: it waited to be next, which it never is, and so did everybody.
#[test]
fn a_segment_half_of_all_numbers_away_does_not_wait() {
    for far in ["-2147483648 vwxyz", "2147483647 vwxyz", "-2147483645 vwxyz", "2147483646 vwxyz"] {
        let (heard, stream) = play_from(7, &format!("0 abc \n {far} \n 6 ghi \n older 9 \n flush"));
        assert_eq!((&*heard.text, stream.counts().repeated), ("abc[3]ghi", 5), "{far}");
    }
    let (heard, stream) = play_from(7, "0 abc \n 2147483600 x \n 3 d \n older 9 \n flush");
    assert_eq!((&*heard.text, stream.counts().repeated), ("abcd[2147483596]x", 0));
}

#[test]
fn too_much_behind_a_hole_makes_it_a_gap() {
    assert_eq!(play("0 abc \n 6 ghi \n 12 mno \n bound 50"), "abc[3]ghi");
    assert_eq!(play("0 abc \n 6 ghi \n 12 mno \n bound 0"), "abc[3]ghi[3]mno");
}

#[test]
fn too_old_a_hole_is_a_gap() {
    assert_eq!(play("0 abc \n 6 ghi \n 12 mno \n older 2"), "abc");
    assert_eq!(play("0 abc \n 6 ghi \n 12 mno \n older 3"), "abc[3]ghi");
    assert_eq!(play("0 abc \n 6 ghi \n 12 mno \n older 4"), "abc[3]ghi[3]mno");
}

#[test]
fn the_end_of_the_connection_hands_over_what_waits() {
    assert_eq!(play("0 abc \n 6 ghi \n 12 mno \n flush"), "abc[3]ghi[3]mno");
    assert_eq!(play("0 abc \n fin 5 \n flush"), "abc[2]");
    assert_eq!(play("flush"), "");
}

#[test]
fn a_fin_ends_the_stream_when_all_before_it_came() {
    let (heard, stream) = play_from(7, "3 def \n fin 6");
    assert_eq!((heard.text.as_str(), stream.finished()), ("", false));
    let (heard, stream) = play_from(7, "3 def \n fin 6 \n 0 abc");
    assert_eq!((heard.text.as_str(), stream.finished()), ("abcdef", true));
}

#[test]
fn an_acknowledged_fin_shows_the_gap_before_it() {
    assert_eq!(play("0 abc \n fin 6 \n ack 6"), "abc");
    assert_eq!(play("0 abc \n fin 6 \n ack 7"), "abc[3]");
}

#[test]
fn keep_alive_and_window_probes_repeat_the_last_byte() {
    assert_eq!(play("0 abc \n ack 3 \n 2 ? \n 3 def"), "abcdef");
    // also where the capture is behind: the byte is acknowledged, so its content says nothing
    assert_eq!(play("0 abc \n ack 6 \n 5 ? \n 3 def"), "abcdef");
    // a probe of a closed window may carry the next byte, which comes again if it was refused
    assert_eq!(play("0 abc \n ack 3 \n 3 d \n ack 3 \n 3 d \n 3 def \n 6 g"), "abcdefg");
}

#[test]
fn bytes_cut_off_are_a_gap_at_once() {
    assert_eq!(play("0 abc+3 \n 6 ghi"), "abc[3]ghi");
    assert_eq!(play("0 +6 \n 6 ghi"), "[6]ghi");
    assert_eq!(play("6 ghi+2 \n 3 def \n 0 abc \n 11 l"), "abcdefghi[2]l");
    assert_eq!(play("0 abc+3 \n 0 abc+3 \n 6 g"), "abc[3]g");
}

#[test]
fn without_a_syn_the_first_segment_begins_the_stream() {
    let (mut heard, mut stream) = (Heard::default(), Stream::default());
    stream.segment(1, u32::MAX, b"abc", 0, &mut heard);
    stream.segment(2, 2, b"def", 0, &mut heard);
    assert_eq!(heard.text, "abcdef");
    assert_eq!(stream.began(), None);
}

#[test]
fn bytes_carry_their_arrival_but_never_before_what_they_waited_for() {
    let (heard, _) = play_from(0, "0 abc \n 6 ghi \n 12 m \n 3 def \n 9 jkl");
    // abc 1, def 4, ghi (came at 2) 4, jkl 5, m (came at 3) 5
    assert_eq!((heard.text.as_str(), heard.times.as_slice()), ("abcdefghijklm", &[1, 4, 4, 5, 5][..]));
}

#[test]
fn memory_is_given_back() {
    let (_, stream) = play_from(0, "3 def \n 9 j \n 5 fgh");
    assert!(stream.buffered() > 0);
    let (_, stream) = play_from(0, "3 def \n 9 j \n 5 fgh \n 8 i \n 0 abc");
    assert_eq!(stream.buffered(), 0);
}

/// A stream cut into segments, some of them repeated with other borders, in an order that a network could make.
fn shuffled() -> impl Strategy<Value = (u32, Vec<u8>, Vec<Range<usize>>)> {
    let segments = prop::collection::vec((any::<Index>(), 1..40_usize, 0..12_usize, 0..4_u8), 1..80);
    (any::<u32>(), prop::collection::vec(any::<u8>(), 1..600), segments).prop_map(|(first, bytes, extra)| {
        let mut sent = Vec::new();
        let mut at = 0;
        let mut sizes = extra.iter().map(|(_, size, ..)| *size).cycle();
        while at < bytes.len() {
            let end = bytes.len().min(at + sizes.next().unwrap_or(1));
            sent.push((sent.len(), at..end));
            at = end;
        }
        for (index, size, delay, repeats) in &extra {
            let i = index.index(sent.len());
            // a displaced segment, and a repetition with other borders
            sent[i].0 += delay;
            if *repeats == 0 {
                let start = sent[i].1.start;
                let range = start.saturating_sub(*delay)..bytes.len().min(start + size);
                sent.push((i + delay, range));
            }
        }
        sent.sort_by_key(|(order, _)| *order);
        (first, bytes, sent.into_iter().map(|(_, range)| range).collect())
    })
}

proptest! {
    #[test]
    fn any_order_gives_the_stream((first, bytes, order) in shuffled()) {
        struct Bytes(Vec<u8>, i64);
        impl Receiver for Bytes {
            fn bytes(&mut self, at_ns: i64, bytes: &[u8]) {
                assert!(at_ns >= self.1, "time went back");
                self.1 = at_ns;
                self.0.extend_from_slice(bytes);
            }
            fn gap(&mut self, _: i64, missing: u64) {
                panic!("a gap of {missing} where nothing was lost");
            }
        }
        let mut heard = Bytes(Vec::new(), 0);
        let mut stream = Stream::default();
        stream.start(first);
        for (at, range) in (0..).zip(order) {
            let seq = first.wrapping_add(range.start as u32);
            stream.segment(at, seq, &bytes[range], 0, &mut heard);
        }
        prop_assert_eq!(heard.0, bytes);
        prop_assert_eq!(stream.buffered(), 0);
    }

    #[test]
    fn every_byte_is_handed_over_or_in_a_gap((first, bytes, mut order) in shuffled(), lost in any::<Index>()) {
        struct Length(u64);
        impl Receiver for Length {
            fn bytes(&mut self, _: i64, bytes: &[u8]) {
                self.0 += bytes.len() as u64;
            }
            fn gap(&mut self, _: i64, missing: u64) {
                self.0 += missing;
            }
        }
        order.remove(lost.index(order.len()));
        let mut heard = Length(0);
        let mut stream = Stream::default();
        stream.start(first);
        for (at, range) in (0..).zip(order) {
            let seq = first.wrapping_add(range.start as u32);
            let data = &bytes[range];
            // every third is cut by the snap length
            let kept = if at % 3 == 0 { data.len() / 2 } else { data.len() };
            stream.segment(at, seq, &data[..kept], (data.len() - kept) as u32, &mut heard);
            if at % 5 == 0 {
                stream.acknowledged(at, seq, &mut heard);
            }
        }
        stream.fin(1000, first.wrapping_add(bytes.len() as u32), &mut heard);
        stream.flush(1000, &mut heard);
        prop_assert_eq!(heard.0, bytes.len() as u64);
        prop_assert!(stream.finished());
    }
}
