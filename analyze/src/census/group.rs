//! The entries of a census by statement.

use std::collections::HashMap;
use std::sync::Arc;

use splitproof_capture::sql::Dialect;
use splitproof_replay::catalog::Catalog;

use super::entry::Census;
use super::text::{key, readable};
use crate::intent::{Intent, Judge, RequestView, Session, Verdict};

/// The entries of one statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The statement, as the first entry has it.
    pub text: String,
    /// The shape id that this text would have; that of the statement itself where the view keeps its words.
    pub shape: u64,
    /// What it is recognised by.
    pub key: String,
    /// True where only the beginning is known.
    pub cut: bool,
    /// How many entries: of several users, databases, hostgroups or files.
    pub entries: u64,
    /// How often it ran.
    pub calls: u64,
    /// How long in all, milliseconds.
    pub time_ms: f64,
}

/// A census by statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grouped {
    /// The statements; the longest total time first.
    pub groups: Vec<Group>,
    /// Entries whose statement the view does not tell.
    pub without_text: u64,
    /// Their calls.
    pub without_text_calls: u64,
    /// Their time, milliseconds.
    pub without_text_ms: f64,
}

impl Grouped {
    /// Puts the entries of each statement together.
    pub fn of(census: &Census, dialect: Dialect) -> Self {
        let mut grouped = Grouped::default();
        let mut places: HashMap<(u64, bool), usize> = HashMap::new();
        for (source, entry) in &census.entries {
            let Some(text) = &entry.text else {
                grouped.without_text += 1;
                grouped.without_text_calls += entry.calls;
                grouped.without_text_ms += entry.time_ms;
                continue;
            };
            let shape = dialect.shape_id(text);
            let engine = census.sources.get(*source).map(|source| source.kind.engine());
            let at = *places.entry((shape, entry.cut)).or_insert_with(|| {
                grouped.groups.push(Group {
                    text: text.clone(),
                    shape,
                    key: engine.map(|engine| key(text, engine)).unwrap_or_default(),
                    cut: entry.cut,
                    entries: 0,
                    calls: 0,
                    time_ms: 0.0,
                });
                grouped.groups.len() - 1
            });
            if let Some(group) = grouped.groups.get_mut(at) {
                group.entries += 1;
                group.calls += entry.calls;
                group.time_ms += entry.time_ms;
            }
        }
        grouped
            .groups
            .sort_by(|a, b| b.time_ms.total_cmp(&a.time_ms).then(b.calls.cmp(&a.calls)).then(a.key.cmp(&b.key)));
        grouped
    }
}

/// Says where the statements of a census belong, each taken alone.
pub(super) struct Intents {
    judge: Judge,
}

impl Intents {
    /// With the functions of a catalogue, where there is one.
    pub fn new(dialect: Dialect, catalog: Option<Arc<Catalog>>) -> Self {
        Intents { judge: Judge::new(dialect, catalog) }
    }

    /// Of a statement that is known whole.
    pub fn of(&mut self, group: &Group) -> Option<Verdict> {
        if group.cut {
            return None;
        }
        let text = readable(&group.text, self.judge.engine());
        let verdict = Session::new().judge(&mut self.judge, &RequestView::query(&text));
        Some(verdict)
    }

    /// Functions in it of which nothing is known.
    pub fn unknown_functions(verdict: &Verdict) -> Vec<String> {
        let functions = verdict.profile.iter().flat_map(|profile| profile.unknown_functions());
        functions.map(|name| name.to_string()).collect()
    }

    /// Whether a replica may serve it.
    pub fn is_read(verdict: &Verdict) -> bool {
        verdict.intent == Intent::Replica
    }
}
