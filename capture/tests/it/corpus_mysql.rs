//! Third-party captures of MySQL and MariaDB, decoded and compared with what tshark reads from them.
//!
//! tshark 4.0 does not undo compression that begins after a login with another method, takes a proof of who a client is
//! for a command where the server asks for another proof, and ends a text at a NUL byte. Where its reading is wrong, the
//! capture says so below, and names the reading that is compared instead.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use splitproof_capture::trace::{Engine, Loss, Request};

use crate::corpus::{corpus, decode};

/// What was read from a capture, in a form that tshark can be asked for too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Reading {
    /// Texts of COM_QUERY and COM_STMT_PREPARE in order of time, control characters as escapes.
    texts: Vec<String>,
    /// Commands by their first byte.
    commands: BTreeMap<u8, usize>,
}

impl Reading {
    fn ours(requests: &[Request]) -> Self {
        let mut reading = Reading::default();
        for request in requests {
            for pair in request.messages.as_bytes().chunks(2) {
                let digits = std::str::from_utf8(pair).expect("two digits");
                let code = u8::from_str_radix(digits, 16).expect("two digits");
                *reading.commands.entry(code).or_default() += 1;
            }
            if matches!(request.messages.as_str(), "03" | "16") {
                reading.texts.extend(request.sql.as_deref().map(escaped));
            }
        }
        reading
    }

    /// Reads tshark's table of fields. It joins the values of several packets in one frame with `|`.
    fn tsharks(table: &str) -> Self {
        let mut lines = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let header = lines.next().unwrap_or_default();
        let column = |name: &str| header.iter().position(|&field| field == name).expect("a column of tshark's");
        let (command, query) = (column("mysql.command"), column("mysql.query"));
        let mut reading = Reading::default();
        for line in lines {
            let field = |at: usize| line.get(at).copied().unwrap_or_default();
            for code in field(command).split('|').filter_map(|code| code.parse().ok()) {
                *reading.commands.entry(code).or_default() += 1;
            }
            if !field(query).is_empty() {
                reading.texts.push(field(query).to_owned());
            }
        }
        reading
    }
}

/// A text as tshark writes it, which does not escape the backslash itself.
fn escaped(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}

