//! The state of the session as the server reports it with every answer.

use super::flags::flags;

flags! {
    /// The [status flags] of an OK or EOF packet.
    ///
    /// [status flags]: https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html#a1d854e841086925be1883e4d7b4e8cad
    Status: u16 {
        /// `SERVER_STATUS_IN_TRANS`: a transaction is open.
        IN_TRANS = 1;
        /// `SERVER_STATUS_AUTOCOMMIT`: autocommit is on.
        AUTOCOMMIT = 1 << 1;
        /// `SERVER_MORE_RESULTS_EXISTS`: another result follows.
        MORE_RESULTS = 1 << 3;
        /// `SERVER_QUERY_NO_GOOD_INDEX_USED`.
        NO_GOOD_INDEX_USED = 1 << 4;
        /// `SERVER_QUERY_NO_INDEX_USED`.
        NO_INDEX_USED = 1 << 5;
        /// `SERVER_STATUS_CURSOR_EXISTS`: rows wait to be fetched.
        CURSOR_EXISTS = 1 << 6;
        /// `SERVER_STATUS_LAST_ROW_SENT`: the cursor is at its end.
        LAST_ROW_SENT = 1 << 7;
        /// `SERVER_STATUS_DB_DROPPED`: the current database was dropped.
        DB_DROPPED = 1 << 8;
        /// `SERVER_STATUS_NO_BACKSLASH_ESCAPES`: a backslash in a string is a backslash.
        NO_BACKSLASH_ESCAPES = 1 << 9;
        /// `SERVER_STATUS_METADATA_CHANGED`: a prepared statement has other columns than before.
        METADATA_CHANGED = 1 << 10;
        /// `SERVER_QUERY_WAS_SLOW`.
        WAS_SLOW = 1 << 11;
        /// `SERVER_PS_OUT_PARAMS`: the result holds the OUT parameters of a procedure.
        OUT_PARAMS = 1 << 12;
        /// `SERVER_STATUS_IN_TRANS_READONLY`: the open transaction is read only.
        IN_TRANS_READONLY = 1 << 13;
        /// `SERVER_SESSION_STATE_CHANGED`: the packet tells changes of the session.
        SESSION_STATE_CHANGED = 1 << 14;
        /// `SERVER_STATUS_ANSI_QUOTES` (MariaDB): double quotes enclose identifiers.
        ANSI_QUOTES = 1 << 15;
    }
}
