//! Rows of a general log become rows of the node's trace. A row of the log says what the server received and when; what it
//! answered is not in it.

use std::collections::HashMap;
use std::sync::Arc;

use splitproof_capture::sql::{Dialect, Statement, StatementKind};
use splitproof_capture::trace::{Engine, Kind, Loss, Losses, Outcome, Request};

/// A text of this length is one that was cut: `argument` holds no more.
const LONGEST: usize = (1 << 24) - 1;

/// A row of `mysql.general_log`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When the server received it, nanoseconds since 1970 UTC.
    pub at_ns: i64,
    /// Who sent it, as `shop[shop] @ localhost [127.0.0.1]`.
    pub user_host: String,
    /// The connection's number.
    pub thread: u64,
    /// `Query`, `Execute`, ...
    pub command: String,
    /// The text; of a connection, who connects and where to.
    pub argument: Vec<u8>,
}

/// The connections of a server, as its log shows them.
pub struct Sessions {
    /// Address of the server.
    server: Arc<str>,
    dialect: Dialect,
    threads: HashMap<u64, Thread>,
    losses: Losses,
}

/// What is known of one connection.
#[derive(Default)]
struct Thread {
    seq: u32,
    midway: bool,
    user: Option<Arc<str>>,
    database: Option<Arc<str>>,
    client: Option<Arc<str>>,
    /// A row of which the next one may tell that it was refused.
    connect: Option<Request>,
    /// How many of the next rows the server wrote for the statement before: what its `PREPARE` and `EXECUTE` did.
    prepares: usize,
    executes: usize,
    /// The text of a bulk execution, which is written once for each set of parameters.
    bulk: Option<Arc<str>>,
}

impl Sessions {
    /// Of the server at this address.
    pub fn new(server: String) -> Self {
        let (threads, losses) = (HashMap::new(), Losses::default());
        Sessions { server: server.into(), dialect: Dialect::of(Engine::Mysql), threads, losses }
    }

    /// Takes the next row of the log; gives the rows of the trace that are complete now.
    pub fn take(&mut self, entry: Entry, out: &mut Vec<Request>) {
        let Some((kind, messages)) = kind(&entry.command) else {
            return self.losses.add(Loss::LogRow, 1);
        };
        let text = String::from_utf8_lossy(&entry.argument);
        let dialect = self.dialect;
        let thread = self.threads.entry(entry.thread).or_insert_with(|| Thread::of(&entry.user_host, kind));
        if let Some(mut connect) = thread.connect.take() {
            let refused = kind == Kind::Connect;
            if refused {
                connect.outcome = Outcome::Error;
                connect.error_message = Some((&*text).into());
            }
            out.push(connect);
            if refused {
                self.threads.remove(&entry.thread);
                return;
            }
        }
        if thread.is_the_servers_own(kind, &text, dialect) {
            return;
        }
        match kind {
            Kind::Connect | Kind::ChangeUser => (thread.user, thread.database) = login(&text),
            Kind::InitDb => thread.database = Some((&*text).into()),
            _ => {}
        }
        let mut row = Request::new(entry.thread, thread.seq, entry.at_ns, kind);
        thread.seq += 1;
        row.messages = messages.into();
        row.server = Some(Arc::clone(&self.server));
        (row.user, row.client) = (thread.user.clone(), thread.client.clone());
        (row.database, row.joined_midway) = (thread.database.clone(), thread.midway);
        if matches!(kind, Kind::Query | Kind::Prepare | Kind::Execute) {
            let masked = dialect.mask_password(&text);
            row.shape_id = Some(dialect.shape_id(&masked));
            let invalid = std::str::from_utf8(&entry.argument).is_err() && *masked == *text;
            row.sql_raw = invalid.then(|| entry.argument.as_slice().into());
            row.sql = Some((&*masked).into());
            row.truncated = entry.argument.len() >= LONGEST;
            self.losses.add(Loss::LogText, row.truncated.into());
        }
        match kind {
            Kind::Connect => thread.connect = Some(row),
            Kind::Disconnect => {
                self.threads.remove(&entry.thread);
                out.push(row);
            }
            _ => out.push(row),
        }
    }

    /// The rows that waited for another one, and what could not be used.
    pub fn finish(self, out: &mut Vec<Request>) -> Losses {
        let mut waiting: Vec<_> = self.threads.into_values().filter_map(|thread| thread.connect).collect();
        waiting.sort_by_key(|row| (row.start_ns, row.session));
        out.extend(waiting);
        self.losses
    }
}

impl Thread {
    /// A connection whose first row is of this kind.
    fn of(user_host: &str, kind: Kind) -> Self {
        let user = user_host.split('[').next().map(str::trim).filter(|user| !user.is_empty());
        let client = user_host.rsplit_once('[').and_then(|(_, address)| address.strip_suffix(']'));
        Thread {
            midway: kind != Kind::Connect,
            user: user.map(Into::into),
            client: client.filter(|address| !address.is_empty()).map(Into::into),
            ..Thread::default()
        }
    }

