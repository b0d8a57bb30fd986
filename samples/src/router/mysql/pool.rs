//! Connections that wait for their next session.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::login::Login;
use super::server::Server;
use crate::router::node::NodeId;

#[derive(Debug)]
pub(super) struct Pool {
    size: usize,
    /// Sessions may share connections that were started alike.
    idle: Mutex<HashMap<(NodeId, Login), Vec<Server>>>,
}

impl Pool {
    pub fn new(size: usize) -> Self {
        Pool { size, idle: Mutex::default() }
    }

    /// A connection that is as good as new.
    pub fn take(&self, node: NodeId, login: &Login) -> Option<Server> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle.get_mut(&(node, login.clone()))?;
        // One that the server closed meanwhile is of no use.
        while let Some(server) = waiting.pop() {
            let mut byte = [0];
            let alive =
                server.stream.try_read(&mut byte).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
            if alive && server.input.is_empty() {
                return Some(server);
            }
        }
        None
    }

    /// Takes a connection back, once it is reset.
    pub async fn give(&self, node: NodeId, login: &Login, mut server: Server) {
        if !server.reset(login).await {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle.entry((node, login.clone())).or_default();
        if waiting.len() < self.size {
            waiting.push(server);
        }
    }
}
