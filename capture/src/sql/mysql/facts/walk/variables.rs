//! User variables and system variables.

use super::{Walker, write};
use crate::sql::Follows;
use crate::sql::mysql::lexer::Kind;

impl Walker<'_, '_> {
    pub(super) fn variable(&mut self, at: usize) {
        let Some(name) = self.source.variable(at) else { return };
        // The host of an account is no variable.
        let account = at.checked_sub(1).is_some_and(|before| {
            matches!(self.source.kind(before), Some(Kind::Text | Kind::Quoted))
                && self.source.toks.get(before).map(|tok| tok.end) == self.source.toks.get(at).map(|tok| tok.start)
        });
        if account {
            return;
        }
        let state = &mut self.found.state;
        let set = self.source.text(at + 1) == ":=";
        write(if set { &mut state.variables_written } else { &mut state.variables_read }, name);
    }

    /// `@@[scope.]name`
    pub(super) fn system(&mut self, at: usize) -> usize {
        let mut at = at + 1;
        if self.source.is_any(at, &["global", "session", "local"]) && self.source.kind(at + 1) == Some(Kind::Dot) {
            at += 2;
        }
        let Some(name) = self.source.name(at) else { return at };
        let name = name.to_lowercase();
        match name.as_str() {
            "last_insert_id" | "identity" => self.follows(Follows::LastInsertId),
            "warning_count" | "error_count" => self.follows(Follows::Diagnostics),
            _ => {}
        }
        write(&mut self.found.state.system_variables, name);
        at + 1
    }
}
