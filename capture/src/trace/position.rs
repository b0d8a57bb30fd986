//! `positions.parquet`: where each node of a run stood in the replication stream, and when.

use std::sync::Arc;

use super::column::table;
use super::words::words;

words! {
    /// What a node said it was when it was sampled.
    Role {
        /// It takes writes.
        Primary = "primary",
        /// It follows a primary.
        Replica = "replica",
    }
}

table! {
    /// One sample of a node's replication position.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Position [PositionBuilders, PositionValues] {
        /// Name of the node in `pair.toml`.
        pub node: Arc<str>,
        /// When the sample was asked for, on the recorder's clock, nanoseconds since 1970 UTC.
        pub at_ns: i64,
        /// How long the answer took, nanoseconds; the sample was taken within that time after `at_ns`.
        pub sample_ns: u64,
        /// What the node said it was.
        pub role: Role,
        /// PostgreSQL: the primary's write position, or the last position that the replica received, as a byte number.
        /// MySQL, MariaDB: the number of the primary's last transaction; null on a replica.
        pub lsn: Option<u64>,
        /// PostgreSQL: the last position that the replica replayed, as a byte number; null on a primary.
        /// MySQL, MariaDB: the number of the last transaction that the replica applied, all before it included.
        pub replay_lsn: Option<u64>,
        /// PostgreSQL: commit time, on the primary's clock, of the last transaction that the replica replayed,
        /// nanoseconds since 1970 UTC; null on a primary, and before the first.
        pub replay_timestamp_ns: Option<i64>,
        /// MySQL, MariaDB: the node's whole position, of which the numbers are a part. MariaDB: `gtid_binlog_pos` of a primary,
        /// `gtid_slave_pos` of a replica. MySQL: `gtid_executed`.
        pub gtid: Option<Arc<str>>,
    }
}
