//! A session that only asks to cancel what another one is doing.

use std::sync::Arc;

use splitproof_capture::trace::{Kind, Outcome, Request};

use super::{Task, lock};
use crate::clock::Clock;
use crate::session::NotSent;
use crate::wire::postgresql::cancel;
use crate::wire::{Rows, Tag};

impl<C: Clock> Task<C> {
    /// Repeats a cancel request, with the key that the target got in the replay.
    pub(super) async fn cancel(&mut self, request: &Request, rows: &mut Rows) {
        let scene = Arc::clone(&self.scene);
        let due_ns = scene.timetable.due_ns(request.start_ns);
        if let Some(due_ns) = due_ns {
            tokio::select! {
                () = scene.clock.wait_until(due_ns) => {}
                () = self.stop.given() => return self.not_sent(NotSent::Stopped, 1),
            }
        }
        let key = cancel::target(request).and_then(|session| lock(&scene.keys).get(&session).cloned());
        let Some(key) = key else { return self.not_sent(NotSent::CancelTarget, 1) };
        let sent_ns = scene.clock.now_ns();
        let result = cancel::send(scene.pair.router.address(), &key).await;
        let mut row = Request::new(self.session, 0, sent_ns, Kind::Cancel);
        row.duration_ns = Some(scene.clock.now_ns().saturating_sub(sent_ns).max(0).unsigned_abs());
        match result {
            Ok(()) => row.outcome = Outcome::Ok,
            Err(error) => (row.outcome, row.error_message) = (Outcome::Lost, Some(error.to_string().into())),
        }
        rows.push(row, Tag { seq: request.seq, due_ns, late_cause: self.history.cause(due_ns, sent_ns) });
    }
}
