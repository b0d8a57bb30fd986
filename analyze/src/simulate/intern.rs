//! One copy of each text that decisions repeat.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

/// The texts so far. There are about as many as rules, hostgroups and servers.
#[derive(Debug, Default)]
pub struct Interned(RefCell<HashSet<Arc<str>>>);

impl Interned {
    /// The one copy of a text.
    pub fn get(&self, text: &str) -> Arc<str> {
        let mut texts = self.0.borrow_mut();
        if let Some(text) = texts.get(text) {
            return text.clone();
        }
        let text: Arc<str> = text.into();
        texts.insert(text.clone());
        text
    }
}
