//! The recorded requests on their way from the reader to their session.
//!
//! Batches go over a channel, so that a session at full speed meets the channel once per batch. [`Backlog`] counts what
//! lies in all queues together: the reader stops at its limit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use splitproof_capture::trace::Request;
use tokio::sync::mpsc;

/// What lies in all queues together.
#[derive(Debug, Default)]
pub struct Backlog {
    bytes: AtomicU64,
    taken: AtomicU64,
}

impl Backlog {
    /// Bytes that lie in the queues.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Batches that sessions have taken so far; stands still when no session gets on.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

/// Some requests of one session, in order.
#[derive(Debug)]
struct Batch {
    requests: Vec<Request>,
    bytes: u64,
}

/// The reader's end of a session's queue.
#[derive(Debug)]
pub struct Feeder {
    sender: mpsc::UnboundedSender<Batch>,
    backlog: Arc<Backlog>,
    waiting: Vec<Request>,
}

/// The session's end of its queue.
#[derive(Debug)]
pub struct Queue {
    receiver: mpsc::UnboundedReceiver<Batch>,
    backlog: Arc<Backlog>,
    present: VecDeque<Request>,
}

/// Makes a session's queue.
pub fn queue(backlog: &Arc<Backlog>) -> (Feeder, Queue) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let feeder = Feeder { sender, backlog: Arc::clone(backlog), waiting: Vec::new() };
    (feeder, Queue { receiver, backlog: Arc::clone(backlog), present: VecDeque::new() })
}

impl Feeder {
    /// Puts a request, which waits for [`flush`](Self::flush).
    pub fn put(&mut self, request: Request) {
        self.waiting.push(request);
    }

    /// Hands what waits to the session.
    pub fn flush(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let requests = std::mem::take(&mut self.waiting);
        let bytes = requests.iter().map(weight).sum();
        self.backlog.bytes.fetch_add(bytes, Ordering::Relaxed);
        // A session that is gone leaves its queue behind, and the requests are dropped with their weight.
        if self.sender.send(Batch { requests, bytes }).is_err() {
            self.backlog.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

impl Queue {
    /// The next request, if it is there already.
    pub fn ready(&mut self) -> Option<Request> {
        if self.present.is_empty() {
            let batch = self.receiver.try_recv().ok()?;
            self.accept(batch);
        }
        self.present.pop_front()
    }

    /// Waits for the next request; `None` when the session has no more. Nothing is lost when the wait is given up.
    pub async fn next(&mut self) -> Option<Request> {
        while self.present.is_empty() {
            let batch = self.receiver.recv().await?;
            self.accept(batch);
        }
        self.present.pop_front()
    }

    fn accept(&mut self, batch: Batch) {
        self.backlog.bytes.fetch_sub(batch.bytes, Ordering::Relaxed);
        self.backlog.taken.fetch_add(1, Ordering::Relaxed);
        self.present.extend(batch.requests);
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.receiver.close();
        while let Ok(batch) = self.receiver.try_recv() {
            self.backlog.bytes.fetch_sub(batch.bytes, Ordering::Relaxed);
        }
    }
}

/// Roughly the memory that a request takes. Texts are shared where they repeat, so this is the most it can be.
fn weight(request: &Request) -> u64 {
    let text = request.sql.as_deref().map_or(0, str::len) + request.sql_raw.as_deref().map_or(0, <[u8]>::len);
    let params: usize = request.params.iter().map(|param| param.value.as_deref().map_or(0, <[u8]>::len) + 32).sum();
    let copy: usize = request.copy_data.iter().map(|data| data.len() + 16).sum();
    (size_of::<Request>() + text + params + copy) as u64
}

#[cfg(test)]
mod tests {
    use splitproof_capture::trace::Kind;

    use super::*;

    #[tokio::test]
    async fn requests_come_in_order_and_their_weight_goes() {
        let backlog = Arc::new(Backlog::default());
        let (mut feeder, mut queue) = queue(&backlog);
        (0..3).for_each(|seq| feeder.put(Request::new(1, seq, 0, Kind::Query)));
        assert!(queue.ready().is_none());
        feeder.flush();
        assert!(backlog.bytes() > 0);
        assert_eq!(queue.ready().map(|request| request.seq), Some(0));
        assert_eq!((backlog.bytes(), backlog.taken()), (0, 1));
        assert_eq!(queue.next().await.map(|request| request.seq), Some(1));
        drop(feeder);
        assert_eq!(queue.next().await.map(|request| request.seq), Some(2));
        assert!(queue.next().await.is_none());
    }

    #[test]
    fn a_session_that_is_gone_weighs_nothing() {
        let backlog = Arc::new(Backlog::default());
        let (mut feeder, queue) = queue(&backlog);
        feeder.put(Request::new(1, 0, 0, Kind::Query));
        feeder.flush();
        drop(queue);
        feeder.put(Request::new(1, 1, 0, Kind::Query));
        feeder.flush();
        assert_eq!(backlog.bytes(), 0);
    }
}
