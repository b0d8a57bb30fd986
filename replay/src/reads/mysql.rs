//! What is proven to be a read on MySQL and MariaDB.

use std::collections::HashSet;

use splitproof_capture::sql::mysql::{Builtin, Mode, Server, builtin, facts};
use splitproof_capture::sql::{Effect, Function, Scope, Statement, StatementKind};

use super::routines::Routines;
use crate::catalog::Catalog;

/// Proves statements to be reads, with the pair's catalogue.
#[derive(Debug)]
pub struct Rules {
    routines: Routines,
    /// Schema and name of every view, in lower case. A view may call a function that writes.
    views: HashSet<(String, String)>,
    /// The servers: each decides for itself which comments it executes.
    servers: Vec<Server>,
    /// How sessions begin to read texts.
    begins: Quoting,
}

/// What was sent of a session, as far as it decides what its texts do.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// The statements that it has prepared in SQL and that are proven to be reads, in lower case.
    prepared: HashSet<String>,
    /// How it has asked for its texts to be read. A router may have lost that on one of its servers, so that each counts.
    asked: HashSet<Quoting>,
}

/// The parts of `sql_mode` that decide where a string ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Quoting {
    ansi_quotes: bool,
    no_backslash_escapes: bool,
}

impl Quoting {
    const ALL: [Quoting; 4] = [
        Quoting { ansi_quotes: false, no_backslash_escapes: false },
        Quoting { ansi_quotes: false, no_backslash_escapes: true },
        Quoting { ansi_quotes: true, no_backslash_escapes: false },
        Quoting { ansi_quotes: true, no_backslash_escapes: true },
    ];

    fn of(sql_mode: &str) -> Self {
        let mode = Mode::default().with_sql_mode(sql_mode);
        Quoting { ansi_quotes: mode.ansi_quotes, no_backslash_escapes: mode.no_backslash_escapes }
    }
}

impl Session {
    /// It begins anew.
    pub fn reset(&mut self) {
        *self = Session::default();
    }
}

/// False for a text that a session reads in another way after `SET sql_mode`, or that depends on what it has prepared.
pub fn is_told_by_shape(sql: &str) -> bool {
    !depends_on_mode(sql) && !["prepare", "execute", "sql_mode"].iter().any(|word| mentions(sql, word))
}

