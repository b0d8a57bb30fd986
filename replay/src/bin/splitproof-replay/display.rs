//! The progress on the terminal.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use splitproof_replay::progress::{Behind, Progress, Reading};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How often the line is drawn.
const EVERY: Duration = Duration::from_millis(200);

/// A line that shows how far a replay is. Without a terminal there is none.
pub struct Display(Option<(oneshot::Sender<()>, JoinHandle<()>)>);

/// Starts to show the progress.
pub fn start(progress: Arc<Progress>) -> Display {
    if !std::io::stderr().is_terminal() {
        return Display(None);
    }
    let (stop, mut stopped) = oneshot::channel();
    let task = tokio::spawn(async move {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{elapsed_precise} {wide_bar} {msg}") {
            bar.set_style(style);
        }
        let mut ticks = tokio::time::interval(EVERY);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = &mut stopped => break,
            }
            let reading = progress.read();
            bar.set_length(reading.total);
            bar.set_position(reading.done);
            bar.set_message(line(&reading));
        }
        bar.finish_and_clear();
    });
    Display(Some((stop, task)))
}

impl Display {
    /// Takes the line away.
    pub async fn stop(self) {
        if let Some((stop, task)) = self.0 {
            stop.send(()).ok();
            task.await.ok();
        }
    }
}

fn line(reading: &Reading) -> String {
    let Reading { total, due, done, late, errors, lags } = reading;
    let mut line = format!("done {done}/{total}, due {due}, late {late}, errors {errors}");
    for lag in lags {
        let behind = match lag.behind {
            Behind::Bytes(bytes) => indicatif::HumanBytes(bytes).to_string(),
            Behind::Transactions(count) => format!("{count} transactions"),
        };
        line.push_str(&format!(", {} behind {behind}", lag.node));
    }
    line
}

#[cfg(test)]
mod tests {
    use splitproof_replay::progress::Lag;

    use super::*;

    #[test]
    fn the_line_names_every_counter() {
        let lag = |node: &str, behind| Lag { node: node.to_owned(), behind };
        let lags = vec![lag("standby", Behind::Bytes(2048)), lag("replica", Behind::Transactions(3))];
        let reading = Reading { total: 10, due: 5, done: 4, late: 1, errors: 2, lags };
        assert_eq!(
            line(&reading),
            "done 4/10, due 5, late 1, errors 2, standby behind 2.00 KiB, replica behind 3 transactions"
        );
    }
}
