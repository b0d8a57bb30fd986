//! The page for the terminal.

use std::fmt;

use super::tally::TOLERANCE_MS;
use super::{NodeRun, Spread, Summary, Verdict};

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed_ns as f64 / 1e9;
        let rate = if seconds > 0.0 { self.sent as f64 / seconds } else { 0.0 };
        writeln!(f, "replayed   {} of {} requests in {} sessions", self.sent, self.recorded, self.sessions)?;
        writeln!(f, "           through {} at speed {}", self.router, self.speed)?;
        writeln!(f, "           in {seconds:.1} s, {rate:.0} requests per second")?;
        f.write_str("outcomes  ")?;
        for (outcome, count) in &self.outcomes {
            write!(f, " {outcome} {count}")?;
        }
        writeln!(f)?;
        if self.timed > 0 {
            self.timing(f)?;
        }
        for node in &self.nodes {
            positions(f, node)?;
        }
        for node in &self.nodes {
            if let Some(problem) = &node.problem {
                writeln!(f, "evidence   node \"{}\": {problem}", node.name)?;
            }
        }
        for (node, outage) in self.nodes.iter().filter_map(|node| Some((node, node.outage?))) {
            writeln!(f, "gone       node \"{}\" {}", node.name, outage.told(self.run_start_ns))?;
            writeln!(
                f,
                "           What was replayed since then is no test of the router: read the node's log, restore the pair, \
                 and replay again."
            )?;
        }
        for (reason, count) in &self.not_sent {
            writeln!(f, "not sent   {count} {reason}: {}", reason.meaning())?;
        }
        for refused in &self.refused {
            writeln!(f, "refused    {} sessions of user \"{}\": {}", refused.sessions, refused.user, refused.answer)?;
        }
        if !self.refused.is_empty() {
            writeln!(f, "           {}", self.remedy())?;
        }
        if self.lost_sessions > 0 {
            writeln!(
                f,
                "lost       {} sessions lost their connection; see outcome lost in the run",
                self.lost_sessions
            )?;
        }
        if self.overruns > 0 {
            let times = self.overruns;
            writeln!(
                f,
                "memory     the queues were full and no session got on, {times} times; more was read all the same"
            )?;
        }
        if let Some(ns) = self.gave_up_after_ns {
            writeln!(
                f,
                "gave up    the router had not answered any session for {:.0} s though some waited: read its log; \
                 --give-up-after waits longer",
                ns as f64 / 1e9
            )?;
        }
        self.conclusion(f)
    }
}

impl Summary {
    fn timing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread { p50_ns, p99_ns, p999_ns, max_ns, .. } = self.send_error;
        let (p50, p99) = (Time(p50_ns), Time(p99_ns));
        writeln!(f, "send error p50 {p50}, p99 {p99}, p99.9 {}, max {}", Time(p999_ns), Time(max_ns))?;
        let late = &self.lateness;
        writeln!(
            f,
            "late       {} of {} by more than {TOLERANCE_MS} ms: session_busy {}, server_slow {}, replayer_late {}",
            late.total(),
            self.timed,
            late.session_busy,
            late.server_slow,
            late.replayer_late
        )
    }

    fn conclusion(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verdict() {
            Verdict::Sound => Ok(()),
            Verdict::Unsound => writeln!(
                f,
                "UNSOUND    the replayer itself was late for {:.1} % of the requests (more than {} %), so that differences \
                 may come from its timing: use a less busy machine, or a lower --speed",
                self.replayer_late_share() * 100.0,
                Self::UNSOUND * 100.0
            ),
            Verdict::Incomplete if self.stopped && self.gave_up_after_ns.is_none() => {
                writeln!(f, "INCOMPLETE the replay was stopped; what was done until then is in the run")
            }
            Verdict::Incomplete => {
                writeln!(f, "INCOMPLETE part of the trace was not replayed or not seen, for the reasons above")
            }
            Verdict::Refused => writeln!(f, "REFUSED    no session could be started"),
        }
    }
}

impl Summary {
    /// What to do about sessions that could not be started.
    fn remedy(&self) -> String {
        if self.nodes.iter().any(|node| node.outage.is_some()) {
            return "A node was gone: see above.".to_owned();
        }
        if self.refused.iter().all(|user| user.answer.starts_with("cannot connect")) {
            return "See that the router runs and listens at this address, and read its log.".to_owned();
        }
        if !self.refused.iter().any(|user| is_about_the_user(&user.answer)) {
            return "The router's log and those of the nodes say more.".to_owned();
        }
        let places =
            if self.router.starts_with("mysql:") { "~/.my.cnf or MYSQL_PWD" } else { "PGPASSWORD or PGPASSFILE" };
        format!(
            "Let the router and the nodes accept these users from this machine, and give their passwords in the router's URL, \
             {places}."
        )
    }
}

/// True where an answer is about who may log in: PostgreSQL's classes 28 and 3D and `insufficient_privilege`; MySQL's access
/// denied and unknown database.
fn is_about_the_user(answer: &str) -> bool {
    const CODES: [&str; 7] = ["SQLSTATE 28", "SQLSTATE 3D", "SQLSTATE 42501", "(1044)", "(1045)", "(1049)", "(1698)"];
    CODES.iter().any(|code| answer.contains(code)) || answer.contains("authentication") || answer.contains("password")
}

fn positions(f: &mut fmt::Formatter<'_>, node: &NodeRun) -> fmt::Result {
    let cost = &node.positions;
    write!(f, "positions  {} ({}): {} samples", node.name, node.role, cost.samples)?;
    write!(f, ", mean {}, longest {}", Time(cost.mean_ns()), Time(cost.longest_ns))?;
    match cost.failed {
        0 => writeln!(f),
        failed => writeln!(f, "; {failed} failed"),
    }
}

/// Nanoseconds in the unit that suits a reader.
struct Time(u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        match self.0 {
            0..1_000_000 => write!(f, "{:.0} µs", ns / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.2} ms", ns / 1e6),
            _ => write!(f, "{:.2} s", ns / 1e9),
        }
    }
}
