//! What is known of the server's answers.

use super::Statements;
use super::compression::Compression;
use super::scan::Scan;
use crate::wire::Broken;
use crate::wire::line::Follow;

/// Follows the server's bytes, which may be compressed.
#[derive(Default)]
pub(super) struct Answers {
    pub scan: Scan,
    /// The numbers of prepared statements.
    pub statements: Statements,
    /// From when it was agreed.
    pub compression: Option<Compression>,
    /// What received packets were before they were compressed.
    plain: Vec<u8>,
}

impl Follow for Answers {
    fn follow(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        match &mut self.compression {
            None => self.scan.received(bytes),
            Some(compression) => {
                self.plain.clear();
                compression.received(bytes, &mut self.plain).ok_or(Broken::Invalid)?;
                self.scan.received(&self.plain);
            }
        }
        if let Some(number) = self.scan.take_prepared() {
            self.statements.prepared(number);
        }
        if self.scan.is_invalid() { Err(Broken::Invalid) } else { Ok(()) }
    }
}
