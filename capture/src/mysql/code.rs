//! The first byte of a command, which says what it is.

/// The byte that a [command] begins with.
///
/// [command]: https://dev.mysql.com/doc/dev/mysql-server/latest/my__command_8h.html
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u8);

macro_rules! codes {
    ($($name:ident = $code:expr;)*) => {
        impl Code {
            $(
                #[doc = concat!("`COM_", stringify!($name), "`.")]
                pub const $name: Code = Code($code);
            )*

            /// The name in the documentation, as in `COM_QUERY`; `None` for a byte that begins no command.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(concat!("COM_", stringify!($name))),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    SLEEP = 0x00;
    QUIT = 0x01;
    INIT_DB = 0x02;
    QUERY = 0x03;
    FIELD_LIST = 0x04;
    CREATE_DB = 0x05;
    DROP_DB = 0x06;
    REFRESH = 0x07;
    SHUTDOWN = 0x08;
    STATISTICS = 0x09;
    PROCESS_INFO = 0x0a;
    CONNECT = 0x0b;
    PROCESS_KILL = 0x0c;
    DEBUG = 0x0d;
    PING = 0x0e;
    TIME = 0x0f;
    DELAYED_INSERT = 0x10;
    CHANGE_USER = 0x11;
    BINLOG_DUMP = 0x12;
    TABLE_DUMP = 0x13;
    CONNECT_OUT = 0x14;
    REGISTER_SLAVE = 0x15;
    STMT_PREPARE = 0x16;
    STMT_EXECUTE = 0x17;
    STMT_SEND_LONG_DATA = 0x18;
    STMT_CLOSE = 0x19;
    STMT_RESET = 0x1a;
    SET_OPTION = 0x1b;
    STMT_FETCH = 0x1c;
    DAEMON = 0x1d;
    BINLOG_DUMP_GTID = 0x1e;
    RESET_CONNECTION = 0x1f;
    CLONE = 0x20;
    SUBSCRIBE_GROUP_REPLICATION_STREAM = 0x21;
    STMT_BULK_EXECUTE = 0xfa;
    MULTI = 0xfe;
}

impl Code {
    /// True where the server answers nothing: the client goes on with its next command at once.
    pub fn is_unanswered(self) -> bool {
        matches!(self, Code::QUIT | Code::STMT_SEND_LONG_DATA | Code::STMT_CLOSE)
    }
}
