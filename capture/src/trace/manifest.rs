//! `trace.json`: what the trace is, what it holds, and what was lost on the way.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::encrypted::Encrypted;
use super::loss::Losses;
use super::words::words;

/// The format version that this program writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// The name and version of this program, as the manifest keeps it.
pub const TOOL: &str = concat!("splitproof-capture ", env!("CARGO_PKG_VERSION"));

words! {
    /// The kind of database server whose protocol was recorded.
    Engine {
        /// PostgreSQL, or a server that speaks its protocol.
        Postgresql = "postgresql",
        /// MySQL, MariaDB, or a server that speaks their protocol.
        Mysql = "mysql",
    }
}

/// The manifest of a trace, `trace.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format version, [`FORMAT`].
    pub format: u32,
    /// Program and version that wrote the trace.
    pub tool: String,
    /// The server's kind.
    pub engine: Engine,
    /// Where the traffic came from: `packets`, `live`, `tap`, `log`, `merge` or `replay`.
    pub source: String,
    /// The files, interface or addresses that were recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// True when the recording ended in order. False while it runs, and for ever when it was killed: then what came
    /// after the last flush is missing.
    pub complete: bool,
    /// True when it was told to stop before the end of its files, or of what was to be replayed: what comes after is missing, and
    /// what came before is there. A replay that was stopped is not `complete`. Interfaces, taps and pipes have no end to stop before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// True when this manifest was lost and made again from the files; the loss counters are then unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rebuilt: bool,
    /// The clients' requests.
    #[serde(flatten)]
    pub table: Table,
    /// Sessions that could not be read, because they are encrypted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub encrypted: Vec<Encrypted>,
    /// In a run: what executed at each node, behind the router.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, Table>,
    /// Rows of `shapes.parquet`; `None` when it was not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shapes: Option<u64>,
    /// Rows of `positions.parquet`; `None` when it was not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positions: Option<u64>,
    /// The other files of the trace (`shapes.parquet`, `positions.parquet`, `catalog.json`) by name, so that damage to
    /// them is noticed; traces of earlier programs have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sealed: BTreeMap<String, Sealed>,
    /// In a run: what the replayer tells about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<serde_json::Value>,
}

impl Manifest {
    /// The requests' table and those of the nodes, each with the name of its node.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (Option<&str>, &Table)> {
        let nodes = self.nodes.iter().map(|(name, table)| (Some(name.as_str()), table));
        std::iter::once((None, &self.table)).chain(nodes)
    }

    /// The table of a node, or the requests' own.
    pub(crate) fn table(&self, node: Option<&str>) -> Option<&Table> {
        node.map_or(Some(&self.table), |node| self.nodes.get(node))
    }

    /// Names the contents of the requests: runs that repeat the same recording carry the same one.
    pub fn recording_id(&self) -> String {
        let mut digest = Xxh3::new();
        for file in &self.table.files {
            digest.update(&file.xxh3.to_be_bytes());
        }
        format!("{:032x}", digest.digest128())
    }

    /// The `run` section as the replayer's type; `None` when this is not a run.
    pub fn run<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        self.run.as_ref().map(T::deserialize).transpose()
    }
}

/// The requests of one series of files: the trace's own, or those of one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// From the first start to the last end; `None` when there is no request.
    pub window: Option<Window>,
    /// Sessions with at least one request.
    pub sessions: u64,
    /// Requests, which is rows.
    pub requests: u64,
    /// What could not be used, by reason.
    pub losses: Losses,
    /// The files, in the order in which they were written.
    pub files: Vec<File>,
}

impl Table {
    /// What its counts and its window say that its files do not; `None` when they agree.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let rows = self.files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.rows()));
        if rows != self.requests {
            return Some(format!("it counts {} requests, and its files hold {rows}", self.requests));
        }
        if self.sessions > rows {
            return Some(format!("it counts {} sessions, and only {rows} requests", self.sessions));
        }
        let groups = || self.files.iter().flat_map(|file| &file.groups);
        let first = groups().map(|group| group.first_start_ns).min();
        if first != self.window.map(|window| window.first_start_ns) {
            return Some("its window does not begin with the first request of its files".to_string());
        }
        let last = groups().map(|group| group.last_start_ns).max();
        if last > self.window.map(|window| window.last_end_ns) {
            return Some("its window ends before the last request of its files".to_string());
        }
        None
    }
}

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Start of the earliest request, nanoseconds since 1970 UTC; text with nine decimals in the file.
    #[serde(with = "nanoseconds", rename = "first_start")]
    pub first_start_ns: i64,
    /// End of the request that ended last (its start, when no request has an end).
    #[serde(with = "nanoseconds", rename = "last_end")]
    pub last_end_ns: i64,
}

impl Window {
    /// The smallest span that holds both.
    pub(crate) fn cover(window: &mut Option<Window>, other: Window) {
        let window = window.get_or_insert(other);
        window.first_start_ns = window.first_start_ns.min(other.first_start_ns);
        window.last_end_ns = window.last_end_ns.max(other.last_end_ns);
    }

    /// Its length in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.last_end_ns.saturating_sub(self.first_start_ns).max(0).unsigned_abs()
    }
}

/// One Parquet file of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its name inside the directory.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// xxh3-128 of its contents, 32 hexadecimal digits in the file: a changed byte is noticed before anything is read.
    #[serde(with = "hexadecimal")]
    pub xxh3: u128,
    /// Its row groups, in order: first those of requests that began before an earlier file ended, oldest first.
    pub groups: Vec<Group>,
}

impl File {
    /// Rows in all its groups.
    pub fn rows(&self) -> u64 {
        self.groups.iter().fold(0, |sum, group| sum.saturating_add(group.rows))
    }
}

/// What a file of the trace is that holds no requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// Its size.
    pub bytes: u64,
    /// xxh3-128 of its contents, 32 hexadecimal digits in the file.
    #[serde(with = "hexadecimal")]
    pub xxh3: u128,
}

/// One row group: rows in order of start, session and seq.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Number of rows.
    pub rows: u64,
    /// Start of its first row; a reader need not open the file before it gets there.
    #[serde(with = "nanoseconds", rename = "first_start")]
    pub first_start_ns: i64,
    /// Start of its last row.
    #[serde(with = "nanoseconds", rename = "last_start")]
    pub last_start_ns: i64,
}

/// Nanoseconds since 1970 UTC as RFC 3339 text: people read it, and JSON numbers lose the last digits in many readers.
mod nanoseconds {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _, ser::Error as _};

    pub(super) fn serialize<S: Serializer>(value: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        let time = Timestamp::from_nanosecond(i128::from(*value)).map_err(S::Error::custom)?;
        serializer.collect_str(&format_args!("{time:.9}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let time: Timestamp = text.parse().map_err(D::Error::custom)?;
        i64::try_from(time.as_nanosecond()).map_err(D::Error::custom)
    }
}

/// A 128-bit number, for which JSON has no room.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{value:032x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_every_nanosecond() {
        for ns in [i64::MIN, -1, 0, 1, 1_700_000_000_123_456_789, i64::MAX] {
            let window = Window { first_start_ns: ns, last_end_ns: ns };
            let json = serde_json::to_string(&window).expect("encodes");
            assert_eq!(serde_json::from_str::<Window>(&json).expect("decodes"), window, "{json}");
        }
    }
}
