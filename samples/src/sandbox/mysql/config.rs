//! The settings of one MariaDB server.

use std::path::PathBuf;

use crate::sandbox::node::Node;
use crate::sandbox::server::Settings;

/// The file with the server's process id, in its data directory.
pub const PID_FILE: &str = "mariadbd.pid";

/// A small redo log keeps a snapshot small.
pub const REDO_LOG: &str = "--innodb-log-file-size=8M";

/// The settings file. It lies in the data directory and is part of a snapshot.
pub fn path(node: &Node) -> PathBuf {
    node.data().join("my.cnf")
}

/// The server's Unix socket.
pub fn socket(node: &Node) -> PathBuf {
    node.dir.join(format!("{}.sock", node.name))
}

/// The directory for temporary files.
pub fn temporary(node: &Node) -> PathBuf {
    node.dir.join(format!("{}.tmp", node.name))
}

/// The general log, when it goes to a file.
pub fn statement_log(node: &Node) -> PathBuf {
    node.dir.join("log").join(format!("{}-general.log", node.name))
}

/// What stands in the settings file.
pub fn text(node: &Node, settings: Settings) -> String {
    let (server_id, read_only) = if settings.upstream.is_some() { (2, "ON") } else { (1, "OFF") };
    format!(
        "# Written by splitproof-sandbox.\n\
         [mariadbd]\n\
         datadir = {data}\n\
         pid-file = {data}/{PID_FILE}\n\
         socket = {socket}\n\
         tmpdir = {temporary}\n\
         port = {port}\n\
         bind-address = 127.0.0.1\n\
         skip-name-resolve\n\
         log-error = {log}\n\
         general-log-file = {general}\n\
         max-connections = 300\n\
         max-allowed-packet = 64M\n\
         character-set-server = utf8mb4\n\
         default-time-zone = '+00:00'\n\
         local-infile = ON\n\
         performance-schema = {performance_schema}\n\
         \n\
         # Replication by GTID. Clients that ask for it learn the GTID of what they wrote.\n\
         server-id = {server_id}\n\
         read-only = {read_only}\n\
         log-bin = binlog\n\
         binlog-format = ROW\n\
         # With rows in the binary log, functions that write do no harm to it.\n\
         log-bin-trust-function-creators = ON\n\
         log-slave-updates = ON\n\
         relay-log = relay\n\
         gtid-domain-id = 0\n\
         gtid-strict-mode = ON\n\
         session-track-system-variables = autocommit,character_set_client,character_set_connection,\
         character_set_results,time_zone,last_gtid\n\
         \n\
         # The data lives for one test: a power cut may take it.\n\
         innodb-flush-log-at-trx-commit = 0\n\
         sync-binlog = 0\n\
         innodb-buffer-pool-size = 64M\n\
         {redo}\n",
        data = node.data().display(),
        socket = socket(node).display(),
        temporary = temporary(node).display(),
        port = node.port,
        log = node.log().display(),
        general = statement_log(node).display(),
        performance_schema = if settings.performance_schema { "ON" } else { "OFF" },
        redo = REDO_LOG.trim_start_matches('-'),
    )
}
