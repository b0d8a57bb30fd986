//! Third-party captures, decoded and compared with what tshark reads from them.
//!
//! The corpus is not part of this repository. `SPLITPROOF_CORPUS` names its directory, which must then be there, or is
//! `none`; when it is not set, a `corpus` in a directory beside the workspace is taken. Where there is none, each test says on standard
//! error how much it skipped and passes; except in continuous integration (`CI` is set), where skipping must be asked for
//! with `none`, so that a corpus that is there is never missed in silence.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use splitproof_capture::{
    packets::{Assembler, Control, Ended, Error, Limits, PortOption, Ports, Source, Statistics, sessions},
    session::Shared,
    trace::{Encrypted, Engine, Kind, Loss, Losses, Request},
};

use crate::packets::wire::lost_packets;

/// The corpus; `None`, after a message that counts the tests, where it may be left out.
pub fn corpus(tests: usize) -> Option<PathBuf> {
    let around = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = fs::read_dir(&around).into_iter().flatten().flatten().map(|entry| entry.path().join("corpus"));
    let default = places.into_iter().find(|place| place.join("pcap").is_dir()).unwrap_or(around.join("*/corpus"));
    match find(std::env::var_os("SPLITPROOF_CORPUS"), std::env::var_os("CI").is_some(), default) {
        Ok(path) => Some(path),
        Err(Absent::Skip(why)) => {
            // Not `println!`, which the test harness keeps to itself.
            writeln!(std::io::stderr(), "skipped: {tests} ({why})").expect("standard error");
            None
        }
        Err(Absent::Fail(why)) => panic!("{why}"),
    }
}

/// Why there is no corpus, and what follows.
#[derive(Debug, PartialEq)]
enum Absent {
    Skip(String),
    Fail(String),
}

fn find(asked: Option<OsString>, ci: bool, default: PathBuf) -> Result<PathBuf, Absent> {
    let is_corpus = |path: &Path| path.join("pcap").is_dir() && path.join("statements").is_dir();
    match asked {
        Some(asked) if asked == "none" => Err(Absent::Skip("SPLITPROOF_CORPUS is none".into())),
        Some(asked) if is_corpus(Path::new(&asked)) => Ok(asked.into()),
        Some(asked) => Err(Absent::Fail(format!("SPLITPROOF_CORPUS: no corpus at {}", asked.display()))),
        None if is_corpus(&default) => Ok(default),
        None if ci => Err(Absent::Fail(format!(
            "no corpus at {}, and CI is set: name it in SPLITPROOF_CORPUS, or set that to none to do without",
            default.display()
        ))),
        None => Err(Absent::Skip(format!("no corpus at {}", default.display()))),
    }
}

#[test]
fn a_corpus_is_left_out_only_where_that_may_be() {
    let dir = tempfile::tempdir().expect("directory");
    let (here, nowhere) = (dir.path().join("corpus"), dir.path().join("nowhere"));
    for part in ["pcap", "statements"] {
        fs::create_dir_all(here.join(part)).expect("creates");
    }
    let asked = |path: &Path| Some(path.as_os_str().to_owned());
    for ci in [false, true] {
        assert_eq!(find(None, ci, here.clone()), Ok(here.clone()));
        assert_eq!(find(asked(&here), ci, nowhere.clone()), Ok(here.clone()));
        assert!(matches!(find(asked(&nowhere), ci, here.clone()), Err(Absent::Fail(_))), "a wrong name is no absence");
        assert!(matches!(find(Some("none".into()), ci, here.clone()), Err(Absent::Skip(_))));
    }
    assert!(matches!(find(None, false, nowhere.clone()), Err(Absent::Skip(_))));
    assert!(matches!(find(None, true, nowhere), Err(Absent::Fail(why)) if why.contains("none")));
}

pub struct Decoded {
    pub requests: Vec<Request>,
    pub losses: Losses,
    pub statistics: Statistics,
    pub ended: Result<Ended, Error>,
    pub encrypted: Vec<Encrypted>,
}

impl Decoded {
    /// What was lost beside what is expected, and whether the file could be read to its end.
    pub fn problems(&self, name: &str, expected: &[(Loss, u64)]) -> Vec<String> {
        let mut problems = Vec::new();
        let losses: Vec<(Loss, u64)> = self.losses.iter().collect();
        if losses != expected {
            problems.push(format!("{name}: lost {losses:?}, expected {expected:?}"));
        }
        if !self.ended.as_ref().is_ok_and(|ended| ended.damaged.is_empty()) {
            problems.push(format!("{name}: {:?}", self.ended));
        }
        problems
    }
}

