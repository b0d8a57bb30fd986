//! The program `splitproof-capture`, as a user meets it: exit codes, messages, what is left on disk.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use splitproof_capture::trace::{Kind, Reader, Request};

use crate::packets::wire::Tcp;

/// A directory to work in, and the program run in it.
pub struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    pub fn new() -> Self {
        Scene { dir: tempfile::tempdir().expect("directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("writes");
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_splitproof-capture"));
        command.args(line.split_whitespace()).current_dir(self.dir.path());
        command
    }

    /// Runs the program and compares its exit code.
    #[track_caller]
    pub fn run(&self, line: &str, code: i32) -> Told {
        let output = self.command(line).output().expect("runs");
        Told::new(output, code, line)
    }

    pub fn requests(&self, trace: &str) -> Vec<Request> {
        let reader = Reader::open(self.path(trace)).expect("opens");
        reader.requests().collect::<Result<_, _>>().expect("reads")
    }
}

/// What the program said.
pub struct Told {
    pub out: String,
    pub err: String,
}

impl Told {
    #[track_caller]
    pub fn new(output: Output, code: i32, line: &str) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let told = Told { out: text(&output.stdout), err: text(&output.stderr) };
        assert!(!told.err.contains("panicked"), "{line}: {}", told.err);
        assert_eq!(output.status.code(), Some(code), "{line}\n{}\n{}", told.out, told.err);
        told
    }

    /// Each word is in the message.
    #[track_caller]
    pub fn names(&self, words: &[&str]) {
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in: {}", self.err);
        }
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

/// A message of either side.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// The two sides of a small session, piece by piece: true is the client's.
fn talk() -> Vec<(bool, Vec<u8>)> {
    let ready = message(b'Z', b"I");
    let start = [&[0, 3, 0, 0][..], b"user\0alice\0database\0shop\0\0"].concat();
    let mut talk = vec![
        (true, message(0, &start)[1..].to_vec()),
        (false, [message(b'R', &[0; 4]), message(b'K', &[0, 0, 0, 7, 1, 2, 3, 4]), ready.clone()].concat()),
    ];
    for id in ["17", "18"] {
        let sql = format!("SELECT name FROM users WHERE id = {id}\0");
        let column = [&[0, 1][..], b"name\0", &[0; 6], &25_u32.to_be_bytes(), &[0xff; 6], &[0; 2]].concat();
        let row = [&[0, 1, 0, 0, 0, 3][..], b"bob"].concat();
        let answer = [message(b'T', &column), message(b'D', &row), message(b'C', b"SELECT 1\0"), ready.clone()];
        talk.extend([(true, message(b'Q', sql.as_bytes())), (false, answer.concat())]);
    }
    talk.push((true, message(b'X', b"")));
    talk
}

/// A pcap file of the session, with handshake and end.
fn pcap() -> Vec<u8> {
    let (mut client, mut from_server) = (101, 501);
    let mut segments =
        vec![Tcp::client("S", 100, 0, ""), Tcp::server("SA", 500, 101, ""), Tcp::client("A", 101, 501, "")];
    for (from_client, bytes) in talk() {
        let segment = match from_client {
            true => Tcp { payload: bytes.clone(), ..Tcp::client("A", client, from_server, "") },
            false => Tcp { payload: bytes.clone(), ..Tcp::server("A", from_server, client, "") },
        };
        *(if from_client { &mut client } else { &mut from_server }) += bytes.len() as u32;
        segments.push(segment);
    }
    segments.push(Tcp::client("FA", client, from_server, ""));
    segments.push(Tcp::server("FA", from_server, client + 1, ""));
    segments.push(Tcp::client("A", client + 1, from_server + 1, ""));
    file(&segments.iter().map(Tcp::ethernet).collect::<Vec<_>>())
}

fn header() -> Vec<u8> {
    [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 1].iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn file(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = header();
    for (frame, n) in frames.iter().zip(0_u32..) {
        let len = frame.len() as u32;
        [1_700_000_000, n * 1_000_000, len, len].iter().for_each(|word: &u32| file.extend(word.to_le_bytes()));
        file.extend(frame);
    }
    file
}

#[test]
fn a_window_is_recorded_and_shown() {
    let scene = Scene::new();
    scene.write("window.pcap", &pcap());
    let told = scene.run("packets --port 5432=postgresql -o window.trace window.pcap", 0);
    assert!(told.err.is_empty(), "progress is for terminals: {}", told.err);
    assert!(told.out.contains("lost      nothing"), "{}", told.out);

    let kinds: Vec<Kind> = scene.requests("window.trace").iter().map(|request| request.kind).collect();
    assert_eq!(kinds, [Kind::Connect, Kind::Query, Kind::Query, Kind::Disconnect]);
    let shown = scene.run("show --format json window.trace", 0).json();
    assert_eq!(shown["requests"], 4);
    assert_eq!(shown["kinds"]["query"], 2);
    assert_eq!(shown["complete"], true);
    assert_eq!(shown["shapes"][0]["requests"], 2);
    assert!(shown["shapes"][0]["text"].as_str().is_some_and(|text| !text.contains("17")), "{shown}");
    let text = scene.run("show window.trace", 0).out;
    assert!(text.contains("sessions  1") && text.contains("from users") || text.contains("FROM users"), "{text}");
}

#[test]
fn the_summary_is_json_when_asked() {
    let scene = Scene::new();
    scene.write("window.pcap", &pcap());
    let summary = scene.run("packets -o t --format json window.pcap", 0).json();
    assert_eq!(summary["requests"], 4);
    assert_eq!(summary["packets"]["read"], summary["packets"]["used"]);
    assert_eq!(summary["problems"], serde_json::json!([]));
}

#[test]
fn a_trace_is_replaced_only_when_asked_and_not_for_a_wrong_input() {
    let scene = Scene::new();
    scene.write("window.pcap", &pcap());
    scene.run("packets -o t window.pcap", 0);
    scene.run("packets -o t window.pcap", 2).names(&["t: exists", "--force"]);
    scene.run("packets -o t --force missing.pcap", 2).names(&["missing.pcap"]);
    assert_eq!(scene.requests("t").len(), 4, "the old trace is still there");
    scene.run("packets -o t --force window.pcap", 0);
    scene.run("packets -o . --force window.pcap", 2).names(&["not a trace"]);
}

#[test]
fn inputs_that_are_no_captures_are_named_with_a_remedy() {
    let scene = Scene::new();
    scene.write("empty.pcap", b"");
    scene.write("text.pcap", b"SELECT 1;\n");
    for name in ["empty.pcap", "text.pcap"] {
        scene.run(&format!("packets -o t {name}"), 2).names(&[name, "not a capture file", "tcpdump"]);
        assert!(!scene.path("t").exists(), "nothing is left of it");
    }
    scene.run("packets -o t window.pcap", 2).names(&["window.pcap"]);
    scene.run("live -i nonesuch0 -o t", 2).names(&["nonesuch0"]);
    assert!(!scene.path("t").exists());
}

#[test]
fn a_capture_cut_at_every_byte_of_its_last_packet_keeps_the_rest() {
    let scene = Scene::new();
    let whole = pcap();
    // The last packet is an acknowledgement: 16 bytes of record header, 14 of Ethernet, 20 of IP, 20 of TCP.
    for cut in 1..=70 {
        scene.write("cut.pcap", &whole[..whole.len() - cut]);
        let code = if cut == 70 { 0 } else { 1 };
        let told = scene.run("packets -o t --force --format json cut.pcap", code);
        let summary = told.json();
        assert_eq!(summary["requests"], 4, "cut {cut}: {summary}");
        if code == 1 {
            assert_eq!(summary["losses"][0]["reason"], "truncated_file", "cut {cut}");
            assert_eq!(summary["losses"][0]["count"], 70 - cut, "cut {cut}");
            let problem = summary["problems"][0].as_str().unwrap_or_default();
            assert!(problem.contains("cut.pcap") && problem.contains("at byte"), "{problem}");
        }
    }
}

#[test]
fn random_bytes_after_a_valid_header_are_a_problem_with_its_place() {
    let scene = Scene::new();
    let mut bytes = header();
    let mut state = 1_u32;
    bytes.extend((0..5000).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    }));
    scene.write("noise.pcap", &bytes);
    let summary = scene.run("packets -o t --format json noise.pcap", 1).json();
    let problems = summary["problems"].to_string();
    assert!(problems.contains("noise.pcap") && problems.contains("byte 24"), "{problems}");
    assert!(problems.contains("no request was recorded"), "{problems}");
    scene.run("show t", 0);
}

