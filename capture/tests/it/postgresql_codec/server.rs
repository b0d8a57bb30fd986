//! What servers send.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use pgwire::messages::data::FieldDescription;
use pgwire::messages::{copy as pg_copy, data as pg_data, response, startup as pg_startup};
use postgres_protocol::message::backend as other_backend;
use proptest::collection::vec;
use proptest::prelude::*;
use splitproof_capture::postgresql::Backend;
use splitproof_capture::postgresql::authentication::{Authentication, write_sasl};
use splitproof_capture::postgresql::copy::{CopyDirection, CopyResponse};
use splitproof_capture::postgresql::extended::write_parameter_description;
use splitproof_capture::postgresql::report::{Notification, write_error, write_notice};
use splitproof_capture::postgresql::row::{Column, DataRow, RowDescription};
use splitproof_capture::postgresql::startup::write_negotiation;

use super::{blob, borrowed, formats, parsed_by_other, same_as_pgwire, sent_by_server, text, values, written};

proptest! {
    #[test]
    fn rows(columns in values()) {
        let ours = written(|out| DataRow::write(out, borrowed(&columns)));
        same_as_pgwire(&pg_data::DataRow::new(BytesMut::from(&ours[7..]), columns.len() as i16), &ours);
        let Backend::DataRow(row) = sent_by_server(&ours) else { panic!() };
        assert_eq!(row.columns.iter().collect::<Vec<_>>(), borrowed(&columns));
        let other_backend::Message::DataRow(body) = parsed_by_other(&ours) else { panic!() };
        let read = body.ranges().map(|range| Ok(range.map(|range| body.buffer()[range].to_vec())));
        assert_eq!(read.collect::<Vec<_>>().unwrap(), columns);
    }

    #[test]
    fn row_descriptions(columns in vec((text(), any::<u32>(), any::<i16>(), any::<u32>(), any::<i16>(), any::<i32>(), 0i16..=1), 0..4)) {
        let own: Vec<_> = columns
            .iter()
            .map(|(name, table, attribute, type_id, type_size, type_modifier, format)| Column {
                name: name.as_bytes(),
                table: *table,
                attribute: *attribute,
                type_id: *type_id,
                type_size: *type_size,
                type_modifier: *type_modifier,
                format: *format,
            })
            .collect();
        let ours = written(|out| RowDescription::write(out, own.iter().copied()));
        let theirs = columns
            .iter()
            .cloned()
            .map(|(name, table, attribute, type_id, size, modifier, format)| {
                FieldDescription::new(name, table as i32, attribute, type_id, size, modifier, format)
            })
            .collect();
        same_as_pgwire(&pg_data::RowDescription::new(theirs), &ours);
        let Backend::RowDescription(description) = sent_by_server(&ours) else { panic!() };
        assert_eq!(description.columns().collect::<Vec<_>>(), own);
        let other_backend::Message::RowDescription(body) = parsed_by_other(&ours) else { panic!() };
        let mut fields = body.fields();
        for column in own {
            let field = fields.next().unwrap().unwrap();
            assert_eq!((field.name().as_bytes(), field.table_oid()), (column.name, column.table));
            assert_eq!((field.column_id(), field.type_oid()), (column.attribute, column.type_id));
            assert_eq!((field.type_size(), field.type_modifier()), (column.type_size, column.type_modifier));
            assert_eq!(field.format(), column.format);
        }
    }

    #[test]
    fn parameter_descriptions(types in vec(any::<u32>(), 0..6)) {
        let ours = written(|out| write_parameter_description(out, &types));
        same_as_pgwire(&pg_data::ParameterDescription::new(types.clone()), &ours);
        let Backend::ParameterDescription(read) = sent_by_server(&ours) else { panic!() };
        assert_eq!(read.iter().collect::<Vec<_>>(), types);
    }

    #[test]
    fn errors_and_notices(fields in vec((1u8..=255, text()), 0..6)) {
        let pairs = || fields.iter().map(|(code, text)| (*code, text.as_bytes()));
        let ours = written(|out| write_error(out, pairs()));
        same_as_pgwire(&response::ErrorResponse::new(fields.clone()), &ours);
        let Backend::ErrorResponse(read) = sent_by_server(&ours) else { panic!() };
        assert_eq!(read.iter().collect::<Vec<_>>(), pairs().collect::<Vec<_>>());
        let other_backend::Message::ErrorResponse(body) = parsed_by_other(&ours) else { panic!() };
        let theirs = body.fields().map(|field| Ok((field.type_(), field.value_bytes().to_vec())));
        let expected: Vec<_> = pairs().map(|(code, text)| (code, text.to_vec())).collect();
        assert_eq!(theirs.collect::<Vec<_>>().unwrap(), expected);
        let ours = written(|out| write_notice(out, pairs()));
        same_as_pgwire(&response::NoticeResponse::new(fields.clone()), &ours);
        let Backend::NoticeResponse(read) = sent_by_server(&ours) else { panic!() };
        assert_eq!(read.iter().collect::<Vec<_>>(), pairs().collect::<Vec<_>>());
    }

    #[test]
    fn other_answers(process_id in any::<i32>(), one in text(), two in text()) {
        let message = Backend::CommandComplete { tag: one.as_bytes() };
        let ours = written(|out| message.encode(out));
        same_as_pgwire(&response::CommandComplete::new(one.clone()), &ours);
        assert_eq!(sent_by_server(&ours), message);
        let message = Backend::ParameterStatus { name: one.as_bytes(), value: two.as_bytes() };
        let ours = written(|out| message.encode(out));
        same_as_pgwire(&pg_startup::ParameterStatus::new(one.clone(), two.clone()), &ours);
        assert_eq!(sent_by_server(&ours), message);
        let (channel, payload) = (one.as_bytes(), two.as_bytes());
        let message = Backend::NotificationResponse(Notification { process_id, channel, payload });
        let ours = written(|out| message.encode(out));
        same_as_pgwire(&response::NotificationResponse::new(process_id, one.clone(), two.clone()), &ours);
        assert_eq!(sent_by_server(&ours), message);
    }

    #[test]
    fn copy_responses(binary in any::<bool>(), formats in formats()) {
        let (format, count) = (i8::from(binary), formats.len() as i16);
        let bytes = |direction| written(|out| CopyResponse::write(out, direction, binary, &formats));
        let check = |response: CopyResponse<'_>| {
            assert_eq!(response.binary, binary);
            assert_eq!(response.columns.iter().collect::<Vec<_>>(), formats);
        };
        let ours = bytes(CopyDirection::In);
        same_as_pgwire(&pg_copy::CopyInResponse::new(format, count, formats.clone()), &ours);
        let Backend::CopyInResponse(response) = sent_by_server(&ours) else { panic!() };
        check(response);
        let ours = bytes(CopyDirection::Out);
        same_as_pgwire(&pg_copy::CopyOutResponse::new(format, count, formats.clone()), &ours);
        let Backend::CopyOutResponse(response) = sent_by_server(&ours) else { panic!() };
        check(response);
        let other_backend::Message::CopyOutResponse(body) = parsed_by_other(&ours) else { panic!() };
        assert_eq!(body.format(), u8::from(binary));
        assert_eq!(body.column_formats().map(|code| Ok(code as i16)).collect::<Vec<_>>().unwrap(), formats);
        let ours = bytes(CopyDirection::Both);
        same_as_pgwire(&pg_copy::CopyBothResponse::new(format, count, formats.clone()), &ours);
        let Backend::CopyBothResponse(response) = sent_by_server(&ours) else { panic!() };
        check(response);
    }

    #[test]
    fn negotiation(minor in any::<u16>(), options in vec("[^\0]{1,12}", 0..4)) {
        let names: Vec<_> = options.iter().map(String::as_bytes).collect();
        let ours = written(|out| write_negotiation(out, (3, minor), &names));
        let version = 3 << 16 | i32::from(minor);
        same_as_pgwire(&pg_startup::NegotiateProtocolVersion::new(version, options.clone()), &ours);
        let Backend::NegotiateProtocolVersion(answer) = sent_by_server(&ours) else { panic!() };
        assert_eq!(answer.version, (3, minor));
        assert_eq!(answer.options().iter().collect::<Vec<_>>(), names);
    }

    #[test]
    fn authentication(salt in any::<[u8; 4]>(), data in blob(), mechanisms in vec("[^\0]{1,20}", 0..4)) {
        for (ours, theirs) in [
            (Authentication::Ok, pg_startup::Authentication::Ok),
            (Authentication::CleartextPassword, pg_startup::Authentication::CleartextPassword),
            (Authentication::KerberosV5, pg_startup::Authentication::KerberosV5),
            (Authentication::Md5Password { salt }, pg_startup::Authentication::MD5Password(salt.to_vec())),
            (Authentication::SaslContinue(&data), pg_startup::Authentication::SASLContinue(data.clone().into())),
            (Authentication::SaslFinal(&data), pg_startup::Authentication::SASLFinal(data.clone().into())),
        ] {
            let bytes = written(|out| Backend::Authentication(ours).encode(out));
            same_as_pgwire(&theirs, &bytes);
            assert_eq!(sent_by_server(&bytes), Backend::Authentication(ours));
        }
        let names: Vec<_> = mechanisms.iter().map(String::as_bytes).collect();
        let bytes = written(|out| write_sasl(out, &names));
        same_as_pgwire(&pg_startup::Authentication::SASL(mechanisms.clone()), &bytes);
        let Backend::Authentication(Authentication::Sasl { mechanisms: read }) = sent_by_server(&bytes) else { panic!() };
        assert_eq!(read.iter().collect::<Vec<_>>(), names);
        // pgwire does not know GSSAPI.
        let bytes = written(|out| Backend::Authentication(Authentication::GssContinue(&data)).encode(out));
        let other_backend::Message::AuthenticationGssContinue(body) = parsed_by_other(&bytes) else { panic!() };
        assert_eq!(body.data(), data);
    }
}
