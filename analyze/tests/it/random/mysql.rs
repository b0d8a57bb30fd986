//! MariaDB.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, OptsBuilder, Row};
use splitproof_analyze::intent::Judge;
use splitproof_analyze::run::dialect;
use splitproof_capture::trace::Engine;

use super::grammar::Draw;
use super::{Answer, Found, Node, SEQUENCES, expect_none_wrong, number, pair, sequence};

const SETUP: &str = "
CREATE TABLE people (id int PRIMARY KEY, name varchar(40), age int);
INSERT INTO people SELECT seq, concat('name ', seq % 7), seq % 50 FROM seq_1_to_60;
CREATE TABLE deals (id int AUTO_INCREMENT PRIMARY KEY, person int, total int, note text);
INSERT INTO deals (person, total) SELECT seq % 60 + 1, seq * 3 % 100 FROM seq_1_to_150;
CREATE SEQUENCE tickets;
CREATE VIEW grown AS SELECT id, name FROM people WHERE age > 18;
CREATE FUNCTION twice(n int) RETURNS int DETERMINISTIC NO SQL RETURN n * 2;
CREATE FUNCTION counted() RETURNS int READS SQL DATA RETURN (SELECT count(*) FROM people);
CREATE FUNCTION noted(p int) RETURNS int MODIFIES SQL DATA
  BEGIN INSERT INTO deals (person, total) VALUES (p, 1); RETURN p; END;
CREATE FUNCTION sly(p int) RETURNS int READS SQL DATA
  BEGIN UPDATE people SET age = age WHERE id = p; RETURN p; END;
CREATE PROCEDURE settle() UPDATE deals SET total = total + 1 WHERE id = 1;
";

/// Statements that the `mariadb` client would cut at their inner semicolons.
fn setup() -> String {
    let pieces = SETUP.split(";\n").map(str::trim).filter(|piece| !piece.is_empty());
    format!("DELIMITER $$\n{}\n$$\nGRANT ALL ON shop.* TO shop@'%'\n$$\n", pieces.collect::<Vec<_>>().join("\n$$\n"))
}

impl Node for Conn {
    async fn run(&mut self, sql: &str) -> Answer {
        let code = |error: Error| match error {
            Error::Server(error) => error.code.to_string(),
            other => other.to_string(),
        };
        let mut result = self.query_iter(sql).await.map_err(code)?;
        let mut rows = Vec::new();
        // A text has several results; the next one may be an error.
        while !result.is_empty() {
            for row in result.collect::<Row>().await.map_err(code)? {
                rows.push(row.unwrap().iter().map(|value| value.as_sql(false)).collect::<Vec<_>>().join("|"));
            }
        }
        result.drop_result().await.map_err(code)?;
        Ok(rows)
    }
}

async fn connect(port: u16) -> Conn {
    let options = OptsBuilder::default().ip_or_hostname("127.0.0.1").tcp_port(port).user(Some("shop"));
    Conn::new(options.db_name(Some("shop")).prefer_socket(false)).await.unwrap()
}

fn value(draw: &mut Draw, depth: u32) -> String {
    if depth == 0 {
        return draw.one(&["1", "0", "7", "-3", "NULL", "'x'", "42", "2.5"]);
    }
    match draw.below(10) {
        0 | 1 => draw.one(&["1", "7", "42"]),
        2 => draw.one(&[
            "NOW()",
            "RAND()",
            "UUID()",
            "CONNECTION_ID()",
            "@@server_id",
            "@@hostname",
            "VERSION()",
            "CURRENT_USER()",
            "SYSDATE()",
            "DATABASE()",
            "@@read_only",
            "@@gtid_current_pos",
            "UNIX_TIMESTAMP()",
            "SLEEP(0)",
            "@@sql_mode",
            "CURDATE()",
            "@@port",
        ]),
        3 => draw.one(&[
            "NEXTVAL(tickets)",
            "NEXT VALUE FOR tickets",
            "SETVAL(tickets, 9)",
            "noted(3)",
            "sly(3)",
            "GET_LOCK('a', 0)",
            "RELEASE_LOCK('a')",
            "LAST_INSERT_ID()",
            "FOUND_ROWS()",
            "ROW_COUNT()",
            "LAST_INSERT_ID(5)",
            "IS_FREE_LOCK('a')",
            "LASTVAL(tickets)",
            "MASTER_POS_WAIT('x', 4, 0)",
        ]),
        4 => draw.one(&[
            "twice(4)",
            "counted()",
            "abs(-4)",
            "length('abc')",
            "md5('a')",
            "upper('a')",
            "concat('a', 1)",
            "BENCHMARK(1, 1)",
        ]),
        5 => draw.one(&["@a", "@b", "@a := 3", "(@b := @b + 1)"]),
        6 => format!("({})", read(draw, depth - 1, true)),
        7 => format!("CASE WHEN {} IS NULL THEN 1 ELSE 2 END", value(draw, depth - 1)),
        _ => format!("coalesce({}, 'none')", value(draw, depth - 1)),
    }
}

