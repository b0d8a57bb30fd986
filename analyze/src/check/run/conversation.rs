//! One case over one connection through the router.

use std::time::Duration;

use splitproof_capture::postgresql::frontend::Frontend;
use splitproof_capture::session::postgresql::Session;
use splitproof_capture::session::{Shared, Start};
use splitproof_capture::trace::{Engine, Kind, Param, Request};
use splitproof_replay::clock::{Clock, WallClock};
use splitproof_replay::pair::{Secret, Url};
use splitproof_replay::wire::postgresql::handshake::Login;
use splitproof_replay::wire::postgresql::{Connection, encode};
use splitproof_replay::wire::{Rows, Wire};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{CheckError, mysql};
use crate::check::{Case, Protocol, Step};

/// How long a statement may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How often the router is asked whether it is there, and how long it is waited for in between: a router whose backends
/// are taps may have found them missing until now.
const ATTEMPTS: u32 = 10;
const BETWEEN: Duration = Duration::from_secs(1);

/// The router, and as whom to go there.
pub(super) struct Router {
    pub url: Url,
    pub user: String,
    pub database: String,
    pub password: Option<Secret>,
    pub clock: WallClock,
    pub shared: Shared,
}

/// What became of one statement.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    /// When it was sent and when its answer was complete.
    pub sent_ns: i64,
    pub answered_ns: i64,
    /// SQLSTATE; MySQL: the error's number.
    pub error: Option<String>,
}

impl Router {
    /// Waits until the router lets us in.
    pub async fn reach(&self) -> Result<(), CheckError> {
        let mut problem = String::new();
        let mut listens = false;
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(BETWEEN).await;
            }
            // What refuses a connection and what refuses a user want another remedy.
            if let Err(error) = TcpStream::connect(self.url.address()).await {
                problem = format!("cannot connect: {error}");
                continue;
            }
            listens = true;
            let reached = match self.url.engine() {
                Engine::Postgresql => self.connect().await.map(|mut connection| connection.leave()),
                Engine::Mysql => mysql::knock(self).await,
            };
            match reached {
                Ok(()) => return Ok(()),
                Err(error) => problem = error,
            }
        }
        if !listens {
            return Err(CheckError::NoRouter { router: self.url.to_string(), problem });
        }
        Err(CheckError::Router {
            router: self.url.to_string(),
            user: self.user.clone(),
            database: self.database.clone(),
            problem,
        })
    }

    /// Sends a case's statements, each after the answer to the one before; with them, why it broke off.
    pub async fn hold(&self, case: &Case) -> (Vec<Answer>, Option<String>) {
        if self.url.engine() == Engine::Mysql {
            return mysql::hold(self, case).await;
        }
        let mut answers = Vec::with_capacity(case.session.len());
        let mut connection = match self.connect().await {
            Ok(connection) => connection,
            Err(problem) => return (answers, Some(problem)),
        };
        for step in &case.session {
            match timeout(PATIENCE, self.ask(&mut connection, case.protocol, step)).await {
                Ok(Ok(answer)) => answers.push(answer),
                Ok(Err(problem)) => return (answers, Some(format!("{problem}, at {}", step.sql))),
                Err(_) => {
                    let seconds = PATIENCE.as_secs();
                    return (answers, Some(format!("no answer within {seconds} s to {}", step.sql)));
                }
            }
        }
        connection.leave();
        (answers, None)
    }

    async fn connect(&self) -> Result<Connection<WallClock>, String> {
        let stream =
            TcpStream::connect(self.url.address()).await.map_err(|error| format!("cannot connect: {error}"))?;
        stream.set_nodelay(true).ok();
        let start = Start { client: "check".into(), server: "router".into(), midway: false };
        let session = Session::new(0, start, &self.shared);
        let mut connection = Connection::over(self.clock.clone(), stream, session, Rows::of(0));
        let parameters = [
            ("user", self.user.as_str()),
            ("database", self.database.as_str()),
            ("application_name", "splitproof-check"),
            ("client_encoding", "UTF8"),
        ];
        let login = Login {
            minor_version: 0,
            user: self.user.clone(),
            parameters: parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        };
        match timeout(PATIENCE, connection.start(&login, self.password.as_ref(), |_| None)).await {
            Ok(Ok(_)) => {
                connection.rows().take();
                Ok(connection)
            }
            Ok(Err(refused)) => Err(refused.to_string()),
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }

    async fn ask(
        &self,
        connection: &mut Connection<WallClock>,
        protocol: Protocol,
        step: &Step,
    ) -> Result<Answer, String> {
        let (requests, tags) = requests(protocol, step);
        for request in &requests {
            encode::encode(request, &request.messages, connection.outgoing()).map_err(|error| error.to_string())?;
        }
        let broken = |error: splitproof_replay::wire::Broken| error.to_string();
        let sent_ns = connection.send(tags, |_| None).await.map_err(broken)?;
        if let Some(data) = &step.data {
            connection.read_until(|scan| scan.copy_is_decided()).await.map_err(broken)?;
            if connection.scan().wants_copy_data() {
                let out = connection.outgoing();
                for message in [Frontend::CopyData(data.as_bytes()), Frontend::CopyDone] {
                    message.encode(out).map_err(|error| error.to_string())?;
                }
                connection.send("dc", |_| None).await.map_err(broken)?;
            }
        }
        connection.read_until(|scan| scan.is_ready()).await.map_err(broken)?;
        let answered_ns = self.clock.now_ns();
        let error = connection.rows().take().into_iter().find_map(|row| row.error_code);
        Ok(Answer { sent_ns, answered_ns, error: error.map(Into::into) })
    }
}

/// A statement as requests, and the type bytes of their messages.
fn requests(protocol: Protocol, step: &Step) -> (Vec<Request>, &'static str) {
    let of = |kind: Kind, messages: &str| {
        let mut request = Request::new(0, 0, 0, kind);
        request.messages = messages.into();
        request.sql = Some(step.sql.as_str().into());
        (request.statement, request.portal) = (Some("".into()), Some("".into()));
        request
    };
    match protocol {
        Protocol::Simple => (vec![of(Kind::Query, "Q")], "Q"),
        Protocol::Extended => {
            let mut execute = of(Kind::Execute, "BDES");
            let value = |value: &Option<String>| value.as_ref().map(|text| text.as_bytes().into());
            let param = |text| Param { value: value(text), ..Param::default() };
            execute.params = step.params.iter().map(param).collect();
            (vec![of(Kind::Prepare, "P"), execute], "PBDES")
        }
    }
}
