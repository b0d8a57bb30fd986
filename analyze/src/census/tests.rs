use std::path::Path;

use splitproof_capture::sql::Dialect;
use splitproof_capture::sql::mysql::{Mode, digest_text};
use splitproof_capture::trace::Engine;

use super::*;

fn census(text: &str) -> Result<Census, Error> {
    let mut census = Census { sources: Vec::new(), entries: Vec::new() };
    census.add(Path::new("export"), text.as_bytes()).map(|()| census)
}

fn fails(text: &str) -> String {
    census(text).unwrap_err().to_string()
}

/// What a statement is in PostgreSQL 15's pg_stat_statements.
#[test]
fn statements_of_pg_stat_statements_are_recognised() {
    for (sql, counted) in [
        ("SELECT id FROM orders WHERE id = 1 FOR UPDATE", "SELECT id FROM orders WHERE id = $1 FOR UPDATE"),
        ("SELECT id FROM orders WHERE id IN (1,2,3)", "SELECT id FROM orders WHERE id IN ($1,$2,$3,$4)"),
        ("SELECT id FROM orders WHERE id IN (1,2,3)", "SELECT id FROM orders WHERE id IN ($1 /*, ... */)"),
        ("INSERT INTO orders VALUES (1, 2, null)", "INSERT INTO orders VALUES ($1, $2, $3)"),
        ("INSERT INTO o VALUES (2,2,null),(3,4,'x')", "INSERT INTO o VALUES ($1, $2, $3),($4,$5,$6)"),
        (
            "/* other */ select n from o where note = 'a\tb' -- t",
            "/* app */ select n\n  from o where note = $1 -- tail",
        ),
        ("select -1, now()::text", "select $1, now()::text"),
        ("SET work_mem = '4MB'", "SET work_mem = $1"),
        ("BEGIN READ ONLY", "BEGIN READ ONLY"),
        ("SELECT \"Id\" FROM o WHERE a = E'\\'' AND b = $$x$$", "SELECT \"Id\" FROM o WHERE a = $1 AND b = $2"),
    ] {
        let shape = Dialect::Postgresql.normalize(sql);
        assert_eq!(key(&shape, Engine::Postgresql), key(counted, Engine::Postgresql), "{sql}");
    }
    for (one, other) in
        [("BEGIN READ ONLY", "BEGIN"), ("SELECT a FROM t FOR UPDATE", "SELECT a FROM t"), ("SELECT ab", "SELECT a b")]
    {
        assert_ne!(key(one, Engine::Postgresql), key(other, Engine::Postgresql));
    }
}

/// What a statement is in the performance_schema of a MariaDB 10.11, and in ProxySQL with its usual settings.
#[test]
fn statements_of_performance_schema_and_proxysql_are_recognised() {
    for (sql, server, proxy) in [
        (
            "SELECT id FROM orders WHERE id IN (1,2,3)",
            "SELECT ID FROM `orders` WHERE ID IN (...) ",
            "SELECT id FROM orders WHERE id IN (?,?,?)",
        ),
        (
            "SELECT id FROM orders WHERE id IN (1,2,3,4,5)",
            "SELECT ID FROM `orders` WHERE ID IN (...) ",
            "SELECT id FROM orders WHERE id IN (?,?,?,...)",
        ),
        (
            "SELECT id FROM orders WHERE id IN (1)",
            "SELECT ID FROM `orders` WHERE ID IN (?) ",
            "SELECT id FROM orders WHERE id IN (?)",
        ),
        (
            "INSERT INTO orders VALUES (2, 2, null),(3,4,'x')",
            "INSERT INTO `orders` VALUES (...) /* , ... */ ",
            "INSERT INTO orders VALUES (?,?,?),(?,?,?)",
        ),
        (
            "SELECT COUNT(*), @@server_id, NOW() FROM orders o LIMIT 1, 2",
            "SELECT COUNT ( * ) , @@`server_id` , NOW ( ) FROM `orders` `o` LIMIT ?, ... ",
            "SELECT COUNT(*),@@server_id,NOW() FROM orders o LIMIT ?,?",
        ),
        (
            "SELECT if(1,2,3), f.id FROM orders f WHERE note IS NULL AND note <> 'x' LIMIT 5",
            "SELECT IF (...) , `f` . `id` FROM `orders` `f` WHERE `note` IS NULL AND `note` != ? LIMIT ? ",
            "SELECT if(?,?,?),f.id FROM orders f WHERE note IS NULL AND note <> ? LIMIT ?",
        ),
        ("SET autocommit = 0", "SET `autocommit` = ? ", "SET autocommit = ?"),
        ("START TRANSACTION READ ONLY", "START TRANSACTION READ ONLY ", "START TRANSACTION READ ONLY"),
        (
            "UPDATE t SET n = -1, s = 'it''s' WHERE a=@x",
            "UPDATE `t` SET `n` = - ? , `s` = ? WHERE `a` = @? ",
            "UPDATE t SET n=?,s=? WHERE a=@x",
        ),
    ] {
        let dialect = Dialect::of(Engine::Mysql);
        let of = |text: &str| key(text, Engine::Mysql);
        assert_eq!(of(&digest_text(sql, &Mode::default())), of(server), "{sql}");
        assert_eq!(of(&dialect.normalize(sql)), of(proxy), "{sql}");
    }
}

