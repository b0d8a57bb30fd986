//! Sessions that can be read: their secrets are known.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use splitproof_capture::trace::{Engine, Kind, Loss, Outcome};

use super::scene::{How, Read, Recorded, Scene};
use crate::packets::files::pcapng;
use crate::skipped;

/// Enough for records of several segments, and for segments of several records.
const STATEMENTS: &[&str] = &["SELECT 1", "SELECT 'one', 2", LONG, "SELECT 'ünï'", "SELECT 4"];

const LONG: &str = "SELECT REPEAT('a long answer ', 5000)";

const HOWS: &[(&str, &str)] = &[
    ("TLSv1_3", "-"),
    ("TLSv1_2", "ECDHE-RSA-AES128-GCM-SHA256"),
    ("TLSv1_2", "ECDHE-RSA-AES256-GCM-SHA384"),
    ("TLSv1_2", "ECDHE-RSA-CHACHA20-POLY1305"),
    ("TLSv1_2", "AES128-GCM-SHA256"),
];

/// What a session of the client tells, whatever passed between.
#[track_caller]
fn tells_all(engine: Engine, read: &Read, sessions: usize) {
    assert_eq!(read.encrypted, [], "{:?}", read.losses);
    assert_eq!(read.losses.iter().collect::<Vec<_>>(), [], "nothing is lost");
    for session in 0..sessions as u64 {
        let requests: Vec<_> = read.requests.iter().filter(|request| request.session == session).collect();
        let texts: Vec<&str> = requests.iter().filter_map(|request| request.sql.as_deref()).collect();
        match engine {
            // the Parse's text stands at the Bind and Execute, too
            Engine::Postgresql => {
                assert_eq!(texts[..STATEMENTS.len()], *STATEMENTS);
                assert_eq!(texts[STATEMENTS.len()..], ["SELECT $1::text"; 2]);
            }
            Engine::Mysql => assert_eq!(texts, STATEMENTS),
        }
        assert!(requests.iter().all(|request| request.outcome == Outcome::Ok && !request.truncated), "{requests:?}");
        let [first, .., last] = &requests[..] else { panic!("{requests:?}") };
        assert_eq!((first.kind, last.kind), (Kind::Connect, Kind::Disconnect));
        let user = if engine == Engine::Postgresql { "postgres" } else { "root" };
        assert_eq!(first.user.as_deref(), Some(user));
        let rows = requests.iter().filter(|request| request.kind == Kind::Query).map(|request| request.rows);
        assert_eq!(rows.collect::<Vec<_>>(), [Some(1); STATEMENTS.len()]);
    }
}

fn every_suite(engine: Engine) {
    let Some(scene) = Scene::start(engine) else { return };
    for &(version, ciphers) in HOWS {
        let recorded = scene.record(How { sessions: 2, ..How::new(version, ciphers) }, STATEMENTS);
        println!("{version} {ciphers}");
        assert_eq!(recorded.talks.len(), 2);
        tells_all(engine, &recorded.read(), 2);
        as_tshark_reads(&scene, &recorded);
        secrets_within_the_file(&scene, &recorded);
        key_log_without_the_handshakes_secrets(&recorded);
    }
    let certificate = How { certificate: true, ..How::new("TLSv1_3", "-") };
    tells_all(engine, &scene.record(certificate, STATEMENTS).read(), 1);
    let certificate = How { certificate: true, ..How::new("TLSv1_2", "ECDHE-RSA-AES256-GCM-SHA384") };
    tells_all(engine, &scene.record(certificate, STATEMENTS).read(), 1);
}

#[test]
fn every_suite_with_postgresql() {
    every_suite(Engine::Postgresql);
}

#[test]
fn every_suite_with_mariadb() {
    every_suite(Engine::Mysql);
}

/// tshark reads the same texts from the same file with the same key log.
fn as_tshark_reads(scene: &Scene, recorded: &Recorded) {
    let (path, key_log) = (scene.dir.path().join("window.pcap"), scene.dir.path().join("given.log"));
    recorded.write(&path, &recorded.segments(None));
    std::fs::write(&key_log, &recorded.key_log).unwrap();
    let field = if recorded.engine == Engine::Postgresql { "pgsql.query" } else { "mysql.query" };
    let output = Command::new("tshark")
        .arg("-r")
        .arg(&path)
        .args([
            "-o",
            &format!("tls.keylog_file:{}", key_log.display()),
            "-T",
            "fields",
            "-E",
            "aggregator=|",
            "-e",
            field,
        ])
        .stderr(Stdio::null())
        .output();
    let Ok(output) = output else {
        skipped(1, "tshark is not installed");
        return;
    };
    let theirs = String::from_utf8_lossy(&output.stdout).into_owned();
    let theirs: Vec<&str> = theirs.lines().flat_map(|line| line.split('|')).filter(|text| !text.is_empty()).collect();
    let read = recorded.read();
    let sent = read.requests.iter().filter(|request| {
        request.sql.is_some()
            && (matches!(request.kind, Kind::Query | Kind::Prepare))
            && !request.messages.starts_with('B')
    });
    let ascii = |text: &str| text.replace(|c: char| !c.is_ascii(), "?");
    let ours: Vec<String> = sent.filter_map(|request| request.sql.as_deref()).map(ascii).collect();
    let theirs: Vec<String> = theirs.iter().map(|text| ascii(&text.replace('\u{fffd}', "?"))).collect();
    let shrunk = |text: &String| text.replace("??", "?").replace("??", "?");
    assert_eq!(ours.iter().map(shrunk).collect::<Vec<_>>(), theirs.iter().map(shrunk).collect::<Vec<_>>());
}

