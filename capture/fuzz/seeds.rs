//! Makes inputs for the fuzz targets to begin with, from captures and logs: `seeds OUT DIRECTORY...`. Below OUT each target
//! gets a directory of its name; what is below the other directories is read, whatever it is.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use splitproof_capture::log::Settings;
use splitproof_capture::mysql::{Capabilities, packet};
use splitproof_capture::packets::{Assembler, Control, Limits, PortOption, Source};
use splitproof_capture::session::{Close, Decoder, Shared, Start};
use splitproof_capture::trace::{Engine, Losses, Request, Sink};

#[path = "targets/logs.rs"]
mod logs;

/// What an input may hold: larger ones only slow the fuzzer down.
const LIMIT: usize = 8192;
/// Ports of servers in captures that are public.
const PORTS: &[(u16, Engine)] = &[
    (5432, Engine::Postgresql),
    (15432, Engine::Postgresql),
    (8000, Engine::Postgresql),
    (3306, Engine::Mysql),
    (20130, Engine::Mysql),
    (6033, Engine::Mysql),
    (2883, Engine::Mysql),
    (12345, Engine::Mysql),
];

// Not a target, but the code that it calls is instrumented and needs the fuzzer's runtime.
libfuzzer_sys::fuzz_target!(|_input: &[u8]| {});

fn main() {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let out = arguments.next().expect("a directory for the seeds");
    for directory in arguments {
        read_all(&directory, &out);
    }
}

fn read_all(path: &Path, out: &Path) {
    if let Ok(entries) = fs::read_dir(path) {
        entries.flatten().for_each(|entry| read_all(&entry.path(), out));
        return;
    }
    let Ok(bytes) = fs::read(path) else { return };
    if bytes.starts_with(b"\xd4\xc3\xb2\xa1") || bytes.starts_with(b"\x0a\x0d\x0d\x0a") {
        capture(path, &bytes, out);
    } else {
        log(&bytes, out);
    }
}

fn save(out: &Path, target: &str, input: &[u8]) {
    let directory = out.join(target);
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    fs::create_dir_all(&directory).expect("a directory");
    fs::write(directory.join(format!("{:016x}", hasher.finish())), input).expect("can write");
}

/// The beginning of a log, for each format that finds requests in it.
fn log(bytes: &[u8], out: &Path) {
    let text = &bytes[..bytes.len().min(LIMIT / 2)];
    for (target, family) in
        [("log_postgresql", logs::POSTGRESQL), ("log_mysql", logs::MYSQL), ("log_routers", logs::ROUTERS)]
    {
        for (choice, format) in (0..).zip(family) {
            let log: Box<dyn Read> = Box::new(Cursor::new(text.to_vec()));
            let mut rows: Vec<Request> = Vec::new();
            let shared = Shared::new(format.engine());
            let ended = format.read(&Settings::default(), vec![("seed".into(), log)], &shared, &mut rows);
            if ended.statistics.opened > 0 {
                save(out, target, &[&[choice, 0][..], text].concat());
            }
        }
    }
}

/// A capture: its file, its frames, its sessions and their messages.
fn capture(path: &Path, bytes: &[u8], out: &Path) {
    save(out, "packets", &[&[2][..], &bytes[..bytes.len().min(LIMIT)]].concat());
    frames(bytes, out);
    let seeds = out.to_owned();
    let open = Box::new(move |engine, _, start: Start| -> Box<dyn Decoder> {
        Box::new(Recorder {
            engine,
            midway: start.midway,
            steps: Vec::new(),
            out: seeds.clone(),
            losses: Losses::default(),
        })
    });
    let ports: Vec<_> = PORTS.iter().map(|&(port, engine)| PortOption { port, engine }).collect();
    let mut assembler = Assembler::new(ports.into(), Limits::default(), open);
    let mut rows: Vec<Request> = Vec::new();
    let _ = Source::Files(vec![path.to_owned()]).run(&mut assembler, &mut rows, Control::default());
    assembler.finish(&mut rows);
}

/// The frames of a pcap file, as the target `reassembly` takes them.
fn frames(bytes: &[u8], out: &Path) {
    let mut input = Vec::new();
    let mut rest = bytes.get(24..).unwrap_or_default();
    while let Some((header, after)) = rest.split_first_chunk::<16>() {
        let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let Some((frame, after)) = after.split_at_checked(length) else { break };
        rest = after;
        if let Ok(length) = u8::try_from(length) {
            input.extend_from_slice(&[0, 0, 0, length]);
            input.extend_from_slice(frame);
        }
        if input.len() > LIMIT {
            break;
        }
    }
    save(out, "reassembly", &input);
}

/// Writes down what a decoder would be told.
struct Recorder {
    engine: Engine,
    midway: bool,
    /// Who speaks, and the bytes.
    steps: Vec<(u8, Vec<u8>)>,
    out: PathBuf,
    losses: Losses,
}

impl Recorder {
    fn steps(&self, first: u8) -> Vec<u8> {
        let mut input = vec![first];
        for (who, bytes) in &self.steps {
            let bytes = &bytes[..bytes.len().min(0x3fff)];
            input.push(*who);
            input.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
            input.extend_from_slice(bytes);
            if input.len() > LIMIT {
                break;
            }
        }
        input
    }

    fn messages(&self) {
        for (_, bytes) in &self.steps {
            let bytes = &bytes[..bytes.len().min(LIMIT)];
            if self.engine == Engine::Postgresql {
                save(&self.out, "postgresql_messages", bytes);
                continue;
            }
            let mut rest = bytes;
            let mut exchange = [&[3, 0][..], &Capabilities::PROTOCOL_41.0.to_le_bytes()].concat();
            while let Some(packet) = packet::next(rest) {
                let (whole, after) = rest.split_at(packet.len());
                rest = after;
                let payload = &whole[4..];
                let capabilities = Capabilities::PROTOCOL_41.0.to_le_bytes();
                save(&self.out, "mysql_messages", &[&capabilities[..], payload].concat());
                if let Ok(length) = u8::try_from(payload.len()) {
                    exchange.push(length);
                    exchange.extend_from_slice(payload);
                }
            }
            save(&self.out, "mysql_exchange", &exchange);
        }
    }
}

impl Decoder for Recorder {
    fn client(&mut self, _: i64, bytes: &[u8], _: &mut dyn Sink) {
        self.steps.push((0, bytes.to_vec()));
    }

    fn server(&mut self, _: i64, bytes: &[u8], _: &mut dyn Sink) {
        self.steps.push((1, bytes.to_vec()));
    }

    fn client_gap(&mut self, _: i64, _: u64, _: &mut dyn Sink) {
        self.steps.push((6, Vec::new()));
    }

    fn server_gap(&mut self, _: i64, _: u64, _: &mut dyn Sink) {
        self.steps.push((7, Vec::new()));
    }

    fn close(&mut self, _: i64, _: Close, _: &mut dyn Sink) {
        let engine = u8::from(self.engine == Engine::Mysql);
        save(&self.out, "sessions", &self.steps(engine | u8::from(self.midway) << 1));
        if self.steps.iter().any(|(_, bytes)| bytes.starts_with(b"\x16\x03")) {
            save(&self.out, "tls", &self.steps(0));
        }
        self.messages();
    }

    fn next_seq(&self) -> u32 {
        0
    }

    fn losses(&self) -> &Losses {
        &self.losses
    }
}
