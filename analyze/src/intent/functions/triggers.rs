//! What a write of a table sets off.
//!
//! Of a trigger whose body is not known nothing is seen, so that one such trigger does not make every write one of tables
//! that are not known.

use std::collections::HashMap;

use splitproof_capture::sql::{Statement, StatementKind};

use super::{Effects, Functions};

/// The triggers of a pair, by the name of their table.
#[derive(Clone, Debug, Default)]
pub(super) struct Triggers {
    tables: HashMap<Box<str>, Vec<Trigger>>,
}

#[derive(Clone, Debug)]
struct Trigger {
    events: Vec<Box<str>>,
    /// Where among the pair's own routines its body stands.
    body: usize,
}

impl Triggers {
    pub fn push<'a>(&mut self, table: &str, events: impl IntoIterator<Item = &'a str>, body: usize) {
        let events = events.into_iter().map(Box::from).collect();
        self.tables.entry(table.into()).or_default().push(Trigger { events, body });
    }
}

impl Functions {
    /// Adds what the triggers of the tables do that a statement writes.
    pub(super) fn set_off(&self, statement: &Statement, effects: &mut Effects) {
        let events = events(statement);
        for table in &statement.writes {
            let triggers = self.triggers.tables.get(table.name.as_str()).into_iter().flatten();
            for trigger in triggers.filter(|trigger| trigger.events.iter().any(|event| events.contains(&&**event))) {
                let Some(set_off) = self.own.get(trigger.body).map(|own| &own.effects) else { continue };
                effects.also(&Effects { reads_any: false, writes_any: false, ..set_off.clone() });
                // It may put the row elsewhere, into a partition for example, and keep it from being counted.
                if set_off.writes_any || !set_off.writes.is_empty() {
                    effects.uncounted.insert(table.name.as_str().into());
                }
                // It may put what it finds into the written row.
                if let Some(why) = set_off.varies.clone().filter(|_| !set_off.writes_any) {
                    effects.written_vary.entry(table.name.as_str().into()).or_insert(why);
                }
            }
        }
    }
}

/// The events that a statement may be for a table that it writes.
fn events(statement: &Statement) -> &'static [&'static str] {
    match statement.kind {
        StatementKind::Update => &["UPDATE"],
        StatementKind::Delete => &["DELETE"],
        StatementKind::Truncate => &["TRUNCATE"],
        // ON CONFLICT and ON DUPLICATE KEY update, REPLACE deletes; inside WITH there may be any of them.
        StatementKind::Insert | StatementKind::CopyFrom if !statement.modifying_cte => &["INSERT", "UPDATE"],
        StatementKind::LoadData { .. }
        | StatementKind::Replace
        | StatementKind::Merge
        | StatementKind::Insert
        | StatementKind::Select => &["INSERT", "UPDATE", "DELETE"],
        _ => &[],
    }
}
