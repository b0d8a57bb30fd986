//! What could not be used, by reason. Nothing is dropped without one of these being counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

macro_rules! losses {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal, $unit:literal;)*) => {
        /// A reason why a unit of input did not become part of a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Loss { $($(#[doc = $doc])* $name,)* }

        impl Loss {
            /// Every reason, in the order in which they are listed.
            pub const ALL: &[Loss] = &[$(Loss::$name),*];

            /// The name in `trace.json`.
            pub fn name(self) -> &'static str {
                match self { $(Loss::$name => $text,)* }
            }

            /// The unit of the entries of a log, each of which is part of a request or counted once.
            pub const ENTRIES: &str = "entries";

            /// What is counted: packets, bytes, sessions, messages, requests, rows or logs of a server, or entries of a log.
            pub fn unit(self) -> &'static str {
                match self { $(Loss::$name => $unit,)* }
            }

            /// What it means, as one sentence for `show`.
            pub fn meaning(self) -> &'static str {
                match self { $(Loss::$name => concat!($($doc),*).trim_ascii(),)* }
            }
        }
    };
}

losses! {
    /// The kernel dropped the packet before libpcap could read it: raise the buffer or narrow the filter.
    KernelDropped = "kernel_dropped", "packets";
    /// The packet is of a link or network type that is not decoded.
    UnknownLink = "unknown_link", "packets";
    /// The packet was cut short by the snap length; the missing bytes are a gap.
    SnapLength = "snap_length", "packets";
    /// The packet's headers contradict its length.
    MalformedPacket = "malformed_packet", "packets";
    /// The packet is an IP fragment whose other fragments were not all captured.
    IpFragment = "ip_fragment", "packets";
    /// The packet is not TCP, or not from or to a port that was asked for.
    OtherTraffic = "other_traffic", "packets";
    /// The file ends in the middle of a packet record.
    TruncatedFile = "truncated_file", "bytes";
    /// The file is damaged here; reading went on with the next sound record.
    DamagedFile = "damaged_file", "bytes";
    /// Bytes that the peer acknowledged and the capture never saw.
    Gap = "gap", "bytes";
    /// Bytes passed over while looking for the next message boundary, after a gap or at a session joined midway.
    Resync = "resync", "bytes";
    /// Bytes that are not a valid message of the protocol.
    Undecodable = "undecodable", "bytes";
    /// The session is encrypted (TLS or GSS), so its statements cannot be read.
    Encrypted = "encrypted", "sessions";
    /// The session began before the capture: its user, database and prepared statements may be unknown.
    JoinedMidway = "joined_midway", "sessions";
    /// The session is not of the expected protocol.
    OtherProtocol = "other_protocol", "sessions";
    /// The session is of another engine than the trace: record it into a trace of its own, by its port.
    OtherEngine = "other_engine", "sessions";
    /// A message that arrived in a state in which the protocol does not allow it.
    UnexpectedMessage = "unexpected_message", "messages";
    /// A statement or portal was used whose preparation was not seen; the request is kept without its text.
    UnknownStatement = "unknown_statement", "requests";
    /// The parameters of an execution cannot be read, because their types were sent in a gap; the request is kept with its bytes.
    UnknownParameters = "unknown_parameters", "requests";
    /// COPY or LOAD DATA LOCAL data beyond what one request may hold (64 MiB); the request is kept and marked as truncated.
    CopyLimit = "copy_limit", "bytes";
    /// Statement text, parameters and COPY data beyond 512 MiB in one request; the request is kept without them.
    Oversized = "oversized", "bytes";
    /// The entry of the log tells of the server's own work: a start, a checkpoint, a vacuum, replication.
    LogServer = "log_server", "entries";
    /// The entry of the log tells of a connection that did not become a session: it was never authorized, or it is for replication.
    LogConnection = "log_connection", "entries";
    /// The entry of the log is a message in a session and no statement: a warning, a temporary file, a wait for a lock.
    LogMessage = "log_message", "entries";
    /// The entry of the log is the plan of a statement, as auto_explain writes it.
    LogPlan = "log_plan", "entries";
    /// The entry of the log holds a duration without a statement, and none was logged before it.
    LogDuration = "log_duration", "entries";
    /// The entry of the log is not whole: its file begins or ends within it, or was damaged there.
    LogTruncated = "log_truncated", "entries";
    /// The entry of the log is not of the form that was asked for.
    LogMalformed = "log_malformed", "entries";
    /// The entry of the log tells of a call outside SQL, whose arguments are not in a log.
    LogFastpath = "log_fastpath", "entries";
    /// The line was written by another program.
    LogForeign = "log_foreign", "entries";
    /// The entry of the log is of a prepared statement that it does not name: a reset, a fetch, data ahead of no execution.
    LogStatement = "log_statement", "entries";
    /// The data of a COPY or LOAD DATA LOCAL is not in a log; the request is kept without it, and a replay lets a COPY fail.
    LogCopyData = "log_copy_data", "requests";
    /// The text of a statement is not in the log as it was sent: cut, missing, or with characters replaced; the request is kept.
    LogText = "log_text", "requests";
    /// The parameters of an execution are not in the log, or are cut there; the request is kept without them.
    LogParameters = "log_parameters", "requests";
    /// A row of the server's log of a kind that is not known.
    LogRow = "log_row", "rows";
    /// A row of the server's log whose time is not known, because it does not follow the one before it in any time zone.
    LogTime = "log_time", "rows";
    /// The server's log could not be read to its end, or was switched off or emptied meanwhile.
    LogGap = "log_gap", "logs";
}

/// How much was lost, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Losses(BTreeMap<Loss, u64>);

impl Losses {
    /// Counts `amount` more units lost for this reason.
    pub fn add(&mut self, loss: Loss, amount: u64) {
        if amount > 0 {
            *self.0.entry(loss).or_default() += amount;
        }
    }

    /// Units lost for this reason so far.
    pub fn get(&self, loss: Loss) -> u64 {
        self.0.get(&loss).copied().unwrap_or(0)
    }

    /// Adds the counts of another part of the same capture.
    pub fn merge(&mut self, other: &Losses) {
        for (&loss, &amount) in &other.0 {
            self.add(loss, amount);
        }
    }

    /// The reasons that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Loss, u64)> + '_ {
        self.0.iter().map(|(&loss, &amount)| (loss, amount))
    }

    /// True when nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
