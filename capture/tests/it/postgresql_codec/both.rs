//! What both send, or what goes there and back.

use bytes::Bytes;
use pgwire::messages::startup::SecretKey;
use pgwire::messages::{Message, cancel, copy as pg_copy, data as pg_data};
use pgwire::messages::{extendedquery, response, startup as pg_startup};
use postgres_protocol::message::{backend as other_backend, frontend as other_frontend};
use proptest::collection::vec;
use proptest::prelude::*;
use splitproof_capture::postgresql::{Backend, Frontend, Startup, frame};
use splitproof_capture::trace::TransactionStatus;

use super::{blob, other, parsed_by_other, same_as_pgwire, sent_by_client, sent_by_server, text, written};

proptest! {
    #[test]
    fn copy(data in blob(), reason in text()) {
        let ours = written(|out| Frontend::CopyData(&data).encode(out));
        same_as_pgwire(&pg_copy::CopyData::new(Bytes::from(data.clone())), &ours);
        assert_eq!(other(|out| other_frontend::CopyData::new(&data[..]).unwrap().write(out)), ours);
        assert_eq!(sent_by_client(&ours), Frontend::CopyData(&data));
        assert_eq!(sent_by_server(&ours), Backend::CopyData(&data));
        let other_backend::Message::CopyData(body) = parsed_by_other(&ours) else { panic!() };
        assert_eq!(body.data(), data);
        let ours = written(|out| Frontend::CopyFail(reason.as_bytes()).encode(out));
        same_as_pgwire(&pg_copy::CopyFail::new(reason.clone()), &ours);
        assert_eq!(other(|out| other_frontend::copy_fail(&reason, out).unwrap()), ours);
        assert_eq!(sent_by_client(&ours), Frontend::CopyFail(reason.as_bytes()));
    }

    #[test]
    fn cancel_and_key(process_id in any::<i32>(), secret in vec(any::<u8>(), 4..=256)) {
        let key = SecretKey::Bytes(Bytes::from(secret.clone()));
        let cancelling = Startup::Cancel { process_id, secret: &secret };
        let ours = written(|out| cancelling.encode(out));
        same_as_pgwire(&cancel::CancelRequest::new(process_id, key.clone()), &ours);
        assert_eq!(frame::next_startup(&ours), Ok(Some(cancelling)));
        let message = Backend::BackendKeyData { process_id, secret: &secret };
        let ours = written(|out| message.encode(out));
        same_as_pgwire(&pg_startup::BackendKeyData::new(process_id, key), &ours);
        assert_eq!(sent_by_server(&ours), message);
    }
}

#[test]
fn messages_without_content() {
    fn check(theirs: impl Message + PartialEq + std::fmt::Debug, ours: &[u8]) {
        same_as_pgwire(&theirs, ours);
    }
    let client = |message: Frontend<'_>| written(|out| message.encode(out));
    let server = |message: Backend<'_>| written(|out| message.encode(out));
    check(extendedquery::Sync::new(), &client(Frontend::Sync));
    check(extendedquery::Flush::new(), &client(Frontend::Flush));
    check(pg_copy::CopyDone::new(), &client(Frontend::CopyDone));
    check(pg_copy::CopyDone::new(), &server(Backend::CopyDone));
    check(extendedquery::ParseComplete::new(), &server(Backend::ParseComplete));
    check(extendedquery::BindComplete::new(), &server(Backend::BindComplete));
    check(extendedquery::CloseComplete::new(), &server(Backend::CloseComplete));
    check(extendedquery::PortalSuspended::new(), &server(Backend::PortalSuspended));
    check(pg_data::NoData::new(), &server(Backend::NoData));
    check(response::EmptyQueryResponse::new(), &server(Backend::EmptyQueryResponse));
    assert_eq!(other(other_frontend::terminate), client(Frontend::Terminate));
    for (theirs, ours) in [
        (response::TransactionStatus::Idle, TransactionStatus::Idle),
        (response::TransactionStatus::Transaction, TransactionStatus::Open),
        (response::TransactionStatus::Error, TransactionStatus::Failed),
    ] {
        check(response::ReadyForQuery::new(theirs), &server(Backend::ReadyForQuery(ours)));
    }
    assert_eq!(other(other_frontend::ssl_request), written(|out| Startup::SslRequest.encode(out)));
    check(pg_startup::GssEncRequest::new(), &written(|out| Startup::GssEncRequest.encode(out)));
}
