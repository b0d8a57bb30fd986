//! What holds for every dialogue, however its bytes arrive.

use proptest::prelude::*;
use splitproof_capture::postgresql::copy::CopyDirection;
use splitproof_capture::session::Close;

use crate::dialogue::postgresql::*;

/// Every mechanism once, in one session.
fn long_dialogue() -> Dialogue {
    Dialogue::raw()
        .client([ssl_request()])
        .server([b"N".to_vec()])
        .client([startup(&[("user", "shop")])])
        .server([auth_ok(), status("application_name", ""), key(1, b"abcd"), ready('I')])
        .client([query("SELECT 1; SELECT 2")])
        .server([
            columns(&["a"]),
            row(&["1"]),
            tag("SELECT 1"),
            columns(&["a"]),
            row(&["2"]),
            tag("SELECT 1"),
            ready('I'),
        ])
        .client([
            parse("s", "SELECT $1", &[25]),
            describe_statement("s"),
            bind_with("p", "s", &[1], &[Some(b"binary\0value"), None], &[0, 1]),
            execute("p", 1),
            flush(),
        ])
        .server([parsed(), param_types(&[25]), columns(&["a"]), bound(), notice("careful"), row(&["x"]), suspended()])
        .client([execute("p", 0), sync(), parse("", "nonsense", &[]), bind("", ""), execute("", 0), sync()])
        .server([tag("SELECT 0"), ready('I'), error("42601", "syntax error"), ready('I')])
        .client([query("COPY t FROM STDIN")])
        .server([copy_start(CopyDirection::In)])
        .client([copy_data("1\n"), copy_data(""), copy_done()])
        .server([tag("COPY 1"), ready('I')])
        .client([query("COPY t TO STDOUT"), function_call(954, &[None])])
        .server([
            copy_start(CopyDirection::Out),
            server_copy_data("1\n"),
            server_copy_done(),
            tag("COPY 1"),
            ready('I'),
        ])
        .server([call_result(None), ready('I')])
        .client([close_statement("s"), close_portal("p"), sync(), terminate()])
        .server([closed(), closed(), ready('I')])
        .close(Close::Client)
}

#[test]
fn byte_by_byte_gives_the_same_rows() {
    let dialogue = long_dialogue();
    let whole = dialogue.run();
    assert!(whole.1.is_empty(), "{:?}", whole.1);
    assert_eq!(whole.0.len(), 13, "{:#?}", whole.0.iter().map(line).collect::<Vec<_>>());
    assert_eq!(dialogue.run_in_pieces(|bytes| bytes.chunks(1).collect()), whole);
}

#[test]
fn one_cut_anywhere_gives_the_same_rows() {
    let dialogue = long_dialogue();
    let whole = dialogue.run();
    let longest = dialogue.events.iter().map(|event| match event {
        Event::Client(bytes) | Event::Server(bytes) => bytes.len(),
        _ => 0,
    });
    for at in 1..longest.max().unwrap() {
        assert_eq!(dialogue.run_in_pieces(|bytes| bytes.chunks(at).collect()), whole, "pieces of {at}");
    }
}

fn event() -> impl Strategy<Value = Event> {
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60),
        // Valid messages, cut or not, so that deeper states are reached.
        (0..MESSAGES.len(), any::<bool>()).prop_map(|(index, cut)| {
            let message = MESSAGES[index]();
            let end = if cut { message.len() / 2 } else { message.len() };
            message[..end].to_vec()
        }),
    ];
    prop_oneof![
        8 => (any::<bool>(), bytes).prop_map(|(client, bytes)| if client { Event::Client(bytes) } else { Event::Server(bytes) }),
        1 => any::<u16>().prop_map(|missing| Event::ClientGap(missing.into())),
        1 => any::<u16>().prop_map(|missing| Event::ServerGap(missing.into())),
        1 => Just(Event::Close(Close::Reset)),
    ]
}

const MESSAGES: &[fn() -> Vec<u8>] = &[
    || query("SELECT 1"),
    || parse("s", "SELECT $1", &[]),
    || bind("p", "s"),
    || describe_portal("p"),
    || execute("p", 1),
    || close_statement("s"),
    sync,
    flush,
    terminate,
    || copy_data("x"),
    copy_done,
    || copy_fail("x"),
    || function_call(1, &[]),
    || startup(&[("user", "u")]),
    ssl_request,
    || cancel(1, b"abcd"),
    auth_ok,
    || key(1, b"abcd"),
    || ready('I'),
    || ready('E'),
    || row(&["1"]),
    || columns(&["a"]),
    || tag("SELECT 1"),
    || error("42601", "x"),
    || notice("x"),
    parsed,
    bound,
    closed,
    no_data,
    suspended,
    || param_types(&[23]),
    || copy_start(CopyDirection::In),
    || copy_start(CopyDirection::Both),
    server_copy_done,
    || call_result(None),
    || b"N".to_vec(),
    || b"S".to_vec(),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_split_gives_the_same_rows(sizes in proptest::collection::vec(1usize..40, 1..50)) {
        let dialogue = long_dialogue();
        let mut sizes = sizes.into_iter().cycle();
        prop_assert_eq!(dialogue.run_in_pieces(|bytes| pieces(bytes, &mut sizes)), dialogue.run());
    }

    #[test]
    fn no_bytes_make_it_panic_and_rows_stay_in_order(
        events in proptest::collection::vec(event(), 0..40),
        midway in any::<bool>(),
    ) {
        let mut dialogue = Dialogue { events, midway, ..Dialogue::raw() }.close(Close::Client);
        let (rows, _) = dialogue.run();
        let mut seqs: Vec<_> = rows.iter().map(|row| row.seq).collect();
        seqs.sort_unstable();
        // No number is given twice, and none is missing: no request disappears.
        prop_assert!(seqs.iter().copied().eq(0..seqs.len() as u32), "{seqs:?}");
        dialogue.events.pop();
        dialogue.run();
    }
}

fn pieces<'a>(bytes: &'a [u8], sizes: &mut impl Iterator<Item = usize>) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(sizes.next().unwrap_or(1).min(rest.len()));
        pieces.push(piece);
        rest = tail;
    }
    pieces
}
