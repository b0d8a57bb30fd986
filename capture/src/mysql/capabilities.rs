//! What the two sides of a connection can do: the [MySQL capabilities] in the lower 32 bits, and
//! [MariaDB's extended capabilities] in the upper 32.
//!
//! [MySQL capabilities]: https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__capabilities__flags.html
//! [MariaDB's extended capabilities]: https://mariadb.com/kb/en/connection/#capabilities

use super::flags::flags;

flags! {
    /// Capabilities of a server, of a client, or those in force: what the client answered to what the server offered.
    ///
    /// The two sides differ in what bit 0 means: a MariaDB server that has extended capabilities leaves it unset.
    Capabilities: u64 {
        /// `CLIENT_LONG_PASSWORD`, called `CLIENT_MYSQL` by MariaDB: the sender has no MariaDB capabilities.
        LONG_PASSWORD = 1;
        /// `CLIENT_FOUND_ROWS`: affected rows are those found, not those changed.
        FOUND_ROWS = 1 << 1;
        /// `CLIENT_LONG_FLAG`: columns have two bytes of flags.
        LONG_FLAG = 1 << 2;
        /// `CLIENT_CONNECT_WITH_DB`: the client names a database when it connects.
        CONNECT_WITH_DB = 1 << 3;
        /// `CLIENT_NO_SCHEMA`: `database.table.column` is refused.
        NO_SCHEMA = 1 << 4;
        /// `CLIENT_COMPRESS`: zlib compression.
        COMPRESS = 1 << 5;
        /// `CLIENT_ODBC`.
        ODBC = 1 << 6;
        /// `CLIENT_LOCAL_FILES`: LOAD DATA LOCAL.
        LOCAL_FILES = 1 << 7;
        /// `CLIENT_IGNORE_SPACE`: spaces may stand before `(`.
        IGNORE_SPACE = 1 << 8;
        /// `CLIENT_PROTOCOL_41`: the protocol since MySQL 4.1.
        PROTOCOL_41 = 1 << 9;
        /// `CLIENT_INTERACTIVE`: `interactive_timeout` holds.
        INTERACTIVE = 1 << 10;
        /// `CLIENT_SSL`: TLS.
        SSL = 1 << 11;
        /// `CLIENT_IGNORE_SIGPIPE`.
        IGNORE_SIGPIPE = 1 << 12;
        /// `CLIENT_TRANSACTIONS`: status flags are understood.
        TRANSACTIONS = 1 << 13;
        /// `CLIENT_RESERVED`.
        RESERVED = 1 << 14;
        /// `CLIENT_SECURE_CONNECTION`, also `CLIENT_RESERVED2`: authentication since MySQL 4.1.
        SECURE_CONNECTION = 1 << 15;
        /// `CLIENT_MULTI_STATEMENTS`: a text may hold several statements.
        MULTI_STATEMENTS = 1 << 16;
        /// `CLIENT_MULTI_RESULTS`: a text may have several results.
        MULTI_RESULTS = 1 << 17;
        /// `CLIENT_PS_MULTI_RESULTS`: a prepared statement may have several results.
        PS_MULTI_RESULTS = 1 << 18;
        /// `CLIENT_PLUGIN_AUTH`: authentication methods have names.
        PLUGIN_AUTH = 1 << 19;
        /// `CLIENT_CONNECT_ATTRS`: the client describes itself.
        CONNECT_ATTRS = 1 << 20;
        /// `CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA`: the proof of the client may be longer than 255 bytes.
        PLUGIN_AUTH_LENENC = 1 << 21;
        /// `CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS`.
        CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
        /// `CLIENT_SESSION_TRACK`: OK packets tell changes of the session.
        SESSION_TRACK = 1 << 23;
        /// `CLIENT_DEPRECATE_EOF`: OK packets stand where EOF packets stood, and none follows the columns.
        DEPRECATE_EOF = 1 << 24;
        /// `CLIENT_OPTIONAL_RESULTSET_METADATA` (MySQL): columns may be left out.
        OPTIONAL_METADATA = 1 << 25;
        /// `CLIENT_ZSTD_COMPRESSION_ALGORITHM`: zstd compression.
        ZSTD = 1 << 26;
        /// `CLIENT_QUERY_ATTRIBUTES`: requests carry named values.
        QUERY_ATTRIBUTES = 1 << 27;
        /// `MULTI_FACTOR_AUTHENTICATION`.
        MULTI_FACTOR = 1 << 28;
        /// `CLIENT_PROGRESS_OBSOLETE`, `CLIENT_CAPABILITY_EXTENSION`: MariaDB's progress reports before it had
        /// extended capabilities.
        PROGRESS_OBSOLETE = 1 << 29;
        /// `CLIENT_SSL_VERIFY_SERVER_CERT`. Of the client alone, never on the wire.
        SSL_VERIFY_SERVER_CERT = 1 << 30;
        /// `CLIENT_REMEMBER_OPTIONS`. Of the client alone, never on the wire.
        REMEMBER_OPTIONS = 1 << 31;
        /// `MARIADB_CLIENT_PROGRESS`: error packets may report progress.
        MARIADB_PROGRESS = 1 << 32;
        /// `MARIADB_CLIENT_COM_MULTI`. No released server has it.
        MARIADB_COM_MULTI = 1 << 33;
        /// `MARIADB_CLIENT_STMT_BULK_OPERATIONS`: COM_STMT_BULK_EXECUTE.
        MARIADB_BULK = 1 << 34;
        /// `MARIADB_CLIENT_EXTENDED_METADATA`: columns tell more of their type.
        MARIADB_EXTENDED_METADATA = 1 << 35;
        /// `MARIADB_CLIENT_CACHE_METADATA`: columns of a prepared statement that are as before may be left out.
        MARIADB_CACHE_METADATA = 1 << 36;
        /// `MARIADB_CLIENT_BULK_UNIT_RESULTS`: a bulk execution may tell the result of each row.
        MARIADB_BULK_UNIT_RESULTS = 1 << 37;
    }
}

