//! The command line: redacting while recording and redacting afterwards come to the same.

use std::path::Path;
use std::process::{Command, Output};

use splitproof_capture::trace::{Reader, Request, Shape};

fn run(dir: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_splitproof-capture"));
    command.args(line.split_whitespace()).current_dir(dir).output().expect("runs")
}

fn read(dir: &Path) -> (Vec<Request>, Vec<Shape>) {
    let reader = Reader::open(dir).expect("opens");
    (reader.requests().collect::<Result<_, _>>().expect("reads"), reader.shapes().expect("reads"))
}

#[test]
fn redacting_while_recording_and_afterwards_come_to_the_same() {
    let dir = tempfile::tempdir().expect("directory");
    std::fs::write(dir.path().join("key"), "0f1e2d3c4b5a69788796a5b4c3d2e1f0\n").expect("writes");
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    for (engine, port, code) in [("postgresql", 5432, 0), ("mysql", 3306, 1)] {
        let pcap = samples.join(format!("shop-{engine}.pcap"));
        let pcap = pcap.display();
        let told = run(dir.path(), &format!("packets --port {port}={engine} --redact-key key -o {engine}-a {pcap}"));
        // MariaDB's bulk executions cannot be read, and so not be redacted.
        assert_eq!(told.status.code(), Some(code), "{}", String::from_utf8_lossy(&told.stdout));
        run(dir.path(), &format!("packets --port {port}={engine} -o {engine}-b {pcap}"));
        let told = run(dir.path(), &format!("redact {engine}-b --redact-key key -o {engine}-c"));
        assert_eq!(told.status.code(), Some(code), "{}", String::from_utf8_lossy(&told.stderr));
        let [a, b, c] = ["a", "b", "c"].map(|name| read(&dir.path().join(format!("{engine}-{name}"))));
        assert!(a == c, "{engine}: the rows or the shapes differ");
        assert!(a.0.len() == b.0.len() && a.0.iter().all(|row| row.redacted), "{engine}");
        let other = run(dir.path(), &format!("redact {engine}-b -o {engine}-d"));
        assert_eq!(other.status.code(), Some(code));
        assert_ne!(read(&dir.path().join(format!("{engine}-d"))).0, c.0, "a random key");
    }
}

#[test]
fn a_key_that_is_none_costs_no_trace() {
    let dir = tempfile::tempdir().expect("directory");
    std::fs::write(dir.path().join("key"), "a secret").expect("writes");
    for line in [
        "packets --redact-key key -o t x.pcap",
        "redact t --redact-key key -o u",
        "live -i lo --redact-key nowhere -o t",
    ] {
        let told = run(dir.path(), line);
        let err = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.status.code() == Some(2) && err.contains("--redact-key"), "{err}");
        assert!(!dir.path().join("t").exists());
    }
}
