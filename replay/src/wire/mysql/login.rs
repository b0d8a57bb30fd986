//! As whom a session starts, and with which capabilities.

use splitproof_capture::mysql::Capabilities;
use splitproof_capture::trace::Request;

/// utf8mb4_general_ci, which both families know: for sessions whose beginning was not recorded.
const COLLATION: u8 = 45;

/// As whom a session starts, and with which capabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The user.
    pub user: String,
    /// The database to begin with.
    pub database: Option<String>,
    /// What the client says it can do; the server may offer less.
    pub capabilities: Capabilities,
    /// The collation of what the client sends.
    pub collation: u8,
    /// What the client's program calls itself.
    pub program: Option<String>,
}

impl Login {
    /// As the first recorded request has it.
    pub fn of(first: &Request, user: String, database: Option<&str>) -> Self {
        let usual = Capabilities::ASSUMED | Capabilities::LONG_PASSWORD | Capabilities::MULTI_STATEMENTS;
        let recorded = first.capabilities.map_or(usual, Capabilities);
        // Without these neither the database nor the proof of the user would be understood.
        let mut capabilities = recorded.without(Capabilities::SSL)
            | Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH;
        if database.is_some() {
            capabilities |= Capabilities::CONNECT_WITH_DB;
        }
        Login {
            user,
            database: database.map(str::to_owned),
            capabilities,
            // The handshake has one byte for it; a client with a higher number sets it by a statement.
            collation: first.collation.and_then(|collation| u8::try_from(collation).ok()).unwrap_or(COLLATION),
            program: first.application.as_deref().map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use splitproof_capture::trace::Kind;

    use super::*;

    #[test]
    fn the_recorded_client_can_do_what_it_could_but_not_encrypt() {
        let mut first = Request::new(1, 0, 0, Kind::Connect);
        let recorded = Capabilities::SSL | Capabilities::FOUND_ROWS | Capabilities::DEPRECATE_EOF;
        (first.capabilities, first.collation) = (Some(recorded.0), Some(33));
        let login = Login::of(&first, "app".to_owned(), Some("shop"));
        assert!(login.capabilities.contains(Capabilities::FOUND_ROWS | Capabilities::DEPRECATE_EOF));
        assert!(login.capabilities.contains(Capabilities::CONNECT_WITH_DB | Capabilities::PLUGIN_AUTH));
        assert!(!login.capabilities.contains(Capabilities::SSL));
        assert_eq!(login.collation, 33);
    }
}
