//! A live recording of a real server's traffic on the loopback: what was sent and not recorded is what the counters say.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use splitproof_capture::trace::{Kind, Reader, Request};

use crate::server::Server;

/// Something that records, and says when it has begun.
pub struct Recorder(Child, BufReader<std::process::ChildStderr>);

impl Recorder {
    pub fn start(command: &mut Command, begun: &str) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        while !line.contains(begun) {
            line.clear();
            assert!(err.read_line(&mut line).expect("reads") > 0, "it ended before it began");
        }
        Recorder(child, err)
    }

    /// The line with which it answers a signal while it runs.
    fn asked(&mut self, signal: &str) -> String {
        self.signal(signal);
        let mut line = String::new();
        self.1.read_line(&mut line).expect("reads");
        line
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.0.id().to_string()]).status().expect("runs").success());
    }

    /// Ends it by a signal; what it said on standard output and on standard error.
    pub fn end(mut self, signal: &str) -> (String, String, Option<i32>) {
        self.signal(signal);
        let (mut out, mut err) = (String::new(), String::new());
        self.0.stdout.take().expect("a pipe").read_to_string(&mut out).expect("reads");
        self.1.read_to_string(&mut err).expect("reads");
        (out, err, self.0.wait().expect("ends").code())
    }
}

fn live(dir: &Path, port: u16, more: &str) -> Command {
    live_on("lo", dir, port, more)
}

fn live_on(interface: &str, dir: &Path, port: u16, more: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_splitproof-capture"));
    let line = format!("live -i {interface} --port {port}=postgresql --format json -o trace {more}");
    command.args(line.split_whitespace()).current_dir(dir);
    command
}

/// `None`, after a message, where this machine has no server or no right to capture.
fn server() -> Option<Server> {
    let server = Server::start();
    if server.is_none() {
        crate::skipped(1, "no PostgreSQL server");
    }
    server.filter(|_| may_capture())
}

/// False, after a message, where this machine gives no right to capture.
pub fn may_capture() -> bool {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !is_root {
        crate::skipped(1, "no right to capture packets");
    }
    is_root
}

impl Server {
    fn connection(&self) -> [String; 4] {
        ["-h".into(), "127.0.0.1".into(), "-p".into(), self.port.to_string()]
    }