/// Decodes a capture as this engine's on these ports.
pub fn decode(engine: Engine, path: &Path, ports: &[u16]) -> Decoded {
    let ports: Ports = ports.iter().map(|&port| PortOption { port, engine }).into();
    let shared = Shared::new(engine);
    let mut assembler = Assembler::new(ports, Limits::default(), sessions(shared.clone()));
    let mut requests = Vec::new();
    let ended = Source::Files(vec![path.to_owned()]).run(&mut assembler, &mut requests, Control::default());
    assembler.finish(&mut requests);
    requests.sort_by_key(|request| (request.start_ns, request.session, request.seq));
    let (losses, statistics) = (assembler.losses(), assembler.statistics().clone());
    assert_eq!(statistics.contradiction(), None, "{}: {statistics:?}", path.display());
    assert_eq!(statistics.packets, statistics.used + lost_packets(&losses), "{}: {losses:?}", path.display());
    Decoded { requests, losses, statistics, ended, encrypted: shared.encrypted() }
}

/// What was read from a capture, in a form that tshark can be asked for too.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reading {
    /// Texts of simple queries and Parse messages, in order of time.
    texts: Vec<String>,
    /// Client messages by type byte; `U` is a start-up message, `K` a cancel request.
    messages: BTreeMap<char, usize>,
}

impl Reading {
    fn ours(decoded: &Decoded) -> Self {
        let mut reading = Reading::default();
        let mut count = |letter| *reading.messages.entry(letter).or_default() += 1;
        for request in &decoded.requests {
            match request.kind {
                Kind::Connect => count('U'),
                Kind::Cancel => count('K'),
                _ => request.messages.chars().for_each(&mut count),
            }
            (0..request.copy_data.len()).for_each(|_| count('d'));
            if request.messages.starts_with(['Q', 'P']) {
                reading.texts.extend(request.sql.as_deref().map(ascii));
            }
        }
        reading
    }

    /// Reads tshark's table of fields. It joins the values of several messages in one frame with `|`.
    fn tsharks(table: &str, ports: &[u16]) -> Self {
        let mut lines = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let header = lines.next().unwrap_or_default();
        let column = |name: &str| header.iter().position(|&field| field == name).expect("a column of tshark's");
        let (kinds, query, port) = (column("pgsql.type"), column("pgsql.query"), column("tcp.dstport"));
        let mut reading = Reading::default();
        for line in lines {
            let field = |at: usize| line.get(at).copied().unwrap_or_default();
            if !field(port).parse().is_ok_and(|port| ports.contains(&port)) {
                continue;
            }
            for letter in field(kinds).split('|').filter_map(letter) {
                *reading.messages.entry(letter).or_default() += 1;
            }
            if !field(query).is_empty() {
                reading.texts.push(unescaped(field(query)));
            }
        }
        reading
    }
}

/// The type byte of a client message by tshark's name for it.
fn letter(name: &str) -> Option<char> {
    Some(match name {
        "Startup message" => 'U',
        "Cancel request" => 'K',
        "Simple query" => 'Q',
        "Parse" => 'P',
        "Bind" => 'B',
        "Describe" => 'D',
        "Execute" => 'E',
        "Sync" => 'S',
        "Flush" => 'H',
        "Close" => 'C',
        "Function call" => 'F',
        "Copy data" => 'd',
        "Copy completion" => 'c',
        "Copy failure" => 'f',
        "Termination" => 'X',
        // requests for encryption and passwords are not part of a trace
        _ => return None,
    })
}

