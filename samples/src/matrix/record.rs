//! The sessions of a scene as real traffic at a real primary, recorded.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use splitproof_capture::tap::{Options as TapOptions, Relay};
use splitproof_capture::trace::{Engine, Losses, Options, Sink, Writer};

use super::client::Client;
use super::scene::{Scene, Session, filled};
use crate::sandbox::Sandbox;

/// Sessions that are open at the same time.
const CLIENTS: usize = 5;

/// The longest pause between two statements of a session.
const PAUSE: Duration = Duration::from_millis(8);

/// A session in its `number`th appearance.
type Turn = (usize, u32);

/// Which sessions are played.
#[derive(Clone, Copy, Debug)]
pub enum Cast<'a> {
    /// All of them, several at a time, in an order and at a pace that follow from this seed.
    All(u64),
    /// Those that show this fault, one after another.
    Alone(&'a str),
}

/// Plays sessions of a scene at the pair's primary, and records them.
pub fn record(sandbox: &Sandbox, scene: &Arc<Scene>, cast: Cast<'_>, trace: &Path) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start threads")?;
    let (engine, primary) = (sandbox.engine(), sandbox.ports().primary);
    let stopped = runtime.block_on(async {
        let listen = ([127, 0, 0, 1], 0).into();
        let relay = Relay::start(TapOptions::new(engine, listen, format!("127.0.0.1:{primary}")), Vec::new()).await?;
        play(scene, engine, relay.listen().port(), cast).await?;
        // A client that has gone may still be leaving.
        while relay.counters().open > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        relay.stop().await.context("the recorder has failed")
    })?;
    ensure!(stopped.losses == Losses::default(), "the recording has losses: {:?}", stopped.losses);
    let mut writer = Writer::create(trace, Options::new(engine, "tap"))?;
    for row in stopped.sink {
        writer.request(row);
    }
    writer.finish(&stopped.losses)?;
    Ok(())
}

/// The order in which sessions come on the stage, the last one first.
fn turns(scene: &Scene, cast: Cast<'_>) -> Vec<Turn> {
    let each = |(at, session): (usize, &Session)| std::iter::repeat_n(at, session.times as usize);
    match cast {
        Cast::All(seed) => {
            let mut turns: Vec<Turn> = scene.sessions.iter().enumerate().flat_map(each).zip(1..).collect();
            fastrand::Rng::with_seed(seed).shuffle(&mut turns);
            turns
        }
        Cast::Alone(fault) => scene.showing(fault).flat_map(each).zip(1..).collect(),
    }
}

async fn play(scene: &Arc<Scene>, engine: Engine, port: u16, cast: Cast<'_>) -> Result<()> {
    let waiting = Arc::new(Mutex::new(turns(scene, cast)));
    let (clients_in_all, seed) = match cast {
        Cast::All(seed) => (CLIENTS, seed),
        Cast::Alone(_) => (1, 0),
    };
    let mut clients = tokio::task::JoinSet::<Result<()>>::new();
    for client in 0..clients_in_all {
        let (scene, waiting) = (Arc::clone(scene), Arc::clone(&waiting));
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(client as u64));
        clients.spawn(async move {
            loop {
                let turn = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let Some((at, number)) = turn else { return Ok(()) };
                let Some(session) = scene.sessions.get(at) else { return Ok(()) };
                hold(session, number, engine, port, &mut rng).await.with_context(|| session.id.clone())?;
            }
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended.context("a client has failed")??;
    }
    Ok(())
}

async fn hold(session: &Session, number: u32, engine: Engine, port: u16, rng: &mut fastrand::Rng) -> Result<()> {
    let mut client = Client::connect(engine, port).await?;
    let mut hurries = false;
    for step in &session.steps {
        if !hurries {
            tokio::time::sleep(PAUSE.mul_f64(rng.f64())).await;
        }
        hurries = step.hurries;
        let param = step.param.as_deref().map(|param| filled(param, number));
        client.run(&step.text(number), param.as_deref()).await?;
    }
    client.quit().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_order_and_another_one_changes_it() {
        let scene = Scene::of(Engine::Postgresql).unwrap();
        let numbers = |seed| turns(&scene, Cast::All(seed));
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
        let mut all: Vec<u32> = numbers(3).iter().map(|turn| turn.1).collect();
        all.sort_unstable();
        assert!(all.iter().copied().eq(1..=u32::try_from(all.len()).unwrap()), "each has rows of its own");
    }

    #[test]
    fn alone_are_the_sessions_that_show_the_fault() {
        let scene = Scene::of(Engine::Postgresql).unwrap();
        let turns = turns(&scene, Cast::Alone("returning-keeps-gtid"));
        assert!(turns.len() > 1 && turns.iter().all(|turn| scene.sessions[turn.0].id == "order"));
    }
}