    fn run(&self, program: &str, args: &[&str]) -> String {
        let connection = self.connection();
        let all: Vec<&str> =
            connection.iter().map(String::as_str).chain(["-U", "postgres"]).chain(args.iter().copied()).collect();
        let output = self.client(program, &all);
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn requests(dir: &Path) -> Vec<Request> {
    Reader::open(dir).expect("opens").requests().collect::<Result<_, _>>().expect("reads")
}

fn count(rows: &[Request], text: &str) -> u64 {
    rows.iter().filter(|row| row.sql.as_deref().is_some_and(|sql| sql.contains(text))).count() as u64
}

#[test]
fn at_full_speed_of_pgbench_every_statement_is_recorded_or_its_packets_are_counted() {
    let Some(server) = server() else { return };
    let dir = tempfile::tempdir().expect("directory");
    server.run("pgbench", &["-i", "-q", "-s", "1", "postgres"]);
    let recorder = Recorder::start(&mut live(dir.path(), server.port, ""), "listening");
    let told = server.run("pgbench", &["-n", "-S", "-c", "2", "-T", "2", "postgres"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let (out, err, code) = recorder.end("-INT");
    assert_eq!(code, Some(0), "{err}");
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    let sent: u64 = told
        .lines()
        .find_map(|line| line.strip_prefix("number of transactions actually processed: "))
        .and_then(|number| number.split_whitespace().next()?.parse().ok())
        .expect("pgbench's count");
    let recorded = count(&requests(&dir.path().join("trace")), "abalance FROM pgbench_accounts");
    let dropped = summary["losses"].as_array().expect("a list").iter().find(|loss| loss["reason"] == "kernel_dropped");
    println!("sent {sent}, recorded {recorded}, dropped {dropped:?}, cpu {}", summary["cpu"]);
    assert!(summary["cpu"]["cpu_seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    match dropped {
        None => assert_eq!(recorded, sent),
        // A statement and its answer are two packets at least.
        Some(dropped) => assert!(sent - recorded <= dropped["count"].as_u64().expect("a count")),
    }
}

#[test]
fn what_the_kernel_dropped_is_what_another_recorder_saw_and_we_did_not() {
    let Some(server) = server() else { return };
    if Command::new("tcpdump").arg("--version").output().is_err() {
        crate::skipped(1, "no tcpdump");
        return;
    }
    let dir = tempfile::tempdir().expect("directory");
    let filter = format!("inbound and tcp port {}", server.port);
    let mut other = Command::new("tcpdump");
    // What it says to have received is counted by the kernel, once for each packet; its own buffer is large all the same.
    other.args(["-i", "lo", "-B", "400000", "-s", "64", "-w", "/dev/null", &filter]);
    let mut other = Recorder::start(&mut other, "listening");
    let recorder = Recorder::start(&mut live(dir.path(), server.port, "--buffer 1"), "listening");
    // The kernel counted from before the filter was there: what passed on other ports until then does not belong to this test.
    let before = received(&other.asked("-USR1"));
    server.run(
        "psql",
        &["-qAt", "-c", "SELECT repeat('x', 5000) FROM generate_series(1, 60000)", "-o", "/dev/null", "postgres"],
    );
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let (out, err, _) = recorder.end("-TERM");
    let (_, told, _) = other.end("-INT");
    let sent = received(&told) - before;
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    let read = summary["packets"]["read"].as_u64().expect("a number");
    let dropped = summary["losses"].as_array().expect("a list").iter().find(|loss| loss["reason"] == "kernel_dropped");
    let dropped = dropped.map_or(0, |loss| loss["count"].as_u64().expect("a number"));
    let figures = format!("sent {sent} ({before} before), read {read}, dropped {dropped}\n{told}\n{err}");
    // The two recorders neither begin nor end at the same moment.
    assert!((read + dropped).abs_diff(sent) * 100 <= sent, "{figures}");
    assert!(dropped == 0 || err.contains("dropped"), "drops are told within a second: {figures}");
}

/// The packets that tcpdump says to have received, in whatever form it says so.
fn received(told: &str) -> u64 {
    let end = told.find(" packets received by filter").unwrap_or_else(|| panic!("no count of tcpdump: {told}"));
    let number = told[..end].rsplit(|byte: char| !byte.is_ascii_digit()).next().expect("one piece at least");
    number.parse().unwrap_or_else(|error| panic!("{told}: {error}"))
}

#[test]
fn a_long_recording_is_rotated_and_every_part_is_whole() {
    let Some(server) = server() else { return };
    let dir = tempfile::tempdir().expect("directory");
    let recorder = Recorder::start(&mut live(dir.path(), server.port, "--rotate 1s"), "listening");
    let script = "SELECT 1001; SELECT pg_sleep(1.3); SELECT 1002; SELECT pg_sleep(1.3); SELECT 1003";
    let commands: Vec<&str> = script.split("; ").flat_map(|sql| ["-c", sql]).collect();
    server.run("psql", &[&["-qAt", "postgres"], commands.as_slice()].concat());
    std::thread::sleep(std::time::Duration::from_millis(300));
    let (out, err, code) = recorder.end("-HUP");
    assert_eq!(code, Some(0), "{err}");
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    let traces = summary["traces"].as_u64().expect("a number");
    assert!(traces >= 3, "{summary}");
    let parts: Vec<String> = (0..traces).map(|part| format!("trace/{part:05}")).collect();
    let rows: Vec<Request> = parts.iter().flat_map(|part| requests(&dir.path().join(part))).collect();
    assert_eq!(rows.len() as u64, summary["requests"].as_u64().expect("a number"));
    assert!(parts.iter().all(|part| Reader::open(dir.path().join(part)).expect("opens").manifest().complete));

    let mut command = Command::new(env!("CARGO_BIN_EXE_splitproof-capture"));
    let output = command
        .args(["merge", "-o", "whole", "--format", "json"])
        .args(&parts)
        .current_dir(dir.path())
        .output()
        .expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let whole = requests(&dir.path().join("whole"));
    assert_eq!(whole.len(), rows.len());
    let session = whole.iter().find(|row| row.sql.as_deref() == Some("SELECT 1001")).expect("recorded").session;
    let of: Vec<&Request> = whole.iter().filter(|row| row.session == session).collect();
    assert_eq!(of.first().map(|row| row.kind), Some(Kind::Connect));
    assert_eq!(of.iter().map(|row| row.seq).collect::<Vec<_>>(), (0..of.len() as u32).collect::<Vec<_>>());
    assert!(of.iter().any(|row| row.sql.as_deref() == Some("SELECT 1003")) && of.iter().all(|row| !row.joined_midway));
}

/// A network of its own, connected to this one by a VXLAN tunnel.
struct Tunnelled {
    names: [String; 3],
    /// This side's end of the tunnel.
    address: String,
}

impl Tunnelled {
    /// `None`, after a message, where this machine cannot have one.
    fn start() -> Option<Self> {
        // Tests run at the same time, also those of other workspaces: 198.18.0.0/15 is set aside for tests, by four addresses each.
        let number = std::process::id() % 16_384;
        let address = |net: u32, end: u32| format!("198.{net}.{}.{}", number >> 6, (number & 63) * 4 + end);
        let names = ["n", "v", "x"].map(|kind| format!("sp{kind}{number}"));
        let [space, outer, inner] = &names;
        let tunnelled = Tunnelled { names: names.clone(), address: address(19, 1) };
        let (near, far) = (address(18, 1), address(18, 2));
        let there = format!("netns exec {space} ip");
        for line in [
            format!("netns add {space}"),
            format!("link add {outer} type veth peer name p{outer} netns {space}"),
            format!("addr add {near}/30 dev {outer}"),
            format!("link set {outer} up"),
            format!("{there} addr add {far}/30 dev p{outer}"),
            format!("{there} link set p{outer} up"),
            format!("link add {inner} type vxlan id {number} dstport 4789 local {near} remote {far} dev {outer}"),
            format!("addr add {}/30 dev {inner}", address(19, 1)),
            format!("link set {inner} up"),
            format!(
                "{there} link add p{inner} type vxlan id {number} dstport 4789 local {far} remote {near} dev p{outer}"
            ),
            format!("{there} addr add {}/30 dev p{inner}", address(19, 2)),
            format!("{there} link set p{inner} up"),
        ] {
            let output = Command::new("ip").args(line.split_whitespace()).output();
            if !output.as_ref().is_ok_and(|output| output.status.success()) {
                crate::skipped(1, &format!("no VXLAN between network namespaces: ip {line}: {output:?}"));
                return None;
            }
        }
        Some(tunnelled)
    }
}

impl Drop for Tunnelled {
    fn drop(&mut self) {
        let [space, outer, inner] = &self.names;
        for args in [["link", "del", inner], ["link", "del", outer], ["netns", "del", space]] {
            let _ = Command::new("ip").args(args).output();
        }
    }
}

#[test]
fn what_goes_through_a_tunnel_is_recorded_where_tunnels_are_let_pass() {
    if server().is_none() {
        return;
    }
    let Some(tunnelled) = Tunnelled::start() else { return };
    let rules = [("hba", &b"host all all all trust"[..])];
    let Some(server) = Server::start_with("-c listen_addresses=0.0.0.0 -c hba_file=DIR/hba", &rules) else { return };
    let [space, outer, _] = &tunnelled.names;
    let record = |more: &str| {
        let dir = tempfile::tempdir().expect("directory");
        let recorder = Recorder::start(&mut live_on(outer, dir.path(), server.port, more), "listening");
        let url = format!("host={} port={} user=postgres dbname=postgres", tunnelled.address, server.port);
        let output =
            Command::new("ip").args(["netns", "exec", space, "psql", "-qAt", &url, "-c", "SELECT 42"]).output();
        assert_eq!(output.expect("runs").stdout, b"42\n");
        // The client has its answer, and so the packets have passed; the recorder reads what has passed before it ends.
        let (out, err, _) = recorder.end("-INT");
        let rows = Reader::open(dir.path().join("trace")).expect("opens").requests().collect::<Result<Vec<_>, _>>();
        (count(&rows.expect("reads"), "SELECT 42"), out + &err)
    };
    let (recorded, told) = record("--tunnels vxlan");
    assert_eq!(recorded, 1, "{told}");
    let (recorded, told) = record("");
    assert_eq!(recorded, 0, "{told}");
}

#[test]
fn a_disk_that_is_nearly_full_ends_the_recording_and_sessions_can_be_sampled() {
    let Some(server) = server() else { return };
    let dir = tempfile::tempdir().expect("directory");
    let output = live(dir.path(), server.port, "--min-free 1000T --for 30s").output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(summary["problems"].to_string().contains("--min-free"), "{summary}");
    assert!(Reader::open(dir.path().join("trace")).expect("opens").manifest().complete);

    let dir = tempfile::tempdir().expect("directory");
    let recorder = Recorder::start(&mut live(dir.path(), server.port, "--sample-sessions 0.5"), "listening");
    for _ in 0..20 {
        server.run("psql", &["-qAt", "-c", "SELECT 1", "-c", "SELECT 2", "postgres"]);
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    let (out, ..) = recorder.end("-INT");
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    let out = summary["losses"].as_array().expect("a list").iter().find(|loss| loss["reason"] == "sampled_out");
    let out = out.map_or(0, |loss| loss["count"].as_u64().expect("a number"));
    assert_eq!(summary["sessions"].as_u64().expect("a number") + out, 20, "{summary}");
    let rows = requests(&dir.path().join("trace"));
    assert_eq!(count(&rows, "SELECT 1"), count(&rows, "SELECT 2"), "whole sessions");
}