#[test]
fn traffic_of_other_ports_is_a_problem_that_names_the_flag() {
    let scene = Scene::new();
    scene.write("window.pcap", &pcap());
    let told = scene.run("packets --port 6432=postgresql -o t window.pcap", 1);
    assert!(told.out.contains("--port") && told.out.contains("other_traffic"), "{}", told.out);
}

#[test]
fn damaged_traces_are_named_with_a_remedy() {
    let scene = Scene::new();
    scene.run("show t", 2).names(&["t: no such directory"]);
    scene.write("window.pcap", &pcap());
    scene.run("show window.pcap", 2).names(&["splitproof-capture packets -o TRACE window.pcap"]);
    scene.run("packets -o t window.pcap", 0);

    let file = scene.path("t/requests-00000.parquet");
    let whole = std::fs::read(&file).expect("reads");
    std::fs::write(&file, &whole[..whole.len() / 2]).expect("writes");
    scene.run("show t", 2).names(&["requests-00000.parquet", "4 rows are lost", "--rebuild"]);
    std::fs::write(&file, &whole).expect("writes");

    std::fs::remove_file(scene.path("t/trace.json")).expect("removes");
    scene.run("show t", 2).names(&["no trace.json", "show --rebuild t"]);
    let shown = scene.run("show --rebuild --format json t", 1).json();
    assert_eq!(shown["requests"], 4);
    assert!(shown["problems"].to_string().contains("not known"), "{shown}");
}

