//! A server with a certificate, Python's client, and a relay that keeps what passes.

use std::io::{Read as _, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use splitproof_capture::packets::{Assembler, Control, Limits, Source, sessions};
use splitproof_capture::session::Shared;
use splitproof_capture::tls::KeyLog;
use splitproof_capture::trace::{Encrypted, Engine, Losses, Request};
use tempfile::TempDir;

use crate::mysql_codec::mariadb::server::Server as MariaDb;
use crate::packets::files::PCAP;
use crate::packets::wire::{CLIENT, End, SERVER, Tcp};
use crate::server::Server as Postgresql;
use crate::skipped;

/// What passed on one connection: true is the client's.
pub type Talk = Vec<(bool, Vec<u8>)>;

enum Running {
    Postgresql(Postgresql),
    MariaDb { _server: MariaDb, port: u16 },
}

/// A server that speaks TLS, and what it takes to talk to it.
pub struct Scene {
    pub engine: Engine,
    pub dir: TempDir,
    server: Running,
}

/// How a client connects.
#[derive(Clone, Copy)]
pub struct How {
    /// As Python calls it: `TLSv1_2` or `TLSv1_3`.
    pub version: &'static str,
    /// As OpenSSL calls them, for TLS 1.2; `-` for its own choice.
    pub ciphers: &'static str,
    pub sessions: usize,
    /// The client shows a certificate.
    pub certificate: bool,
}

impl How {
    pub fn new(version: &'static str, ciphers: &'static str) -> Self {
        How { version, ciphers, sessions: 1, certificate: false }
    }
}

/// Sessions as they passed, with their secrets.
pub struct Recorded {
    pub engine: Engine,
    pub talks: Vec<Talk>,
    pub key_log: Vec<u8>,
}

/// What was made of a recording.
pub struct Read {
    pub requests: Vec<Request>,
    pub losses: Losses,
    pub encrypted: Vec<Encrypted>,
}

impl Read {
    /// Texts of the requests, in order.
    pub fn texts(&self) -> Vec<&str> {
        self.requests.iter().filter_map(|request| request.sql.as_deref()).collect()
    }
}

/// The reason why these tests cannot be run here.
fn missing() -> Option<&'static str> {
    let runs = |program: &str, args: &[&str]| {
        let status = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if !runs("openssl", &["version"]) {
        return Some("openssl is not installed");
    }
    (!runs("python3", &["-c", "import ssl"])).then_some("python3 is not installed")
}

impl Scene {
    /// Starts a server; `None`, after a message, where what it takes is not installed.
    pub fn start(engine: Engine) -> Option<Self> {
        if let Some(why) = missing() {
            skipped(1, why);
            return None;
        }
        // Servers that are set up all at once can fail for want of memory.
        static STARTING: Mutex<()> = Mutex::new(());
        let _one_at_a_time = STARTING.lock();
        let dir = TempDir::new().unwrap();
        let (key, certificate) = (dir.path().join("key.pem"), dir.path().join("certificate.pem"));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=postgres"])
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&certificate)
            .stderr(Stdio::null())
            .status();
        assert!(made.unwrap().success());
        let read = |path: &Path| std::fs::read(path).unwrap();
        let server = match engine {
            Engine::Postgresql => {
                let settings = "-c ssl=on -c ssl_cert_file=DIR/certificate.pem -c ssl_key_file=DIR/key.pem \
                                -c ssl_ca_file=DIR/certificate.pem";
                let files = [("key.pem", &*read(&key)), ("certificate.pem", &*read(&certificate))];
                Postgresql::start_with(settings, &files).map(Running::Postgresql)
            }
            Engine::Mysql => {
                for path in [&key, &certificate, &dir.path().to_owned()] {
                    let mode = if path.is_dir() { 0o755 } else { 0o644 };
                    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
                }
                let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
                let settings = [
                    "--skip-networking=0".to_owned(),
                    "--bind-address=127.0.0.1".to_owned(),
                    format!("--port={port}"),
                    format!("--ssl-cert={}", certificate.display()),
                    format!("--ssl-key={}", key.display()),
                    format!("--ssl-ca={}", certificate.display()),
                ];
                let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
                MariaDb::start_with(&settings).map(|server| Running::MariaDb { _server: server, port })
            }
        };
        if server.is_none() {
            skipped(1, "the server is not installed");
        }
        Some(Scene { engine, dir, server: server? })
    }

    pub fn port(&self) -> u16 {
        match &self.server {
            Running::Postgresql(server) => server.port,
            Running::MariaDb { port, .. } => *port,
        }
    }

    /// Lets the client run these statements, and keeps what passes.
    pub fn record(&self, how: How, statements: &[&str]) -> Recorded {
        self.record_with(|port, key_log| self.client(how, port, key_log, statements))
    }

    /// Lets the client run these statements at this port, until it has all of the answers.
    pub fn client(&self, how: How, port: u16, key_log: &Path, statements: &[&str]) {
        let mut command = Command::new("python3");
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tls/client.py"));
        let engine = self.engine.as_str();
        command.args([engine, &port.to_string()]).arg(key_log).args([how.version, how.ciphers]);
        command.arg(how.sessions.to_string());
        if how.certificate {
            command.args([self.dir.path().join("certificate.pem"), self.dir.path().join("key.pem")]);
        }
        let mut client = command.stdin(Stdio::piped()).spawn().unwrap();
        client.stdin.take().unwrap().write_all(statements.join("\n").as_bytes()).unwrap();
        assert!(client.wait().unwrap().success());
    }

    /// Lets a client run that is given a port and the name of a key log, and keeps what passes.
    pub fn record_with(&self, client: impl FnOnce(u16, &Path)) -> Recorded {
        let key_log = self.dir.path().join("keys.log");
        std::fs::remove_file(&key_log).ok();
        let relay = Relay::start(self.port());
        client(relay.port, &key_log);
        let mut talks = relay.end();
        if self.engine == Engine::Mysql {
            talks.iter_mut().for_each(split_ssl_request);
        }
        let key_log = std::fs::read(&key_log).unwrap_or_default();
        Recorded { engine: self.engine, talks, key_log }
    }
}

