//! A server that answers by rules, and keeps what it was sent.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use splitproof_capture::postgresql::authentication::Authentication;
use splitproof_capture::postgresql::copy::CopyResponse;
use splitproof_capture::postgresql::list::Formats;
use splitproof_capture::postgresql::report::write_error;
use splitproof_capture::postgresql::{Backend, Direction, Frontend, Startup, frame};
use splitproof_capture::trace::TransactionStatus;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What clients sent: one line per connection's start and per message.
pub type Log = Arc<Mutex<Vec<String>>>;

/// A server on a port of its own.
///
/// It lets every user in but `stranger`. A text that contains a word of these is answered accordingly: `copy in` asks for
/// data, once for each time that it stands there, `fail` is an error, `vanish` closes the connection without an answer, `hold` is answered after a release.
pub struct Server {
    pub address: SocketAddr,
    log: Log,
    held: Arc<Notify>,
}

impl Server {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = Log::default();
        let held = Arc::new(Notify::new());
        let server = Server { address, log: Arc::clone(&log), held: Arc::clone(&held) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&log), Arc::clone(&held)));
            }
        });
        server
    }

    /// What clients sent, once there are so many lines. More would be a fault, which the caller sees.
    pub async fn seen(&self, lines: usize) -> Vec<String> {
        self.wait_for(lines).await;
        self.log.lock().unwrap().clone()
    }

    /// Number of lines so far.
    pub fn lines(&self) -> usize {
        self.log.lock().unwrap().len()
    }

    /// Lets the answer to a text with `hold` go.
    pub fn release(&self) {
        self.held.notify_one();
    }

    /// Waits until the log has this many lines.
    pub async fn wait_for(&self, lines: usize) {
        while self.log.lock().unwrap().len() < lines {
            tokio::task::yield_now().await;
        }
    }
}

struct Client {
    stream: TcpStream,
    log: Log,
    held: Arc<Notify>,
    bytes: Vec<u8>,
    out: Vec<u8>,
    /// An error was sent, and everything up to Sync is passed over.
    skipping: bool,
    /// The COPY that waits for data: in the simple protocol (true) or in the extended.
    copying: Option<bool>,
    /// Times that the text will ask for COPY data after this one.
    copies: usize,
    /// The text of the last Parse.
    prepared: String,
}

async fn serve(stream: TcpStream, log: Log, held: Arc<Notify>) {
    let (bytes, out) = (Vec::new(), Vec::new());
    let prepared = String::new();
    let mut client = Client { stream, log, held, bytes, out, skipping: false, copying: None, copies: 0, prepared };
    if client.start().await.is_some() {
        while client.message().await.is_some() {}
    }
}

impl Client {
    async fn start(&mut self) -> Option<()> {
        loop {
            let known = match frame::next_startup(&self.bytes).ok()? {
                Some(Startup::Startup { params, .. }) => {
                    let line: Vec<String> = params.iter().map(|(key, value)| text(key) + "=" + &text(value)).collect();
                    Some((format!("start {}", line.join(" ")), params.get("user") == Some(b"stranger")))
                }
                Some(Startup::Cancel { process_id, secret }) => {
                    self.log(format!("cancel {process_id} {}", text(secret)));
                    return None;
                }
                _ => None,
            };
            let Some((line, stranger)) = known else {
                self.read().await?;
                continue;
            };
            self.log(line);
            self.bytes.clear();
            if stranger {
                self.error("28000", "no entry for \"stranger\"");
                self.send().await?;
                return None;
            }
            self.put(Backend::Authentication(Authentication::Ok));
            self.put(Backend::BackendKeyData { process_id: 7, secret: b"abcd" });
            self.ready();
            return self.send().await;
        }
    }

    async fn message(&mut self) -> Option<()> {
        let taken = frame::next_from(Direction::Client, &self.bytes).unwrap().map(|frame| {
            let line = match Frontend::decode(frame).unwrap() {
                Frontend::Query { sql } => format!("Q {}", text(sql)),
                Frontend::Parse(parse) => format!("P {} {}", text(parse.statement), text(parse.sql)),
                Frontend::Bind(bind) => format!("B {}", text(bind.statement)),
                Frontend::CopyData(data) => format!("d {}", text(data)),
                Frontend::CopyFail(why) => format!("f {}", text(why)),
                other => char::from(other.tag()).to_string(),
            };
            (frame.len, line)
        });
        let Some((len, line)) = taken else { return self.read().await };
        self.bytes.drain(..len);
        self.log(line.clone());
        let (tag, rest) = line.split_at(1);
        self.answer(tag, rest.trim()).await
    }

    async fn answer(&mut self, tag: &str, text: &str) -> Option<()> {
        match tag {
            _ if self.copying.is_some() && !matches!(tag, "c" | "f") => {}
            "X" => return None,
            "Q" if text.contains("vanish") => return None,
            "Q" if text.contains("copy in") => {
                self.put(Backend::CopyInResponse(copy()));
                self.copying = Some(true);
                self.copies = text.matches("copy in").count() - 1;
            }
            "Q" => {
                if text.contains("hold") {
                    self.held.notified().await;
                }
                self.run(text);
                self.ready();
            }
            "S" => {
                self.skipping = false;
                self.ready();
            }
            "c" | "f" => {
                let simple = self.copying.take()?;
                match tag {
                    "c" => self.put(Backend::CommandComplete { tag: b"COPY 1" }),
                    _ => self.error("57014", "COPY from stdin failed"),
                }
                if simple && tag == "c" && self.copies > 0 {
                    self.copies -= 1;
                    self.put(Backend::CopyInResponse(copy()));
                    self.copying = Some(true);
                } else if simple {
                    self.ready();
                }
            }
            _ if self.skipping => {}
            "P" => {
                self.prepared = text.to_owned();
                self.put(Backend::ParseComplete);
            }
            "B" => self.put(Backend::BindComplete),
            "D" => self.put(Backend::NoData),
            "C" => self.put(Backend::CloseComplete),
            "E" if self.prepared.contains("copy in") => {
                self.put(Backend::CopyInResponse(copy()));
                self.copying = Some(false);
            }
            "E" => self.run(&self.prepared.clone()),
            _ => {}
        }
        // Everything that has come is taken before anything is answered, as late as a server can be.
        if self.bytes.is_empty() { self.send().await } else { Some(()) }
    }

    fn run(&mut self, sql: &str) {
        if sql.contains("fail") {
            self.skipping = true;
            self.error("42P01", "it failed");
        } else {
            self.put(Backend::CommandComplete { tag: b"UPDATE 1" });
        }
    }

    fn put(&mut self, message: Backend<'_>) {
        message.encode(&mut self.out).unwrap();
    }

    fn ready(&mut self) {
        self.put(Backend::ReadyForQuery(TransactionStatus::Idle));
    }

    fn error(&mut self, code: &str, message: &str) {
        let fields = [(b'V', b"ERROR".as_slice()), (b'C', code.as_bytes()), (b'M', message.as_bytes())];
        write_error(&mut self.out, fields).unwrap();
    }

    async fn send(&mut self) -> Option<()> {
        let out = std::mem::take(&mut self.out);
        self.stream.write_all(&out).await.ok()
    }

    async fn read(&mut self) -> Option<()> {
        let read = self.stream.read_buf(&mut self.bytes).await.ok()?;
        (read > 0).then_some(())
    }

    fn log(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }
}

/// Text, of no columns.
fn copy() -> CopyResponse<'static> {
    CopyResponse { binary: false, columns: Formats::default() }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
