//! The general log of a node (MySQL, MariaDB): switched on for the run, read over SQL when it has ended.
//!
//! - [`Log`]: a node's log at work
//! - `switch`: the server's settings, and putting them back
//! - `marks`: statements of ours in the log, which tell that it is whole
//! - `reading`: from the table to the node's trace; `times` and `sessions` are its parts

mod marks;
mod reading;
mod sessions;
mod switch;
mod times;

use std::pin::Pin;
use std::sync::Arc;

use splitproof_capture::trace::Loss;
use tokio::sync::mpsc;

use super::{Evidence, EvidenceError, Seen, Watch};
use crate::clock::WallClock;
use crate::control::{Client, ClockOffset, Control, DriverError, MysqlControl};
use crate::output::Note;
use crate::pair::{Node, Passwords};
use marks::{Marks, Pulse};
use reading::Reading;
use switch::Switch;

/// How far a server's clock may be from ours. Twice as much is how exactly requests and executions are matched.
const CLOCKS_NS: u64 = 1_000_000;

/// A node's log while it is switched on.
pub struct Log {
    node: Node,
    passwords: Passwords,
    clock: WallClock,
    control: Arc<Control>,
    switch: Switch,
    marks: Marks,
    pulse: Pulse,
    index: usize,
    out: mpsc::Sender<Note>,
}

impl Log {
    /// Switches the log on.
    pub async fn start(watch: &Watch<'_>) -> Result<Self, EvidenceError> {
        let node = watch.node;
        let control = Control::open(node, watch.passwords).await?;
        let offset = ClockOffset::measure(&control, watch.wall).await?;
        if let Some(ms) = apart_ms(offset) {
            return Err(EvidenceError::Clocks { node: node.name.clone(), ms });
        }
        let refused = |source| EvidenceError::Log { node: node.name.clone(), source };
        let client = mysql(&control).map_err(refused)?;
        let mut switch = Switch::on(client, node, watch.passwords).await.map_err(refused)?;
        let marks = match Marks::begin(client).await {
            Ok(marks) => marks,
            Err(source) => {
                // A problem of putting it back is the same connection's; the first one is told.
                switch.back(client).await.ok();
                return Err(refused(source));
            }
        };
        let control = Arc::new(control);
        Ok(Log {
            node: node.clone(),
            passwords: watch.passwords.clone(),
            clock: watch.wall.clone(),
            pulse: Pulse::start(Arc::clone(&control), marks.clone()),
            control,
            switch,
            marks,
            index: watch.index,
            out: watch.out.clone(),
        })
    }

    async fn end(self) -> Seen {
        let Log { node, passwords, clock, control, mut switch, marks, pulse, index, out } = self;
        let mut seen = Seen::default();
        pulse.stop().await;
        let marked = match mysql(&control) {
            Ok(client) => marks.end(client).await.map(|until| (client, until)),
            Err(error) => Err(error),
        };
        let (client, until) = match marked {
            Ok(marked) => marked,
            Err(error) => {
                // What the log holds may be of two lives of the server, whose connections have the same numbers.
                let problem = format!("the connection to it was lost ({error}), so that its log was not read");
                let put_back = back(&mut switch, &node, &passwords).await;
                seen.losses.add(Loss::LogGap, 1);
                seen.problem = Some([Some(problem), put_back].into_iter().flatten().collect::<Vec<_>>().join("; "));
                return seen;
            }
        };
        let mut problems = Vec::from_iter(switch.back(client).await.err());
        if let Ok(Some(ms)) = ClockOffset::measure(&control, &clock).await.map(apart_ms) {
            problems
                .push(format!("its clock is {ms} ms away from this machine's now, so that its log cannot be matched"));
        }
        let reading = Reading { client, node: &node, marks: &marks, until: &until, index, out: &out };
        let problem = match reading.read(&mut seen.losses).await {
            Ok(missing) => missing.map(str::to_owned),
            Err(error) => Some(format!("its log could not be read to the end: {error}")),
        };
        seen.losses.add(Loss::LogGap, problem.is_some().into());
        problems.extend(problem);
        seen.problem = (!problems.is_empty()).then(|| problems.join("; "));
        seen
    }
}

impl Evidence for Log {
    fn stop(self: Box<Self>) -> Pin<Box<dyn Future<Output = Seen> + Send>> {
        Box::pin(self.end())
    }
}

/// Puts the settings back over a new connection; what is wrong with that.
async fn back(switch: &mut Switch, node: &Node, passwords: &Passwords) -> Option<String> {
    match Control::open(node, passwords).await {
        Ok(control) => match mysql(&control) {
            Ok(client) => switch.back(client).await.err(),
            Err(error) => Some(switch.lost(&error)),
        },
        Err(error) => Some(switch.lost(&error)),
    }
}

fn mysql(control: &Control) -> Result<&MysqlControl, DriverError> {
    match control.client() {
        Client::Mysql(client) => Ok(client),
        Client::Postgresql(_) => Err(DriverError::OtherEngine),
    }
}

/// How far the server's clock is from ours, where that is too far, milliseconds.
fn apart_ms(offset: ClockOffset) -> Option<u64> {
    let apart = offset.offset_ns.unsigned_abs().saturating_sub(offset.error_ns);
    (apart > CLOCKS_NS).then_some(apart / 1_000_000)
}
