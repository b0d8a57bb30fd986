//! `simulate`, `explain` and `rules`: from a trace and rule files to a run that `compare` judges.

use std::path::Path;

use serde_json::Value;
use splitproof_capture::trace::Reader;

use crate::command::analyze;
use crate::scenario::{mysql, scenario};

const RULES: &str = r#"
mysql_servers = ( { address="db1", hostgroup=10 }, { address="db2", hostgroup=20 } )
mysql_replication_hostgroups = ( { writer_hostgroup=10, reader_hostgroup=20 } )
mysql_users = ( { username="", default_hostgroup=10 } )
mysql_query_rules = (
  { rule_id=10, match_digest="FOR UPDATE", destination_hostgroup=10, apply=1 },
  { rule_id=20, match_digest="^SELECT", destination_hostgroup=20, apply=1 } )
"#;

const TRACE: &str = "1 10..12 UPDATE stock SET n = 1 | affected=1
1 20..22 SELECT n FROM stock WHERE id = 1 | sum=1 rows=1
1 30..32 SELECT n FROM stock WHERE id = 2 FOR UPDATE | sum=1 rows=1
1 40..41 BEGIN
1 42..43 SELECT n FROM stock WHERE id = 3 | sum=1 rows=1
1 44..45 COMMIT
2 50..51 SET @a = 5
2 52..53 SELECT n FROM stock WHERE id = 4 | sum=1 rows=1";

/// A recording with rules beside it.
fn stage() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    mysql(TRACE).write_recording(&dir.path().join("window"));
    std::fs::write(dir.path().join("today.cnf"), RULES.replace("username=\"\"", "username=\"app\"")).unwrap();
    dir
}

