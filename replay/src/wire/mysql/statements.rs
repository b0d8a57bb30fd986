//! The numbers of prepared statements: those of the recording, and those that the server gives now.

use std::collections::HashMap;

use splitproof_capture::mysql::statement::LAST_PREPARED;

/// No server gives this number to a statement: it begins with 1. An execution of what could not be prepared fails with it as
/// the execution of a statement that does not exist.
const NONE: u32 = 0;

/// The numbers of prepared statements.
#[derive(Debug, Default)]
pub struct Statements {
    now: HashMap<u32, u32>,
    /// Those whose parameters' types the server knows, by present number.
    typed: HashMap<u32, bool>,
    /// The recorded number of the statement that is being prepared.
    preparing: Option<u32>,
}

impl Statements {
    /// A statement is being prepared that has this number in the recording; `None` where it failed there.
    pub fn preparing(&mut self, recorded: Option<u32>) {
        self.preparing = recorded;
        if let Some(recorded) = recorded {
            self.now.remove(&recorded);
        }
    }

    /// The server has prepared it, and given it this number.
    pub fn prepared(&mut self, number: u32) {
        self.typed.remove(&number);
        if let Some(recorded) = self.preparing.take() {
            self.now.insert(recorded, number);
        }
    }

    /// The present number of a recorded one.
    pub fn now(&self, recorded: u32) -> u32 {
        match recorded {
            LAST_PREPARED => LAST_PREPARED,
            recorded => self.now.get(&recorded).copied().unwrap_or(NONE),
        }
    }

    /// True when the types of the parameters have to be sent with the values: the client did, or it did before in a request
    /// that was not sent.
    pub fn sends_types(&mut self, number: u32, recorded: bool) -> bool {
        !self.typed.insert(number, true).unwrap_or(false) || recorded
    }

    /// A statement is closed.
    pub fn close(&mut self, recorded: u32) {
        if let Some(number) = self.now.remove(&recorded) {
            self.typed.remove(&number);
        }
    }

    /// The session begins anew: nothing is prepared any more.
    pub fn forget(&mut self) {
        *self = Statements::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_numbers_lead_to_the_present_ones() {
        let mut statements = Statements::default();
        statements.preparing(Some(7));
        assert_eq!(statements.now(7), NONE);
        statements.prepared(3);
        assert_eq!(statements.now(7), 3);
        assert_eq!(statements.now(LAST_PREPARED), LAST_PREPARED);
        statements.close(7);
        assert_eq!(statements.now(7), NONE);
    }

    #[test]
    fn types_are_sent_once_at_least() {
        let mut statements = Statements::default();
        assert!(statements.sends_types(3, false));
        assert!(!statements.sends_types(3, false));
        assert!(statements.sends_types(3, true));
    }
}