impl Capabilities {
    /// What is assumed of a connection whose handshake was not seen: what every client has that is in use.
    pub const ASSUMED: Capabilities = Capabilities(
        Capabilities::PROTOCOL_41.0
            | Capabilities::TRANSACTIONS.0
            | Capabilities::SECURE_CONNECTION.0
            | Capabilities::MULTI_RESULTS.0
            | Capabilities::PS_MULTI_RESULTS.0
            | Capabilities::PLUGIN_AUTH.0,
    );

    /// The lower 32 bits, as both families have them.
    pub const fn base(self) -> u32 {
        self.0 as u32
    }

    /// The upper 32 bits: those of MariaDB.
    pub const fn extended(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Capabilities of these two halves.
    pub const fn from_halves(base: u32, extended: u32) -> Self {
        Capabilities(base as u64 | (extended as u64) << 32)
    }

    /// What is in force between a server that offered this and a client that answered with `client`.
    ///
    /// A client answers with a subset. One that does not is held to what the server offered, except in bit 0, which the
    /// two sides use differently.
    #[must_use]
    pub const fn agreed(self, client: Capabilities) -> Self {
        Capabilities(client.0 & (self.0 | Capabilities::LONG_PASSWORD.0))
    }

    /// True where the number of columns is followed by whether the columns follow: MariaDB's metadata cache or MySQL's
    /// optional metadata.
    #[inline]
    pub const fn may_omit_columns(self) -> bool {
        self.intersects(Capabilities(Capabilities::MARIADB_CACHE_METADATA.0 | Capabilities::OPTIONAL_METADATA.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        let both = Capabilities::SSL | Capabilities::MARIADB_PROGRESS | Capabilities(1 << 60);
        assert_eq!(format!("{both:?}"), "Capabilities(SSL | MARIADB_PROGRESS + 0x1000000000000000)");
        assert_eq!((both.base(), both.extended()), (0x800, 0x1000_0001));
        assert_eq!(Capabilities::from_halves(both.base(), both.extended()), both);
        assert!(both.contains(Capabilities::SSL) && !both.contains(Capabilities::SSL | Capabilities::ODBC));
        assert!(both.intersects(Capabilities::SSL | Capabilities::ODBC));
    }

    #[test]
    fn a_client_gets_no_more_than_the_server_offers() {
        let server = Capabilities::PROTOCOL_41 | Capabilities::SSL;
        let client = Capabilities::LONG_PASSWORD | Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF;
        assert_eq!(server.agreed(client), Capabilities::LONG_PASSWORD | Capabilities::PROTOCOL_41);
    }
}
