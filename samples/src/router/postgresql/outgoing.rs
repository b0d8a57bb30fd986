//! A unit as the messages for one server, with what that server has not prepared yet.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use splitproof_capture::postgresql::Unencodable;
use splitproof_capture::postgresql::extended::Target;
use splitproof_capture::postgresql::frontend::Frontend;

use super::answer::{Expect, What};
use super::server::Server;
use super::unit::{End, PartKind, Unit};
use crate::router::state::{How, Prepared};

/// Messages, and what answers them.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pub bytes: Vec<u8>,
    pub expect: VecDeque<Expect>,
    /// What the server will have prepared, as far as the messages go.
    prepared: HashMap<String, u64>,
}

impl Outgoing {
    /// The messages of a unit for a server.
    pub fn of(unit: &Unit, server: &Server) -> Result<Outgoing, Unencodable> {
        let mut out = Outgoing { prepared: server.prepared.clone(), ..Outgoing::default() };
        for part in &unit.parts {
            let what = match &part.kind {
                PartKind::Text(_) | PartKind::Call => What::Whole,
                PartKind::Parse { name, prepared: Some(prepared) } => {
                    if !name.is_empty() && out.prepared.contains_key(name) {
                        // An older one that the client closed while it was on another server.
                        out.close(name)?;
                    }
                    out.prepared.insert(name.clone(), prepared.generation);
                    What::Parse(name.clone(), prepared.generation)
                }
                // The server must refuse it, so the one that is there already must be there. It is not, on a server
                // that the session did not prepare it on; then this is as good as any error.
                PartKind::Parse { name, prepared: None } => What::Parse(name.clone(), 0),
                PartKind::Bind { statement, prepared } => {
                    out.ensure(statement, prepared.as_ref())?;
                    What::Bind
                }
                PartKind::DescribeStatement { name, prepared } => {
                    out.ensure(name, prepared.as_ref())?;
                    What::Describe
                }
                PartKind::DescribePortal => What::Describe,
                PartKind::Execute(_) => What::Execute,
                PartKind::CloseStatement(name) => {
                    out.prepared.remove(name);
                    What::Close(Some(name.clone()))
                }
                PartKind::ClosePortal => What::Close(None),
            };
            out.bytes.extend_from_slice(&part.raw);
            out.expect.push_back(Expect { what, ours: false });
        }
        match unit.end {
            End::Whole => {}
            End::Sync => {
                Frontend::Sync.encode(&mut out.bytes)?;
                out.expect.push_back(Expect { what: What::Sync, ours: false });
            }
            End::Flush => Frontend::Flush.encode(&mut out.bytes)?,
        }
        Ok(out)
    }

    /// Prepares a statement where it is not prepared yet.
    fn ensure(&mut self, name: &str, prepared: Option<&Arc<Prepared>>) -> Result<(), Unencodable> {
        let Some(Prepared { generation, how: How::Message(parse), .. }) = prepared.map(Arc::as_ref) else {
            // Prepared in SQL: `run` sees to it.
            return Ok(());
        };
        match self.prepared.get(name) {
            Some(known) if known == generation => return Ok(()),
            Some(_) if !name.is_empty() => self.close(name)?,
            _ => {}
        }
        self.bytes.extend_from_slice(parse);
        self.expect.push_back(Expect { what: What::Parse(name.to_owned(), *generation), ours: true });
        self.prepared.insert(name.to_owned(), *generation);
        Ok(())
    }

    fn close(&mut self, name: &str) -> Result<(), Unencodable> {
        Frontend::Close(Target::Statement(name.as_bytes())).encode(&mut self.bytes)?;
        self.expect.push_back(Expect { what: What::Close(Some(name.to_owned())), ours: true });
        Ok(())
    }
}