/// What tshark gets wrong.
enum Tshark {
    /// Nothing.
    Right,
    /// It takes these bytes, each in a frame of its own, for commands.
    Mistakes(&'static [u8]),
    /// It reads these texts, by their place, only up to a NUL byte.
    StopsAtNul(usize),
    /// It does not undo the compression: these commands were sent, with these texts.
    Compressed(&'static [u8], &'static [&'static str]),
    /// The same, and the texts are those that the capture's own project expects, in its file beside the capture.
    CompressedAsExpected(&'static [u8]),
}

use Tshark::*;

struct Capture {
    name: &'static str,
    port: u16,
    /// What is lost, exactly, and why.
    losses: &'static [(Loss, u64)],
    tshark: Tshark,
}

const fn clean(name: &'static str, port: u16) -> Capture {
    Capture { name, port, losses: &[], tshark: Right }
}

const fn lossy(name: &'static str, port: u16, losses: &'static [(Loss, u64)]) -> Capture {
    Capture { name, port, losses, tshark: Right }
}

/// No SYN is in the file.
const fn midway(name: &'static str, port: u16) -> Capture {
    lossy(name, port, MIDWAY)
}

const MIDWAY: &[(Loss, u64)] = &[(Loss::JoinedMidway, 1)];

const CAPTURES: &[Capture] = &[
    clean("arkime-arkime/mysql-allow.pcap", 3306),
    clean("arkime-arkime/mysql-deny.pcap", 3306),
    clean("colinnewell-pcap2mysql-log/big-data.pcap", 3306),
    // tshark takes the first bytes of compressed packets for commands 0xcd and 0x31
    Capture {
        name: "colinnewell-pcap2mysql-log/compressed-data-missing.pcap",
        port: 3306,
        losses: &[],
        tshark: CompressedAsExpected(&[3, 3, 1]),
    },
    clean("colinnewell-pcap2mysql-log/date-types.pcap", 3306),
    Capture {
        name: "colinnewell-pcap2mysql-log/error.pcap",
        port: 3306,
        losses: &[],
        tshark: CompressedAsExpected(&[3, 1]),
    },
    clean("colinnewell-pcap2mysql-log/execute.pcap", 3306),
    // a web application's other traffic, and one connection that is older than the file and says nothing more
    lossy("colinnewell-pcap2mysql-log/insecure.pcap", 3306, &[(Loss::OtherTraffic, 405), (Loss::JoinedMidway, 1)]),
    clean("colinnewell-pcap2mysql-log/numeric-types.pcap", 3306),
    clean("colinnewell-pcap2mysql-log/type-error.pcap", 3306),
    clean("colinnewell-pcap2mysql-log/uncompressed-data-present.pcap", 3306),
    lossy("deepflowio-deepflow/mysql_171-mysql.pcap", 20130, &[(Loss::JoinedMidway, 6)]),
    // frame 3: the second text has a NUL at byte 1881 of 1944
    Capture { name: "deepflowio-deepflow/mysql_binary-in-sql.pcap", port: 2883, losses: MIDWAY, tshark: StopsAtNul(1) },
    midway("deepflowio-deepflow/mysql_large-response.pcap", 6033),
    // frame 1: a compressed packet whose piece was too short to be compressed, after a login that is not in the file
    Capture {
        name: "deepflowio-deepflow/mysql_mysql-compressed-response.pcap",
        port: 30130,
        losses: MIDWAY,
        tshark: Compressed(&[3], &["SELECT * FROM `az_controller_connection`"]),
    },
    clean("deepflowio-deepflow/mysql_mysql-database.pcap", 20130),
    clean("deepflowio-deepflow/mysql_mysql-error.pcap", 20130),
    clean("deepflowio-deepflow/mysql_mysql-login-error.pcap", 3306),
    clean("deepflowio-deepflow/mysql_mysql-table-alter.pcap", 20130),
    clean("deepflowio-deepflow/mysql_mysql-table-delete.pcap", 20130),
    clean("deepflowio-deepflow/mysql_mysql-table-desc.pcap", 20130),
    clean("deepflowio-deepflow/mysql_mysql-table-insert.pcap", 20130),
    clean("deepflowio-deepflow/mysql_mysql-table-select.pcap", 20130),
    // frame 1: 0f0000 00 000000 | 0b0000 00 03 "use `test`"
    Capture {
        name: "deepflowio-deepflow/mysql_mysql-use.pcap",
        port: 3306,
        losses: MIDWAY,
        tshark: Compressed(&[3], &["use `test`"]),
    },
    clean("deepflowio-deepflow/mysql_mysql.pcap", 20130),
    midway("deepflowio-deepflow/mysql_truncate-1024.pcap", 6033),
    clean("percona-percona-toolkit-converted/tcpdump-1402776.pcap", 3307),
    midway("percona-percona-toolkit-converted/tcpdump000.pcap", 3306),
    clean("percona-percona-toolkit-converted/tcpdump002.pcap", 3306),
    clean("percona-percona-toolkit-converted/tcpdump003.pcap", 3306),
    midway("percona-percona-toolkit-converted/tcpdump004.pcap", 3306),
    midway("percona-percona-toolkit-converted/tcpdump006.pcap", 3306),
    midway("percona-percona-toolkit-converted/tcpdump007.pcap", 3306),
    clean("percona-percona-toolkit-converted/tcpdump009.pcap", 3306),
    // frame 9 answers the request for an old password (frame 8: 01000002 fe): 09000003 40445e595651465e00
    Capture {
        name: "percona-percona-toolkit-converted/tcpdump010.pcap",
        port: 3306,
        losses: &[],
        tshark: Mistakes(&[0x40]),
    },
    // the file ends in frame 36, within the answer to the last query: 14 bytes of a row
    lossy("percona-percona-toolkit-converted/tcpdump011.pcap", 3306, &[(Loss::Undecodable, 14)]),
    // the same mistake with an old password that begins with 0x55
    Capture {
        name: "percona-percona-toolkit-converted/tcpdump013.pcap",
        port: 3306,
        losses: &[],
        tshark: Mistakes(&[0x55]),
    },
    // between frames 3 and 6 the client sent 502 bytes that are not in the file, and the server 4203
    lossy("percona-percona-toolkit-converted/tcpdump015.pcap", 12345, &[(Loss::Gap, 4705), (Loss::JoinedMidway, 1)]),
    // frames 3 to 8 repeat the query and its answer three times, each one sequence number later: one new byte each
    lossy(
        "percona-percona-toolkit-converted/tcpdump017.pcap",
        3306,
        &[(Loss::Undecodable, 6), (Loss::JoinedMidway, 1)],
    ),
    lossy(
        "percona-percona-toolkit-converted/tcpdump018.pcap",
        12345,
        &[(Loss::OtherTraffic, 3), (Loss::JoinedMidway, 1)],
    ),
    midway("percona-percona-toolkit-converted/tcpdump019.pcap", 12345),
    midway("percona-percona-toolkit-converted/tcpdump022.pcap", 12345),
    midway("percona-percona-toolkit-converted/tcpdump024.pcap", 12345),
    midway("percona-percona-toolkit-converted/tcpdump025.pcap", 12345),
    midway("percona-percona-toolkit-converted/tcpdump026.pcap", 3306),
    midway("percona-percona-toolkit-converted/tcpdump027.pcap", 3306),
    midway("percona-percona-toolkit-converted/tcpdump028.pcap", 12345),
    midway("percona-percona-toolkit-converted/tcpdump029.pcap", 12345),
    // the beginning of the only query is not in the file
    lossy(
        "percona-percona-toolkit-converted/tcpdump031.pcap",
        3306,
        &[(Loss::Gap, 68_417), (Loss::Resync, 69), (Loss::JoinedMidway, 1)],
    ),
    lossy(
        "percona-percona-toolkit-converted/tcpdump032.pcap",
        3306,
        &[(Loss::Gap, 2885), (Loss::Resync, 69), (Loss::JoinedMidway, 1)],
    ),
    midway("percona-percona-toolkit-converted/tcpdump033.pcap", 12345),
    midway("percona-percona-toolkit-converted/tcpdump034.pcap", 3306),
    // before frame 18 the client's bytes from 179622910 to 179622947 are missing, and 79 of the server's before frame 19
    lossy("percona-percona-toolkit-converted/tcpdump036.pcap", 3306, &[(Loss::Gap, 116)]),
    midway("percona-percona-toolkit-converted/tcpdump037.pcap", 3306),
    midway("percona-percona-toolkit-converted/tcpdump038.pcap", 12345),
    midway("percona-percona-toolkit-converted/tcpdump040.pcap", 3306),
    midway("percona-percona-toolkit-converted/tcpdump041.pcap", 12345),
    clean("percona-percona-toolkit-converted/tcpdump042.pcap", 12345),
    // frame 7: the client answers the greeting with "hello, world!" in CR LF
    lossy("percona-percona-toolkit-converted/tcpdump043.pcap", 12345, &[(Loss::Undecodable, 15)]),
    clean("percona-percona-toolkit-converted/tcpdump044.pcap", 3306),
    clean("zeek-zeek/mysql-auth.pcap", 3306),
    clean("zeek-zeek/mysql-caching_sha2_password-after-auth-switch.pcapng", 3306),
    clean("zeek-zeek/mysql-change-user-error.pcap", 3306),
    lossy("zeek-zeek/mysql-encrypted.pcap", 3306, &[(Loss::Encrypted, 1)]),
    clean("zeek-zeek/mysql-many-query-attrs.pcap", 3306),
    clean("zeek-zeek/mysql-mysql.pcap", 3306),
    clean("zeek-zeek/mysql-plain-amazon-rds.pcap", 3306),
    clean("zeek-zeek/mysql-query-attr.pcap", 3306),
    clean("zeek-zeek/mysql-selects_with_new_proto.pcap", 3306),
    clean("zeek-zeek/mysql-show-engine-innodb-status-no-password.pcap", 3306),
    lossy("zeek-zeek/mysql-tls-12-amazon-rds.pcap", 3306, &[(Loss::Encrypted, 1)]),
    lossy("zeek-zeek/mysql-tls-13-amazon-rds.pcap", 3306, &[(Loss::Encrypted, 1)]),
];

fn counted(codes: &[u8]) -> BTreeMap<u8, usize> {
    let mut commands = BTreeMap::new();
    codes.iter().for_each(|&code| *commands.entry(code).or_default() += 1);
    commands
}

/// The texts that pcap2mysql-log's own tests expect.
fn expected_beside(path: &Path) -> Vec<String> {
    let page = fs::read_to_string(path.with_extension("expected")).expect("the file of expectations");
    let queries = page.lines().filter_map(|line| line.trim().strip_prefix("\"Query\": "));
    queries
        .map(|text| escaped(&serde_json::from_str::<String>(text.trim_end_matches(',')).expect("a JSON string")))
        .collect()
}

/// tshark's reading, put right where it is known to be wrong.
fn reference(capture: &Capture, corpus: &Path, ours: &Reading) -> Reading {
    let table = fs::read(corpus.join(format!("expected/tshark/{}.tsv", capture.name))).expect("tshark's table");
    let mut reading = Reading::tsharks(&String::from_utf8_lossy(&table));
    match capture.tshark {
        Right => {}
        Mistakes(codes) => reading.commands.retain(|code, _| !codes.contains(code)),
        StopsAtNul(place) => {
            let whole = ours.texts.get(place).cloned().unwrap_or_default();
            if let (Some((head, _)), Some(text)) = (whole.split_once('\0'), reading.texts.get_mut(place)) {
                assert_eq!(text, head, "{}: up to the NUL", capture.name);
                *text = whole.clone();
            }
        }
        Compressed(codes, texts) => {
            reading.commands = counted(codes);
            reading.texts = texts.iter().map(|text| text.to_string()).collect();
        }
        CompressedAsExpected(codes) => {
            reading.commands = counted(codes);
            reading.texts = expected_beside(&corpus.join("pcap").join(capture.name));
        }
    }
    reading
}

#[test]
fn statements_are_those_that_tshark_reads() {
    let Some(corpus) = corpus(CAPTURES.len()) else { return };
    let mut wrong = Vec::new();
    for capture in CAPTURES {
        let decoded = decode(Engine::Mysql, &corpus.join("pcap").join(capture.name), &[capture.port]);
        let ours = Reading::ours(&decoded.requests);
        let reference = reference(capture, &corpus, &ours);
        if ours != reference {
            wrong.push(difference(capture.name, &ours, &reference));
        }
        wrong.extend(decoded.problems(capture.name, capture.losses));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What differs between two readings, short enough to read.
fn difference(name: &str, ours: &Reading, reference: &Reading) -> String {
    let mut text = format!("{name}\n  ours   {:?}\n  expected {:?}", ours.commands, reference.commands);
    let length = ours.texts.len().max(reference.texts.len());
    let short = |text: Option<&String>| text.map(|text| text.chars().take(200).collect::<String>());
    for i in (0..length).filter(|&i| ours.texts.get(i) != reference.texts.get(i)) {
        let (ours, reference) = (short(ours.texts.get(i)), short(reference.texts.get(i)));
        text.push_str(&format!("\n  text {i}\n   ours   {ours:?}\n   expected {reference:?}"));
    }
    text
}

#[test]
fn every_mysql_capture_of_the_corpus_is_listed() {
    let Some(corpus) = corpus(1) else { return };
    let mut missing = Vec::new();
    for directory in fs::read_dir(corpus.join("expected/tshark")).expect("a directory").flatten() {
        for file in fs::read_dir(directory.path()).into_iter().flatten().flatten() {
            let name = format!("{}/{}", directory.file_name().display(), file.file_name().display());
            let name = name.trim_end_matches(".tsv");
            let other = name.contains("/pgsql") || name.contains("/postgre");
            if !other && !CAPTURES.iter().any(|capture| capture.name == name) {
                missing.push(name.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}
