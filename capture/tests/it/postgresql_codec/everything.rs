//! Every way to read bytes, for bytes that nobody meant. The fuzz targets include this file as well.

use splitproof_capture::postgresql::authentication::{Authentication, Response};
use splitproof_capture::postgresql::chain::plausible;
use splitproof_capture::postgresql::{Backend, Direction, Frontend, Unencodable, frame, startup};

fn written(write: impl FnOnce(&mut Vec<u8>) -> Result<(), Unencodable>) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out).expect("can be written");
    out
}

/// Reads whatever the bytes hold in every way there is; what can be decoded has to be written as it was.
pub fn read_everything(bytes: &[u8]) {
    let _ = frame::next(bytes);
    if let Ok(Some(message)) = frame::next_startup(bytes) {
        let wire = written(|out| message.encode(out));
        assert_eq!(Some(&wire[..]), bytes.get(..message.wire_len()));
    }
    let _ = startup::EncryptionAnswer::decode(bytes);
    for direction in [Direction::Client, Direction::Server] {
        let chain = plausible(direction, bytes);
        let mut rest = bytes;
        let mut messages = 0;
        while let Ok(Some(frame)) = frame::next_from(direction, rest) {
            let (message, next) = rest.split_at(frame.len);
            let again = match direction {
                Direction::Client => Frontend::decode(frame).map(|read| {
                    walk_client_lists(&read);
                    written(|out| read.encode(out))
                }),
                Direction::Server => Backend::decode(frame).map(|read| {
                    walk_server_lists(&read);
                    written(|out| read.encode(out))
                }),
            };
            let Ok(again) = again else { break };
            assert_eq!(again, message);
            messages += 1;
            rest = next;
        }
        if let Ok(chain) = chain {
            assert_eq!((chain.messages, chain.len), (messages, bytes.len() - rest.len()));
        }
    }
}

/// Lists say how many items they hold, and hold as many.
fn walk_client_lists(message: &Frontend<'_>) {
    match message {
        Frontend::Bind(bind) => assert_eq!(bind.params.iter().count(), bind.params.len()),
        Frontend::Parse(parse) => assert_eq!(parse.param_types.iter().count(), parse.param_types.len()),
        Frontend::FunctionCall(call) => assert_eq!(call.args.iter().count(), call.args.len()),
        Frontend::Password(secret) => {
            let mechanisms = Default::default();
            for request in [Authentication::CleartextPassword, Authentication::Sasl { mechanisms }, Authentication::Gss]
            {
                let _ = Response::decode(&request, *secret);
            }
        }
        _ => {}
    }
}

fn walk_server_lists(message: &Backend<'_>) {
    match message {
        Backend::DataRow(row) => assert_eq!(row.columns.iter().count(), row.columns.len()),
        Backend::RowDescription(rows) => assert_eq!(rows.columns().count(), rows.len()),
        Backend::ParameterDescription(types) => assert_eq!(types.iter().count(), types.len()),
        Backend::ErrorResponse(fields) | Backend::NoticeResponse(fields) => {
            assert!(fields.iter().all(|(code, text)| code != 0 && !text.contains(&0)));
        }
        Backend::NegotiateProtocolVersion(answer) => {
            assert!(answer.options().iter().all(|option| !option.contains(&0)))
        }
        _ => {}
    }
}