fn condition(draw: &mut Draw, depth: u32) -> String {
    match draw.below(6) {
        0 => format!("id = {}", draw.below(70)),
        1 => "id IN (1, 2, 3, 5, 8)".into(),
        2 => format!("id BETWEEN {} AND {}", draw.below(20), draw.below(70)),
        3 if depth > 0 => format!("id IN (SELECT id FROM people WHERE age < {})", draw.below(40)),
        4 if depth > 0 => "EXISTS (SELECT 1 FROM deals d WHERE d.total > 50)".into(),
        _ => "1 = 1".into(),
    }
}

fn read(draw: &mut Draw, depth: u32, single: bool) -> String {
    let from = draw.one(&["people", "deals", "people", "deals", "grown"]);
    let filter = condition(draw, depth);
    if single {
        return format!("SELECT {}(id) FROM {from} WHERE {filter}", draw.one(&["max", "min", "count", "sum"]));
    }
    let lock = match draw.below(12) {
        0 => draw.one(&[
            " FOR UPDATE",
            " LOCK IN SHARE MODE",
            " /*!50701 FOR UPDATE */",
            " /*!99999 FOR UPDATE */",
            " FOR UPDATE NOWAIT",
        ]),
        _ => String::new(),
    };
    match draw.below(13) {
        0 | 1 => format!("SELECT {}", value(draw, depth)),
        2 => format!("SELECT count(*), max(id) FROM {from} WHERE {filter}"),
        3 => format!(
            "SELECT id, {} FROM {from} WHERE {filter} ORDER BY id LIMIT {}{lock}",
            value(draw, depth.min(1)),
            draw.below(9)
        ),
        4 => {
            "SELECT p.name, sum(d.total) FROM people p JOIN deals d ON d.person = p.id GROUP BY p.name ORDER BY p.name"
                .into()
        }
        5 => format!("WITH c AS (SELECT id FROM {from} WHERE {filter}) SELECT * FROM c"),
        6 => format!("SELECT id FROM {from} WHERE {filter} UNION ALL SELECT 1 ORDER BY 1"),
        7 => draw.one(&[
            "SHOW TABLES",
            "SHOW COLUMNS FROM people",
            "DESCRIBE deals",
            "SHOW CREATE TABLE people",
            "SHOW VARIABLES LIKE 'sql_mode'",
            "SHOW WARNINGS",
            "SHOW STATUS LIKE 'Uptime'",
            "EXPLAIN SELECT * FROM people WHERE id = 3",
            "VALUES (1, 2), (3, 4)",
        ]),
        8 => "SELECT name, rank() OVER (ORDER BY age, id) FROM people ORDER BY age, id LIMIT 5".into(),
        9 => draw.one(&[
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop' ORDER BY 1",
            "SELECT count(*) > 0 FROM information_schema.processlist",
            "SELECT SQL_CALC_FOUND_ROWS id FROM people LIMIT 2",
            "SELECT id INTO @a FROM people WHERE id = 4",
            "SELECT SQL_NO_CACHE 1",
            "SELECT 1 FROM DUAL",
        ]),
        10 => format!("SET STATEMENT max_statement_time = 5 FOR SELECT count(*) FROM {from}"),
        _ => format!("SELECT * FROM {from} WHERE {filter}{lock}"),
    }
}

fn write(draw: &mut Draw) -> String {
    let id = draw.below(60) + 1;
    match draw.below(6) {
        0 => format!("UPDATE people SET age = age + 1 WHERE id = {id}"),
        1 => format!("INSERT INTO deals (person, total) VALUES ({id}, 5)"),
        2 => format!("DELETE FROM deals WHERE person = {id} AND total > 95"),
        3 => format!("INSERT INTO people VALUES ({id}, 'again', 3) ON DUPLICATE KEY UPDATE age = 4"),
        4 => format!("REPLACE INTO people VALUES ({id}, 'new', 5)"),
        _ => format!("INSERT INTO deals (person, total) VALUES ({id}, 6) RETURNING id"),
    }
}

