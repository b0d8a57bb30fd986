//! The detection matrix, with fewer orders of the sessions than `make matrix` takes.

use splitproof_samples::matrix::scene;

use splitproof_capture::trace::Engine;

use crate::tools;

#[test]
fn every_fault_on_postgresql_is_named_and_nothing_else() {
    complete(Engine::Postgresql);
}

#[test]
fn every_fault_on_mariadb_is_named_and_nothing_else() {
    complete(Engine::Mysql);
}

fn complete(engine: Engine) {
    let ended = tools::run_for(
        "matrix",
        ["--engine", engine.as_str(), "--seeds", "2"],
        // Some thirty replays, and servers that are restored before each.
        std::time::Duration::from_secs(1200),
    );
    let lines: Vec<Vec<&str>> = ended.stdout.lines().map(|line| line.split(' ').collect()).collect();
    let wrong: Vec<&Vec<&str>> = lines
        .iter()
        .filter(|line| match line[..] {
            ["matrix", on, name, word, _, none] => {
                let right = if name.starts_with("none/") { "clean" } else { "found" };
                on != engine.as_str() || word != right || none != "false=0"
            }
            _ => true,
        })
        .collect();
    assert!(wrong.is_empty() && ended.code == Some(0), "{wrong:?}\n{}", ended.stderr);
    for fault in scene::faults(engine) {
        assert_eq!(lines.iter().filter(|line| line[2] == fault.name()).count(), 1, "{fault}");
    }
    for other in ["causal-reads-off", "none/2", "none/3"] {
        assert!(lines.iter().any(|line| line[2] == other), "{other}: {}", ended.stdout);
    }
}
