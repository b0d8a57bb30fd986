//! The signal to send nothing more.

use std::time::Duration;

use tokio::sync::watch;

/// How long answers that are on their way are still waited for after the signal.
const GRACE: Duration = Duration::from_secs(5);

/// The signal to send nothing more. Clones see the same signal.
#[derive(Clone, Debug)]
pub struct Stop {
    signal: watch::Receiver<bool>,
}

impl Stop {
    /// A signal that is given by sending `true`.
    pub fn new() -> (watch::Sender<bool>, Self) {
        let (sender, signal) = watch::channel(false);
        (sender, Stop { signal })
    }

    /// True once the signal was given.
    pub fn is_given(&self) -> bool {
        *self.signal.borrow()
    }

    /// Waits for the signal.
    pub async fn given(&mut self) {
        if self.signal.wait_for(|given| *given).await.is_err() {
            // Nobody is left to give it.
            std::future::pending().await
        }
    }

    /// Waits for the signal, and then for as long as answers are still worth waiting for.
    pub async fn grace_over(&mut self) {
        self.given().await;
        tokio::time::sleep(GRACE).await;
    }
}