/// A pcapng file can carry the secrets with it.
fn secrets_within_the_file(scene: &Scene, recorded: &Recorded) {
    let file = pcapng(&recorded.segments(None));
    let log = &recorded.key_log;
    let mut body = [&0x544c_534b_u32.to_le_bytes()[..], &(log.len() as u32).to_le_bytes(), log].concat();
    body.resize(body.len().next_multiple_of(4), 0);
    let len = (body.len() as u32 + 12).to_le_bytes();
    let block = [&10_u32.to_le_bytes()[..], &len, &body, &len].concat();
    // behind the section's header and the interface
    let path = scene.dir.path().join("window.pcapng");
    std::fs::write(&path, [&file[..60], &block, &file[60..]].concat()).unwrap();
    tells_all(recorded.engine, &recorded.read_file(path), recorded.talks.len());
}

/// The secrets of the handshake are not needed.
fn key_log_without_the_handshakes_secrets(recorded: &Recorded) {
    let log = String::from_utf8_lossy(&recorded.key_log);
    let some: String = log.split_inclusive('\n').filter(|line| !line.contains("_HANDSHAKE_")).collect();
    let read = recorded.decode(&recorded.segments(None), some.as_bytes());
    tells_all(recorded.engine, &read, recorded.talks.len());
}

/// PostgreSQL 17 speaks TLS from the first byte where the client does. Its records are the same.
#[test]
fn encryption_that_is_not_asked_for() {
    let Some(scene) = Scene::start(Engine::Postgresql) else { return };
    let mut recorded = scene.record(How::new("TLSv1_3", "-"), STATEMENTS);
    let talk = &mut recorded.talks[0];
    assert_eq!((talk[0].1.len(), talk[1].1.as_slice()), (8, &b"S"[..]));
    talk.drain(..2);
    tells_all(Engine::Postgresql, &recorded.read(), 1);
}

#[test]
fn bytes_in_pieces_of_any_size() {
    for engine in [Engine::Postgresql, Engine::Mysql] {
        let Some(scene) = Scene::start(engine) else { return };
        let mut recorded = scene.record(How::new("TLSv1_3", "-"), STATEMENTS);
        let whole = recorded.talks[0].clone();
        for size in [1, 3, 700] {
            recorded.talks[0] = whole
                .iter()
                .flat_map(|(side, bytes)| bytes.chunks(size).map(|piece| (*side, piece.to_vec())))
                .collect();
            tells_all(engine, &recorded.read(), 1);
        }
        // and joined
        let mut joined: super::scene::Talk = Vec::new();
        for (side, bytes) in whole {
            match joined.last_mut() {
                Some((last, all)) if *last == side && all.len() < 40_000 => all.extend(bytes),
                _ => joined.push((side, bytes)),
            }
        }
        recorded.talks[0] = joined;
        tells_all(engine, &recorded.read(), 1);
    }
}

/// Of packets that were not captured, what comes after them is read all the same.
#[test]
fn any_one_segment_may_be_missing() {
    for engine in [Engine::Postgresql, Engine::Mysql] {
        let Some(scene) = Scene::start(engine) else { return };
        for (version, ciphers) in &HOWS[..3] {
            let statements: Vec<String> = (0..12).map(|n| format!("SELECT {n}, REPEAT('row', 900)")).collect();
            let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
            let recorded = scene.record(How::new(version, ciphers), &statements);
            let all = recorded.segments(None);
            // behind the handshake, which takes the first ten packets at most; the last three are the end
            let (mut tried, mut whole) = (0, 0);
            for (without, missing) in all.iter().enumerate().take(all.len() - 3).skip(12) {
                if missing.payload.is_empty() {
                    continue;
                }
                tried += 1;
                let read = recorded.decode(&recorded.segments(Some(without)), &recorded.key_log);
                if !read.encrypted.is_empty() {
                    // within the handshake
                    continue;
                }
                assert_eq!(read.losses.get(Loss::Gap), missing.payload.len() as u64, "{without}");
                let known = |text: &&str| statements.contains(text) || text.contains("$1");
                assert!(read.texts().iter().all(known), "{without}: {:?}", read.texts());
                let ok = read.requests.iter().filter(|r| r.kind == Kind::Query && r.outcome == Outcome::Ok).count();
                assert!(ok + 3 >= statements.len(), "{without}: {ok} of {}, {:?}", statements.len(), read.losses);
                whole += usize::from(ok + 2 >= statements.len());
            }
            println!("{engine} {version} {ciphers}: {tried} tried, {whole} lost two requests at most");
            assert!(tried > 20 && whole * 10 >= tried * 9, "{engine} {version}: {whole} of {tried}");
        }
    }
}