fn statement(draw: &mut Draw) -> String {
    let text = match draw.below(30) {
        0..=12 => read(draw, 2, false),
        13..=15 => write(draw),
        16 => draw.one(&[
            "BEGIN",
            "START TRANSACTION READ ONLY",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            "START TRANSACTION READ WRITE",
        ]),
        17 | 18 => draw.one(&["COMMIT", "ROLLBACK", "COMMIT AND CHAIN"]),
        19 => draw.one(&["SAVEPOINT a", "ROLLBACK TO a", "RELEASE SAVEPOINT a"]),
        20 => draw.one(&[
            "SET @a = 5",
            "SET @b = 1, @a = NULL",
            "SET SESSION sort_buffer_size = 262144",
            "SET NAMES utf8mb4",
            "USE shop",
            "SET autocommit = 0",
            "SET autocommit = 1",
            "SET SESSION TRANSACTION READ ONLY",
            "SET SESSION TRANSACTION READ WRITE",
        ]),
        21 => format!(
            "PREPARE p FROM '{}'",
            if draw.once_in(2) { "SELECT count(*) FROM people" } else { "UPDATE people SET age = 1 WHERE id = 0" }
        ),
        22 | 23 => draw.one(&[
            "EXECUTE p",
            "DEALLOCATE PREPARE p",
            "EXECUTE IMMEDIATE 'SELECT 1'",
            "EXECUTE IMMEDIATE 'DELETE FROM deals WHERE id = 0'",
        ]),
        24 => draw.one(&[
            "CREATE TEMPORARY TABLE mine AS SELECT 1 AS id",
            "SELECT * FROM mine",
            "DROP TEMPORARY TABLE IF EXISTS mine",
        ]),
        25 => draw.one(&[
            "LOCK TABLES people READ",
            "LOCK TABLES deals WRITE",
            "UNLOCK TABLES",
            "FLUSH TABLES",
            "DO 1",
            "DO RELEASE_ALL_LOCKS()",
        ]),
        26 => draw.one(&[
            "CALL settle()",
            "ANALYZE TABLE deals",
            "CHECK TABLE people",
            "HANDLER people OPEN",
            "HANDLER people READ FIRST",
            "HANDLER people CLOSE",
        ]),
        27 => draw.one(&[
            "EXPLAIN UPDATE people SET age = 1",
            "ANALYZE SELECT 1",
            "SHOW MASTER STATUS",
            "SHOW PROCESSLIST",
            "SHOW SLAVE STATUS",
        ]),
        28 => draw.one(&[
            "INSERT INTO deals (person) SELECT id FROM people WHERE id = 0",
            "CREATE TABLE IF NOT EXISTS people (id int)",
            "TRUNCATE deals_of_nobody",
        ]),
        _ => format!("{}; {}", read(draw, 1, false), if draw.once_in(2) { read(draw, 1, false) } else { write(draw) }),
    };
    match draw.below(15) {
        0 => format!("/* from the web */ {text}"),
        1 => format!("{text} -- end"),
        _ => text,
    }
}

#[test]
fn what_is_replica_safe_runs_on_a_read_only_server_and_answers_as_the_primary() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (_home, sandbox, catalog) = pair(Engine::Mysql, &setup()).await;
        let ports = sandbox.ports();
        let mut watch = [connect(ports.primary).await, connect(ports.replica).await];
        let mut judge = Judge::new(dialect(Engine::Mysql, &catalog.server_version), Some(catalog.clone()));
        let mut found = Found::default();
        let (seed, sequences) = (number("SPLITPROOF_SEED", 1), number("SPLITPROOF_SEQUENCES", SEQUENCES.into()) as u32);
        for sequence_number in 0..sequences {
            let mut draw = Draw::new(seed, sequence_number);
            let statements: Vec<String> = (0..3 + draw.below(6)).map(|_| statement(&mut draw)).collect();
            let (mut primary, mut replica) = (connect(ports.primary).await, connect(ports.replica).await);
            let [on_primary, on_replica] = &mut watch;
            let caught_up = async || {
                let position: Option<String> = on_primary.query_first("SELECT @@gtid_binlog_pos").await.unwrap();
                let wait = format!("SELECT MASTER_GTID_WAIT('{}', 60)", position.unwrap());
                assert_eq!(on_replica.query_first(wait).await.unwrap(), Some(0));
            };
            sequence(&statements, &mut judge, [&mut primary, &mut replica], caught_up, &mut found).await;
            primary.disconnect().await.ok();
            replica.disconnect().await.ok();
        }
        expect_none_wrong(&found, sequences);
    });
}