/// Passes on connections to a server, and keeps what passes.
struct Relay {
    port: u16,
    talks: Arc<Mutex<Vec<Arc<Mutex<Talk>>>>>,
}

impl Relay {
    fn start(upstream: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let talks: Arc<Mutex<Vec<Arc<Mutex<Talk>>>>> = Arc::default();
        let all = Arc::clone(&talks);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", upstream)).unwrap());
                let talk: Arc<Mutex<Talk>> = Arc::default();
                all.lock().unwrap().push(Arc::clone(&talk));
                for (from_client, mut from, mut to) in [
                    (true, client.try_clone().unwrap(), server.try_clone().unwrap()),
                    (false, server.try_clone().unwrap(), client.try_clone().unwrap()),
                ] {
                    let talk = Arc::clone(&talk);
                    thread::spawn(move || {
                        let mut buffer = [0; 1400];
                        while let Ok(read @ 1..) = from.read(&mut buffer) {
                            talk.lock().unwrap().push((from_client, buffer[..read].to_vec()));
                            if to.write_all(&buffer[..read]).is_err() {
                                break;
                            }
                        }
                        to.shutdown(Shutdown::Write).ok();
                    });
                }
            }
        });
        Relay { port, talks }
    }

    /// What has passed, once nothing more does.
    fn end(self) -> Vec<Talk> {
        thread::sleep(Duration::from_millis(300));
        let talks = self.talks.lock().unwrap();
        talks.iter().map(|talk| talk.lock().unwrap().clone()).collect()
    }
}

/// Puts the client's hello into a segment of its own, as most clients send it.
fn split_ssl_request(talk: &mut Talk) {
    if let Some(at) = talk.iter().position(|(from_client, bytes)| *from_client && bytes.starts_with(&[32, 0, 0, 1])) {
        let hello = talk[at].1.split_off(36);
        if !hello.is_empty() {
            talk.insert(at + 1, (true, hello));
        }
    }
}

impl Recorded {
    /// The packets of all sessions. The segment of this number is left out.
    pub fn segments(&self, without: Option<usize>) -> Vec<Tcp> {
        let mut segments = Vec::new();
        let server = match self.engine {
            Engine::Postgresql => SERVER,
            Engine::Mysql => End { port: 3306, ..SERVER },
        };
        for (talk, port) in self.talks.iter().zip(40_000..) {
            let client = End { port, ..CLIENT };
            let (mut asked, mut answered) = (101_u32, 501_u32);
            let mut add = |from_client: bool, flags, seq, ack, payload: &[u8]| {
                let (from, to) = if from_client { (client, server) } else { (server, client) };
                segments.push(Tcp { from, to, seq, ack, flags, payload: payload.to_vec() });
            };
            add(true, "S", 100, 0, b"");
            add(false, "SA", 500, 101, b"");
            for (from_client, bytes) in talk {
                match from_client {
                    true => add(true, "A", asked, answered, bytes),
                    false => add(false, "A", answered, asked, bytes),
                }
                *(if *from_client { &mut asked } else { &mut answered }) += bytes.len() as u32;
            }
            add(true, "FA", asked, answered, b"");
            add(false, "FA", answered, asked + 1, b"");
            add(true, "A", asked + 1, answered + 1, b"");
        }
        if let Some(without) = without {
            segments.remove(without);
        }
        segments
    }

    /// Writes these packets into a pcap file.
    pub fn write(&self, path: &Path, segments: &[Tcp]) {
        std::fs::write(path, PCAP.file(segments)).unwrap();
    }

    /// Decodes all packets, with the secrets.
    pub fn read(&self) -> Read {
        self.decode(&self.segments(None), &self.key_log)
    }

    /// Decodes these packets with these secrets.
    pub fn decode(&self, segments: &[Tcp], key_log: &[u8]) -> Read {
        let keys = KeyLog::default();
        keys.add(key_log);
        let shared = Shared::new(self.engine).with_key_log(&keys);
        let mut assembler = Assembler::new(Default::default(), Limits::default(), sessions(shared.clone()));
        let mut requests: Vec<Request> = Vec::new();
        for (tcp, n) in segments.iter().zip(1..) {
            let frame = tcp.ethernet();
            assembler.feed(1, n * 1_000_000, &frame, frame.len() as u32, &mut requests);
        }
        assembler.finish(&mut requests);
        requests.sort_by_key(|request| (request.session, request.seq));
        Read { requests, losses: assembler.losses(), encrypted: shared.encrypted() }
    }

    /// Decodes a file with the secrets that it may bring.
    pub fn read_file(&self, path: PathBuf) -> Read {
        let keys = KeyLog::default();
        let shared = Shared::new(self.engine).with_key_log(&keys);
        let mut assembler = Assembler::new(Default::default(), Limits::default(), sessions(shared.clone()));
        let mut requests: Vec<Request> = Vec::new();
        let control = Control { key_log: Some(&keys), ..Control::default() };
        Source::Files(vec![path]).run(&mut assembler, &mut requests, control).unwrap();
        assembler.finish(&mut requests);
        requests.sort_by_key(|request| (request.session, request.seq));
        Read { requests, losses: assembler.losses(), encrypted: shared.encrypted() }
    }
}
