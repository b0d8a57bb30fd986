//! The replica: waiting for it, pausing it, delaying it.

use super::{Sandbox, Stop, wait};
use crate::error::{Error, Result};

/// How long the replica may take to apply what the primary has written, in seconds; an intended delay comes on top.
const CATCH_UP: u64 = 60;

impl Sandbox {
    /// Pauses the replica: it keeps receiving, and answers from the past.
    pub fn pause_replay(&self) -> Result<()> {
        self.need_nodes()?;
        self.server().pause(&self.replica())
    }

    /// Lets the replica apply again.
    pub fn resume_replay(&self) -> Result<()> {
        self.need_nodes()?;
        self.server().resume(&self.replica())
    }

    /// Makes the replica apply every transaction so many seconds after the primary committed it; zero ends that. The
    /// setting is part of the replica's data: a restart keeps it, a restore brings back the snapshot's.
    pub fn delay(&self, seconds: u32) -> Result<()> {
        self.need_nodes()?;
        self.server().set_delay(&self.replica(), seconds)
    }

    /// Waits until the replica has applied everything that the primary has written up to now.
    pub fn wait_caught_up(&self) -> Result<()> {
        self.need_nodes()?;
        let (server, replica) = (self.server(), self.replica());
        let position = server.position(&self.primary())?;
        let patience = CATCH_UP + u64::from(server.delay(&replica)?);
        let mut never = None;
        wait::until(&format!("the {} applying {position}", replica.name), patience, Some(&replica.log()), || {
            match server.has_applied(&replica, &position) {
                // Asking again would not help.
                Err(error @ Error::Replication { .. }) => {
                    never = Some(error);
                    Ok(true)
                }
                answer => answer,
            }
        })?;
        never.map_or(Ok(()), Err)
    }

    /// Stops the replica, and makes sure that nothing more goes to it from the primary.
    pub fn stop_replica(&self) -> Result<()> {
        self.need_nodes()?;
        self.replica().stop(Stop::Fast)?;
        self.server().forget_replicas(&self.primary())
    }

    /// Waits until the replica is connected to the primary.
    pub(super) fn wait_receiving(&self) -> Result<()> {
        let replica = self.replica();
        wait::until(&format!("the {} receiving", replica.name), CATCH_UP, Some(&replica.log()), || {
            self.server().receives(&replica)
        })
    }
}
