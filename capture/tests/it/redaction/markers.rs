//! Markers in every place where a value can stand, looked for in every byte of every file and column.

use std::path::Path;

use splitproof_capture::redact::{Error, Key, redact};
use splitproof_capture::sql::Dialect;
use splitproof_capture::trace::{
    Engine, Existing, Kind, Losses, Options, Outcome, Param, Reader, Request, Shape, Sink, Writer,
};

/// Strings that stand for values, and numbers that do. Each is unlike anything else in a trace.
const WORD: &str = "MARKERqzvjx";
const NUMBER: &str = "7394618205";
const SMALL: i32 = 739_461_820;

fn key(byte: u8) -> Key {
    Key::from_bytes([byte; 16])
}

/// Writes a trace of these rows with the shapes that they have.
fn write(dir: &Path, engine: Engine, rows: &[Request]) {
    let mut writer = Writer::create(dir, Options::new(engine, "packets")).expect("creates");
    let mut shapes = splitproof_capture::sql::Shapes::new(Dialect::of(engine));
    for row in rows {
        let mut row = row.clone();
        row.shape_id = row.sql.as_deref().map(|sql| shapes.id(sql));
        writer.request(row);
    }
    writer.shapes(Shape::collected(shapes.iter())).expect("writes");
    writer.finish(&Losses::default()).expect("finishes");
}

fn read(dir: &Path) -> (Vec<Request>, Vec<Shape>) {
    let reader = Reader::open(dir).expect("opens");
    (reader.requests().collect::<Result<_, _>>().expect("reads"), reader.shapes().expect("reads"))
}

/// Every byte of a trace: its files as they are, and every column of every row without compression.
fn bytes(dir: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).expect("lists") {
        all.extend(std::fs::read(entry.expect("lists").path()).expect("reads"));
    }
    let (requests, shapes) = read(dir);
    for request in &requests {
        all.extend(format!("{request:?}").bytes());
        request.params.iter().filter_map(|param| param.value.as_deref()).for_each(|value| all.extend(value));
        request.copy_data.iter().for_each(|data| all.extend(data));
        all.extend(request.sql_raw.iter().flat_map(|raw| raw.iter().copied()));
    }
    all.extend(format!("{shapes:?}").bytes());
    all
}

fn holds(all: &[u8], marker: &[u8]) -> bool {
    memchr::memmem::find(all, marker).is_some()
}

fn row(seq: u32, kind: Kind) -> Request {
    Request { outcome: Outcome::Ok, messages: "Q".into(), ..Request::new(1, seq, i64::from(seq), kind) }
}

fn statements(texts: &[String]) -> Vec<Request> {
    let rows =
        texts.iter().zip(0..).map(|(sql, seq)| Request { sql: Some(sql.as_str().into()), ..row(seq, Kind::Query) });
    rows.collect()
}

fn value(type_id: u32, binary: bool, bytes: &[u8]) -> Param {
    Param { type_id, binary, value: Some(bytes.into()) }
}