const PG: &str = "userid,dbid,queryid,query,calls,total_exec_time,rows
10,5,-28,SELECT id FROM orders WHERE id = $1,100,250.5,100
10,5,7,\"SELECT n
FROM orders, \"\"Other\"\" WHERE id = $1\",3,1.25,3
11,5,-28,SELECT id FROM orders WHERE id = $1,50,49.5,50
10,5,8,<insufficient privilege>,20,10,1
";

#[test]
fn entries_of_one_statement_are_put_together() {
    let census = census(PG).unwrap();
    assert_eq!(census.sources[0].kind, Kind::PgStatStatements);
    assert_eq!(census.entries[1].1.text.as_deref(), Some("SELECT n\nFROM orders, \"Other\" WHERE id = $1"));
    assert_eq!((census.entries[1].1.line, census.entries[2].1.line), (3, 5), "a text with a line break has two");
    let grouped = Grouped::of(&census, Dialect::Postgresql);
    let all: Vec<_> = grouped.groups.iter().map(|group| (group.entries, group.calls, group.time_ms)).collect();
    assert_eq!(all, [(2, 150, 300.0), (1, 3, 1.25)]);
    assert_eq!((grouped.without_text, grouped.without_text_calls), (1, 20));
}

#[test]
fn the_same_rows_are_read_from_every_form() {
    let tsv = "query\tcalls\ttotal_time\nSELECT 'a\\tb\\nc\\\\' \tNULL\t1\n";
    assert!(fails(tsv).contains("line 2, column calls: is NULL or empty"), "{}", fails(tsv));
    let tsv = census(&tsv.replace("NULL", "4")).unwrap();
    assert_eq!(
        tsv.entries[0].1.text.as_deref(),
        Some("SELECT 'a\tb\nc\\'"),
        "up to version 12 the column was total_time"
    );
    let copied = census("query\tcalls\ttotal_exec_time\n\\N\t4\t1\n").unwrap();
    assert_eq!(copied.entries[0].1.text, None);
    let excel = census("\u{feff}Query;Calls;Total_Exec_Time\n\"select 1, 2\";4;1\n").unwrap();
    assert_eq!(excel.entries[0].1.text.as_deref(), Some("select 1, 2"));
    for json in [
        r#"[{"query": "select $1", "calls": 4, "total_exec_time": 1.5, "x": null}]"#,
        "{\"query\": \"select $1\", \"calls\": \"4\", \"total_exec_time\": 1.5}\n{\"query\": null, \"calls\": 1, \"total_exec_time\": 0}",
    ] {
        let census = census(json).unwrap();
        let entry = &census.entries[0].1;
        assert_eq!((entry.text.as_deref(), entry.calls, entry.time_ms), (Some("select $1"), 4, 1.5));
    }
    let server = "SCHEMA_NAME\tDIGEST\tDIGEST_TEXT\tCOUNT_STAR\tSUM_TIMER_WAIT
shop\ta\tSELECT `a` FROM `t` WHERE `b` IN (...) \t2\t3000000000
NULL\tNULL\tNULL\t7\t1000000000
shop\tc\tSELECT `a` , `b...\t1\t0
";
    let server = census(server).unwrap();
    let told: Vec<_> =
        server.entries.iter().map(|(_, entry)| (entry.text.as_deref(), entry.time_ms, entry.cut)).collect();
    let texts = [Some("SELECT `a` FROM `t` WHERE `b` IN (...)"), None, Some("SELECT `a` , `b")];
    assert_eq!(told, [(texts[0], 3.0, false), (texts[1], 1.0, false), (texts[2], 0.0, true)]);
    let proxy = "hostgroup,schemaname,username,digest,digest_text,count_star,first_seen,last_seen,sum_time
10,shop,app,0x1,SELECT a FROM t,5,1,2,2500
";
    let proxy = census(proxy).unwrap();
    assert_eq!((proxy.entries[0].1.hostgroup, proxy.entries[0].1.time_ms), (Some(10), 2.5));
}