    /// True for what the server logs beside what the client sent: the statements inside `PREPARE` and `EXECUTE`, right after the
    /// text that holds these, and the repetitions of a bulk execution.
    fn is_the_servers_own(&mut self, kind: Kind, text: &str, dialect: Dialect) -> bool {
        match kind {
            Kind::Prepare if self.prepares > 0 => {
                self.prepares -= 1;
                return true;
            }
            Kind::Execute if self.executes > 0 => {
                self.executes -= 1;
                return true;
            }
            Kind::Query => {
                let mut inside = Inside::default();
                if ["prepare", "execute", "use"].iter().any(|word| holds(text, word)) {
                    dialect.facts(text).statements.iter().for_each(|statement| inside.count(statement));
                }
                (self.prepares, self.executes) = (inside.prepares, inside.executes);
                if let Some(database) = inside.database {
                    self.database = Some(database.into());
                }
            }
            _ => (self.prepares, self.executes) = (0, 0),
        }
        // An INSERT is written once, however many rows it gets.
        let writes_each = kind == Kind::Execute && (starts(text, "update") || starts(text, "delete"));
        if writes_each && text.contains('?') {
            let again = self.bulk.as_deref() == Some(text);
            self.bulk = Some(text.into());
            return again;
        }
        self.bulk = None;
        false
    }
}

/// What the statements of a text make the server log.
#[derive(Default)]
struct Inside {
    prepares: usize,
    executes: usize,
    database: Option<String>,
}

impl Inside {
    fn count(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Prepare { .. } => self.prepares += 1,
            StatementKind::Execute { .. } => self.executes += 1,
            StatementKind::ExecuteImmediate { .. } => {
                self.prepares += 1;
                self.executes += 1;
            }
            StatementKind::SetStatement { inner } => self.count(inner),
            StatementKind::Use { database } => self.database = Some(database.clone()),
            _ => {}
        }
    }
}

/// The kind of a command, and its code in hexadecimal; `None` for one that is not known.
fn kind(command: &str) -> Option<(Kind, &'static str)> {
    Some(match command {
        "Connect" => (Kind::Connect, ""),
        "Query" => (Kind::Query, "03"),
        "Prepare" => (Kind::Prepare, "16"),
        "Execute" => (Kind::Execute, "17"),
        "Fetch" => (Kind::Fetch, "1c"),
        "Close stmt" => (Kind::Close, "19"),
        "Quit" => (Kind::Disconnect, "01"),
        "Init DB" => (Kind::InitDb, "02"),
        "Change user" => (Kind::ChangeUser, "11"),
        "Reset Connection" | "Reset connection" => (Kind::Reset, "1f"),
        "Ping" => (Kind::Ping, "0e"),
        "Reset stmt" => (Kind::Other, "1a"),
        "Long Data" => (Kind::Other, "18"),
        "Field List" => (Kind::Other, "04"),
        "Create DB" => (Kind::Other, "05"),
        "Drop DB" => (Kind::Other, "06"),
        "Refresh" => (Kind::Other, "07"),
        "Statistics" => (Kind::Other, "09"),
        "Processlist" => (Kind::Other, "0a"),
        "Kill" => (Kind::Other, "0c"),
        "Debug" => (Kind::Other, "0d"),
        "Set option" => (Kind::Other, "1b"),
        _ => return None,
    })
}

/// User and database of `shop@localhost on shop using TCP/IP`.
fn login(argument: &str) -> (Option<Arc<str>>, Option<Arc<str>>) {
    let known = |name: &str| (!name.is_empty()).then(|| name.into());
    let argument = argument.rsplit_once(" using ").map_or(argument, |(before, _)| before);
    let (account, database) = argument.rsplit_once(" on ").unwrap_or((argument, ""));
    let user = account.rsplit_once('@').map_or(account, |(user, _)| user);
    (known(user), known(database.trim()))
}

