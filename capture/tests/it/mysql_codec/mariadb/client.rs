//! A client that has nothing but our own codec.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use splitproof_capture::mysql::compressed::{self, Algorithm, Compressor, Decompressor};
use splitproof_capture::mysql::packet::{self, Joiner};
use splitproof_capture::mysql::{
    Answer, AuthSwitch, BinaryRow, Capabilities, Column, Command, Exchange, Handshake, HandshakeResponse, Kind, Secret,
    TextRow, auth,
};

/// What an answer was, packet by packet.
#[derive(Debug, Default)]
pub struct Seen {
    /// Names of the packets, equal ones in a row counted.
    pub packets: Vec<(&'static str, usize)>,
    /// The payloads.
    pub payloads: Vec<Vec<u8>>,
    /// Rows as text, or as their content in the binary protocol.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    /// Types of the columns of the last result.
    pub kinds: Vec<Kind>,
}

impl Seen {
    /// The packets as one line, such as `count column*2 row*3 end`.
    pub fn line(&self) -> String {
        let name = |(name, count): &(&str, usize)| match count {
            1 => name.to_string(),
            count => format!("{name}*{count}"),
        };
        self.packets.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    /// The payload of the last packet.
    pub fn last(&self) -> &[u8] {
        self.payloads.last().unwrap()
    }
}

pub struct Client {
    stream: UnixStream,
    /// Bytes of the server that are not read yet, without compression.
    buffer: Vec<u8>,
    compression: Option<(Compressor, Decompressor)>,
    sequence: u8,
    compressed_sequence: u8,
    pub server: Capabilities,
    pub capabilities: Capabilities,
    /// Types of the columns of each prepared statement, for answers that leave the columns out.
    pub kinds: Vec<Kind>,
    /// What is sent where the server asks for a file.
    pub file: Vec<u8>,
}

impl Client {
    /// Logs in as root with the capabilities of the 4.1 protocol and `more`, as far as the server has them.
    pub fn connect(socket: &Path, more: Capabilities) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        let mut client = Client {
            stream,
            buffer: Vec::new(),
            compression: None,
            sequence: 0,
            compressed_sequence: 0,
            server: Capabilities::default(),
            capabilities: Capabilities::default(),
            kinds: Vec::new(),
            file: Vec::new(),
        };
        let payload = client.receive();
        let handshake = Handshake::decode(&payload).unwrap();
        assert!(handshake.is_mariadb());
        assert_eq!(handshake.scramble().len(), 20);
        client.server = handshake.capabilities;
        client.capabilities = handshake.capabilities.agreed(Capabilities::ASSUMED | more);
        let response = HandshakeResponse {
            capabilities: client.capabilities,
            max_packet: 1 << 30,
            collation: 45,
            user: b"root",
            proof: Secret(b""),
            database: None,
            plugin: Some(auth::plugin::NATIVE_PASSWORD),
            attributes: None,
            zstd_level: None,
        };
        client.send(|out| response.encode(out));
        let seen = client.answer(Exchange::authentication(client.capabilities));
        assert_eq!(seen.line(), "ok", "{:?}", seen.payloads);
        if let Some(algorithm) = Algorithm::agreed(client.capabilities) {
            let pair = (Compressor::new(algorithm, 3).unwrap(), Decompressor::new(algorithm).unwrap());
            client.compression = Some(pair);
        }
        client
    }

    /// Sends a command and reads its whole answer.
    pub fn ask(&mut self, command: &Command<'_>) -> Seen {
        (self.sequence, self.compressed_sequence) = (0, 0);
        assert!(self.buffer.is_empty(), "bytes are left of the answer before");
        let capabilities = self.capabilities;
        self.send(|out| command.encode(capabilities, out));
        self.answer(Exchange::of(command, capabilities))
    }

    pub fn send(&mut self, message: impl FnOnce(&mut Vec<u8>) -> Result<(), splitproof_capture::mysql::Unencodable>) {
        let mut out = Vec::new();
        packet::write_with(&mut out, &mut self.sequence, message).unwrap();
        if let Some((compressor, _)) = &mut self.compression {
            let plain = std::mem::take(&mut out);
            compressor.write(&plain, &mut self.compressed_sequence, &mut out).unwrap();
        }
        self.stream.write_all(&out).unwrap();
    }