#[test]
fn statements_inside_functions_are_left_out_and_counted() {
    let nested = "toplevel,query,calls,total_exec_time\nt,select f(),1,10\nf,select 1,9,9\n";
    let census = census(nested).unwrap();
    assert_eq!((census.entries.len(), census.sources[0].nested, census.sources[0].rows), (1, 1, 2));
}

#[test]
fn bad_exports_are_told_what_where_and_what_to_do() {
    for (text, says) in [
        ("", "export: is empty; export the view again"),
        ("query,calls\nselect 1,1", "total_exec_time of pg_stat_statements is missing; export the whole view"),
        ("a,b\n1,2", "not the columns of a known view: a, b; the first line must name the columns"),
        ("10,5,7,select 1,1,1\n", "the first line must name the columns"),
        ("query,calls,total_exec_time\nselect 1,many,1", "line 2, column calls: is \"many\", not a number"),
        ("query,calls,total_exec_time\nselect 1,1.5,1", "line 2, column calls: is 1.5, not a whole number"),
        ("query,calls,total_exec_time\nselect 1,-1,1", "column calls: is \"-1\", and nothing runs so often"),
        ("query,calls,total_exec_time\nselect 1,1,", "column total_exec_time: is NULL or empty"),
        ("query,calls,total_exec_time\nselect 1, 2,1,1", "line 2: has 4 values, and the header names 3 columns"),
        ("query\tcalls\ttotal_exec_time\nselect\n 1\t1\t1", "line 2: has 1 values"),
        (
            &format!("{PG}10,5,7,select 2,1,1,1\n"),
            "line 7: is the same statement of the same user and database as line 3",
        ),
        ("+----+\n| a |", "drawn with lines"),
        (" query | calls \n-------", "psql's aligned output"),
        ("-[ RECORD 1 ]---", "vertical form"),
        ("<?xml version=\"1.0\"?>", "XML"),
        ("[{\"query\": 1", "line 1: column 12: is not JSON"),
        ("[1]", "line 1: is a number, not an object"),
        ("[{\"query\": [1], \"calls\": 1, \"total_exec_time\": 1}]", "line 1, column query: is an array"),
        ("hostgroup,digest_text,count_star,sum_time\nten,a,1,1", "column hostgroup: is \"ten\", not the number"),
    ] {
        let error = fails(text);
        assert!(error.starts_with("export: ") && error.contains(says), "{error}\n{says}");
        assert!(!error.contains('\n'), "{error}");
    }
    let mut census = Census { sources: Vec::new(), entries: Vec::new() };
    let error = census.add(Path::new("export"), b"\xff\xfeq\0").unwrap_err().to_string();
    assert!(error.contains("UTF-16") && error.contains("iconv"), "{error}");
    let error = census.add(Path::new("export"), b"query,calls,total_exec_time\nsel\xe9ct,1,1").unwrap_err().to_string();
    assert!(error.contains("line 2 is not UTF-8"), "{error}");
    census.add(Path::new("pg"), PG.as_bytes()).unwrap();
    let error = census.add(Path::new("my"), b"digest_text,count_star,sum_timer_wait\na,1,1").unwrap_err().to_string();
    assert!(
        error.contains("my: is an export of events_statements_summary_by_digest, and pg holds postgresql"),
        "{error}"
    );
}

fn known(statements: &[&str]) -> Known {
    let mut known = Known::default();
    for sql in statements {
        let dialect = Dialect::Postgresql;
        let shape = KnownShape { requests: 1, text: dialect.normalize(sql), sample: (*sql).to_owned() };
        known.shapes.insert(dialect.shape_id(sql), shape);
    }
    known
}

