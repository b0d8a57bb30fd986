//! Writes that changed nothing: no read can have missed them.

use splitproof_analyze::comparison::Comparison;
use splitproof_capture::trace::Engine;

use crate::compare::paused;
use crate::scenario::{compared, mysql, scenario};

const ENGINES: [Engine; 2] = [Engine::Postgresql, Engine::Mysql];

/// A run in front of a replica that stands still from 20 ms on, compared with another such run.
fn run(engine: Engine, baseline: &str, candidate: &str) -> Comparison {
    let parse = |text: &str| {
        let text = paused(200) + text;
        if engine == Engine::Mysql { mysql(&text) } else { scenario(&text) }
    };
    compared(&parse(baseline), &parse(candidate)).unwrap()
}

/// The statements that its stale reads are said to have missed.
fn missed(engine: Engine, text: &str) -> Vec<String> {
    let found = run(engine, text, text).candidate;
    assert!(found.unknowns.staleness.is_empty(), "{:?}", found.unknowns.staleness);
    found.stale_reads.into_iter().map(|read| read.missed).collect()
}

/// A write, and a read of users on the replica half a lag later.
fn read_after(write: &str, flags: &str) -> String {
    format!(
        "1 30..32 {write} -> P1:30..31 | {flags}
         2 60..62 SELECT name FROM users WHERE id = 5 -> S2 | sum=1 rows=1"
    )
}

/// The answers: PostgreSQL manual, "CommandComplete"; MySQL manual, "OK_Packet", affected_rows.
#[test]
fn a_write_that_changed_no_row_is_not_missed() {
    let both = [
        "UPDATE users SET name = 'a' WHERE id = -1",
        "DELETE FROM users WHERE id = -1",
        "INSERT INTO users (id) SELECT id FROM orders WHERE id = -1",
    ];
    let only = |engine| match engine {
        Engine::Postgresql => ["INSERT INTO users VALUES (5, 'again') ON CONFLICT DO NOTHING"; 2],
        Engine::Mysql => [
            "INSERT IGNORE INTO users VALUES (5, 'again')",
            "INSERT INTO users VALUES (5, 'a') ON DUPLICATE KEY UPDATE name = 'a'",
        ],
    };
    for engine in ENGINES {
        for write in both.into_iter().chain(only(engine)) {
            assert_eq!(missed(engine, &read_after(write, "affected=0")), [""; 0], "{engine}: {write}");
            assert_eq!(missed(engine, &read_after(write, "affected=1")), [write], "{engine}: {write}");
            assert_eq!(missed(engine, &read_after(write, "rows=0")), [write], "{engine}: no count, no word of it");
        }
    }
}

#[test]
fn what_the_answer_does_not_count_is_missed_all_the_same() {
    let orders = "INSERT INTO orders (user_id) SELECT id FROM gone";
    for (engine, write) in [
        // The count is that of the outermost statement.
        (Engine::Postgresql, format!("WITH gone AS (DELETE FROM users RETURNING id) {orders}")),
        // MySQL answers 0 to a TRUNCATE, however many rows there were, and so to a definition.
        (Engine::Mysql, "TRUNCATE TABLE users".to_owned()),
        (Engine::Mysql, "ALTER TABLE users ADD COLUMN mail TEXT".to_owned()),
    ] {
        assert_eq!(missed(engine, &read_after(&write, "affected=0")), [write], "{engine}");
    }
    // A function may write whatever becomes of the rows.
    let called = "DELETE FROM users WHERE id = audit_login(7)";
    let audit = read_after(called, "affected=0").replace("SELECT name FROM users", "SELECT name FROM audit");
    assert_eq!(missed(Engine::Postgresql, &audit), [called]);
    assert_eq!(missed(Engine::Postgresql, &read_after(called, "affected=0")), [""; 0]);
    let unknown = "DELETE FROM users WHERE id = dynamic(7)";
    assert_eq!(missed(Engine::Postgresql, &read_after(unknown, "affected=0")), [unknown]);
}

