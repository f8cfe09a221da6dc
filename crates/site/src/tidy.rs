//! What is cleared away beside the requests.

use std::time::Duration;

use crate::app::App;
use crate::artefacts::Hash;
use crate::clock;
use crate::domain::Millis;
use crate::dump;

/// How often.
const EVERY: Duration = Duration::from_secs(600);

/// How long the key of an upload is known. Where several servers share a database, each of them clears away.
const KEYS_HOLD_MS: Millis = 7 * 86_400_000;

/// Clears away, again and again, files that nobody came to need and keys of uploads that nobody will repeat, and makes
/// the dump of the day.
pub(crate) async fn keep(app: App) {
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        once(&app).await;
    }
}

/// Does it once.
pub(crate) async fn once(app: &App) {
    if let Err(error) = loose_files(app).await {
        tracing::warn!(%error, "loose files could not be cleared away");
    }
    if let Err(error) = app.store.forget_keys(clock::now() - KEYS_HOLD_MS).await {
        tracing::warn!(%error, "keys of old uploads could not be cleared away");
    }
    if let Err(error) = dump::keep(app).await {
        tracing::warn!(%error, "the dump of the day could not be made");
    }
}

/// Removes files that no run names and that waited for long enough; how many.
pub(crate) async fn loose_files(app: &App) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
    let _alone = app.store.hold_files_alone().await?;
    let before = clock::now() - app.config.limits.loose_time.as_millis() as i64;
    let forgotten = app.store.forget_loose(before).await?;
    for name in forgotten.iter().filter_map(|text| Hash::parse(text)) {
        if app.store.is_dump_file(name.as_str()).await? {
            continue;
        }
        // One that can't be removed keeps no other from being removed.
        if let Err(error) = app.artefacts.remove(&name).await {
            tracing::warn!(%error, file = name.as_str(), "a loose file stays");
        }
    }
    Ok(forgotten.len())
}