/// 10 statements' calls and times are powers of two, so that every sum tells its parts.
#[test]
fn production_is_held_against_window_and_fixture() {
    let text = "query,calls,total_exec_time
SELECT a FROM t WHERE id = $1,1,100
SET work_mem = $1,2,200
SELECT a FROM t WHERE id = $1 FOR UPDATE,4,400
DELETE FROM t WHERE id = $1,8,800
";
    let census = census(text).unwrap();
    let window = known(&["SELECT a FROM t WHERE id = 5", "SET work_mem = '8MB'", "SELECT 1"]);
    let fixture = known(&["SELECT a FROM t WHERE id = 1 FOR UPDATE", "SELECT a FROM t WHERE id = 1"]);
    let judged = window
        .ids()
        .into_iter()
        .filter(|id| *id == Dialect::Postgresql.shape_id("SELECT a FROM t WHERE id = 1"))
        .collect();
    let found = coverage(&census, Dialect::Postgresql, &window, Some(&judged), Some(&fixture));
    let of = |share: &Share| (share.shapes, share.calls, share.time_ms);
    assert_eq!(of(&found.all), (4, 15, 1500.0));
    assert_eq!(of(&found.window.share), (2, 3, 300.0));
    assert_eq!((found.window.exact, found.window.by_words, found.window.by_beginning), (1, 1, 0));
    assert_eq!(of(&found.judged.unwrap().share), (1, 1, 100.0));
    assert_eq!(of(&found.fixture.unwrap().share), (2, 5, 500.0));
    assert_eq!(of(&found.either), (3, 7, 700.0));
    let missing: Vec<_> =
        found.not_in_window.iter().map(|missing| (missing.calls, missing.intent.as_deref().unwrap())).collect();
    assert_eq!(missing, [(8, "primary"), (4, "primary")], "the longest time first");
    let never: Vec<_> = found.never_imagined.unwrap().into_iter().map(|missing| missing.text).collect();
    assert_eq!(never, ["DELETE FROM t WHERE id = $1"]);
    assert_eq!(found.not_in_census.iter().map(|(shape, _)| shape.text.as_str()).collect::<Vec<_>>(), ["select ?"]);
}

#[test]
fn a_cut_text_is_recognised_by_its_beginning() {
    let text = "DIGEST_TEXT\tCOUNT_STAR\tSUM_TIMER_WAIT\nSELECT `a` , `long_na...\t3\t0\nSELECT `b` , `x...\t1\t0\n";
    let census = census(text).unwrap();
    let dialect = Dialect::of(Engine::Mysql);
    let sql = "SELECT a, long_name FROM t WHERE id = 1";
    let shape = KnownShape { requests: 1, text: dialect.normalize(sql), sample: sql.to_owned() };
    let window = Known { shapes: [(dialect.shape_id(sql), shape)].into() };
    let found = coverage(&census, dialect, &window, None, None);
    assert_eq!((found.window.by_beginning, found.window.share.calls), (1, 3));
    assert_eq!(found.not_in_window[0].intent, None, "what follows is not known");
}

#[test]
fn the_audit_is_a_queue_of_reads_that_a_replica_may_serve() {
    let text = "query,calls,total_exec_time
SELECT a FROM t WHERE id = $1,1,100
SELECT a FROM u,2,900
SELECT a FROM t WHERE id = $1 FOR UPDATE,4,400
\"SELECT nextval('s'), $1\",8,50
SELECT ours($1),16,60
BEGIN,32,1
SELECT pg_sleep($1),64,2
<insufficient privilege>,128,3
";
    let audit = audit(census(text).unwrap(), Dialect::Postgresql, None, None).unwrap();
    assert_eq!(
        audit.work.iter().map(|audited| audited.text.as_str()).collect::<Vec<_>>(),
        ["SELECT a FROM u", "SELECT a FROM t WHERE id = $1"]
    );
    let calls = [&audit.reads, &audit.primary, &audit.unknown, &audit.session, &audit.either].map(|share| share.calls);
    assert_eq!(calls, [3, 12, 16 + 128, 32, 64]);
    assert_eq!(audit.all.calls, 255, "nothing is left out");
    assert!(audit.undecided[0].reason.contains("ours"), "{:?}", audit.undecided);
}

#[test]
fn a_routers_export_is_audited_for_the_writer_hostgroup() {
    let text = "hostgroup,schemaname,username,client_address,digest,digest_text,count_star,sum_time
10,shop,app,,0x1,SELECT a FROM t WHERE b LIKE ?,5,1000
20,shop,app,,0x1,SELECT a FROM t WHERE b LIKE ?,50,9000
10,shop,app,,0x2,SELECT a FROM t FOR UPDATE,1,500
";
    let of = |writer| audit(census(text).unwrap(), Dialect::of(Engine::Mysql), None, writer);
    let error = of(None).unwrap_err().to_string();
    assert!(error.contains("10 with 6 calls, 20 with 50 calls") && error.contains("--writer-hostgroup"), "{error}");
    assert!(of(Some(30)).unwrap_err().to_string().contains("no statement was served by hostgroup 30"));
    let audit = of(Some(10)).unwrap();
    assert_eq!(
        (audit.work.len(), audit.work[0].calls, audit.primary.calls, audit.other_hostgroups.calls),
        (1, 5, 1, 50)
    );
}