/// True where a word stands anywhere in the text.
fn mentions(sql: &str, word: &str) -> bool {
    sql.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// Backslashes and double quotes mean what `sql_mode` says.
fn depends_on_mode(sql: &str) -> bool {
    sql.contains(['\\', '"'])
}

impl Rules {
    /// With the routines and views of this catalogue, for servers of these versions.
    pub fn new<'a>(catalog: &Catalog, versions: impl IntoIterator<Item = &'a str>) -> Self {
        let mut servers: Vec<Server> = versions.into_iter().filter_map(Server::from_version).collect();
        servers.sort_unstable();
        servers.dedup();
        if servers.is_empty() {
            servers.push(Server::default());
        }
        let sql_mode = catalog.mysql.as_ref().and_then(|mysql| mysql.settings.get("sql_mode"));
        let views = catalog.relations.iter().filter(|relation| relation.kind == 'v');
        Rules {
            routines: Routines::new(catalog),
            views: views.map(|view| (view.schema.to_lowercase(), view.name.to_lowercase())).collect(),
            servers,
            begins: Quoting::of(sql_mode.map_or("", String::as_str)),
        }
    }

    /// True when every statement of the text is proven, to whichever of the servers it goes.
    pub fn prove(&self, session: &mut Session, sql: &str) -> bool {
        let mut prepared = HashSet::new();
        let mut asked = HashSet::new();
        let mut proven = true;
        let mut after = session.clone();
        for mode in self.modes(session, sql) {
            let facts = facts(sql, &mode);
            proven &= facts.error.is_none();
            let mut session = session.clone();
            for statement in &facts.statements {
                if let StatementKind::Prepare { name, .. } = &statement.kind {
                    prepared.insert(name.to_lowercase());
                }
                asked.extend(quotings(statement));
                proven &= self.is_harmless(statement, &mut session);
            }
            after = session;
        }
        if proven {
            *session = after;
            session.asked.extend(asked);
        } else {
            // It is not sent, so that these names stand for something else than in the recording.
            session.prepared.retain(|name| !prepared.contains(name));
        }
        proven
    }

    /// How the text may be read, by any server.
    fn modes(&self, session: &Session, sql: &str) -> Vec<Mode> {
        let mut quotings = vec![self.begins];
        if depends_on_mode(sql) {
            quotings.extend(session.asked.iter().filter(|asked| **asked != self.begins));
            if mentions(sql, "sql_mode") {
                // It may change how its own end is read.
                quotings = Quoting::ALL.to_vec();
            }
        }
        let mode = |server: &Server, quoting: &Quoting| Mode {
            ansi_quotes: quoting.ansi_quotes,
            no_backslash_escapes: quoting.no_backslash_escapes,
            ..Mode::of(*server)
        };
        self.servers.iter().flat_map(|server| quotings.iter().map(move |quoting| mode(server, quoting))).collect()
    }

    fn is_harmless(&self, statement: &Statement, session: &mut Session) -> bool {
        match &statement.kind {
            StatementKind::Prepare { name, inner } => {
                let proven = self.is_harmless(inner, &mut Session::default());
                if proven {
                    session.prepared.insert(name.to_lowercase());
                }
                return proven;
            }
            StatementKind::Execute { name } => return session.prepared.contains(&name.to_lowercase()),
            // What was not prepared would be an error that the recording does not have.
            StatementKind::Deallocate { name } => {
                return name.as_ref().is_some_and(|name| session.prepared.remove(&name.to_lowercase()));
            }
            StatementKind::ExecuteImmediate { inner } => return self.is_harmless(inner, &mut Session::default()),
            StatementKind::Explain { inner, .. } => return self.is_harmless(inner, &mut Session::default()),
            StatementKind::SetStatement { inner } => {
                let literals = statement.state.assignments.iter().all(|assignment| assignment.value.is_some());
                let quoting = !quotings(statement).is_empty();
                return literals
                    && !quoting
                    && sets_session_only(statement)
                    && self.is_harmless(inner, &mut Session::default());
            }
            // A prepared transaction outlives its session.
            StatementKind::Xa { .. } => return false,
            _ => {}
        }
        match statement.effect {
            Effect::Read => self.only_reads(statement),
            Effect::Transaction => true,
            Effect::Session => match statement.kind {
                StatementKind::SetVariables => sets_session_only(statement) && self.only_reads(statement),
                StatementKind::SetCharacteristics(_) | StatementKind::Use { .. } | StatementKind::Signal => true,
                StatementKind::Handler { .. } | StatementKind::GetDiagnostics => self.only_reads(statement),
                _ => false,
            },
            Effect::Write | Effect::Lock | Effect::Utility => false,
        }
    }

    /// User variables that it sets are the session's own.
    fn only_reads(&self, statement: &Statement) -> bool {
        statement.row_lock.is_none()
            && !statement.modifying_cte
            && !statement.partial
            && !statement.state.server_file
            && statement.writes.is_empty()
            && statement.functions.iter().all(|function| self.is_pure(function))
            && !statement.reads.iter().any(|table| self.is_view(table.schema.as_deref(), &table.name))
    }

    /// A built-in function comes before any other of its name.
    fn is_pure(&self, function: &Function) -> bool {
        match builtin(&function.name).filter(|_| function.schema.is_none()) {
            Some(Builtin::Pure | Builtin::ChangesNothing | Builtin::SequenceValue) => true,
            Some(Builtin::UserLock | Builtin::System) => false,
            None => self.routines.only_reads(function.schema.as_deref(), &function.name),
        }
    }

    fn is_view(&self, schema: Option<&str>, name: &str) -> bool {
        let name = name.to_lowercase();
        match schema {
            Some(schema) => self.views.contains(&(schema.to_lowercase(), name)),
            None => self.views.iter().any(|(_, view)| *view == name),
        }
    }
}

/// How a statement, or one in its text, asks for later texts to be read; in every way where its words do not tell.
fn quotings(statement: &Statement) -> Vec<Quoting> {
    let modes = statement.state.assignments.iter().filter(|assignment| assignment.name == "sql_mode");
    let mut found: Vec<Quoting> = modes
        .flat_map(|assignment| match &assignment.value {
            Some(value) => vec![Quoting::of(value)],
            None => Quoting::ALL.to_vec(),
        })
        .collect();
    if let StatementKind::Prepare { inner, .. } | StatementKind::ExecuteImmediate { inner } = &statement.kind {
        found.extend(quotings(inner));
    }
    found
}