/// True where a text holds a word, in letters of any case.
fn holds(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

fn starts(text: &str, word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of thread 9, a millisecond apart, as MariaDB writes them.
    fn rows(log: &[(&str, &str)]) -> (Vec<Request>, Losses) {
        let mut sessions = Sessions::new("127.0.0.1:3306".to_owned());
        let mut out = Vec::new();
        for (at, (command, argument)) in log.iter().enumerate() {
            let entry = Entry {
                at_ns: at as i64 * 1_000_000,
                user_host: "shop[shop] @ localhost [127.0.0.1]".to_owned(),
                thread: 9,
                command: (*command).to_owned(),
                argument: argument.as_bytes().to_vec(),
            };
            sessions.take(entry, &mut out);
        }
        let losses = sessions.finish(&mut out);
        (out, losses)
    }

    fn texts(log: &[(&str, &str)]) -> Vec<String> {
        rows(log).0.iter().map(|row| format!("{} {}", row.kind, row.sql.as_deref().unwrap_or("-"))).collect()
    }

    #[test]
    fn a_connection_from_its_beginning_to_its_end() {
        let (found, losses) = rows(&[
            ("Connect", "shop@localhost on shop using TCP/IP"),
            ("Query", "SELECT 1"),
            ("Init DB", "other"),
            ("Query", "use `third`"),
            ("Prepare", "SELECT ?"),
            ("Execute", "SELECT 5"),
            ("Close stmt", ""),
            ("Quit", ""),
        ]);
        assert!(losses.is_empty(), "{losses:?}");
        let kinds: Vec<_> = found.iter().map(|row| (row.kind, &*row.messages)).collect();
        assert_eq!(
            kinds,
            [
                (Kind::Connect, ""),
                (Kind::Query, "03"),
                (Kind::InitDb, "02"),
                (Kind::Query, "03"),
                (Kind::Prepare, "16"),
                (Kind::Execute, "17"),
                (Kind::Close, "19"),
                (Kind::Disconnect, "01")
            ]
        );
        let databases: Vec<_> = found.iter().map(|row| row.database.as_deref().unwrap()).collect();
        assert_eq!(databases, ["shop", "shop", "other", "third", "third", "third", "third", "third"]);
        for (at, row) in found.iter().enumerate() {
            assert_eq!((row.session, row.seq, row.start_ns), (9, at as u32, at as i64 * 1_000_000));
            assert_eq!((row.user.as_deref(), row.client.as_deref()), (Some("shop"), Some("127.0.0.1")));
            assert_eq!(
                (row.outcome, row.duration_ns, row.rows, row.joined_midway),
                (Outcome::Unfinished, None, None, false)
            );
        }
    }

    #[test]
    fn what_the_server_does_for_prepare_and_execute_is_no_request() {
        assert_eq!(
            texts(&[
                ("Query", "PREPARE s FROM 'SELECT 1'; EXECUTE s; execute s; SELECT 2"),
                ("Prepare", "SELECT 1"),
                ("Execute", "SELECT 1"),
                ("Execute", "SELECT 1"),
                ("Query", "EXECUTE IMMEDIATE 'SELECT 7'"),
                ("Prepare", "SELECT 7"),
                ("Execute", "SELECT 7"),
                ("Prepare", "SELECT ?"),
                ("Execute", "SELECT 8"),
                ("Query", "EXECUTE s"),
                ("Query", "SELECT 'execute'"),
                ("Execute", "SELECT 9"),
            ]),
            [
                "query PREPARE s FROM 'SELECT 1'; EXECUTE s; execute s; SELECT 2",
                "query EXECUTE IMMEDIATE 'SELECT 7'",
                "prepare SELECT ?",
                "execute SELECT 8",
                "query EXECUTE s",
                "query SELECT 'execute'",
                "execute SELECT 9",
            ]
        );
    }

    #[test]
    fn a_bulk_execution_is_one_whatever_is_logged_for_it() {
        let update = "UPDATE t SET b=? WHERE a=?";
        assert_eq!(
            texts(&[
                ("Execute", update),
                ("Execute", update),
                ("Query", "SELECT 1"),
                ("Execute", update),
                ("Execute", "UPDATE t SET b=1 WHERE a=1"),
                ("Execute", "UPDATE t SET b=1 WHERE a=1"),
            ]),
            [
                format!("execute {update}").as_str(),
                "query SELECT 1",
                format!("execute {update}").as_str(),
                "execute UPDATE t SET b=1 WHERE a=1",
                "execute UPDATE t SET b=1 WHERE a=1",
            ]
        );
    }

    #[test]
    fn a_refused_connection_is_an_error_and_an_old_one_is_midway() {
        let refused = "Access denied for user 'nobody'@'localhost' (using password: NO)";
        let (found, _) =
            rows(&[("Connect", "nobody@localhost on  using TCP/IP"), ("Connect", refused), ("Query", "SELECT 1")]);
        assert_eq!((found[0].outcome, found[0].error_message.as_deref()), (Outcome::Error, Some(refused)));
        assert_eq!((found[0].user.as_deref(), found[0].database.as_deref()), (Some("nobody"), None));
        assert_eq!((found[1].joined_midway, found[1].user.as_deref()), (true, Some("shop")));
        assert_eq!(rows(&[("Connect", "a@b on  using Socket")]).0.len(), 1, "one that sent nothing more");
    }

    #[test]
    fn passwords_do_not_enter_the_trace_and_what_is_cut_or_unknown_is_counted() {
        let long = format!("SELECT '{}", "x".repeat(LONGEST - 8));
        let (found, losses) =
            rows(&[("Query", "CREATE USER a IDENTIFIED BY 'secret'"), ("Query", &long), ("Dance", "x")]);
        assert_eq!(found[0].sql.as_deref(), Some("CREATE USER a IDENTIFIED BY '***'"));
        assert_eq!((found[0].truncated, found[1].truncated), (false, true));
        assert_eq!((losses.get(Loss::LogText), losses.get(Loss::LogRow)), (1, 1));
    }
}
