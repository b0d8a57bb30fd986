//! Requests and node traces, read side by side in start order.

use splitproof_capture::trace::{Request, Requests};

use super::{Error, Run};
use crate::attribution::{
    Attributor, Contradiction, NodeIndex, Pinning, Placed, Placement, Receive, Site, needs_execution,
};

/// Rows after which the attributor looks at what can be decided.
const STEP: u32 = 128;

/// What the node traces hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Executions per node.
    pub executions: Vec<u64>,
    /// Time that the primary spent on all of them, nanoseconds; `None` where its trace tells no durations.
    pub primary_ns: Option<u64>,
}

/// One input with its next row.
struct Input {
    rows: Requests,
    next: Option<Request>,
}

impl Input {
    fn new(mut rows: Requests) -> Result<Self, Error> {
        let next = rows.next().transpose()?;
        Ok(Input { rows, next })
    }

    fn take(&mut self) -> Result<Option<Request>, Error> {
        let next = self.rows.next().transpose()?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}

/// Attributes every request to a receiver, which is made anew where the run contradicts an assumed pinning.
pub fn places<R: Receive>(run: &Run, mut make: impl FnMut() -> R) -> Result<R, Error> {
    let mut pinning = Pinning::Session;
    loop {
        let mut out = make();
        match sweep(run, pinning, &mut out)? {
            Ok(_counts) => return Ok(out),
            Err(_contradiction) => pinning = pinning.weaker(),
        }
    }
}

/// Attributes every request. The inner error says that the run contradicts the assumed pinning.
pub(super) fn sweep(
    run: &Run,
    pinning: Pinning,
    out: &mut dyn Receive,
) -> Result<Result<Counts, Contradiction>, Error> {
    if run.nodes().is_empty() {
        for request in run.reader().requests() {
            let request = request?;
            let placement = if needs_execution(&request) { Placement::Unseen } else { Placement::NotNeeded };
            out.placed(Placed { request, placement });
        }
        return Ok(Ok(Counts::default()));
    }
    let mut counts = Counts { executions: vec![0; run.nodes().len()], primary_ns: None };
    if run.simulation().is_some() {
        for request in run.reader().requests() {
            let request = request?;
            let placement = predicted(run, &request);
            for node in placement.nodes().into_iter().flatten() {
                if let Some(count) = counts.executions.get_mut(node) {
                    *count += 1;
                }
            }
            out.placed(Placed { request, placement });
        }
        return Ok(Ok(counts));
    }
    // The primary is the first node.
    counts.primary_ns = run.nodes().first().filter(|node| !node.logged).map(|_| 0);
    let mut attributor = Attributor::new(pinning);
    if let Some(mode) = run.by_values() {
        attributor = attributor.by_values(mode);
    }
    let mut clients = Input::new(run.reader().requests())?;
    let mut nodes = Vec::new();
    for node in run.nodes() {
        nodes.push(Input::new(run.reader().node(&node.name)?)?);
    }
    let mut steps = 0;
    loop {
        let client_ns = clients.next.as_ref().map(|row| row.start_ns);
        let earliest = nodes
            .iter()
            .enumerate()
            .filter_map(|(node, input)| input.next.as_ref().map(|row| (row.start_ns, node)))
            .min();
        let now_ns = match (client_ns, earliest) {
            (Some(client), Some((start, node))) if start < client => {
                feed_node(&mut nodes, node, &mut attributor, &mut counts)?;
                start
            }
            (Some(client), _) => {
                if let Some(request) = clients.take()? {
                    attributor.request(request);
                }
                client
            }
            (None, Some((start, node))) => {
                feed_node(&mut nodes, node, &mut attributor, &mut counts)?;
                start
            }
            (None, None) => break,
        };
        steps += 1;
        if steps == STEP {
            steps = 0;
            if let Err(contradiction) = attributor.advance(now_ns, out) {
                return Ok(Err(contradiction));
            }
        }
    }
    Ok(attributor.finish(out).map(|()| counts))
}

/// Where a model sent a request, from its column `node`: names joined with `+` where each got it, with `|` where one of them did. What the
/// router answers itself has none.
fn predicted(run: &Run, request: &Request) -> Placement {
    let Some(node) = request.node.as_deref().filter(|_| needs_execution(request)) else { return Placement::NotNeeded };
    let numbers = |names: &mut dyn Iterator<Item = &str>| -> Vec<NodeIndex> {
        names.filter_map(|name| run.nodes().iter().position(|node| *node.name == *name)).collect()
    };
    if node.contains('|') {
        return Placement::Ambiguous(numbers(&mut node.split('|')));
    }
    let sites: Vec<Site> =
        numbers(&mut node.split('+')).into_iter().map(|node| Site { node, execution: None }).collect();
    if sites.is_empty() { Placement::Unseen } else { Placement::Decided(sites) }
}

fn feed_node(nodes: &mut [Input], node: usize, attributor: &mut Attributor, counts: &mut Counts) -> Result<(), Error> {
    let Some(input) = nodes.get_mut(node) else { return Ok(()) };
    let Some(row) = input.take()? else { return Ok(()) };
    if needs_execution(&row) {
        if let Some(count) = counts.executions.get_mut(node) {
            *count += 1;
        }
        if let (0, Some(sum)) = (node, &mut counts.primary_ns) {
            *sum += row.duration_ns.unwrap_or(0);
        }
    }
    attributor.execution(node, row);
    Ok(())
}
