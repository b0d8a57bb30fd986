//! Sessions that cannot be read, and what is said of them.

use splitproof_capture::trace::{Engine, Loss};

use super::scene::{How, Scene};
use crate::corpus::{corpus, decode};

/// What is said of the only session.
#[track_caller]
fn said(read: &super::scene::Read) -> (String, String) {
    assert_eq!(read.losses.get(Loss::Encrypted), 1, "{:?}", read.losses);
    assert!(read.requests.is_empty(), "{:?}", read.requests);
    let [session] = read.encrypted.as_slice() else { panic!("{:?}", read.encrypted) };
    assert_eq!(session.sessions, 1);
    (session.encryption.clone(), session.reason.clone())
}

#[test]
fn without_secrets_a_session_is_named() {
    for (engine, port) in [(Engine::Postgresql, 5432), (Engine::Mysql, 3306)] {
        let Some(scene) = Scene::start(engine) else { return };
        let new = scene.record(How::new("TLSv1_3", "-"), &["SELECT 1"]);
        let old = scene.record(How::new("TLSv1_2", "ECDHE-RSA-AES128-SHA256"), &["SELECT 1"]);
        let segments = new.segments(None);

        let read = new.decode(&segments, b"");
        let (how, why) = said(&read);
        assert_eq!(how, "TLS 1.3, TLS_AES_256_GCM_SHA384, server name db.example.com");
        assert!(why.contains("there is no key log: give --keylog"), "{why}");
        assert_eq!(read.encrypted[0].server, format!("10.0.0.2:{port}"));

        // those of another session
        let (_, why) = said(&new.decode(&segments, &old.key_log));
        assert!(why.contains("does not hold its secrets"), "{why}");

        // secrets that are not the right ones
        let log = String::from_utf8_lossy(&new.key_log).into_owned();
        let wrong: String = log.lines().map(|line| format!("{}00\n", &line[..line.len() - 2])).collect();
        let right = log.lines().all(|line| line.ends_with("00"));
        let (_, why) = said(&new.decode(&segments, wrong.as_bytes()));
        assert!(right || why.contains("do not open it"), "{why}");

        // a block cipher
        let (how, why) = said(&old.read());
        assert_eq!(how, "TLS 1.2, TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256, server name db.example.com");
        assert!(why.contains("cipher suite"), "{why}");
    }
}

#[test]
fn a_handshake_that_is_not_whole() {
    for engine in [Engine::Postgresql, Engine::Mysql] {
        let Some(scene) = Scene::start(engine) else { return };
        let recorded = scene.record(How::new("TLSv1_3", "-"), &["SELECT 1"]);
        let segments = recorded.segments(None);
        let records = |from_client: bool| {
            let to = if from_client { segments[0].to.port } else { segments[0].from.port };
            segments.iter().position(move |tcp| tcp.to.port == to && tcp.payload.first() == Some(&22)).expect("a hello")
        };
        for without in [records(true), records(false)] {
            let read = recorded.decode(&recorded.segments(Some(without)), &recorded.key_log);
            let (_, why) = said(&read);
            assert!(why.contains("not captured whole"), "{why}");
            assert_eq!(read.losses.get(Loss::Gap), segments[without].payload.len() as u64);
        }
        // it ends within the handshake
        let end = records(false);
        let (how, why) = said(&recorded.decode(&segments[..end], &recorded.key_log));
        assert_eq!(how, "TLS, server name db.example.com");
        assert!(why.contains("not captured whole"), "{why}");
        // it began before the capture
        let later: Vec<_> = segments[end + 4..].to_vec();
        let (how, why) = said(&recorded.decode(&later, &recorded.key_log));
        assert_eq!(how, "TLS");
        assert!(why.contains("before the capture"), "{why}");
    }
}

/// The encrypted captures of the corpus: versions and suites as tshark 4.0 tells them of the same files
/// (`tshark -T fields -e tls.handshake.ciphersuite -Y tls.handshake.type==2`).
#[test]
fn the_corpus_encrypted_sessions_are_named_as_tshark_names_them() {
    let Some(corpus) = corpus(1) else { return };
    for (name, engine, ports, how) in ENCRYPTED {
        let decoded = decode(*engine, &corpus.join("pcap").join(name), ports);
        let told: Vec<String> = decoded.encrypted.into_iter().map(|session| session.encryption).collect();
        assert_eq!(told, [*how], "{name}");
    }
}

const ENCRYPTED: &[(&str, Engine, &[u16], &str)] = &[
    (
        "OISF-suricata-verify/pgsql-upgrade-tls.pcap",
        Engine::Postgresql,
        &[5432],
        "TLS 1.2, TLS_DHE_RSA_WITH_AES_256_GCM_SHA384",
    ),
    (
        "zeek-zeek/pgsql-psql-aws-ssl-require-15432.pcap",
        Engine::Postgresql,
        &[15432],
        "TLS 1.2, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, \
         server name database-1.cyx4x7yvdoay.us-east-1.rds.amazonaws.com",
    ),
    ("zeek-zeek/mysql-encrypted.pcap", Engine::Mysql, &[3306], "TLS 1.1, TLS_DHE_RSA_WITH_AES_256_CBC_SHA"),
    (
        "zeek-zeek/mysql-tls-12-amazon-rds.pcap",
        Engine::Mysql,
        &[3306],
        "TLS 1.2, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    ),
    ("zeek-zeek/mysql-tls-13-amazon-rds.pcap", Engine::Mysql, &[3306], "TLS 1.3, TLS_AES_256_GCM_SHA384"),
];
