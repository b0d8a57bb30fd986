//! A client that speaks the protocol message by message, as drivers and pools do and as a comfortable
//! library does not let one: named statements and portals, row limits, pipelines, Flush, both formats.

use splitproof_capture::postgresql::authentication::Authentication;
use splitproof_capture::postgresql::extended::{Bind, Parse, Target};
use splitproof_capture::postgresql::frame::{self, Direction};
use splitproof_capture::postgresql::startup::write_startup;
use splitproof_capture::postgresql::{Backend, Frontend};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The text format, and the binary one.
pub const TEXT: i16 = 0;
/// See [`TEXT`].
pub const BINARY: i16 = 1;

/// What came back up to the awaited message.
#[derive(Debug, Default)]
pub struct Answer {
    /// Rows and COPY data messages.
    pub rows: u64,
    /// The first column of the first row, when it is text.
    pub first: Option<String>,
    /// SQLSTATE and message of the first error.
    pub error: Option<(String, String)>,
    /// The rows as they came, without COPY data.
    pub bodies: Vec<Vec<u8>>,
    /// Whether a portal stopped at its row limit.
    pub suspended: bool,
}

/// Why a client cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Io(#[from] std::io::Error),
    /// The server ended the connection.
    #[error("the server closed the connection{0}")]
    Closed(String),
    /// The server sent what the protocol does not allow.
    #[error("{0}")]
    Invalid(#[from] splitproof_capture::postgresql::Invalid),
    /// A message could not be written.
    #[error("{0}")]
    Unencodable(#[from] splitproof_capture::postgresql::Unencodable),
    /// The server wants a password.
    #[error("the server asks for a password; the sandbox's servers trust local connections")]
    Password,
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    out: Vec<u8>,
    input: Vec<u8>,
    requests: u64,
}

/// When to stop reading.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// ReadyForQuery: the end of a simple query or of a group.
    Ready,
    /// The answer to a Describe, as after a Flush.
    Described,
}