/// Texts of PostgreSQL with markers as literals.
fn postgresql() -> Vec<Request> {
    let w = WORD;
    let n = NUMBER;
    let mut rows = statements(&[
        format!(
            "SELECT '{w}', E'\\x4d{}', N'{w}', U&'{w}', $${w}$$, $t${w}$t$, {n}, -{n}, {n}.25, 0x1B8C4AF9D",
            &w[1..]
        ),
        format!("SELECT * FROM t WHERE a IN ('{w}', '{w}') AND b LIKE '%{w}%' AND c = B'{n:b<20}' LIMIT {n}", n = "1"),
        format!("/*route='{w}',traceparent='00-{w}'*/ SELECT 1 -- {w}\n FROM t /* {w} */"),
        format!("SET app.customer = '{w}'"),
        format!("SET application_name = 'x'; SELECT set_config('app.customer', '{w}', true)"),
        format!("CREATE TABLE t (a text DEFAULT '{w}', b int CHECK (b < {n}))"),
        format!("DO $body$ BEGIN PERFORM '{w}'; RAISE NOTICE '{w} %', {n}; /* {w} */ END $body$"),
        format!("CREATE FUNCTION f() RETURNS text LANGUAGE sql AS 'SELECT ''{w}'''"),
        format!("CREATE FUNCTION g() RETURNS text LANGUAGE plperl AS $${w} $$"),
        format!("INSERT INTO t VALUES ('{{\"{w}\": [\"{w}\", {n}]}}'), ('{{{w},\"{w}\"}}'), ('({w},{n})')"),
        format!("COMMENT ON TABLE t IS '{w}'; NOTIFY c, '{w}'; PREPARE TRANSACTION '{w}'"),
        format!("SELECT 'unfinished {w}"),
        format!("SELECT 'it\\'s {w}', '{w}'"),
        format!("SET search_path = '{w} {w} {w} {w} {w} {w} {w} {w}'"),
    ]);
    let numeric = [4_u16, 2, 0, 0, 73, 9461, 8205, 0].map(u16::to_be_bytes).concat();
    let array = [1_u32, 0, 25, 1, 1, w.len() as u32].map(u32::to_be_bytes).concat();
    rows.push(Request {
        sql: Some("SELECT $1".into()),
        statement: Some(format!("find {w}").as_str().into()),
        portal: Some(format!("P_{w}").as_str().into()),
        params: vec![
            value(25, false, w.as_bytes()),
            value(25, true, w.as_bytes()),
            value(0, true, w.as_bytes()),
            value(20, false, n.as_bytes()),
            value(20, true, &7_394_618_205_i64.to_be_bytes()),
            value(23, true, &SMALL.to_be_bytes()),
            value(17, true, w.as_bytes()),
            value(3802, true, format!("\x01{{\"{w}\":\"{w}\"}}").as_bytes()),
            value(1700, true, &numeric),
            value(1009, true, &[array.as_slice(), w.as_bytes()].concat()),
            value(1009, false, format!("{{{w},NULL}}").as_bytes()),
            Param { type_id: 25, binary: false, value: None },
        ],
        ..row(50, Kind::Execute)
    });
    let copied = [format!("{w}\t{n}\n{w}"), format!("\t\\N\n{w}\n")];
    rows.push(Request {
        sql: Some("COPY t FROM STDIN".into()),
        copy_data: copied.iter().map(|data| data.as_bytes().into()).collect(),
        copy_lengths: vec![2],
        copy_failure: Some(format!("because of {w}").into()),
        ..row(51, Kind::Copy)
    });
    let csv = format!("{n},\"{w} \"\"{w}\"\"\",{w}\n");
    rows.push(Request {
        sql: Some("COPY t FROM STDIN (FORMAT csv, HEADER)".into()),
        copy_data: vec![csv.as_bytes().into()],
        ..row(52, Kind::Copy)
    });
    rows.push(Request {
        params: [b"app.customer".as_slice(), w.as_bytes(), b"options", format!("-c app.x={w} -c geqo=off").as_bytes()]
            .map(|text| value(25, false, text))
            .into(),
        ..row(53, Kind::Connect)
    });
    rows.push(Request {
        outcome: Outcome::Error,
        error_code: Some("22P02".into()),
        error_message: Some(format!("invalid input syntax for type integer: \"{w}\"").into()),
        checksum_full: Some(7_394_618_205),
        checksum_rows: Some(7_394_618_205),
        checksum_rowset: Some(7_394_618_205),
        ..row(54, Kind::Query)
    });
    let latin = [b"SELECT 'caf\xe9 ", w.as_bytes(), b"'"].concat();
    rows.push(Request {
        sql: Some(String::from_utf8_lossy(&latin).into()),
        sql_raw: Some(latin.as_slice().into()),
        ..row(55, Kind::Query)
    });
    rows
}

