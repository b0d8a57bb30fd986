//! The MySQL codec against another, mysql_common, against bytes that nobody meant, and against a real server.
//!
//! What one writes the other must read with the same content, and where both write a message, the bytes must be the same.
//!
//! - [`client`], [`server`], [`values`]: messages by who sends them, and values of the binary protocol
//! - [`noise`], [`everything`]: random and broken bytes, and every way to read them
//! - [`mariadb`]: a client of our own codec and a real MariaDB

mod client;
mod everything;
pub mod mariadb;
mod noise;
mod server;
mod values;

use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::proto::{MyDeserialize, MySerialize};
use proptest::collection::vec;
use proptest::prelude::*;
use splitproof_capture::mysql::{Capabilities, Unencodable};

// What messages are made of.

fn name() -> impl Strategy<Value = String> {
    "[^\0]{0,12}"
}

fn blob() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![9 => vec(any::<u8>(), 0..40), 1 => vec(any::<u8>(), 240..300)]
}

/// The capabilities of the 4.1 protocol and these.
fn since_4_1(more: Capabilities) -> Capabilities {
    Capabilities::ASSUMED | more
}

// How the two codecs are called.

fn written(write: impl FnOnce(&mut Vec<u8>) -> Result<(), Unencodable>) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out).expect("can be written");
    out
}

fn other(message: &impl MySerialize) -> Vec<u8> {
    let mut out = Vec::new();
    message.serialize(&mut out);
    out
}

fn read_by_other<'a, T: MyDeserialize<'a>>(context: T::Ctx, payload: &'a [u8]) -> T {
    let mut rest = ParseBuf(payload);
    let message = T::deserialize(context, &mut rest).expect("the other codec reads it");
    assert!(rest.is_empty(), "the other codec leaves {:?}", rest.0);
    message
}

fn flags(capabilities: Capabilities) -> CapabilityFlags {
    CapabilityFlags::from_bits_retain(capabilities.base())
}
