//! The replayer before the servers, where all share one machine.
//!
//! A request is due at an instant. On a machine whose processors are busy with the servers and the router, the scheduler
//! would let the replayer wait for them, and its lateness would look like that of the traffic.

/// As high as a user with limits may usually go, and above everything that runs at the default of 0.
const NICE: i32 = -10;

/// Lets this process come before others at its due times. Needs root or CAP_SYS_NICE; without, everything stays as it is, and
/// the summary says how late requests were in any case. To be called before threads are started: they inherit it.
pub fn raise() {
    rustix::process::setpriority_process(None, NICE).ok();
}
