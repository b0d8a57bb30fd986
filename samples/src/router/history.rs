//! Settings of a session, in order, to be repeated on every server that it uses.

/// What a session has set, each as `R` repeats it.
#[derive(Clone, Debug)]
pub struct History<R> {
    entries: Vec<Entry<R>>,
    next: u64,
}

#[derive(Clone, Debug)]
struct Entry<R> {
    number: u64,
    /// What it sets, where a later entry for the same replaces it.
    key: Option<String>,
    /// Made inside the open transaction, so that a rollback takes it back.
    pending: bool,
    repeat: R,
}

impl<R> Default for History<R> {
    fn default() -> Self {
        History { entries: Vec::new(), next: 1 }
    }
}

impl<R: Clone> History<R> {
    /// Adds a setting; `pending` inside a transaction.
    pub fn push(&mut self, key: Option<String>, repeat: R, pending: bool) {
        if let Some(key) = key.as_ref().filter(|_| !pending) {
            self.entries.retain(|entry| entry.pending || entry.key.as_ref() != Some(key));
        }
        let number = self.next;
        self.next += 1;
        self.entries.push(Entry { number, key, pending, repeat });
    }

    /// A mark for the present length, for [`History::roll_back`].
    pub fn mark(&self) -> u64 {
        self.next
    }

    /// Forgets what the open transaction has set since a mark.
    pub fn roll_back(&mut self, mark: u64) {
        self.entries.retain(|entry| !entry.pending || entry.number < mark);
    }

    /// The transaction is over: what it set stays, and is given back to be repeated elsewhere.
    pub fn commit(&mut self) -> Vec<R> {
        let pending = self.entries.iter_mut().filter(|entry| entry.pending);
        pending
            .map(|entry| {
                entry.pending = false;
                entry.repeat.clone()
            })
            .collect()
    }

    /// Everything that a server must be told that knows nothing.
    pub fn settled(&self) -> Vec<R> {
        self.entries.iter().filter(|entry| !entry.pending).map(|entry| entry.repeat.clone()).collect()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_value_replaces_an_earlier_one() {
        let mut history = History::default();
        for (key, value) in [("a", "a = 1"), ("b", "b = 1"), ("a", "a = 2")] {
            history.push(Some(key.to_owned()), value, false);
        }
        history.push(None, "anything", false);
        assert_eq!(history.settled(), ["b = 1", "a = 2", "anything"]);
    }

    #[test]
    fn a_transaction_keeps_its_settings_to_itself_until_it_commits() {
        let mut history = History::default();
        history.push(Some("a".to_owned()), "a = 1", false);
        history.push(Some("a".to_owned()), "a = 2", true);
        let savepoint = history.mark();
        history.push(Some("b".to_owned()), "b = 1", true);
        assert_eq!(history.settled(), ["a = 1"]);
        history.roll_back(savepoint);
        assert_eq!(history.commit(), ["a = 2"]);
        assert_eq!(history.settled(), ["a = 1", "a = 2"]);
        history.push(None, "c", true);
        history.roll_back(0);
        assert_eq!(history.settled(), ["a = 1", "a = 2"]);
    }
}