    fn answer(&mut self, mut exchange: Exchange) -> Seen {
        let mut seen = Seen::default();
        while !exchange.is_complete() {
            let payload = self.receive();
            let answer = exchange.next(&payload).unwrap_or_else(|error| panic!("{error}: {payload:?} after {seen:?}"));
            let name = name(&answer);
            match answer {
                // Reports come when the server thinks of it.
                Answer::Progress(_) => continue,
                Answer::ColumnCount(count) if count.described => seen.kinds.clear(),
                Answer::ColumnCount(_) => seen.kinds = self.kinds.clone(),
                Answer::Column => {
                    let column = Column::decode(&payload, self.capabilities).unwrap();
                    seen.kinds.push(column.kind);
                }
                Answer::Parameter => drop(Column::decode(&payload, self.capabilities).unwrap()),
                Answer::Row if exchange.is_binary() => {
                    let kinds = if exchange.columns() == 0 { &self.kinds } else { &seen.kinds };
                    let row = BinaryRow::decode(&payload, kinds).unwrap();
                    seen.rows.push(row.iter().map(|(_, value)| value.map(<[u8]>::to_vec)).collect());
                }
                Answer::Row => {
                    let row = TextRow::decode(&payload, exchange.columns()).unwrap();
                    seen.rows.push(row.iter().map(|value| value.map(<[u8]>::to_vec)).collect());
                }
                Answer::LocalInfile { .. } => {
                    assert!(exchange.awaits_client());
                    for part in [self.file.clone(), Vec::new()] {
                        self.send(|out| {
                            out.extend(part);
                            Ok(())
                        });
                    }
                }
                Answer::AuthSwitch(AuthSwitch { .. }) => self.send(|_| Ok(())),
                _ => {}
            }
            match seen.packets.last_mut() {
                Some((last, count)) if *last == name => *count += 1,
                _ => seen.packets.push((name, 1)),
            }
            seen.payloads.push(payload);
        }
        seen
    }

    /// The next payload of the server.
    fn receive(&mut self) -> Vec<u8> {
        let mut joiner = Joiner::new();
        loop {
            while packet::next(&self.buffer).is_none() {
                self.fill();
            }
            let next = packet::next(&self.buffer).unwrap();
            assert!(self.compression.is_some() || next.sequence == self.sequence);
            self.sequence = next.sequence.wrapping_add(1);
            let len = next.len();
            let payload = joiner.push(next).unwrap().map(<[u8]>::to_vec);
            self.buffer.drain(..len);
            if let Some(payload) = payload {
                return payload;
            }
        }
    }

    fn fill(&mut self) {
        let Some((_, decompressor)) = &mut self.compression else {
            let mut chunk = vec![0; 1 << 16];
            let count = self.stream.read(&mut chunk).unwrap();
            assert!(count > 0, "the server has closed the connection");
            self.buffer.extend(&chunk[..count]);
            return;
        };
        let mut piece = vec![0; compressed::HEADER];
        self.stream.read_exact(&mut piece).unwrap();
        let (length, _) = packet::header(&piece).unwrap();
        piece.resize(compressed::HEADER + length, 0);
        self.stream.read_exact(&mut piece[compressed::HEADER..]).unwrap();
        let piece = compressed::next(&piece).unwrap();
        assert_eq!(piece.sequence, self.compressed_sequence);
        self.compressed_sequence = self.compressed_sequence.wrapping_add(1);
        decompressor.push(piece, &mut self.buffer).unwrap();
    }
}

fn name(answer: &Answer<'_>) -> &'static str {
    match answer {
        Answer::Ok(_) => "ok",
        Answer::Err(_) => "err",
        Answer::Progress(_) => "progress",
        Answer::ColumnCount(_) => "count",
        Answer::Column => "column",
        Answer::ColumnsEnd(_) => "columns-end",
        Answer::Row => "row",
        Answer::ResultEnd(_) => "end",
        Answer::CursorOpen(_) => "cursor",
        Answer::PrepareOk(_) => "prepared",
        Answer::Parameter => "parameter",
        Answer::ParametersEnd(_) => "parameters-end",
        Answer::LocalInfile { .. } => "file",
        Answer::Statistics(_) => "statistics",
        Answer::AuthSwitch(_) => "switch",
        Answer::AuthMore(_) => "more",
        Answer::AuthNextFactor(_) => "factor",
        Answer::Event => "event",
    }
}
