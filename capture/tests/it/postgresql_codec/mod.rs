//! The PostgreSQL codec against two others, pgwire and postgres-protocol, and against bytes that nobody meant.
//!
//! Bytes that both write must be the same, and what one writes the other must read with the same content.
//!
//! - [`client`], [`server`], [`both`]: messages by who sends them
//! - [`noise`], [`everything`]: random and broken bytes, and every way to read them

mod both;
mod client;
mod everything;
mod noise;
mod server;

use bytes::BytesMut;
use pgwire::messages::{DecodeContext, Message, ProtocolVersion};
use postgres_protocol::message::backend as other_backend;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use splitproof_capture::postgresql::{Backend, Direction, Frontend, Unencodable, frame};

// What messages are made of.

fn text() -> impl Strategy<Value = String> {
    "[^\0]{0,12}"
}

fn name() -> impl Strategy<Value = Option<String>> {
    option::of("[^\0]{1,12}")
}

fn blob() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

fn values() -> impl Strategy<Value = Vec<Option<Vec<u8>>>> {
    vec(option::of(blob()), 0..6)
}

fn formats() -> impl Strategy<Value = Vec<i16>> {
    vec(0i16..=1, 0..4)
}

/// The wire form of an optional name: pgwire reads the empty one as none.
fn bytes_of(name: &Option<String>) -> &[u8] {
    name.as_deref().unwrap_or_default().as_bytes()
}

fn borrowed(values: &[Option<Vec<u8>>]) -> Vec<Option<&[u8]>> {
    values.iter().map(Option::as_deref).collect()
}

// How the three codecs are called.

fn written(write: impl FnOnce(&mut Vec<u8>) -> Result<(), Unencodable>) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out).expect("can be written");
    out
}

fn other(write: impl FnOnce(&mut BytesMut)) -> Vec<u8> {
    let mut out = BytesMut::new();
    write(&mut out);
    out.to_vec()
}

fn sent_by_client(bytes: &[u8]) -> Frontend<'_> {
    let frame = frame::next_from(Direction::Client, bytes).expect("valid").expect("complete");
    assert_eq!(frame.len, bytes.len());
    let message = Frontend::decode(frame).expect("valid");
    assert_eq!(written(|out| message.encode(out)), bytes);
    message
}

fn sent_by_server(bytes: &[u8]) -> Backend<'_> {
    let frame = frame::next_from(Direction::Server, bytes).expect("valid").expect("complete");
    assert_eq!(frame.len, bytes.len());
    let message = Backend::decode(frame).expect("valid");
    assert_eq!(written(|out| message.encode(out)), bytes);
    message
}

/// Checks that pgwire writes its message as these bytes of ours, and reads it from them.
fn same_as_pgwire<M: Message + PartialEq + std::fmt::Debug>(theirs: &M, ours: &[u8]) {
    assert_eq!(other(|out| theirs.encode(out).expect("pgwire writes")), ours);
    let mut buffer = BytesMut::from(ours);
    let read = M::decode(&mut buffer, &DecodeContext::new(ProtocolVersion::PROTOCOL3_2));
    assert_eq!(read.expect("pgwire reads").as_ref(), Some(theirs));
    assert!(buffer.is_empty());
}

fn parsed_by_other(bytes: &[u8]) -> other_backend::Message {
    let mut buffer = BytesMut::from(bytes);
    let message = other_backend::Message::parse(&mut buffer).expect("postgres-protocol reads").expect("complete");
    assert!(buffer.is_empty());
    message
}
