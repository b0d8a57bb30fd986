//! Connecting, encryption, other protocols, and cancel requests.

use splitproof_capture::session::{Close, Shared};
use splitproof_capture::trace::{Engine, Loss, TransactionStatus};

use crate::dialogue::postgresql::*;

#[test]
fn the_database_defaults_to_the_user_and_passwords_are_skipped() {
    let (rows, losses) = Dialogue::raw()
        .client([startup(&[("user", "shop")])])
        .server([b"R\0\0\0\x08\0\0\0\x03".to_vec()])
        .client([password("open sesame")])
        .server([auth_ok(), ready('I')])
        .close(Close::RecordingEnded)
        .run();
    assert!(losses.is_empty());
    let [connect] = rows.as_slice() else { panic!("{rows:#?}") };
    assert_eq!(connect.database.as_deref(), Some("shop"));
    assert_eq!((connect.duration_ns, connect.transaction), (Some(3_000), Some(TransactionStatus::Idle)));
    assert!(!format!("{rows:?}").contains("sesame"));
}

#[test]
fn a_refused_client() {
    let (rows, losses) = Dialogue::raw()
        .client([startup(&[("user", "nobody")])])
        .server([error("28000", "no such role")])
        .close(Close::Server)
        .run();
    assert!(losses.is_empty());
    let [connect] = rows.as_slice() else { panic!("{rows:#?}") };
    assert_eq!(line(connect), "connect  error 28000 took=1");
    assert_eq!(connect.error_message.as_deref(), Some("no such role"));
}

#[test]
fn a_server_with_too_many_clients_speaks_first() {
    let (rows, losses) = Dialogue::raw().server([error("53300", "too many clients")]).close(Close::Server).run();
    assert!(losses.is_empty());
    assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), ["connect  error 53300 took=0"]);
}

#[test]
fn a_cancel_names_its_session_and_not_its_key() {
    let shared = Shared::new(Engine::Postgresql);
    Dialogue::session().run_among(&shared, |bytes| vec![bytes]);
    let cancelling = Dialogue::raw().client([cancel(7, b"sesame!!")]).close(Close::Server);
    let (rows, losses) = cancelling.run_among(&shared, |bytes| vec![bytes]);
    assert!(losses.is_empty());
    assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), ["cancel  ok took=1"]);
    assert_eq!(rows[0].params[0].value.as_deref(), Some(&b"3"[..]));
    assert!(!format!("{rows:?}").contains("sesame"));

    let dialogue = Dialogue::session().client([query("SELECT pg_sleep(9)")]).server([
        columns(&["pg_sleep"]),
        error("57014", "canceling statement due to user request"),
        ready('I'),
    ]);
    expect(&dialogue, &["query Q \"SELECT pg_sleep(9)\" cancelled 57014 group=0 took=1 idle"]);
}

#[test]
fn encryption_refused() {
    let (rows, losses) = Dialogue::raw()
        .client([gss_request()])
        .server([b"N".to_vec()])
        .client([ssl_request()])
        .server([b"N".to_vec()])
        .client([startup(&[("user", "shop")])])
        .server([auth_ok(), ready('I')])
        .close(Close::RecordingEnded)
        .run();
    assert!(losses.is_empty());
    assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), ["connect  ok took=5 idle"]);
}

#[test]
fn encryption_refused_and_the_client_leaves() {
    let dialogue = Dialogue::raw().client([ssl_request()]).server([b"N".to_vec()]).close(Close::Client);
    let (rows, losses) = dialogue.run();
    assert!(losses.is_empty());
    assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), ["connect  lost"]);
}

#[test]
fn encrypted_sessions_are_counted_once() {
    let hello = b"\x16\x03\x01\0\x04abcd".to_vec();
    for dialogue in [
        Dialogue::raw().client([ssl_request()]).server([b"S".to_vec()]).client([hello.clone()]),
        Dialogue::raw().client([gss_request()]).server([b"G".to_vec()]).client([b"\0\0\0\x04abcd".to_vec()]),
        Dialogue::raw().client([hello.clone()]).server([hello.clone()]),
        Dialogue::midway().client([b"\x17\x03\x03\0\x04abcd".to_vec()]).server([b"\x17\x03\x03\0\x04abcd".to_vec()]),
    ] {
        let (rows, losses) = dialogue.client([hello.clone()]).server([hello.clone()]).close(Close::Client).run();
        assert_eq!(rows, []);
        assert_eq!(losses.get(Loss::Encrypted), 1);
    }
}

#[test]
fn other_protocols_are_counted_once() {
    for first in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"SSH-2.0-OpenSSH_9\r\n", b"\0\0\0\x08\0\x02\0\0"] {
        let dialogue = Dialogue::raw().client([first.to_vec()]).client([first.to_vec()]).close(Close::Client);
        expect_with_losses(&dialogue, &[], "other_protocol=1");
    }
    let mysql = b"\x4e\0\0\0\x0a8.0.33\0".to_vec();
    expect_with_losses(&Dialogue::raw().server([mysql]).close(Close::Server), &[], "other_protocol=1");
}