#[test]
fn every_help_has_an_example_and_wrong_lines_exit_with_2() {
    let scene = Scene::new();
    for command in ["packets", "live", "tap", "show"] {
        let help = scene.run(&format!("{command} --help"), 0).out;
        assert!(help.contains(&format!("splitproof-capture {command} ")) && help.contains("Example"), "{help}");
    }
    assert!(scene.run("--help", 0).out.contains("Exit codes"));
    scene.run("", 2);
    scene.run("packets -o t", 2).names(&["FILE"]);
    scene.run("packets --port 5432 -o t f", 2).names(&["5432=postgresql"]);
    scene.run("packets --port 5432=oracle -o t f", 2).names(&["5432=postgresql"]);
    scene.run("live -i lo --for ten -o t", 2).names(&["--for ten", "10m"]);
}

#[test]
fn a_closed_pipe_is_success() {
    let scene = Scene::new();
    scene.write("window.pcap", &pcap());
    scene.run("packets -o t window.pcap", 0);
    for line in ["show t", "show --format json t"] {
        let mut child = scene.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        Told::new(output, 0, line);
    }
}

/// A capture that waits for more packets is told to end: what it had is a complete trace.
#[test]
fn a_signal_ends_the_recording_in_order() {
    let scene = Scene::new();
    for signal in ["INT", "TERM"] {
        let child = scene
            .command("packets -o t --force -")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("starts");
        let mut stdin = child.stdin.take().expect("is piped");
        stdin.write_all(&pcap()).expect("takes the packets");
        // More packets until it has ended: it looks at the flag between packets.
        std::thread::sleep(std::time::Duration::from_millis(300));
        let killed = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
        assert!(killed.expect("kill runs").success());
        std::thread::sleep(std::time::Duration::from_millis(100));
        let _ = stdin.write_all(&pcap()[24..]);
        drop(stdin);
        let told = Told::new(child.wait_with_output().expect("ends"), 0, signal);
        let reader = Reader::open(scene.path("t")).expect("opens");
        assert!(reader.manifest().complete, "{signal}");
        assert!(reader.manifest().table.requests >= 4, "{signal}: {}", told.out);
    }
}

/// A server that answers the bytes of the small session, whatever it is asked.
fn small_server() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("listens");
    let address = listener.local_addr().expect("address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("accepts");
            let mut asked = Vec::new();
            for (from_client, bytes) in talk() {
                if from_client {
                    asked.resize(bytes.len(), 0);
                    stream.read_exact(&mut asked).expect("is asked");
                    assert_eq!(asked, bytes, "the relay changes nothing");
                } else {
                    stream.write_all(&bytes).expect("answers");
                }
            }
        }
    });
    address
}

