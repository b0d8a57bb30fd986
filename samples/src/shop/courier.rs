//! Read after write across two connections: one commits, the other reads the row a moment later, as two
//! processes of an application do that tell each other what they did. On a replica that read may be stale.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::Summary;
use super::session::{Client, Life, Role, pause};

/// Rows of the seed data that only the courier uses.
const USERS: std::ops::RangeInclusive<i32> = 481..=500;

/// Lives until its share of requests is sent.
pub async fn live<C: Client>(mut rng: Rng, life: Life) -> Result<Summary, C::Broken> {
    let mut writer = C::connect(life.port, Role::Worker).await?;
    let mut reader = C::connect(life.port, Role::Shop).await?;
    let mut summary = Summary { sessions: 2, ..Summary::default() };
    let mut count = 0;
    while writer.requests() + reader.requests() < life.share && Instant::now() < life.deadline {
        pause(&mut rng, life.pace).await;
        count += 1;
        let user = rng.i32(USERS);
        let write = format!("UPDATE sessions SET basket = 'parcel {count}' WHERE token = 'token-{user}'");
        let written = writer.ask(&write).await?;
        tokio::time::sleep(Duration::from_micros(rng.u64(0..4000))).await;
        let read = format!("SELECT basket FROM sessions WHERE token = 'token-{user}'");
        for code in written.into_iter().chain(reader.ask(&read).await?) {
            summary.count_error(&code);
        }
    }
    summary.requests = writer.leave().await? + reader.leave().await?;
    Ok(summary)
}
