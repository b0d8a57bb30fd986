//! Read after write across two connections: one commits, the other reads the row a moment later, as two
//! processes of an application do that tell each other what they did. On a standby that read may be stale.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::Summary;
use super::client::{Answer, Broken, Client};
use super::session::{Life, pause};
use crate::sandbox::DATABASE;

/// Rows of the seed data that only the courier uses.
const USERS: std::ops::RangeInclusive<i32> = 481..=500;

/// Lives until its share of requests is sent.
pub async fn live(mut rng: Rng, life: Life) -> Result<Summary, Broken> {
    let mut writer = Client::connect(life.port, "shop", DATABASE, "worker").await?;
    let mut reader = Client::connect(life.port, "shop", DATABASE, "web").await?;
    let mut summary = Summary { sessions: 2, ..Summary::default() };
    let mut count = 0;
    while writer.requests() + reader.requests() < life.share && Instant::now() < life.deadline {
        pause(&mut rng, life.pace).await;
        count += 1;
        let user = rng.i32(USERS);
        let write = format!("UPDATE sessions SET basket = 'parcel {count}' WHERE token = 'token-{user}'");
        note(&mut summary, writer.query(&write).await?);
        tokio::time::sleep(Duration::from_micros(rng.u64(0..4000))).await;
        let read = format!("SELECT basket FROM sessions WHERE token = 'token-{user}'");
        note(&mut summary, reader.query(&read).await?);
    }
    summary.requests = writer.terminate().await? + reader.terminate().await?;
    Ok(summary)
}

fn note(summary: &mut Summary, answer: Answer) {
    if let Some((code, _)) = answer.error {
        *summary.errors.entry(code).or_default() += 1;
    }
}
