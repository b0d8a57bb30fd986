//! What holds for every dialogue, however its bytes arrive.

use proptest::prelude::*;
use splitproof_capture::session::Close;

use crate::dialogue::mysql::*;

/// Every mechanism once, in one session.
fn long_dialogue() -> Dialogue {
    Dialogue::session()
        .client([query("SELECT 1")])
        .server([select_one()])
        .client([prepare("INSERT INTO t VALUES (?, ?)")])
        .server([answer([prepared(7, 2, 0), column(), column(), eof()])])
        .client([long_data(7, 1, b"ab"), execute(7, b"\0\x01\x03\0\xfc\0\x05\0\0\0")])
        .server([answer([ok_affected(1)])])
        .client([execute(9, b"x"), close_statement(7)])
        .server([answer([error(1243, "Unknown prepared statement handler")])])
        .client([query("LOAD DATA LOCAL INFILE 'f' INTO TABLE t")])
        .server([at(1, b"\xfbf")])
        .client([at(2, b"1\n"), at(3, b"")])
        .server([at(4, &ok_affected(1))])
        .client([command(b"\x04t\0")])
        .server([answer([column(), eof()])])
        .client([ping(), command(b"\x02other"), command(b"\x1f")])
        .server([answer([ok()]), answer([ok()]), answer([ok()])])
        .client([quit()])
        .close(Close::Client)
}

#[test]
fn pieces_of_any_size_give_the_same_rows() {
    let dialogue = long_dialogue();
    let whole = dialogue.run();
    assert_eq!(whole.1.iter().map(|(loss, _)| loss.name()).collect::<Vec<_>>(), ["unknown_statement"]);
    assert_eq!(whole.0.len(), 12, "{:#?}", whole.0.iter().map(line).collect::<Vec<_>>());
    for at in 1..120 {
        assert_eq!(dialogue.run_in_pieces(|bytes| bytes.chunks(at).collect()), whole, "pieces of {at}");
    }
}

const PACKETS: &[fn() -> Vec<u8>] = &[
    || query("SELECT 1"),
    || query("USE d"),
    || prepare("SELECT ?"),
    || execute(1, b"\0\x01\x03\0\x05\0\0\0"),
    || execute(u32::MAX, b"\0\0\x05\0\0\0"),
    || long_data(1, 0, b"x"),
    || close_statement(1),
    || command(b"\x1c\x01\0\0\0\x02\0\0\0"),
    || command(b"\x1a\x01\0\0\0"),
    || command(b"\xfa\x01\0\0\0\x80\0\x03\0\0\x05\0\0\0"),
    || command(b"\x11u\0\0d\0"),
    || command(b"\x1f"),
    ping,
    quit,
    || at(2, b"data"),
    || at(2, b""),
    || greeting("8.0.36", NEW),
    || greeting("5.5.5-10.11.6-MariaDB", OLD),
    || response(NEW, "u", "d"),
    || answer([ok()]),
    || answer([error(1064, "x")]),
    || answer([eof()]),
    || answer([prepared(1, 1, 1), column(), eof(), column(), eof()]),
    || answer([prepared(1, 1, 0), column()]),
    || answer([count(1), column(), row("1"), end()]),
    select_one,
    || at(1, b"\xfbf"),
    || at(1, b"\xfe"),
    || at(2, &ok()),
];

fn event() -> impl Strategy<Value = Event> {
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60),
        // Packets, cut or not, so that deeper states are reached.
        (0..PACKETS.len(), any::<bool>()).prop_map(|(index, cut)| {
            let packets = PACKETS[index]();
            let end = if cut { packets.len() / 2 } else { packets.len() };
            packets[..end].to_vec()
        }),
    ];
    prop_oneof![
        8 => (any::<bool>(), bytes).prop_map(|(client, bytes)| if client { Event::Client(bytes) } else { Event::Server(bytes) }),
        1 => any::<u16>().prop_map(|missing| Event::ClientGap(missing.into())),
        1 => any::<u16>().prop_map(|missing| Event::ServerGap(missing.into())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_bytes_make_it_panic_and_no_request_disappears(
        events in proptest::collection::vec(event(), 0..40),
        start in 0..3,
    ) {
        let mut dialogue = match start {
            0 => Dialogue::raw(),
            1 => Dialogue::midway(),
            _ => Dialogue::session(),
        };
        dialogue.events.extend(events);
        let (rows, _) = dialogue.close(Close::Client).run();
        let mut seqs: Vec<_> = rows.iter().map(|row| row.seq).collect();
        seqs.sort_unstable();
        // No number is given twice, and none is missing.
        prop_assert!(seqs.iter().copied().eq(0..seqs.len() as u32), "{seqs:?}");
    }
}
