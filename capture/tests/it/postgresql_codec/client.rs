//! What clients send.

use bytes::{Bytes, BytesMut};
use pgwire::messages::{extendedquery, simplequery, startup as pg_startup};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend as other_frontend;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use splitproof_capture::postgresql::authentication::{Response, Secret};
use splitproof_capture::postgresql::call::FunctionCall;
use splitproof_capture::postgresql::extended::{Bind, Parse, Target};
use splitproof_capture::postgresql::startup::write_startup;
use splitproof_capture::postgresql::{Backend, Frontend, Startup, frame};

use super::{
    blob, borrowed, bytes_of, formats, name, other, same_as_pgwire, sent_by_client, sent_by_server, text, values,
    written,
};

proptest! {
    #[test]
    fn query(sql in text()) {
        let ours = written(|out| Frontend::Query { sql: sql.as_bytes() }.encode(out));
        same_as_pgwire(&simplequery::Query::new(sql.clone()), &ours);
        assert_eq!(other(|out| other_frontend::query(&sql, out).unwrap()), ours);
        assert_eq!(sent_by_client(&ours), Frontend::Query { sql: sql.as_bytes() });
    }

    #[test]
    fn parse(name in name(), sql in text(), types in vec(any::<u32>(), 0..5)) {
        let ours = written(|out| Parse::write(out, bytes_of(&name), sql.as_bytes(), &types));
        same_as_pgwire(&extendedquery::Parse::new(name.clone(), sql.clone(), types.clone()), &ours);
        let text = name.clone().unwrap_or_default();
        assert_eq!(other(|out| other_frontend::parse(&text, &sql, types.clone(), out).unwrap()), ours);
        let Frontend::Parse(parse) = sent_by_client(&ours) else { panic!() };
        assert_eq!((parse.statement, parse.sql), (bytes_of(&name), sql.as_bytes()));
        assert_eq!(parse.param_types.iter().collect::<Vec<_>>(), types);
    }

    #[test]
    fn bind(portal in name(), statement in name(), param_formats in formats(), params in values(), result_formats in formats()) {
        let ours = written(|out| {
            Bind::write(out, bytes_of(&portal), bytes_of(&statement), &param_formats, borrowed(&params), &result_formats)
        });
        let theirs = extendedquery::Bind::new(
            portal.clone(),
            statement.clone(),
            param_formats.clone(),
            params.iter().map(|param| param.clone().map(Bytes::from)).collect(),
            result_formats.clone(),
        );
        same_as_pgwire(&theirs, &ours);
        let from_other = other(|out| {
            let serialize = |param: &Option<Vec<u8>>, out: &mut BytesMut| {
                Ok(param.as_ref().map_or(IsNull::Yes, |param| {
                    out.extend_from_slice(param);
                    IsNull::No
                }))
            };
            let (portal, statement) = (portal.clone().unwrap_or_default(), statement.clone().unwrap_or_default());
            let (formats, results) = (param_formats.clone(), result_formats.clone());
            let done = other_frontend::bind(&portal, &statement, formats, &params, serialize, results, out);
            assert!(done.is_ok());
        });
        assert_eq!(from_other, ours);
        let Frontend::Bind(bind) = sent_by_client(&ours) else { panic!() };
        assert_eq!((bind.portal, bind.statement), (bytes_of(&portal), bytes_of(&statement)));
        assert_eq!(bind.param_formats.iter().collect::<Vec<_>>(), param_formats);
        assert_eq!(bind.params.iter().collect::<Vec<_>>(), borrowed(&params));
        assert_eq!(bind.result_formats.iter().collect::<Vec<_>>(), result_formats);
    }

    #[test]
    fn describe_and_close(statement in any::<bool>(), name in name()) {
        let (kind, target) = match statement {
            true => (b'S', Target::Statement(bytes_of(&name))),
            false => (b'P', Target::Portal(bytes_of(&name))),
        };
        let text = name.clone().unwrap_or_default();
        let describe = written(|out| Frontend::Describe(target).encode(out));
        same_as_pgwire(&extendedquery::Describe::new(kind, name.clone()), &describe);
        assert_eq!(other(|out| other_frontend::describe(kind, &text, out).unwrap()), describe);
        assert_eq!(sent_by_client(&describe), Frontend::Describe(target));
        let close = written(|out| Frontend::Close(target).encode(out));
        same_as_pgwire(&extendedquery::Close::new(kind, name.clone()), &close);
        assert_eq!(other(|out| other_frontend::close(kind, &text, out).unwrap()), close);
        assert_eq!(sent_by_client(&close), Frontend::Close(target));
    }

    #[test]
    fn execute(portal in name(), limit in any::<i32>()) {
        let message = Frontend::Execute { portal: bytes_of(&portal), limit };
        let ours = written(|out| message.encode(out));
        same_as_pgwire(&extendedquery::Execute::new(portal.clone(), limit), &ours);
        let text = portal.clone().unwrap_or_default();
        assert_eq!(other(|out| other_frontend::execute(&text, limit, out).unwrap()), ours);
        assert_eq!(sent_by_client(&ours), message);
    }

    /// Neither pgwire nor postgres-protocol knows the function call.
    #[test]
    fn function_calls(function in any::<u32>(), formats in formats(), args in values(), result in 0i16..=1) {
        let ours = written(|out| FunctionCall::write(out, function, &formats, borrowed(&args), result));
        let Frontend::FunctionCall(call) = sent_by_client(&ours) else { panic!() };
        assert_eq!((call.function, call.result_format), (function, result));
        assert_eq!(call.arg_formats.iter().collect::<Vec<_>>(), formats);
        assert_eq!(call.args.iter().collect::<Vec<_>>(), borrowed(&args));
        for value in borrowed(&args) {
            let message = Backend::FunctionCallResponse(value);
            assert_eq!(sent_by_server(&written(|out| message.encode(out))), message);
        }
    }

    #[test]
    fn startup_message(minor in 0u16..3, params in proptest::collection::btree_map("[^\0]{1,8}", text(), 0..5)) {
        let pairs = || params.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let ours = written(|out| write_startup(out, (3, minor), pairs()));
        let mut theirs = pg_startup::Startup::new();
        theirs.protocol_number_minor = minor;
        theirs.parameters = params.clone();
        same_as_pgwire(&theirs, &ours);
        let message = frame::next_startup(&ours).unwrap().unwrap();
        assert_eq!(message.wire_len(), ours.len());
        assert_eq!(written(|out| message.encode(out)), ours);
        let Startup::Startup { version, params: read } = message else { panic!() };
        assert_eq!(version, (3, minor));
        assert_eq!(read.iter().collect::<Vec<_>>(), pairs().collect::<Vec<_>>());
        // postgres-protocol always asks for 3.0 and an encoding of its own first.
        let text_pairs = params.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let bytes = other(|out| other_frontend::startup_message(text_pairs, out).unwrap());
        let Startup::Startup { version: (3, 0), params: read } = frame::next_startup(&bytes).unwrap().unwrap() else {
            panic!()
        };
        assert!(pairs().all(|pair| read.iter().any(|read| read == pair)));
    }

    #[test]
    fn cancel_of_protocol_3_0(process_id in any::<i32>(), secret in any::<i32>()) {
        let ours = written(|out| Startup::Cancel { process_id, secret: &secret.to_be_bytes() }.encode(out));
        assert_eq!(other(|out| other_frontend::cancel_request(process_id, secret, out)), ours);
    }

    #[test]
    fn authentication_answers(password in text(), mechanism in "[^\0]{1,20}", data in option::of(blob())) {
        let ours = written(|out| Response::Password(Secret(password.as_bytes())).encode(out));
        same_as_pgwire(&pg_startup::Password::new(password.clone()), &ours);
        assert_eq!(other(|out| other_frontend::password_message(password.as_bytes(), out).unwrap()), ours);
        assert_eq!(sent_by_client(&ours), Frontend::Password(Secret(&ours[5..])));
        let initial = Response::SaslInitial { mechanism: mechanism.as_bytes(), data: data.as_deref().map(Secret) };
        let ours = written(|out| initial.encode(out));
        same_as_pgwire(&pg_startup::SASLInitialResponse::new(mechanism.clone(), data.clone().map(Bytes::from)), &ours);
        let data = data.unwrap_or_default();
        let ours = written(|out| Response::Sasl(Secret(&data)).encode(out));
        same_as_pgwire(&pg_startup::SASLResponse::new(Bytes::from(data.clone())), &ours);
        assert_eq!(other(|out| other_frontend::sasl_response(&data, out).unwrap()), ours);
    }
}