/// Runs the program and gives exit code and both outputs.
fn run(dir: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = analyze(dir, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn simulate(dir: &Path, rules: &str, out: &str) -> Value {
    let (code, printed, error) =
        run(dir, &["simulate", "--router", "proxysql", "--rules", rules, "window", "-o", out, "--format", "json"]);
    assert_eq!(code, 0, "{error}");
    serde_json::from_str(&printed).unwrap()
}

#[test]
fn a_prediction_is_a_run_that_says_so() {
    let dir = stage();
    let printed = simulate(dir.path(), "today.cnf", "predicted");
    // Eight statements: two of session 2, the second of which is refused.
    let counts = &printed["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!((count("routed"), count("decided"), count("refused"), count("by_router")), (8, 7, 1, 0), "{counts}");
    let reader = Reader::open(dir.path().join("predicted")).unwrap();
    assert_eq!(reader.leftovers(), []);
    let recording = Reader::open(dir.path().join("window")).unwrap();
    let section = reader.manifest().run.as_ref().unwrap();
    assert_eq!(section["recording"], recording.manifest().recording_id());
    assert_eq!(section["simulation"]["router"], "proxysql");
    assert!(section["nodes"].as_array().unwrap().iter().all(|node| node["evidence"] == "predicted"));
    let rows: Vec<_> = reader.requests().map(Result::unwrap).collect();
    assert_eq!(rows.len(), recording.requests().count());
    let nodes = |session: u64| -> Vec<String> {
        let rows = rows.iter().filter(|row| row.session == session && row.sql.is_some());
        rows.map(|row| row.node.as_deref().unwrap_or("-").to_owned()).collect()
    };
    assert_eq!(nodes(1), ["db1", "db2", "db1", "db1", "db1", "db1"]);
    assert_eq!(nodes(2), ["db1", "-"]);
    // What was measured at another place is not kept as if it had been measured here.
    assert!(
        rows.iter().all(|row| row.checksum_rows.is_none() && row.result_bytes.is_none() && row.recorded_seq.is_some())
    );
    assert_eq!(rows.iter().filter(|row| row.error_code.as_deref() == Some("9006")).count(), 1);
    assert!(dir.path().join("predicted/decisions.parquet").exists());
}

#[test]
fn a_prediction_is_judged_by_places_and_by_nothing_else() {
    let dir = stage();
    simulate(dir.path(), "today.cnf", "today");
    let rules = std::fs::read_to_string(dir.path().join("today.cnf")).unwrap();
    // The mistake of the manual's first warning: the general rule before the special one.
    std::fs::write(dir.path().join("candidate.cnf"), rules.replace("rule_id=10", "rule_id=30")).unwrap();
    let printed = simulate(dir.path(), "candidate.cnf", "candidate");
    assert!(printed["notes"].to_string().contains("the order of rules 20 and 30 decides"), "{printed}");
    std::fs::write(dir.path().join("gate.yaml"), "promote_if: { write_leakage_delta: 0 }").unwrap();
    let with_gate = |a: &str, b: &str| run(dir.path(), &["compare", a, b, "--gate", "gate.yaml", "--format", "json"]);
    let (code, page, error) = with_gate("today", "candidate");
    assert_eq!(code, 1, "{error}");
    let report: Value = serde_json::from_str(&page).unwrap();
    let leaked = &report["comparison"]["candidate"]["write_leakage"];
    assert_eq!(leaked[0]["requests"], 1, "{leaked}");
    assert!(leaked[0]["shape"]["text"].as_str().unwrap().to_lowercase().contains("for update"), "{leaked}");
    let metrics = report["comparison"]["metrics"].as_object().unwrap();
    for absent in ["mismatches", "stale_answers", "p99_read_latency_ms", "errors", "unverified_share", "stale_reads"] {
        assert!(!metrics.contains_key(absent), "{absent} was not measured");
        assert!(report["comparison"]["unmeasured"][absent].as_str().unwrap().contains("prediction"), "{absent}");
    }
    assert_eq!(metrics["router_refused"], 1.0);
    let (code, _, error) = with_gate("today", "today");
    assert_eq!(code, 0, "{error}");
    // Against the recording, which does not say where anything ran.
    let (code, page, error) = run(dir.path(), &["compare", "window", "candidate"]);
    assert_eq!(code, 1, "{error}");
    for part in ["PREDICTION FAILS", "predicted by the model of ProxySQL", "rule 20", "answers: not measured"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // What only an execution shows cannot be judged.
    std::fs::write(dir.path().join("answers.yaml"), "promote_if: { mismatches: 0 }").unwrap();
    let (code, page, _) = run(dir.path(), &["compare", "today", "today", "--gate", "answers.yaml"]);
    assert_eq!(code, 2, "{page}");
    assert!(page.contains("mismatches could not be measured because the candidate is a prediction"), "{page}");
    let (code, ..) = run(dir.path(), &["compare", "today", "candidate", "--html", "r.html"]);
    assert_eq!(code, 1);
    let html = std::fs::read_to_string(dir.path().join("r.html")).unwrap();
    assert!(html.contains("Why statements go where they do") && html.contains("rule 20"), "the page says why");
}

#[test]
fn the_same_rules_in_every_form_decide_alike() {
    let dir = stage();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write(
        "rules.csv",
        "rule_id,active,match_digest,destination_hostgroup,apply\n20,1,^SELECT,20,1\n10,1,\"FOR UPDATE\",10,1\n",
    );
    write(
        "rules.tsv",
        "rule_id\tactive\tusername\tmatch_digest\tdestination_hostgroup\tapply\n10\t1\tNULL\tFOR UPDATE\t10\t1\n20\t1\tNULL\t^SELECT\t20\t1\n",
    );
    write(
        "rules.json",
        "[\n {\"rule_id\": 10, \"active\": 1, \"match_digest\": \"FOR UPDATE\", \"destination_hostgroup\": 10, \"apply\": 1, \"flagOUT\": null},\n \
         {\"rule_id\": \"20\", \"active\": \"1\", \"match_digest\": \"^SELECT\", \"destination_hostgroup\": \"20\", \"apply\": \"1\"}\n]",
    );
    write(
        "lines.json",
        "{\"rule_id\":10,\"active\":1,\"match_digest\":\"FOR UPDATE\",\"destination_hostgroup\":10,\"apply\":1}\n\
         {\"rule_id\":20,\"active\":1,\"match_digest\":\"^SELECT\",\"destination_hostgroup\":20,\"apply\":1}\n",
    );
    write(
        "rules.sql",
        "PRAGMA foreign_keys=OFF;\nCREATE TABLE mysql_query_rules (rule_id INTEGER);\n-- old\nDELETE FROM mysql_query_rules;\n\
         INSERT INTO mysql_query_rules (rule_id,active,match_digest,destination_hostgroup,apply)\n VALUES (10,1,'FOR UPDATE',10,1),\n (20,1,'^SELECT',20,1);\n\
         LOAD MYSQL QUERY RULES TO RUNTIME;",
    );
    write(
        "rules.cnf",
        "# c\nmysql_query_rules:\n(\n { rule_id=10\n match_digest=\"FOR \" \"UPDATE\"\n destination_hostgroup=0x0A\n apply=1 },\n { rule_id=20; match_digest=\"^SELECT\"; destination_hostgroup=20; apply=1 /* c */ }\n);",
    );
    let explain = |file: &str| {
        let statements = ["SELECT 1", "SELECT a FROM t FOR UPDATE", "UPDATE t SET a = 1"];
        let options = [
            "explain",
            "--router",
            "proxysql",
            "--rules",
            file,
            "--hostgroup",
            "10=primary",
            "--hostgroup",
            "20=replica",
            "--format",
            "json",
        ];
        let (code, printed, error) = run(dir.path(), &[&options[..], &statements].concat());
        assert_eq!(code, 0, "{file}: {error}");
        let steps: Vec<Value> = serde_json::from_str(&printed).unwrap();
        let of =
            |step: &Value| format!("{} {}", step["nodes"][0].as_str().unwrap(), step["rule"].as_str().unwrap_or("-"));
        steps.iter().map(of).collect::<Vec<_>>()
    };
    for file in ["rules.csv", "rules.tsv", "rules.json", "lines.json", "rules.sql", "rules.cnf"] {
        assert_eq!(explain(file), ["replica rule 20", "primary rule 10", "primary -"], "{file}");
    }
    // The exported script says the same again.
    let (code, printed, error) = run(
        dir.path(),
        &[
            "rules",
            "--router",
            "proxysql",
            "rules.csv",
            "rules.json",
            "rules.sql",
            "rules.cnf",
            "--export",
            "deploy.sql",
        ],
    );
    assert_eq!(code, 0, "{printed}{error}");
    assert_eq!(explain("deploy.sql"), explain("rules.csv"));
    let (code, printed, _) = run(dir.path(), &["rules", "--router", "proxysql", "deploy.sql", "rules.tsv"]);
    assert_eq!(code, 0, "{printed}");
}

#[test]
fn states_of_the_rules_that_differ_are_told() {
    let dir = stage();
    let rule = |more: &str| {
        format!("INSERT INTO mysql_query_rules (rule_id,active,match_digest,destination_hostgroup,apply{more};\n")
    };
    let runtime = rule(",timeout) VALUES (10,1,'^SELECT',20,1,500)") + &rule(") VALUES (20,1,'^SHOW',20,1)");
    let disk = rule(") VALUES (10,1,'^SELECT',10,1)");
    std::fs::write(dir.path().join("runtime.sql"), runtime).unwrap();
    std::fs::write(dir.path().join("disk.sql"), disk).unwrap();
    let (code, printed, _) =
        run(dir.path(), &["rules", "--router", "proxysql", "runtime.sql", "disk.sql", "--export", "deploy.sql"]);
    assert_eq!(code, 1);
    assert!(printed.contains("rule 20 is only in runtime.sql: match_digest `^SHOW`: hostgroup 20, apply"), "{printed}");
    assert!(
        printed.contains("rule 10 differs: match_digest `^SELECT`: hostgroup 20, apply in runtime.sql, and"),
        "{printed}"
    );
    let script = std::fs::read_to_string(dir.path().join("deploy.sql")).unwrap();
    assert!(script.contains("timeout") && script.contains("'500'"), "nothing of a rule is lost: {script}");
    assert!(script.find("(10,").unwrap() < script.find("(20,").unwrap());
}

#[test]
fn mistakes_are_named_with_file_line_rule_and_reason() {
    let dir = stage();
    let rule = |columns: &str| {
        format!("mysql_query_rules = (\n  {{ rule_id=1, match_digest=\"x\" }},\n  {{ rule_id=7, {columns} }} )")
    };
    for (name, text, parts) in [
        (
            "a.cnf",
            rule("match_digest=\"^SELECT (\""),
            &["a.cnf:3:", "rule 7", "match_digest `^SELECT (`", "parenthes"][..],
        ),
        ("b.cnf", rule("match_pattern=\"[\""), &["b.cnf:3:", "rule 7", "match_pattern"]),
        (
            "c.cnf",
            rule("destination_hostgroup=\"ten\""),
            &["c.cnf:3:", "rule 7", "destination_hostgroup: `ten` is no number"],
        ),
        ("d.cnf", rule("replace_pattern=\"y\""), &["d.cnf:3:", "rule 7", "replace_pattern", "match_pattern"]),
        ("e.cnf", rule("digest=\"SELECT\""), &["e.cnf:3:", "rule 7", "digest: `SELECT` is no digest"]),
        ("f.cnf", rule("re_modifiers=\"CASELES\""), &["f.cnf:3:", "rule 7", "`CASELES` is not known"]),
        ("g.cnf", rule("apply=2"), &["g.cnf:3:", "rule 7", "apply: `2` is no flag"]),
        ("h.cnf", rule("attributes=\"{}}\""), &["h.cnf:3:", "rule 7", "attributes"]),
        ("i.cnf", rule("comment=\"x\" }, { rule_id=1"), &["i.cnf:3:", "rule 1 stands in line 2 already"]),
        ("j.cnf", "mysql_query_rules = ( { rule_id=1 ".into(), &["j.cnf:1:", "is missing"]),
        ("k.cnf", "mysql_query_rules = ( { rule_id one } )".into(), &["k.cnf:1:", "`=` is expected"]),
        ("l.cnf", "@include \"x.cnf\"\nmysql_query_rules = ( )".into(), &["l.cnf:1:", "@include is not followed"]),
        ("m.cnf", String::new(), &["m.cnf", "empty"]),
        ("n.json", "[{\"rule_id\": 1,}]".into(), &["n.json:1:", "not JSON"]),
        (
            "o.json",
            "[\n {\"rule_id\": 1},\n {\"rule_id\": 2, \"match_digest\": \"(\"}]".into(),
            &["o.json:3:", "rule 2", "match_digest"],
        ),
        ("p.csv", "rule_id,active,match_digest\n1,1\n".into(), &["p.csv:2:", "not a table"]),
        (
            "q.sql",
            "UPDATE mysql_query_rules SET active = 0 WHERE rule_id = 3;".into(),
            &["q.sql:1:", "UPDATE is not carried out"],
        ),
        ("r.sql", "INSERT INTO mysql_query_rules VALUES (1, 2);".into(), &["r.sql:1:", "2 values for 35 columns"]),
        ("s.cnf", rule("destination_hostgroup=30"), &["rule 7 sends to hostgroup 30", "--hostgroup 30=primary"]),
    ] {
        std::fs::write(dir.path().join(name), text).unwrap();
        let (code, _, error) = run(dir.path(), &["explain", "--router", "proxysql", "--rules", name, "SELECT 1"]);
        assert_eq!(code, 2, "{name}: {error}");
        for part in parts {
            assert!(error.contains(part), "{name}: {part}: {error}");
        }
        assert!(!error.contains("panicked"), "{error}");
    }
}

#[test]
fn what_is_not_known_is_listed() {
    let dir = stage();
    let text = std::fs::read_to_string(dir.path().join("today.cnf")).unwrap();
    let text = text.replace("rule_id=20,", "rule_id=20, weight_of_moon=3, timeout=5,")
        + "\nmysql_galera_hostgroups = ( { writer_hostgroup=1 } )\n";
    std::fs::write(dir.path().join("odd.cnf"), text).unwrap();
    let printed = simulate(dir.path(), "odd.cnf", "odd");
    let unknown = printed["unknown"].as_array().unwrap();
    assert_eq!(unknown.len(), 2, "{unknown:?}");
    assert!(unknown[0].as_str().unwrap().contains("weight_of_moon"), "{unknown:?}");
    assert!(unknown[1].as_str().unwrap().contains("mysql_galera_hostgroups"), "{unknown:?}");
    let (_, page, _) = run(dir.path(), &["compare", "odd", "odd"]);
    assert!(page.contains("the model does not know rule 20: column weight_of_moon"), "{page}");
}

#[test]
fn a_run_is_not_overwritten_and_a_trace_never() {
    let dir = stage();
    let simulate = |more: &[&str]| {
        run(dir.path(), &[&["simulate", "--router", "proxysql", "--rules", "today.cnf"][..], more].concat())
    };
    assert_eq!(simulate(&["window", "-o", "out"]).0, 0);
    let (code, _, error) = simulate(&["window", "-o", "out"]);
    assert!(code == 2 && error.contains("out"), "{error}");
    assert_eq!(simulate(&["window", "-o", "out", "--force"]).0, 0);
    for out in ["window", "window/inner", "./window/../window"] {
        let (code, _, error) = simulate(&["window", "-o", out, "--force"]);
        assert!(code == 2 && error.contains("is the trace, or lies inside it"), "{out}: {error}");
    }
    assert!(Reader::open(dir.path().join("window")).is_ok());
    let (code, _, error) = simulate(&["nowhere", "-o", "x"]);
    assert!(code == 2 && error.contains("nowhere"), "{error}");
    crate::scenario::scenario("1 10..12 SELECT 1").write_recording(&dir.path().join("postgresql"));
    let (code, _, error) = simulate(&["postgresql", "-o", "x"]);
    assert!(code == 2 && error.contains("the model of proxysql is one of mysql"), "{error}");
    // A prediction of a prediction repeats the same recording.
    assert_eq!(simulate(&["out", "-o", "again"]).0, 0);
    let id =
        |name: &str| Reader::open(dir.path().join(name)).unwrap().manifest().run.as_ref().unwrap()["recording"].clone();
    assert_eq!(id("out"), id("again"));
}

#[test]
fn a_run_through_the_router_says_how_far_the_model_agrees() {
    let dir = tempfile::tempdir().unwrap();
    let run_of = |text: &str, name: &str| scenario(text).write(&dir.path().join(name));
    run_of(
        "1 10..12 SELECT n FROM stock WHERE id = 1 -> S8
         1 20..22 UPDATE stock SET n = 1 -> P7
         1 30..32 SELECT audit_login(1) -> S8
         1 40..42 SELECT count(*) FROM stock -> P7",
        "seen",
    );
    let conf = "backend_hostname0 = 'a'\nbackend_weight0 = 0\nbackend_hostname1 = 'b' # the standby\nbackend_weight1 = 1\nnew_setting = on\n";
    std::fs::write(dir.path().join("pgpool.conf"), conf).unwrap();
    let simulate = |more: &[&str]| {
        let plain = ["simulate", "--router", "pgpool", "--rules", "pgpool.conf", "seen", "--force", "-o", "predicted"];
        run(dir.path(), &[&plain[..], more].concat())
    };
    let (code, printed, error) = simulate(&["--format", "json"]);
    assert_eq!(code, 0, "{error}");
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["unknown"][0], "setting new_setting");
    let agreement = &printed["agreement"];
    assert_eq!((agreement["compared"].as_u64(), agreement["agreed"].as_u64()), (Some(4), Some(2)), "{agreement}");
    // The catalogue of the run says that audit_login() is volatile.
    let audit =
        agreement["differing"].as_array().unwrap().iter().find(|row| row["sql"].as_str().unwrap().contains("audit"));
    assert_eq!(
        (audit.unwrap()["predicted"].as_str(), audit.unwrap()["ran"].as_str()),
        (Some("the primary"), Some("a replica"))
    );
    let (_, printed, _) = simulate(&[]);
    assert!(printed.contains("2 of 4 requests go where the run's nodes executed them (50.00 %)"), "{printed}");
    for (line, parts) in [
        ("load_balance_mode = perhaps", &["pgpool.conf:2:", "load_balance_mode", "`perhaps` is no flag"][..]),
        ("backend_clustering_mode = 'raw'", &["pgpool.conf:2:", "`raw` is not modelled"]),
        ("primary_routing_query_pattern_list = '('", &["pgpool.conf:2:", "primary_routing_query_pattern_list", "`(`"]),
        ("backend_weight1 = many", &["pgpool.conf:2:", "`many` is no number"]),
        ("", &["pgpool.conf:", "1 backends"]),
    ] {
        std::fs::write(dir.path().join("pgpool.conf"), format!("backend_hostname0 = 'a'\n{line}\n")).unwrap();
        let (code, _, error) = simulate(&[]);
        assert_ne!(code, 0, "{line}");
        assert!(parts.iter().all(|part| error.contains(part)), "{line}: {error}");
    }
}