fn sets_session_only(statement: &Statement) -> bool {
    statement.state.assignments.iter().all(|assignment| matches!(assignment.scope, Scope::User | Scope::Session))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{MysqlCatalog, Relation, Routine};

    fn routine(name: &str, data_access: &str, body: &str) -> Routine {
        Routine {
            schema: "shop".to_owned(),
            name: name.to_owned(),
            kind: "FUNCTION".to_owned(),
            data_access: data_access.to_owned(),
            deterministic: false,
            sql_mode: String::new(),
            create: Some(format!("CREATE FUNCTION `{name}`(i INT) RETURNS INT {body}")),
        }
    }

    fn rules(versions: &[&str]) -> Rules {
        let routines = vec![
            routine("price", "READS SQL DATA", "RETURN (SELECT p FROM goods WHERE id = i)"),
            routine("audit", "MODIFIES SQL DATA", "BEGIN INSERT INTO log VALUES (1); RETURN 1; END"),
            routine("liar", "READS SQL DATA", "BEGIN INSERT INTO log VALUES (1); RETURN 1; END"),
        ];
        let relation = Relation { schema: "shop".to_owned(), name: "Report".to_owned(), kind: 'v', persistence: 'p' };
        let mysql = Some(MysqlCatalog { routines, ..MysqlCatalog::default() });
        Rules::new(&Catalog { relations: vec![relation], mysql, ..Catalog::default() }, versions.iter().copied())
    }

    fn proves(rules: &Rules, sql: &str) -> bool {
        rules.prove(&mut Session::default(), sql)
    }

    #[test]
    fn only_what_is_proven_passes() {
        let rules = rules(&[]);
        for sql in [
            "SELECT * FROM orders WHERE id = 1",
            "(SELECT 1) UNION (SELECT a FROM b)",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "SELECT price(id), NOW(), RAND(), UUID() FROM orders",
            "SELECT @a := @a + 1, a INTO @b, @c FROM orders",
            "SELECT LAST_INSERT_ID(), FOUND_ROWS(), @@autocommit",
            "SELECT 'it''s', \"a \\\" b\" FROM orders",
            "TABLE orders",
            "DO SLEEP(0)",
            "SHOW WARNINGS; SHOW TABLES",
            "EXPLAIN SELECT * FROM orders",
            "BEGIN; SELECT 1; COMMIT",
            "START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT",
            "ROLLBACK TO a",
            "SET autocommit = 0, @x = (SELECT MAX(id) FROM orders), NAMES utf8mb4",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET STATEMENT max_statement_time = 1 FOR SELECT 1",
            "USE shop",
            "HANDLER orders OPEN",
            "PREPARE s FROM 'SELECT ?'; EXECUTE s USING @a; DEALLOCATE PREPARE S",
            "EXECUTE IMMEDIATE 'SELECT 1'",
            "SELECT 1 /*!99999 FOR UPDATE */",
            "",
        ] {
            assert!(proves(&rules, sql), "{sql}");
        }
        for sql in [
            "INSERT INTO orders VALUES (1)",
            "REPLACE INTO orders VALUES (1)",
            "SELECT * FROM orders FOR UPDATE",
            "SELECT * FROM orders LOCK IN SHARE MODE",
            "SELECT * FROM orders FOR SHARE SKIP LOCKED",
            "SELECT audit(id) FROM orders",
            "SELECT liar(id) FROM orders",
            "SELECT unknown(id) FROM orders",
            "SELECT other.price(1)",
            "SELECT * FROM report",
            "SELECT * FROM shop.REPORT",
            "SELECT NEXTVAL(ids)",
            "SELECT NEXT VALUE FOR ids",
            "SELECT SETVAL(ids, 5)",
            "SELECT GET_LOCK('a', 1)",
            "SELECT * FROM orders INTO OUTFILE '/tmp/x'",
            "SELECT LOAD_FILE('/etc/passwd')",
            "SELECT 1; DELETE FROM orders",
            "SELECT 1 /*! FOR UPDATE */",
            "/*!50000 DELETE FROM orders */",
            "CREATE TEMPORARY TABLE t (a INT)",
            "CALL p()",
            "DO audit(1)",
            "SET GLOBAL max_connections = 5",
            "SET PERSIST max_connections = 5",
            "SET @x = audit(1)",
            "SET PASSWORD = 'x'",
            "LOCK TABLES orders READ",
            "FLUSH TABLES",
            "XA START 'a'",
            "XA COMMIT 'a'",
            "BEGIN NOT ATOMIC SELECT 1; END",
            "LOAD DATA LOCAL INFILE 'a' INTO TABLE orders",
            "PREPARE s FROM 'DELETE FROM orders'",
            "PREPARE s FROM @text",
            "EXECUTE s",
            "DEALLOCATE PREPARE s",
            "EXECUTE IMMEDIATE 'DELETE FROM orders'",
            "EXECUTE IMMEDIATE @text",
            "SET STATEMENT max_statement_time = 1 FOR DELETE FROM orders",
            "SET STATEMENT max_statement_time = audit(1) FOR SELECT 1",
            "ANALYZE UPDATE orders SET a = 1",
            "ANALYZE TABLE orders",
            "KILL 5",
            "not sql",
        ] {
            assert!(!proves(&rules, sql), "{sql}");
        }
    }

    /// A replica may run a comment that the primary passes over.
    #[test]
    fn a_text_is_read_as_every_server_reads_it() {
        let text = "SELECT 1 /*M!110000 FOR UPDATE */";
        assert!(proves(&rules(&["10.11.6-MariaDB", "10.11.6-MariaDB"]), text));
        assert!(!proves(&rules(&["10.11.6-MariaDB", "11.4.2-MariaDB"]), text));
    }

    /// `'a\'; DELETE …'` is one string, or a string and a statement.
    #[test]
    fn a_text_is_read_in_every_mode_that_the_session_may_be_in() {
        let rules = rules(&[]);
        let text = "SELECT 'a\\'; DELETE FROM orders; -- '";
        let usual = "SELECT 'O\\'Brien', \"a\"";
        for ask in [
            "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
            "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')",
            "PREPARE m FROM 'SET sql_mode = ?'",
            "EXECUTE IMMEDIATE 'SET sql_mode = ''NO_BACKSLASH_ESCAPES'''",
        ] {
            let mut session = Session::default();
            assert!(rules.prove(&mut session, text) && rules.prove(&mut session, usual));
            assert!(rules.prove(&mut session, ask));
            assert!(!rules.prove(&mut session, text), "{ask}");
            // The router may have lost the setting on one server.
            assert!(rules.prove(&mut session, "SET sql_mode = ''"));
            assert!(!rules.prove(&mut session, text), "{ask}");
            session.reset();
            assert!(rules.prove(&mut session, text));
        }
        let mut session = Session::default();
        assert!(!rules.prove(&mut session, &format!("SET sql_mode = 'NO_BACKSLASH_ESCAPES'; {text}")));
        assert!(!rules.prove(&mut session, "SET STATEMENT sql_mode = 'NO_BACKSLASH_ESCAPES' FOR SELECT 1"));
        let settings = [("sql_mode".to_owned(), "STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES".to_owned())];
        let mysql = Some(MysqlCatalog { settings: settings.into(), ..MysqlCatalog::default() });
        let other = Rules::new(&Catalog { mysql, ..Catalog::default() }, []);
        assert!(!other.prove(&mut session, text), "as the server's sessions begin");
    }

    #[test]
    fn a_name_stands_for_what_was_last_prepared() {
        let rules = rules(&[]);
        let mut session = Session::default();
        assert!(rules.prove(&mut session, "PREPARE a FROM 'SELECT 1'"));
        assert!(rules.prove(&mut session, "EXECUTE A"));
        assert!(!rules.prove(&mut session, "PREPARE a FROM 'DELETE FROM t'"));
        assert!(!rules.prove(&mut session, "EXECUTE a"));
        assert!(rules.prove(&mut session, "PREPARE a FROM 'SELECT 2'"));
        assert!(rules.prove(&mut session, "DEALLOCATE PREPARE a"));
        assert!(!rules.prove(&mut session, "EXECUTE a"));
    }
}