impl Client {
    /// Connects and waits until the server is ready.
    pub async fn connect(port: u16, user: &str, database: &str, application: &str) -> Result<Self, Broken> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let mut client = Self { stream, out: Vec::new(), input: Vec::new(), requests: 0 };
        let params =
            [("user", user), ("database", database), ("application_name", application), ("client_encoding", "UTF8")];
        write_startup(&mut client.out, (3, 0), params.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())))?;
        let answer = client.exchange(Until::Ready, &[]).await?;
        match answer.error {
            None => Ok(client),
            Some((code, message)) => Err(Broken::Closed(format!(": {code} {message}"))),
        }
    }

    /// Requests sent so far: texts, and messages that a trace keeps as requests of their own.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Runs a text.
    pub async fn query(&mut self, sql: &str) -> Result<Answer, Broken> {
        self.copy_in(sql, &[]).await
    }

    /// Runs a text and sends `data` when the server asks for it.
    pub async fn copy_in(&mut self, sql: &str, data: &[&str]) -> Result<Answer, Broken> {
        self.requests += 1;
        Frontend::Query { sql: sql.as_bytes() }.encode(&mut self.out)?;
        self.exchange(Until::Ready, data).await
    }

    /// Queues a Parse; an empty name is the unnamed statement.
    pub fn parse(&mut self, statement: &str, sql: &str, types: &[u32]) -> Result<&mut Self, Broken> {
        self.requests += 1;
        Parse::write(&mut self.out, statement.as_bytes(), sql.as_bytes(), types)?;
        Ok(self)
    }

    /// Queues a Describe of a statement.
    pub fn describe_statement(&mut self, statement: &str) -> Result<&mut Self, Broken> {
        Frontend::Describe(Target::Statement(statement.as_bytes())).encode(&mut self.out)?;
        Ok(self)
    }

    /// Queues a Bind with parameters in text format, and a Describe of the portal.
    pub fn bind(&mut self, portal: &str, statement: &str, params: &[Option<&str>]) -> Result<&mut Self, Broken> {
        let values = params.iter().map(|param| param.map(str::as_bytes));
        self.bind_as(portal, statement, &[], values.collect(), &[])?;
        Frontend::Describe(Target::Portal(portal.as_bytes())).encode(&mut self.out)?;
        Ok(self)
    }

    /// Queues a Bind with the formats of parameters and results as they are given.
    pub fn bind_as(
        &mut self,
        portal: &str,
        statement: &str,
        formats: &[i16],
        params: Vec<Option<&[u8]>>,
        results: &[i16],
    ) -> Result<&mut Self, Broken> {
        self.requests += 1;
        Bind::write(&mut self.out, portal.as_bytes(), statement.as_bytes(), formats, params, results)?;
        Ok(self)
    }

    /// Queues an Execute; a limit of zero asks for all rows.
    pub fn execute(&mut self, portal: &str, limit: i32) -> Result<&mut Self, Broken> {
        Frontend::Execute { portal: portal.as_bytes(), limit }.encode(&mut self.out)?;
        Ok(self)
    }

    /// Queues a Close of a portal.
    pub fn close_portal(&mut self, portal: &str) -> Result<&mut Self, Broken> {
        self.requests += 1;
        Frontend::Close(Target::Portal(portal.as_bytes())).encode(&mut self.out)?;
        Ok(self)
    }

    /// Queues a Close of a statement.
    pub fn close_statement(&mut self, statement: &str) -> Result<&mut Self, Broken> {
        self.requests += 1;
        Frontend::Close(Target::Statement(statement.as_bytes())).encode(&mut self.out)?;
        Ok(self)
    }

    /// Sends what is queued and a Sync, and reads until the server is ready.
    pub async fn sync(&mut self) -> Result<Answer, Broken> {
        Frontend::Sync.encode(&mut self.out)?;
        self.exchange(Until::Ready, &[]).await
    }

    /// Sends what is queued, whose last message is a Describe, and a Flush, and reads until that is answered.
    pub async fn flush(&mut self) -> Result<Answer, Broken> {
        Frontend::Flush.encode(&mut self.out)?;
        self.exchange(Until::Described, &[]).await
    }

    /// Says goodbye.
    pub async fn terminate(mut self) -> Result<u64, Broken> {
        Frontend::Terminate.encode(&mut self.out)?;
        self.stream.write_all(&self.out).await?;
        self.stream.shutdown().await?;
        Ok(self.requests)
    }

    async fn exchange(&mut self, until: Until, copy: &[&str]) -> Result<Answer, Broken> {
        self.stream.write_all(&self.out).await?;
        self.out.clear();
        let mut answer = Answer::default();
        loop {
            let mut used = 0;
            let mut done = false;
            let mut wants_data = false;
            while let Some(frame) = frame::next_from(Direction::Server, self.input.get(used..).unwrap_or_default())? {
                used += frame.len;
                match Backend::decode(frame)? {
                    Backend::DataRow(row) => answer.row(row.columns.iter().next().flatten(), frame.body),
                    Backend::Authentication(Authentication::Ok) => {}
                    Backend::Authentication(_) => return Err(Broken::Password),
                    Backend::ReadyForQuery(_) => done |= until == Until::Ready,
                    Backend::CopyData(_) => answer.rows += 1,
                    Backend::CopyInResponse(_) => wants_data = true,
                    Backend::ErrorResponse(fields) => {
                        let text =
                            |field: Option<&[u8]>| String::from_utf8_lossy(field.unwrap_or_default()).into_owned();
                        answer.error.get_or_insert((text(fields.sqlstate()), text(fields.message())));
                        done |= until == Until::Described;
                    }
                    Backend::PortalSuspended => answer.suspended = true,
                    Backend::RowDescription(_) | Backend::NoData => done |= until == Until::Described,
                    _ => {}
                }
            }
            self.input.drain(..used);
            if wants_data {
                self.send_copy(copy).await?;
            }
            if done {
                return Ok(answer);
            }
            if self.stream.read_buf(&mut self.input).await? == 0 {
                let why = answer.error.map(|(code, message)| format!(": {code} {message}"));
                return Err(Broken::Closed(why.unwrap_or_default()));
            }
        }
    }

    async fn send_copy(&mut self, data: &[&str]) -> Result<(), Broken> {
        for piece in data {
            Frontend::CopyData(piece.as_bytes()).encode(&mut self.out)?;
        }
        Frontend::CopyDone.encode(&mut self.out)?;
        self.stream.write_all(&self.out).await?;
        self.out.clear();
        Ok(())
    }
}

impl Answer {
    fn row(&mut self, first: Option<&[u8]>, body: &[u8]) {
        if self.rows == 0 {
            self.first = first.and_then(|value| String::from_utf8(value.to_vec()).ok());
        }
        self.rows += 1;
        self.bodies.push(body.to_vec());
    }
}
