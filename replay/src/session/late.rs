//! Why a request was sent late.

use splitproof_capture::trace::LateCause;

/// A request that is sent no later than this after its due time is on time.
pub const TOLERANCE_NS: i64 = 1_000_000;

/// How a session's sending went so far: enough to say why the next request is late.
#[derive(Clone, Copy, Debug, Default)]
pub struct History {
    /// When the session became free to send: the previous answer was complete, or the previous request was written.
    free_ns: Option<i64>,
    /// Why it was not free earlier.
    held_by: Option<LateCause>,
    /// When the previous request was sent.
    sent_ns: i64,
    /// How long the previous request took when it was recorded.
    recorded_ns: Option<u64>,
}

impl History {
    /// The answer to the previous request was waited for, and was complete at `now_ns`.
    pub fn answered(&mut self, now_ns: i64) {
        let took = now_ns.saturating_sub(self.sent_ns).max(0).unsigned_abs();
        let slower = self.recorded_ns.is_some_and(|recorded| took > recorded);
        self.free_ns = Some(now_ns);
        self.held_by = Some(if slower { LateCause::ServerSlow } else { LateCause::SessionBusy });
    }

    /// Why a request is late that was due at `due_ns` and is sent now; `None` when it is not.
    pub fn cause(&self, due_ns: Option<i64>, now_ns: i64) -> Option<LateCause> {
        let due_ns = due_ns?;
        if now_ns.saturating_sub(due_ns) <= TOLERANCE_NS {
            return None;
        }
        match (self.free_ns, self.held_by) {
            (Some(free_ns), Some(cause)) if free_ns > due_ns && now_ns.saturating_sub(free_ns) <= TOLERANCE_NS => {
                Some(cause)
            }
            _ => Some(LateCause::ReplayerLate),
        }
    }

    /// A request was sent at `sent_ns`, late for this reason, and its bytes were taken by the system at `written_ns`.
    /// What follows it in the same group can be no earlier, for the same reason.
    pub fn sent(&mut self, sent_ns: i64, written_ns: i64, cause: Option<LateCause>, recorded_ns: Option<u64>) {
        self.sent_ns = sent_ns;
        self.recorded_ns = recorded_ns;
        self.free_ns = Some(written_ns);
        // Bytes that the system does not take at once are held up by a server that does not read.
        let held_up = written_ns.saturating_sub(sent_ns) > TOLERANCE_NS;
        self.held_by = if held_up { Some(LateCause::ServerSlow) } else { cause };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn after(sent_ms: i64, cause: Option<LateCause>, recorded_ms: u64, answered_ms: i64) -> History {
        let mut history = History::default();
        history.sent(sent_ms * MS, sent_ms * MS, cause, Some(recorded_ms * 1_000_000));
        history.answered(answered_ms * MS);
        history
    }

    #[test]
    fn within_the_tolerance_nothing_is_late() {
        let history = after(0, None, 5, 5);
        assert_eq!(history.cause(Some(10 * MS), 11 * MS), None);
        assert_eq!(history.cause(Some(10 * MS), 9 * MS), None);
        assert_eq!(history.cause(None, 100 * MS), None);
    }

    #[test]
    fn a_slower_answer_is_the_servers() {
        let history = after(0, None, 5, 20);
        assert_eq!(history.cause(Some(10 * MS), 20 * MS), Some(LateCause::ServerSlow));
    }

    #[test]
    fn an_answer_as_fast_as_recorded_after_a_late_start_is_the_sessions() {
        let history = after(15, Some(LateCause::ServerSlow), 5, 20);
        assert_eq!(history.cause(Some(10 * MS), 20 * MS), Some(LateCause::SessionBusy));
    }

    #[test]
    fn a_free_session_makes_it_ours() {
        let history = after(0, None, 5, 5);
        assert_eq!(history.cause(Some(10 * MS), 12 * MS), Some(LateCause::ReplayerLate));
        // The answer came late, but we took even longer to go on.
        let history = after(0, None, 5, 20);
        assert_eq!(history.cause(Some(10 * MS), 22 * MS), Some(LateCause::ReplayerLate));
        assert_eq!(History::default().cause(Some(10 * MS), 12 * MS), Some(LateCause::ReplayerLate));
    }

    #[test]
    fn the_rest_of_a_group_is_late_for_the_same_reason() {
        let mut history = after(0, None, 5, 20);
        history.sent(20 * MS, 20 * MS, Some(LateCause::ServerSlow), None);
        assert_eq!(history.cause(Some(10 * MS), 20 * MS + 1), Some(LateCause::ServerSlow));
    }

    #[test]
    fn an_unknown_recorded_time_does_not_accuse_the_server() {
        let mut history = History::default();
        history.sent(0, 0, None, None);
        history.answered(20 * MS);
        assert_eq!(history.cause(Some(10 * MS), 20 * MS), Some(LateCause::SessionBusy));
    }

    #[test]
    fn a_server_that_does_not_read_is_slow() {
        let mut history = History::default();
        history.sent(0, 20 * MS, None, None);
        assert_eq!(history.cause(Some(10 * MS), 20 * MS), Some(LateCause::ServerSlow));
    }
}
