//! Bytes that nobody meant.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use splitproof_capture::postgresql::authentication::write_sasl;
use splitproof_capture::postgresql::call::FunctionCall;
use splitproof_capture::postgresql::chain::plausible;
use splitproof_capture::postgresql::copy::{CopyDirection, CopyResponse};
use splitproof_capture::postgresql::extended::{Bind, Parse, Target, write_parameter_description};
use splitproof_capture::postgresql::report::write_error;
use splitproof_capture::postgresql::row::{Column, DataRow, RowDescription};
use splitproof_capture::postgresql::startup::{write_negotiation, write_startup};
use splitproof_capture::postgresql::{Backend, Direction, Frontend, Startup, frame};
use splitproof_capture::trace::TransactionStatus;

use super::everything::read_everything;
use super::written;

/// Messages of both directions, each of which has something that can be broken.
fn some_messages() -> Vec<Vec<u8>> {
    let column =
        Column { name: b"id", table: 16384, attribute: 1, type_id: 23, type_size: 4, type_modifier: -1, format: 0 };
    vec![
        written(|out| Frontend::Query { sql: b"SELECT 1; SELECT 2" }.encode(out)),
        written(|out| Parse::write(out, b"s", b"SELECT $1, $2", &[23, 0])),
        written(|out| Bind::write(out, b"p", b"s", &[1, 0], [Some(&b"abcd"[..]), None], &[1])),
        written(|out| Frontend::Describe(Target::Portal(b"p")).encode(out)),
        written(|out| Frontend::Execute { portal: b"p", limit: 7 }.encode(out)),
        written(|out| FunctionCall::write(out, 955, &[1], [Some(&b"abcd"[..]), None], 1)),
        written(|out| Frontend::CopyFail(b"no").encode(out)),
        written(|out| DataRow::write(out, [Some(&b"42"[..]), None, Some(b"")])),
        written(|out| RowDescription::write(out, [column, column])),
        written(|out| write_parameter_description(out, &[23, 25])),
        written(|out| write_error(out, [(b'S', &b"ERROR"[..]), (b'C', b"42P01"), (b'M', b"no such table")])),
        written(|out| write_sasl(out, &[b"SCRAM-SHA-256-PLUS", b"SCRAM-SHA-256"])),
        written(|out| write_negotiation(out, (3, 2), &[b"_pq_.x"])),
        written(|out| CopyResponse::write(out, CopyDirection::Out, false, &[0, 0])),
        written(|out| Backend::BackendKeyData { process_id: 1, secret: b"abcdefgh" }.encode(out)),
        written(|out| Backend::CommandComplete { tag: b"SELECT 1" }.encode(out)),
        written(|out| Backend::ReadyForQuery(TransactionStatus::Idle).encode(out)),
        written(|out| write_startup(out, (3, 2), [(&b"user"[..], &b"alice"[..])])),
        written(|out| Startup::Cancel { process_id: 1, secret: b"abcdefgh" }.encode(out)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..200)) {
        read_everything(&bytes);
    }

    /// A right type byte and length before a random body gets further than random bytes do.
    #[test]
    fn random_bodies(tag in select(&b"QPBDECSHFdcfpXRKvSZTDtCI123nsENAGWV"[..]), body in vec(select(&b"\0\0\0\0\x01\x02\x04\xff\xfeaS"[..]), 0..40)) {
        let length = (body.len() as u32 + 4).to_be_bytes();
        read_everything(&[&[tag][..], &length, &body].concat());
    }

    #[test]
    fn broken_messages(message in select(some_messages()), at in any::<Index>(), byte in any::<u8>(), end in any::<Index>()) {
        let mut broken = message;
        let at = at.index(broken.len());
        broken[at] = byte;
        read_everything(&broken);
        broken.truncate(end.index(broken.len() + 1));
        read_everything(&broken);
    }

    /// Whole messages one after the other are a chain up to any byte.
    #[test]
    fn chains(choice in vec(any::<Index>(), 1..8), end in any::<Index>()) {
        let answers: Vec<_> = some_messages().into_iter().filter(|message| is_from_server(message)).collect();
        let picked: Vec<_> = choice.iter().map(|choice| choice.get(&answers)).collect();
        let bytes: Vec<u8> = picked.iter().flat_map(|message| message.iter().copied()).collect();
        let end = end.index(bytes.len() + 1);
        let chain = plausible(Direction::Server, &bytes[..end]).expect("a chain");
        let (mut messages, mut len) = (0, 0);
        for message in picked {
            if len + message.len() > end {
                break;
            }
            messages += 1;
            len += message.len();
        }
        prop_assert_eq!((chain.messages, chain.len), (messages, len));
    }
}

fn is_from_server(message: &[u8]) -> bool {
    matches!(frame::next_from(Direction::Server, message), Ok(Some(frame)) if Backend::decode(frame).is_ok())
}