#[test]
fn a_tap_records_what_passes_until_a_signal() {
    let scene = Scene::new();
    let line = format!("tap --listen 127.0.0.1:0 --upstream {} -o t --format json", small_server());
    let child = scene.command(&line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("starts");
    let mut told = String::new();
    BufReader::new(child.stderr.take().expect("is piped")).read_line(&mut told).expect("says where it listens");
    let listen = told.strip_prefix("listening on ").and_then(|rest| rest.split(',').next()).expect("an address");

    let mut stream = std::net::TcpStream::connect(listen).expect("connects");
    for (from_client, bytes) in talk() {
        if from_client {
            stream.write_all(&bytes).expect("asks");
        } else {
            let mut answer = vec![0; bytes.len()];
            stream.read_exact(&mut answer).expect("is answered");
            assert_eq!(answer, bytes);
        }
    }
    assert_eq!(stream.read(&mut [0; 1]).expect("reads"), 0, "the end passes too");
    drop(stream);
    let killed = Command::new("kill").arg("-INT").arg(child.id().to_string()).status();
    assert!(killed.expect("kill runs").success());
    let summary = Told::new(child.wait_with_output().expect("ends"), 0, &line).json();
    assert_eq!(summary["requests"], 4, "{summary}");
    assert_eq!(summary["connections"]["accepted"], 1, "{summary}");
    let kinds: Vec<Kind> = scene.requests("t").iter().map(|request| request.kind).collect();
    assert_eq!(kinds, [Kind::Connect, Kind::Query, Kind::Query, Kind::Disconnect]);
}

#[test]
fn a_tap_that_cannot_listen_or_that_nobody_used_says_so() {
    let scene = Scene::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("listens").local_addr().expect("address");
    let busy = std::net::TcpListener::bind(taken).expect("listens");
    scene
        .run(&format!("tap --listen {taken} --upstream 127.0.0.1:1 -o t"), 2)
        .names(&["cannot listen", "free address"]);
    assert!(!scene.path("t").exists(), "nothing is left of it");
    drop(busy);
    scene.run("tap --engine oracle --listen 127.0.0.1:0 --upstream 127.0.0.1:1 -o t", 2).names(&["postgresql"]);
    let told = scene.run("tap --listen 127.0.0.1:0 --upstream 127.0.0.1:1 -o t --for 200ms", 1);
    assert!(told.out.contains("nobody connected"), "{}", told.out);
}

#[test]
fn a_capture_that_is_given_twice_is_noticed() {
    let scene = Scene::new();
    let whole = pcap();
    scene.write("w.pcap", &whole);
    scene.write("copy.pcap", &whole);
    for files in ["w.pcap w.pcap", "w.pcap copy.pcap", "w.pcap ./w.pcap"] {
        scene.run(&format!("packets -o t {files}"), 2).names(&["the same capture as w.pcap", "give it once"]);
    }
    assert!(!scene.path("t").exists());
    // Part of the window in another file, which begins ten seconds before the first one.
    let mut half = whole[..whole.len() / 2].to_vec();
    half[24..28].copy_from_slice(&1_699_999_990_u32.to_le_bytes());
    scene.write("half.pcap", &half);
    let told = scene.run("packets --format json -o t w.pcap half.pcap", 1).json();
    let problems = told["problems"].to_string();
    assert!(problems.contains("half.pcap: begins at") && problems.contains("twice"), "{problems}");
}

#[test]
fn wrong_values_are_answered_with_right_ones() {
    let scene = Scene::new();
    scene
        .run("packets -p 5432=oracle -o t w.pcap", 2)
        .names(&["\"oracle\" is not a protocol", "write one of postgresql, mysql"]);
    scene.run("packets -p x=postgresql -o t w.pcap", 2).names(&["\"x\" is not a port", "from 1 to 65535"]);
    let told = scene.run("packets -o t missing.pcap", 2);
    assert_eq!(told.err.matches("No such file").count(), 1, "{}", told.err);
}
