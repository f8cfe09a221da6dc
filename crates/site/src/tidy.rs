//! What is cleared away beside the requests.

use std::time::Duration;

use crate::app::App;
use crate::artefacts::Hash;
use crate::clock;
use crate::dump;

/// How often.
const EVERY: Duration = Duration::from_secs(600);

/// Clears away, again and again, files that nobody came to need, and makes the dump of the day.
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
    if let Err(error) = dump::keep(app).await {
        tracing::warn!(%error, "the dump of the day could not be made");
    }
}

/// Removes files that no run names and that waited for long enough; how many.
pub(crate) async fn loose_files(app: &App) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
    // Nobody adds one meanwhile, so none is removed that was just brought again.
    let _alone = app.files.write().await;
    let before = clock::now() - app.config.limits.loose_time.as_millis() as i64;
    let forgotten = app.store.forget_loose(before).await?;
    for name in forgotten.iter().filter_map(|text| Hash::parse(text)) {
        app.artefacts.remove(&name).await?;
    }
    Ok(forgotten.len())
}