/// Where in the server's bytes its records begin, from its hello on, and how long they are.
fn records(stream: &[u8]) -> Vec<(usize, usize)> {
    let mut at = 0;
    let mut records = Vec::new();
    while let Some(&[_, _, _, high, low]) = stream.get(at..).and_then(|rest| rest.first_chunk()) {
        let length = 5 + usize::from(u16::from_be_bytes([high, low]));
        records.push((at, length));
        at += length;
    }
    records
}

/// Any bytes look like the beginning of a record now and then, and of a long one: it was waited for, and what came meanwhile was
/// passed over.
#[test]
fn what_looks_like_a_record_behind_a_gap_is_not_waited_for() {
    for engine in [Engine::Postgresql, Engine::Mysql] {
        let Some(scene) = Scene::start(engine) else { return };
        let statements: Vec<String> = (0..12).map(|n| format!("SELECT {n}, REPEAT('row', 900)")).collect();
        let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
        let recorded = scene.record(How::new("TLSv1_3", "-"), &statements);
        let mut segments = recorded.segments(None);
        let client = segments[0].from.port;
        let is_hello = |at: &usize| segments[*at].from.port != client && segments[*at].payload.first() == Some(&22);
        let hello = (0..segments.len()).find(is_hello).expect("the server's hello");
        let own: Vec<usize> = (hello..segments.len()).filter(|&at| segments[at].from.port != client).collect();
        let stream: Vec<u8> = own.iter().flat_map(|&at| segments[at].payload.clone()).collect();
        // An answer of which one segment holds the beginning, and the next one some of the rest.
        let mut end = 0;
        let mut cut = own.windows(2).filter(|pair| {
            end += segments[pair[0]].payload.len();
            let goes_on =
                |&(start, length): &(usize, usize)| length > 2000 && start < end && start + length > end + 100;
            records(&stream).iter().any(goes_on) && segments[pair[1]].payload.len() > 100
        });
        let pair = cut.nth(2).expect("an answer in several segments");
        segments[pair[1]].payload[20..25].copy_from_slice(b"\x17\x03\x03\x40\x00");
        segments.remove(pair[0]);
        let read = recorded.decode(&segments, &recorded.key_log);
        let ok = read.requests.iter().filter(|r| r.kind == Kind::Query && r.outcome == Outcome::Ok).count();
        assert!(ok + 3 >= statements.len(), "{engine}: {ok} of {}, {:?}", statements.len(), read.losses);
    }
}

/// Other keys from the middle of a session on, as OpenSSL's own client asks for them.
#[test]
fn keys_are_updated() {
    let Some(scene) = Scene::start(Engine::Postgresql) else { return };
    let message = |tag: &[u8], body: &[u8]| [tag, &(body.len() as u32 + 4).to_be_bytes(), body].concat();
    let query = |sql: &str| [message(b"S", b""), message(b"Q", format!("{sql}\0").as_bytes())].concat();
    let recorded = scene.record_with(|port, key_log| {
        let mut client = Command::new("openssl")
            .args([
                "s_client",
                "-starttls",
                "postgres",
                "-tls1_3",
                "-connect",
                &format!("127.0.0.1:{port}"),
                "-keylogfile",
            ])
            .arg(key_log)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = client.stdin.take().unwrap();
        let start = message(b"", &[&[0, 3, 0, 0][..], b"user\0postgres\0\0"].concat());
        let mut say = |bytes: &[u8]| {
            stdin.write_all(bytes).unwrap();
            stdin.flush().unwrap();
            std::thread::sleep(Duration::from_millis(400));
        };
        std::thread::sleep(Duration::from_millis(400));
        say(&start);
        say(&query("SELECT 1"));
        // a command to the client: update the keys, and ask the server to do the same
        say(b"K\n");
        say(&query("SELECT 2"));
        say(b"k\n");
        say(&query("SELECT 3"));
        say(&[message(b"S", b""), message(b"X", b"")].concat());
        drop(stdin);
        client.wait().unwrap();
    });
    let read = recorded.read();
    assert_eq!(read.texts(), ["SELECT 1", "SELECT 2", "SELECT 3"], "{:?} {:?}", read.losses, read.encrypted);
    assert!(read.losses.is_empty(), "{:?}", read.losses);
}