/// Texts of MySQL with markers as literals.
fn mysql() -> Vec<Request> {
    let w = WORD;
    let n = NUMBER;
    let hex: String = w.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut rows = statements(&[
        format!("SELECT '{w}', \"{w}\", N'{w}', _utf8mb4'{w}', 'a' '{w}', {n}, -{n}, {n}.5e3, x'{hex}', 0x{hex}"),
        format!("SELECT * FROM t WHERE a IN ('{w}','it\\'s {w}') # {w}"),
        format!("/*controller='{w}',action='{w}'*/ SELECT 1 -- {w}"),
        format!("SET @customer = '{w}', @n := {n}"),
        format!("PREPARE s FROM 'SELECT \\'{w}\\', {n}'"),
        format!("/*!50000 SELECT '{w}' */ /*M!100100 , {n} */ /*!99999 , \"{w}\" */"),
        format!("CREATE TABLE t (a varchar(20) DEFAULT '{w}' COMMENT '{w}', b enum('{w}'))"),
        format!("CREATE PROCEDURE p() BEGIN SELECT '{w}'; SET @a = {n}; END"),
        format!("SELECT GET_LOCK('{w}', 10), JSON_EXTRACT(a, '$.{w}[2]'), DATE '2024-02-29'"),
        format!("SELECT 'unfinished {w}"),
        format!("INSERT INTO t VALUES (1,'{w}'),(2,'{w}')"),
        format!("SELECT 'C:\\', '{w}', 'x'"),
        format!("LOAD DATA LOCAL INFILE '/home/{w}' INTO TABLE t"),
    ]);
    rows.push(Request {
        messages: "17".into(),
        sql: Some("SELECT ?".into()),
        statement: Some("4".into()),
        params: vec![
            value(253, true, w.as_bytes()),
            value(252, true, &[w.as_bytes(), &[0xff]].concat()),
            value(8, true, &7_394_618_205_i64.to_le_bytes()),
            value(3, true, &SMALL.to_le_bytes()),
            value(5, true, &7_394_618_205.25_f64.to_le_bytes()),
            value(246, true, n.as_bytes()),
            value(245, true, format!("{{\"{w}\":{n}}}").as_bytes()),
        ],
        param_names: vec!["".into(); 7],
        last_insert_id: Some(7_394_618_205),
        ..row(50, Kind::Execute)
    });
    rows.push(Request {
        messages: "17".into(),
        copy_data: vec![[&[0, 1, 0, 0, 0], w.as_bytes()].concat().into()],
        ..row(51, Kind::Execute)
    });
    rows.push(Request { messages: "18".into(), copy_data: vec![w.as_bytes().into()], ..row(52, Kind::Other) });
    rows.push(Request {
        sql: Some("LOAD DATA LOCAL INFILE '/' INTO TABLE t FIELDS TERMINATED BY ','".into()),
        copy_data: vec![format!("{w},{n}\n{w}").as_bytes().into()],
        ..row(53, Kind::Copy)
    });
    rows.push(Request {
        outcome: Outcome::Error,
        error_code: Some("1062".into()),
        error_message: Some(format!("Duplicate entry '{w}' for key 'PRIMARY'").into()),
        ..row(54, Kind::Query)
    });
    rows
}

#[test]
fn no_byte_of_a_redacted_trace_holds_a_value() {
    let dir = tempfile::tempdir().expect("directory");
    for (engine, rows) in [(Engine::Postgresql, postgresql()), (Engine::Mysql, mysql())] {
        let (from, to) = (dir.path().join(format!("{engine}")), dir.path().join(format!("{engine}-redacted")));
        write(&from, engine, &rows);
        let before = bytes(&from);
        redact(&from, &to, Existing::Refuse, key(1)).expect("redacts");
        let after = bytes(&to);
        let hex: String = WORD.bytes().map(|byte| format!("{byte:02x}")).collect();
        let big = 7_394_618_205_i64;
        let markers: Vec<Vec<u8>> = vec![
            WORD.into(),
            WORD.to_lowercase().into(),
            WORD[1..].into(),
            NUMBER.into(),
            hex.into(),
            "1B8C4AF9D".into(),
            big.to_be_bytes().into(),
            big.to_le_bytes().into(),
            SMALL.to_be_bytes().into(),
            SMALL.to_le_bytes().into(),
            7_394_618_205.25_f64.to_le_bytes().into(),
            [73_u16, 9461, 8205].map(u16::to_be_bytes).concat(),
        ];
        let seen = markers.iter().filter(|marker| holds(&before, marker)).count();
        assert!(seen >= 7, "the markers can be found where they are: {seen}");
        for marker in &markers {
            let at = memchr::memmem::find(&after, marker);
            let around = at.map(|at| {
                String::from_utf8_lossy(&after[at.saturating_sub(200)..(at + 100).min(after.len())]).into_owned()
            });
            assert_eq!(around, None, "{engine}: {}", String::from_utf8_lossy(marker));
        }
        let (old, (new, shapes)) = (read(&from).0, read(&to));
        assert_eq!(old.len(), new.len());
        for (old, new) in old.iter().zip(&new) {
            assert!(new.redacted && !old.redacted);
            assert_eq!(
                (old.shape_id, old.kind, &old.messages, old.params.len()),
                (new.shape_id, new.kind, &new.messages, new.params.len())
            );
            assert_eq!(old.copy_lengths, new.copy_lengths);
            if let Some(sql) = &new.sql {
                assert_eq!(Some(Dialect::of(engine).shape_id(sql)), old.shape_id, "{sql}");
            } else if old.sql.is_some() {
                assert!(new.truncated, "{:?}", old.sql);
            }
        }
        let ids: Vec<Option<u64>> = old.iter().filter(|row| row.sql.is_some()).map(|row| row.shape_id).collect();
        assert!(shapes.iter().all(|shape| ids.contains(&Some(shape.shape_id))));
        let lost =
            Reader::open(&to).expect("opens").manifest().table.losses.get(splitproof_capture::trace::Loss::Redacted);
        assert_eq!(lost, new.iter().filter(|row| row.truncated).count() as u64);
    }
}

