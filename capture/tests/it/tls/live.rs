//! A key log that is written while packets are captured.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use splitproof_capture::trace::{Engine, Reader, Request};

use super::scene::{How, Scene};
use crate::live::{Recorder, may_capture};

/// Texts that were recorded while a client ran; and the summary.
fn record(scene: &Scene, key_log: &Path, client: impl FnOnce()) -> (Vec<String>, Value) {
    let dir = tempfile::tempdir().expect("directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_splitproof-capture"));
    let port = format!("{}={}", scene.port(), scene.engine);
    command.args(["live", "-i", "lo", "--format", "json", "-o", "trace", "--port", &port, "--keylog"]).arg(key_log);
    let recorder = Recorder::start(command.current_dir(dir.path()), "listening");
    client();
    let (out, err, code) = recorder.end("-INT");
    let summary: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {err}"));
    assert!(matches!(code, Some(0 | 1)), "{err}");
    let requests =
        Reader::open(dir.path().join("trace")).expect("opens").requests().collect::<Result<Vec<Request>, _>>();
    let texts = requests.expect("reads").into_iter().filter_map(|request| request.sql.as_deref().map(str::to_owned));
    (texts.filter(|sql| sql.starts_with("SELECT 'live")).collect(), summary)
}

#[test]
fn secrets_that_are_written_while_it_runs_open_the_sessions() {
    if !may_capture() {
        return;
    }
    for engine in [Engine::Postgresql, Engine::Mysql] {
        let Some(scene) = Scene::start(engine) else { return };
        let statements = ["SELECT 'live one'", "SELECT 'live two'"];
        for version in ["TLSv1_2", "TLSv1_3"] {
            // The recorder opens it when there is nothing in it.
            let key_log = scene.dir.path().join(format!("live-{version}.log"));
            std::fs::write(&key_log, b"").expect("can write");
            let how = How { sessions: 2, ..How::new(version, "-") };
            let client = || scene.client(how, scene.port(), &key_log, &statements);
            let (texts, summary) = record(&scene, &key_log, client);
            assert_eq!(texts, [statements, statements].concat(), "{engine} {version}: {summary}");
            assert_eq!(summary.get("encrypted"), None, "{summary}");
        }
        // Those of another client do not open them, which is told: in the trace, too.
        let (empty, other) = (scene.dir.path().join("empty.log"), scene.dir.path().join("other.log"));
        std::fs::write(&empty, b"").expect("can write");
        let client = || scene.client(How::new("TLSv1_3", "-"), scene.port(), &other, &statements);
        let (texts, summary) = record(&scene, &empty, client);
        assert_eq!((texts.len(), &summary["encrypted"][0]["sessions"]), (0, &1.into()), "{summary}");
    }
}
