//! The answer to a command, as it comes: what to pass on, and what it says.

use splitproof_capture::mysql::{
    Answer as Message, Capabilities, Exchange, Invalid, OkPacket, Packet, PrepareOk, Status,
};

/// What became of a command.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The status that it ended with; an error has none.
    pub status: Option<Status>,
    /// The first error.
    pub error: Option<(u16, String)>,
    /// The statement that was prepared, under the server's number.
    pub prepared: Option<PrepareOk>,
    /// Whether the client was sent anything of it.
    pub relayed: bool,
    /// The last payload, which the client gets when everything else is done.
    pub last: Vec<u8>,
}

/// What to do with a packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Relay,
    Swallow,
    /// Send this instead.
    Replace(Vec<u8>),
    /// Keep it in [`Answer::last`].
    Hold,
}

/// How the client's session differs from what the server sees of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Disguise {
    /// Flags that the client must see set, and not set.
    pub set: Status,
    pub unset: Status,
    /// The router's number of the statement that is prepared.
    pub statement: Option<u32>,
}

/// An answer under way.
#[derive(Debug)]
pub(super) struct Progress {
    pub exchange: Exchange,
    pub answer: Answer,
    capabilities: Capabilities,
    disguise: Disguise,
    /// Lose the second row of every result.
    drop_rows: bool,
    rows: u64,
    /// The payload goes on in the next packet, to be treated alike.
    continues: Option<bool>,
}

impl Progress {
    pub fn new(exchange: Exchange, capabilities: Capabilities, disguise: Disguise, drop_rows: bool) -> Self {
        let answer = Answer::default();
        Progress { exchange, answer, capabilities, disguise, drop_rows, rows: 0, continues: None }
    }

    /// Whether nothing more will come.
    pub fn is_done(&self) -> bool {
        self.exchange.is_complete() && self.continues.is_none()
    }

    pub fn take(&mut self, packet: Packet<'_>) -> Result<Pass, Invalid> {
        if let Some(relays) = self.continues {
            self.continues = packet.continues().then_some(relays);
            return Ok(if relays { Pass::Relay } else { Pass::Swallow });
        }
        let message = self.exchange.next(packet.payload)?;
        let pass = self.message(&message);
        if packet.continues() {
            self.continues = Some(pass != Pass::Swallow);
            return Ok(if pass == Pass::Swallow { Pass::Swallow } else { Pass::Relay });
        }
        if self.exchange.is_complete() {
            self.answer.last = match pass {
                Pass::Replace(payload) => payload,
                _ => packet.payload.to_vec(),
            };
            return Ok(Pass::Hold);
        }
        Ok(pass)
    }

    fn message(&mut self, message: &Message<'_>) -> Pass {
        match message {
            Message::Ok(ok) => {
                self.rows = 0;
                self.answer.status = Some(ok.status);
                self.disguised(ok, |ok, capabilities, out| ok.encode(capabilities, out))
            }
            Message::ResultEnd(end) | Message::CursorOpen(end) => {
                self.rows = 0;
                self.answer.status = Some(end.status);
                self.disguised(end, |end, capabilities, out| end.encode_end(capabilities, out))
            }
            Message::ColumnsEnd(end) | Message::ParametersEnd(end) => {
                self.disguised(end, |end, capabilities, out| end.encode_end(capabilities, out))
            }
            Message::Row => {
                self.rows += 1;
                if self.drop_rows && self.rows == 2 { Pass::Swallow } else { Pass::Relay }
            }
            Message::Err(error) => {
                let message = String::from_utf8_lossy(error.message).into_owned();
                self.answer.error.get_or_insert((error.code, message));
                Pass::Relay
            }
            Message::PrepareOk(prepared) => {
                self.answer.prepared = Some(*prepared);
                let Some(statement) = self.disguise.statement else { return Pass::Relay };
                let mut out = Vec::new();
                PrepareOk { statement, ..*prepared }.encode(self.capabilities, &mut out);
                Pass::Replace(out)
            }
            _ => Pass::Relay,
        }
    }

    fn disguised<'p>(
        &self,
        packet: &OkPacket<'p>,
        encode: impl Fn(&OkPacket<'p>, Capabilities, &mut Vec<u8>) -> Result<(), splitproof_capture::mysql::Unencodable>,
    ) -> Pass {
        let status = (packet.status | self.disguise.set).without(self.disguise.unset);
        if status == packet.status {
            return Pass::Relay;
        }
        let mut out = Vec::new();
        match encode(&OkPacket { status, ..*packet }, self.capabilities, &mut out) {
            Ok(()) => Pass::Replace(out),
            Err(_) => Pass::Relay,
        }
    }
}