#[test]
fn of_a_transaction_only_what_changed_something_is_missed() {
    let text = |users: u8, stock: u8| {
        format!(
            "1 30..31 BEGIN -> P1
             1 32..33 UPDATE users SET name = 'a' WHERE id = 5 -> P1 | affected={users}
             1 34..35 UPDATE stock SET n = 1 WHERE id = 5 -> P1 | affected={stock}
             1 36..38 COMMIT -> P1
             2 60..62 SELECT name FROM users WHERE id = 5 -> S2 | sum=1 rows=1"
        )
    };
    for engine in ENGINES {
        assert_eq!(missed(engine, &text(0, 1)), [""; 0], "{engine}");
        assert_eq!(missed(engine, &text(1, 0)), ["UPDATE users SET name = 'a' WHERE id = 5"], "{engine}");
    }
}

#[test]
fn an_own_write_without_effect_is_not_missed_inside_its_transaction() {
    let text = |affected: u8| {
        format!(
            "1 30..31 BEGIN -> P1 S1
             1 32..33 UPDATE users SET name = 'a' WHERE id = 5 -> P1 | affected={affected}
             1 40..42 SELECT name FROM users WHERE id = 5 -> S1 | sum=1 rows=1
             1 44..46 ROLLBACK -> P1 S1"
        )
    };
    for engine in ENGINES {
        assert_eq!((missed(engine, &text(0)).len(), missed(engine, &text(1)).len()), (0, 1), "{engine}");
    }
}

/// PostgreSQL manual, "ROLLBACK TO SAVEPOINT"; MySQL manual, "SAVEPOINT, ROLLBACK TO SAVEPOINT, and RELEASE SAVEPOINT".
#[test]
fn what_a_savepoint_took_back_is_not_missed() {
    let text = |inside: &[&str]| {
        let steps = ["BEGIN", "SAVEPOINT s"].iter().chain(inside).chain(&["INSERT INTO audit VALUES (1)", "COMMIT"]);
        let line = |(at, sql): (usize, &&str)| {
            let flags = if sql.contains("users") || sql.contains("audit") { " | affected=1" } else { "" };
            format!("1 {}..{}.9 {sql} -> P1{flags}\n", 30 + at, 30 + at)
        };
        let transaction: String = steps.enumerate().map(line).collect();
        transaction + "2 60..62 SELECT name FROM users WHERE id = 5 -> S2 | sum=1 rows=1"
    };
    let write = "UPDATE users SET name = 'a' WHERE id = 5";
    for engine in ENGINES {
        let missed = |inside: &[&str]| missed(engine, &text(inside));
        assert_eq!(missed(&[write, "ROLLBACK TO SAVEPOINT s"]), [""; 0], "{engine}");
        assert_eq!(
            missed(&[write, "SAVEPOINT t", "ROLLBACK TO SAVEPOINT s"]),
            [""; 0],
            "{engine}: a later one goes too"
        );
        for kept in [
            &[write][..],
            &[write, "RELEASE SAVEPOINT s"],
            &[write, "SAVEPOINT t", "ROLLBACK TO SAVEPOINT t"],
            &["ROLLBACK TO SAVEPOINT s", write],
        ] {
            assert_eq!(missed(kept), [write], "{engine}: {kept:?}");
        }
    }
}

/// It might have had one in another order: two runs that differ in such a write's place race.
#[test]
fn a_write_without_effect_is_part_of_the_order() {
    let text = |insert: u32, delete: u32, inserted: u8, sum: u32| {
        format!(
            "1 {insert}..{insert}.9 INSERT INTO users VALUES (5, 'a') -> P1 | affected=1
             2 {delete}..{delete}.9 DELETE FROM users WHERE id = 5 -> P2 | affected={inserted}
             3 60..62 SELECT name FROM users WHERE id = 5 -> P3 | sum={sum} rows=1"
        )
    };
    for engine in ENGINES {
        let found = run(engine, &text(10, 14, 1, 1), &text(14, 10, 0, 2)).answers.counts;
        assert_eq!((found.reordered, found.mismatch), (2, 0), "{engine}: {found:?}");
    }
}
