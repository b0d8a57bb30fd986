//! The thread that counts the rows of a run and writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use splitproof_capture::trace::{
    self, Losses, NodeWriter, Position, PositionWriter, Request, Role, Shape, Sink, Writer,
};
use tokio::sync::mpsc;

use crate::progress::{Behind, Progress};
use crate::session::{Ended, NotSent};
use crate::summary::{RefusedUser, Tally};

/// What the writer is told.
#[derive(Debug)]
pub enum Note {
    /// Rows that are finished.
    Rows(Vec<Request>),
    /// A session has ended.
    Ended(Box<Ended>),
    /// Rows that were seen at the node of this number.
    Node(usize, Vec<Request>),
    /// A sample of a node's position.
    Position(Position),
}

/// Counts the rows of a run and writes them.
pub struct Output {
    writer: Writer,
    nodes: Vec<Option<NodeWriter>>,
    positions: PositionWriter,
    progress: Arc<Progress>,
    written: Written,
    primary_lsn: Option<u64>,
    replicas: BTreeMap<Arc<str>, u64>,
}

/// What was counted.
#[derive(Debug, Default)]
pub struct Written {
    /// The rows.
    pub tally: Tally,
    /// Requests that were not sent, by reason.
    pub not_sent: BTreeMap<NotSent, u64>,
    /// Sessions that could not be started: how many by user and answer.
    pub refused: BTreeMap<(String, String), u64>,
    /// Sessions that lost their connection.
    pub lost_sessions: u64,
    /// What could not be decoded of the router's answers.
    pub losses: Losses,
}

impl Written {
    /// The users that were refused.
    pub fn refused_users(&self) -> Vec<RefusedUser> {
        let user = |((user, answer), sessions): (&(String, String), &u64)| RefusedUser {
            user: user.clone(),
            answer: answer.clone(),
            sessions: *sessions,
        };
        self.refused.iter().map(user).collect()
    }
}

impl Output {
    /// Writes with these. A node that is not watched has no writer.
    pub fn new(
        writer: Writer,
        nodes: Vec<Option<NodeWriter>>,
        positions: PositionWriter,
        progress: Arc<Progress>,
    ) -> Self {
        Output {
            writer,
            nodes,
            positions,
            progress,
            written: Written::default(),
            primary_lsn: None,
            replicas: BTreeMap::new(),
        }
    }

    /// Takes notes until nobody sends any more. Blocks: it needs a thread of its own.
    ///
    /// # Errors
    /// When a sample cannot be written. Rows that cannot be written are reported by `Finish::finish`.
    pub fn run(mut self, mut notes: mpsc::Receiver<Note>) -> Result<(Finish, Written), trace::Error> {
        while let Some(note) = notes.blocking_recv() {
            match note {
                Note::Rows(rows) => self.rows(rows),
                Note::Ended(ended) => self.ended(*ended),
                Note::Node(node, rows) => {
                    if let Some(Some(writer)) = self.nodes.get_mut(node) {
                        rows.into_iter().for_each(|row| writer.request(row));
                    }
                }
                Note::Position(position) => self.position(&position)?,
            }
        }
        let finish = Finish { writer: self.writer, nodes: self.nodes, positions: self.positions };
        Ok((finish, self.written))
    }

    fn rows(&mut self, rows: Vec<Request>) {
        let (mut done, mut late, mut failed) = (0, 0, 0);
        for row in rows {
            let (was_late, has_failed) = self.written.tally.row(&row);
            done += u64::from(row.recorded_seq.is_some());
            late += u64::from(was_late);
            failed += u64::from(has_failed);
            self.writer.request(row);
        }
        self.progress.done(done, late, failed);
    }

    fn ended(&mut self, ended: Ended) {
        for (reason, count) in ended.not_sent {
            *self.written.not_sent.entry(reason).or_default() += count;
        }
        if let Some((user, answer)) = ended.refused {
            *self.written.refused.entry((user, answer.to_string())).or_default() += 1;
        }
        self.written.lost_sessions += u64::from(ended.lost);
        self.written.losses.merge(&ended.losses);
    }

    fn position(&mut self, position: &Position) -> Result<(), trace::Error> {
        match (position.role, position.lsn, position.replay_lsn) {
            (Role::Primary, Some(lsn), _) => self.primary_lsn = Some(lsn),
            (Role::Replica, _, Some(replayed)) => {
                self.replicas.insert(Arc::clone(&position.node), replayed);
            }
            _ => {}
        }
        if let (Some(primary), Some(replayed)) = (self.primary_lsn, self.replicas.get(&position.node)) {
            let behind = primary.saturating_sub(*replayed);
            let behind = if position.gtid.is_some() { Behind::Transactions(behind) } else { Behind::Bytes(behind) };
            self.progress.lag(&position.node, behind);
        }
        self.positions.push(position)
    }
}

/// How a replay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All was sent that was to be.
    Whole,
    /// It was told to stop, or the router was given up.
    Stopped,
    /// The trace could not be read further.
    Broken,
}

/// The files of a run, still open.
pub struct Finish {
    writer: Writer,
    nodes: Vec<Option<NodeWriter>>,
    positions: PositionWriter,
}

impl Finish {
    /// Ends the files. The run's manifest says how it ended.
    ///
    /// # Errors
    /// The first file that could not be written.
    pub fn finish(
        self,
        run: &impl serde::Serialize,
        losses: &Losses,
        node_losses: &[Losses],
        shapes: Vec<Shape>,
        end: End,
    ) -> Result<(), trace::Error> {
        self.positions.finish()?;
        let none = Losses::default();
        for (index, node) in self.nodes.into_iter().enumerate() {
            if let Some(node) = node {
                node.finish(node_losses.get(index).unwrap_or(&none))?;
            }
        }
        self.writer.shapes(shapes)?;
        self.writer.run(run)?;
        if end == End::Stopped {
            self.writer.stopped();
        }
        self.writer.finish_like(losses, end == End::Whole, false)?;
        Ok(())
    }
}
