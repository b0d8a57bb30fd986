//! `docs/trace.md` says what the code does, and its lines for other tools run.

use std::path::{Path, PathBuf};
use std::process::Command;

use arrow::datatypes::DataType;
use splitproof_capture::trace::{
    Column, Engine, Kind, LateCause, Loss, Losses, Options, Outcome, Position, Request, Role, Shape, Sink,
    TransactionStatus, Writer,
};

use crate::trace_roundtrip::full;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a workspace").to_path_buf()
}

fn page() -> String {
    std::fs::read_to_string(workspace().join("docs/trace.md")).expect("docs/trace.md is there")
}

/// The section under a heading of the second level.
fn section(heading: &str) -> String {
    let page = page();
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    rest.split("\n## ").next().unwrap_or_default().to_string()
}

/// The cells of every table row of a section whose first cell is a name in backquotes.
fn rows(section: &str, columns: usize) -> Vec<Vec<String>> {
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    let cells = lines.map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_string()).collect());
    cells.filter(|cells: &Vec<String>| cells.len() == columns).collect()
}

/// The page's word for a type.
fn word(data_type: &DataType) -> String {
    match data_type {
        DataType::UInt64 => "u64".into(),
        DataType::UInt32 => "u32".into(),
        DataType::UInt16 => "u16".into(),
        DataType::Int16 => "i16".into(),
        DataType::Boolean => "bool".into(),
        DataType::Utf8 => "text".into(),
        DataType::Binary => "bytes".into(),
        DataType::FixedSizeBinary(16) => "16 bytes".into(),
        DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, Some(zone)) if &**zone == "UTC" => {
            "timestamp".into()
        }
        DataType::List(item) => format!("list of {}", word(item.data_type())),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| format!("{} {}", field.name(), word(field.data_type())));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        other => panic!("docs/trace.md has no word for {other}"),
    }
}

#[track_caller]
fn describes(heading: &str, columns: &[Column]) {
    let told: Vec<(String, String, bool)> = rows(&section(heading), 4)
        .into_iter()
        .map(|cells| (cells[0].trim_matches('`').to_string(), cells[1].clone(), cells[2] != "never"))
        .collect();
    let real: Vec<(String, String, bool)> =
        columns.iter().map(|column| (column.name.to_string(), word(&column.data_type()), column.nullable)).collect();
    assert_eq!(told, real, "the tables under {heading:?} (left) and the schema (right), in order");
}

#[test]
fn the_page_lists_the_columns_of_the_schema() {
    describes("Columns of `requests` and `node-NAME`", Request::COLUMNS);
    describes("Columns of `shapes`", Shape::COLUMNS);
    describes("Columns of `positions`", Position::COLUMNS);
    for column in [Request::COLUMNS, Shape::COLUMNS, Position::COLUMNS].concat() {
        assert!(!column.doc.is_empty(), "{} has a description", column.name);
    }
}

#[test]
fn the_page_lists_every_word_and_every_loss() {
    let page = page();
    let words = [
        Kind::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>(),
        Outcome::ALL.iter().map(|word| word.as_str()).collect(),
        LateCause::ALL.iter().map(|word| word.as_str()).collect(),
        TransactionStatus::ALL.iter().map(|word| word.as_str()).collect(),
        Role::ALL.iter().map(|word| word.as_str()).collect(),
        Engine::ALL.iter().map(|word| word.as_str()).collect(),
    ];
    for word in words.concat() {
        assert!(page.contains(&format!("`{word}`")), "the page does not name `{word}`");
    }
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = rows(&section("The manifest"), 3);
    let real: Vec<Vec<String>> = Loss::ALL
        .iter()
        .map(|loss| vec![format!("`{}`", loss.name()), loss.unit().to_string(), squeeze(loss.meaning())])
        .collect();
    assert_eq!(told, real, "the table of losses (left) and the code (right)");
}

/// A Python with the packages that the page names, under the target directory. `None` when it cannot be made.
fn python() -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let python = home.join("bin/python");
    let import = |python: &Path| {
        let check = Command::new(python).args(["-c", "import duckdb, pandas, pyarrow"]).output();
        check.is_ok_and(|check| check.status.success())
    };
    if !import(&python) {
        Command::new("python3").arg("-m").arg("venv").arg(&home).output().ok()?;
        let packages = ["duckdb", "pandas", "pyarrow", "pytz"];
        Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages).output().ok()?;
    }
    import(&python).then_some(python)
}

#[test]
fn the_lines_for_duckdb_and_pandas_run() {
    let Some(python) = python() else {
        crate::skipped(1, "python3 -m venv, or pip install duckdb pandas pyarrow, did not work");
        return;
    };
    let dir = tempfile::tempdir().expect("directory");
    let trace = dir.path().join("TRACE");
    let options = Options { flush_rows: 40, ..Options::new(Engine::Postgresql, "packets") };
    let mut writer = Writer::create(&trace, options).expect("creates");
    for seq in 0..100_u32 {
        let request = full(1, seq, 1_700_000_000_123_456_789 + i64::from(seq));
        writer.request(Request { duration_ns: Some(1_000_000), ..request });
        writer.request(Request::new(2, seq, 1_700_000_000_000_000_000, Kind::Other));
    }
    let shape = Shape {
        shape_id: u64::MAX - 1,
        text: "SELECT $1 /* the shape */".into(),
        sample: "SELECT 1".into(),
        count: 100,
        effects: None,
        tables: vec!["public.orders".into()],
        functions: vec![],
    };
    writer.shapes([shape]).expect("shapes");
    writer.finish(&Losses::default()).expect("finishes");

    let section = section("Opening it with other tools");
    let blocks: Vec<&str> =
        section.split("```python\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    assert_eq!(blocks.len(), 2, "one block for DuckDB, one for pandas");
    // What the lines must have found, in Python, after them.
    let checks = [
        "import datetime\n\
         row = duckdb.sql('SELECT count(*), min(start_ns)::TIMESTAMP, max(octet_length(checksum_full)), \
         count(params[3].value), max(shape_id), count(shape_id) FROM requests').fetchall()[0]\n\
         assert row == (200, datetime.datetime(2023, 11, 14, 22, 13, 20), 16, 0, 2**64 - 2, 100), row\n",
        "assert len(requests) == 200 and len(joined) == 100, requests\n\
         assert joined.shape_id.max() == 2**64 - 2, joined.shape_id\n\
         assert requests.start_ns.max().value == 1700000000123456888, requests.start_ns\n\
         assert joined.params.iloc[0][2]['value'] is None and joined.params.iloc[0][1]['value'] == b'', joined.params\n",
    ];
    for (block, check) in blocks.iter().zip(checks) {
        let run = Command::new(&python).arg("-c").arg(format!("{block}{check}")).current_dir(dir.path()).output();
        let run = run.expect("python runs");
        let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert!(run.status.success(), "{block}\n{err}");
        assert!(out.contains("the shape") && out.contains("100"), "{out}");
    }
}
