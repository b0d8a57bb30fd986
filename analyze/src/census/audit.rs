//! The digest audit: which reads that a replica may serve the primary served.
//!
//! A read that stays on the primary is no error, so that nothing tells of it; it can only be counted, in production. The audit
//! takes an export made at the primary (or of the router, for its writer hostgroup) and lists every statement that a replica may
//! serve, the longest time first: a work queue.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use splitproof_capture::sql::Dialect;
use splitproof_replay::catalog::Catalog;

use super::coverage::Share;
use super::entry::{Census, Source};
use super::group::{Group, Grouped, Intents};
use super::kind::Kind;

/// A statement of the audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audited {
    /// The statement as the view has it.
    pub text: String,
    /// How often it ran.
    pub calls: u64,
    /// How long in all, milliseconds.
    pub time_ms: f64,
    /// Why it is here: why it may run on a replica, or what is not known.
    pub reason: String,
}

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// The exports.
    pub sources: Vec<Source>,
    /// Everything that ran there and is counted.
    pub all: Share,
    /// Reads that a replica may serve.
    pub reads: Share,
    /// What belongs to the primary.
    pub primary: Share,
    /// Reads that the primary may serve as well: of settings, of the server itself, of nothing at all.
    pub either: Share,
    /// Transaction control and session state, which go with what they surround.
    pub session: Share,
    /// What could not be judged: calls of unknown functions, texts that are hidden, cut or not understood.
    pub unknown: Share,
    /// ProxySQL: what other hostgroups than the writer served, which is left out.
    pub other_hostgroups: Share,
    /// The reads, the longest time first: the work queue.
    pub work: Vec<Audited>,
    /// Those that could not be judged.
    pub undecided: Vec<Audited>,
}

/// An audit that cannot be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AuditError {
    /// A router's export holds what all nodes served.
    #[error(
        "{path}: ProxySQL counts what every hostgroup served ({hostgroups}); say which one is the primary's with \
         --writer-hostgroup"
    )]
    Hostgroup {
        /// The file.
        path: String,
        /// The hostgroups with their calls.
        hostgroups: String,
    },
    /// Nothing ran there.
    #[error("{path}: no statement was served by hostgroup {hostgroup}; it has {hostgroups}")]
    NoSuchHostgroup {
        /// The file.
        path: String,
        /// The one that was asked for.
        hostgroup: i64,
        /// The hostgroups with their calls.
        hostgroups: String,
    },
    /// The export does not tell hostgroups.
    #[error("{path}: has no column hostgroup, so that it does not tell what the primary served; export the whole view")]
    NoHostgroups {
        /// The file.
        path: String,
    },
}

/// Takes from a census of ProxySQL what other hostgroups served.
fn of_writer(census: &mut Census, writer: Option<i64>) -> Result<Share, AuditError> {
    let mut others = Share::default();
    for (number, source) in census.sources.iter().enumerate() {
        if source.kind != Kind::ProxySql {
            continue;
        }
        let path = source.path.display().to_string();
        let mut hostgroups: BTreeMap<i64, u64> = BTreeMap::new();
        for (_, entry) in census.entries.iter().filter(|(source, _)| *source == number) {
            let Some(hostgroup) = entry.hostgroup else { return Err(AuditError::NoHostgroups { path }) };
            *hostgroups.entry(hostgroup).or_default() += entry.calls;
        }
        let list: Vec<String> =
            hostgroups.iter().map(|(hostgroup, calls)| format!("{hostgroup} with {calls} calls")).collect();
        let hostgroups_text = list.join(", ");
        match writer {
            None if hostgroups.len() > 1 => return Err(AuditError::Hostgroup { path, hostgroups: hostgroups_text }),
            Some(hostgroup) if !hostgroups.is_empty() && !hostgroups.contains_key(&hostgroup) => {
                return Err(AuditError::NoSuchHostgroup { path, hostgroup, hostgroups: hostgroups_text });
            }
            _ => {}
        }
    }
    if writer.is_some() {
        census.entries.retain(|(_, entry)| {
            let stays = entry.hostgroup.is_none() || entry.hostgroup == writer;
            if !stays {
                others.shapes += 1;
                others.calls += entry.calls;
                others.time_ms += entry.time_ms;
            }
            stays
        });
    }
    Ok(others)
}

/// Audits a census that was taken at the primary. `writer` is ProxySQL's hostgroup of the primary.
pub fn audit(
    mut census: Census,
    dialect: Dialect,
    catalog: Option<Arc<Catalog>>,
    writer: Option<i64>,
) -> Result<Audit, AuditError> {
    let other_hostgroups = of_writer(&mut census, writer)?;
    let grouped = Grouped::of(&census, dialect);
    let mut found = Audit { sources: census.sources.clone(), other_hostgroups, ..Audit::default() };
    let mut intents = Intents::new(dialect, catalog);
    let take = |share: &mut Share, group: &Group| {
        share.shapes += 1;
        share.calls += group.calls;
        share.time_ms += group.time_ms;
    };
    let hidden =
        Share { shapes: grouped.without_text, calls: grouped.without_text_calls, time_ms: grouped.without_text_ms };
    found.all = hidden;
    found.unknown = hidden;
    for group in &grouped.groups {
        take(&mut found.all, group);
        let audited =
            |reason: String| Audited { text: group.text.clone(), calls: group.calls, time_ms: group.time_ms, reason };
        let Some(verdict) = intents.of(group) else {
            take(&mut found.unknown, group);
            found.undecided.push(audited("only its beginning is known".into()));
            continue;
        };
        let functions = Intents::unknown_functions(&verdict);
        if verdict.is_unknown() || !functions.is_empty() && !Intents::is_read(&verdict) {
            take(&mut found.unknown, group);
            found.undecided.push(audited(verdict.reason.to_string()));
        } else if Intents::is_read(&verdict) && verdict.either {
            take(&mut found.either, group);
        } else if Intents::is_read(&verdict) {
            take(&mut found.reads, group);
            found.work.push(audited(verdict.reason.to_string()));
        } else if verdict.intent == crate::intent::Intent::Primary {
            take(&mut found.primary, group);
        } else {
            take(&mut found.session, group);
        }
    }
    Ok(found)
}