#[test]
fn equal_values_are_equal_in_all_traces_of_a_key_and_in_no_others() {
    let dir = tempfile::tempdir().expect("directory");
    let params = vec![value(25, false, b"alice"), value(23, true, &4711_i32.to_be_bytes())];
    let rows = [
        Request { sql: Some("SELECT 'alice', 4711".into()), ..row(0, Kind::Query) },
        Request { sql: Some("SELECT $1, $2".into()), params, checksum_rows: Some(5), ..row(1, Kind::Execute) },
        Request {
            session: 2,
            sql: Some("SELECT * FROM t WHERE a = 4711 AND b = 'alice'".into()),
            ..row(2, Kind::Query)
        },
    ];
    write(&dir.path().join("a"), Engine::Postgresql, &rows);
    for (name, byte) in [("b", 1), ("c", 1), ("d", 2)] {
        redact(&dir.path().join("a"), &dir.path().join(name), Existing::Refuse, key(byte)).expect("redacts");
    }
    let [b, c, d] = ["b", "c", "d"].map(|name| read(&dir.path().join(name)).0);
    assert_eq!(b, c);
    assert_ne!(b[0].sql, d[0].sql);
    assert_ne!(b[1].checksum_rows, d[1].checksum_rows);
    assert_ne!(b[1].checksum_rows, Some(5));
    let literals = b[0].sql.as_deref().and_then(|sql| sql.strip_prefix("SELECT '")).expect("a SELECT");
    let (name, number) = literals.split_once("', ").expect("two literals");
    assert_eq!(b[1].params[0].value.as_deref(), Some(name.as_bytes()));
    assert_eq!(b[1].params[1].value.as_deref(), Some(&number.parse::<i32>().expect("a number").to_be_bytes()[..]));
    assert_eq!(b[2].sql.as_deref(), Some(&*format!("SELECT * FROM t WHERE a = {number} AND b = '{name}'")));
}

#[test]
fn doubts_of_a_trace_remain_and_a_run_is_refused() {
    let dir = tempfile::tempdir().expect("directory");
    let (killed, run, out) = (dir.path().join("killed"), dir.path().join("run"), dir.path().join("out"));
    let mut writer = Writer::create(&killed, Options::new(Engine::Mysql, "live")).expect("creates");
    writer.request(row(0, Kind::Ping));
    drop(writer);
    let manifest = redact(&killed, &out, Existing::Refuse, key(1)).expect("redacts");
    assert!(!manifest.complete && manifest.source == "live" && manifest.table.requests == 1);
    assert!(matches!(redact(&killed, &killed, Existing::Replace, key(1)), Err(Error::Same { .. })));
    assert!(matches!(redact(&killed, &out, Existing::Refuse, key(1)), Err(Error::Trace(_))));
    let writer = Writer::create(&run, Options::new(Engine::Mysql, "replay")).expect("creates");
    writer.run(&"a run").expect("writes");
    writer.finish(&Losses::default()).expect("finishes");
    assert!(matches!(redact(&run, &dir.path().join("x"), Existing::Refuse, key(1)), Err(Error::Run { .. })));
}
