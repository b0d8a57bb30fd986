//! The pair's life: streaming, routing, pausing, and the same bytes after a restore.

use splitproof_samples::sandbox::state::Backends;
use splitproof_samples::{Error, Sandbox};

/// Asks through the router as user `shop`.
fn ask(sandbox: &Sandbox, sql: &str) -> String {
    let output = std::process::Command::new("psql")
        .args(["-XAtq", "-h", "127.0.0.1", "-p", &sandbox.ports().router.to_string(), "-U", "shop", "shop", "-c", sql])
        .output()
        .unwrap();
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn digest(sandbox: &Sandbox) -> String {
    let script = "cd \"$0\" && find primary standby -type f | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum";
    let output = std::process::Command::new("sh").args(["-c", script]).arg(sandbox.dir()).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_pair_streams_pauses_and_comes_back_as_it_was() {
    let home = crate::home();
    let dir = home.path().join("pair");
    let mut sandbox = Sandbox::create(&dir).unwrap();
    assert!(matches!(Sandbox::create(&dir), Err(Error::Directory { .. })), "a directory in use is refused");
    assert!(matches!(sandbox.pause_replay(), Err(Error::Precondition { .. })), "nothing runs yet");
    assert!(matches!(sandbox.restore(), Err(Error::Precondition { .. })), "there is no snapshot yet");

    let pair = splitproof_replay::pair::Pair::read(&sandbox.write_pair_toml(None).unwrap()).unwrap();
    assert_eq!(pair.primary().url.port(), sandbox.ports().primary);

    sandbox.up().unwrap();
    sandbox.primary().sql("shop", "CREATE TABLE t AS SELECT 1 AS a; GRANT ALL ON t TO shop").unwrap();
    sandbox.wait_caught_up().unwrap();
    assert_eq!(sandbox.replica().sql("shop", "SELECT pg_is_in_recovery(), a FROM t").unwrap(), "t|1");

    sandbox.down().unwrap();
    sandbox.snapshot().unwrap();
    let before = digest(&sandbox);
    sandbox.up().unwrap();

    sandbox.router_with("today", Backends::Nodes, &[]).unwrap();
    sandbox.pause_replay().unwrap();
    ask(&sandbox, "UPDATE t SET a = 2");
    assert_eq!(sandbox.primary().sql("shop", "SELECT a FROM t").unwrap(), "2");
    assert_eq!(ask(&sandbox, "SELECT a FROM t"), "1", "the paused standby answers from the past");
    sandbox.resume_replay().unwrap();
    sandbox.wait_caught_up().unwrap();
    assert_eq!(ask(&sandbox, "SELECT a FROM t"), "2");
    let log = std::fs::read_to_string(sandbox.router_log()).unwrap();
    assert!(log.lines().any(|line| line.contains("DB node id: 1") && line.ends_with("SELECT a FROM t")), "{log}");

    // Delayed: the standby's answer is from before, and has caught up after the delay.
    sandbox.delay(2).unwrap();
    let written = std::time::Instant::now();
    ask(&sandbox, "UPDATE t SET a = 3");
    assert_eq!(ask(&sandbox, "SELECT a FROM t"), "2");
    sandbox.wait_caught_up().unwrap();
    assert!(written.elapsed().as_millis() >= 1900, "{:?}", written.elapsed());
    assert_eq!(ask(&sandbox, "SELECT a FROM t"), "3");
    sandbox.delay(0).unwrap();

    sandbox.restore().unwrap();
    assert_eq!(ask(&sandbox, "SELECT a FROM t"), "1", "the router serves the restored pair");
    sandbox.down().unwrap();
    sandbox.restore().unwrap();
    assert_eq!(digest(&sandbox), before, "a restore gives the same bytes");

    // Another process carries on.
    drop(sandbox);
    let mut sandbox = Sandbox::open(&dir).unwrap();
    sandbox.up().unwrap();
    let pid = sandbox.primary().pid().unwrap();
    drop(sandbox);
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    assert!(command.is_empty(), "dropping stops the servers");
    Sandbox::open(&dir).unwrap().destroy().unwrap();
    assert!(!dir.exists());
}

#[test]
fn a_directory_without_a_sandbox_is_named() {
    let home = tempfile::tempdir().unwrap();
    let error = Sandbox::open(home.path()).unwrap_err().to_string();
    assert!(error.contains("there is no sandbox here"), "{error}");
    std::fs::write(home.path().join("sandbox.json"), "{\"owner\":").unwrap();
    let error = Sandbox::open(home.path()).unwrap_err().to_string();
    assert!(error.contains("sandbox.json is not a sandbox state file"), "{error}");
}