/// A text as tshark reads it, which takes every byte beyond ASCII for an error.
fn ascii(text: &str) -> String {
    text.bytes().map(|byte| if byte.is_ascii() { char::from(byte) } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// tshark writes control characters as escapes.
fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t")
}

/// One PostgreSQL capture of the corpus.
struct Capture {
    name: &'static str,
    port: u16,
    /// What is lost, exactly, and why.
    losses: &'static [(Loss, u64)],
}

const fn clean(name: &'static str, port: u16) -> Capture {
    Capture { name, port, losses: &[] }
}

const fn lossy(name: &'static str, port: u16, losses: &'static [(Loss, u64)]) -> Capture {
    Capture { name, port, losses }
}

const CAPTURES: &[Capture] = &[
    // a newline stands after the last record
    lossy("OISF-suricata-verify/pgsql-5000-query-results", 5432, &[(Loss::TruncatedFile, 1)]),
    clean("OISF-suricata-verify/pgsql-bug-5579", 5432),
    // made by hand: of the client the 52 bytes before its FIN, and of the server 1342 between frames 8 and 11, are not there
    lossy("OISF-suricata-verify/pgsql-bug-6080-probe-test-01", 5432, &[(Loss::Gap, 1394), (Loss::OtherProtocol, 1)]),
    clean("OISF-suricata-verify/pgsql-cancel-request", 5432),
    clean("OISF-suricata-verify/pgsql-copy-data-in", 5432),
    clean("OISF-suricata-verify/pgsql-copy-data-out", 5432),
    // frame 4 is a start-up message with a request code that does not exist
    lossy("OISF-suricata-verify/pgsql-events", 5432, &[(Loss::OtherProtocol, 1)]),
    clean("OISF-suricata-verify/pgsql-pwd-output-disabled", 5432),
    clean("OISF-suricata-verify/pgsql-simple-query-rollback", 5432),
    clean("OISF-suricata-verify/pgsql-ssl-rejected-md5-auth-simple-query", 5432),
    lossy("OISF-suricata-verify/pgsql-upgrade-tls", 5432, &[(Loss::Encrypted, 1)]),
    clean("arkime-arkime/postgres-good", 5432),
    clean("arkime-arkime/postgres-no-sslrequest", 5432),
    // 26 of 32 executes use statements that were prepared before the capture
    lossy("deepflowio-deepflow/postgre_pgsql-all", 8000, &[(Loss::JoinedMidway, 1), (Loss::UnknownStatement, 26)]),
    // frame 2 is not the answer to frame 1: it completes a Bind and a command that were sent before the capture
    lossy("deepflowio-deepflow/postgre_prepare_stat", 5432, &[(Loss::JoinedMidway, 1), (Loss::UnexpectedMessage, 2)]),
    lossy("deepflowio-deepflow/postgre_simple_query", 5432, &[(Loss::JoinedMidway, 1)]),
    lossy("zeek-zeek/pgsql-bad-backend-message-1", 5432, &[(Loss::Undecodable, 7)]),
    lossy("zeek-zeek/pgsql-bad-startup-message-1", 5432, &[(Loss::OtherProtocol, 1)]),
    lossy("zeek-zeek/pgsql-mysql-on-port-5432", 5432, &[(Loss::OtherProtocol, 1)]),
    clean("zeek-zeek/pgsql-psql-aws-ssl-disable", 5432),
    clean("zeek-zeek/pgsql-psql-aws-ssl-disable-15432", 15432),
    lossy("zeek-zeek/pgsql-psql-aws-ssl-require-15432", 15432, &[(Loss::Encrypted, 1)]),
    clean("zeek-zeek/pgsql-psql-login-no-sslrequest", 5432),
    clean("zeek-zeek/pgsql-psql-login-wrong", 5432),
];

#[test]
fn statements_are_those_that_tshark_reads() {
    let Some(corpus) = corpus(CAPTURES.len()) else { return };
    let mut wrong = Vec::new();
    for capture in CAPTURES {
        let path = corpus.join(format!("pcap/{}.pcap", capture.name));
        let decoded = decode(Engine::Postgresql, &path, &[capture.port]);
        let table =
            fs::read(corpus.join(format!("expected/tshark/{}.pcap.tsv", capture.name))).expect("tshark's table");
        let tsharks = Reading::tsharks(&String::from_utf8_lossy(&table), &[capture.port]);
        let ours = Reading::ours(&decoded);
        if ours != tsharks {
            wrong.push(difference(capture.name, &ours, &tsharks));
        }
        wrong.extend(decoded.problems(capture.name, capture.losses));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What differs between two readings, short enough to read.
fn difference(name: &str, ours: &Reading, tsharks: &Reading) -> String {
    let mut text = format!("{name}\n  ours   {:?}\n  tshark {:?}", ours.messages, tsharks.messages);
    let length = ours.texts.len().max(tsharks.texts.len());
    for i in (0..length).filter(|&i| ours.texts.get(i) != tsharks.texts.get(i)) {
        text.push_str(&format!(
            "\n  text {i}\n   ours   {:?}\n   tshark {:?}",
            ours.texts.get(i),
            tsharks.texts.get(i)
        ));
    }
    text
}

#[test]
fn every_capture_is_accounted_for_whatever_it_holds() {
    let Some(corpus) = corpus(1) else { return };
    let mut captures = 0;
    for directory in fs::read_dir(corpus.join("pcap")).expect("a directory") {
        let directory = directory.expect("an entry").path();
        for file in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = file.path();
            if !path.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng") {
                continue;
            }
            captures += 1;
            // each engine gets the other's captures too: what is not of its protocol must be told, not guessed at
            for &engine in Engine::ALL {
                let decoded = decode(engine, &path, &[5432, 15432, 8000, 3306, 20130, 6033, 2883, 12345, 30130]);
                assert!(decoded.ended.is_ok(), "{}: {:?}", path.display(), decoded.ended);
                assert!(decoded.statistics.packets > 0, "{}", path.display());
            }
        }
    }
    println!("{captures} captures");
    assert!(captures > 0);
}
