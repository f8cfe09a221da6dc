//! What is cleared away beside the requests.

use std::time::Duration;

use crate::app::App;
use crate::artefacts::Hash;
use crate::clock;

/// How often.
const EVERY: Duration = Duration::from_secs(600);

/// Clears away, again and again, files that nobody came to need.
pub(crate) async fn keep(app: App) {
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        if let Err(error) = loose_files(&app).await {
            tracing::warn!(%error, "loose files could not be cleared away");
        }
    }
}

/// Removes files that no run names and that waited for long enough; how many.
pub(crate) async fn loose_files(app: &App) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
    // Nobody of this process adds one meanwhile, so none is removed that was just brought again.
    let _alone = app.files.write().await;
    let before = clock::now() - app.config.limits.loose_time.as_millis() as i64;
    let forgotten = app.store.forget_loose(before).await?;
    for name in forgotten.iter().filter_map(|text| Hash::parse(text)) {
        remove(app, &name).await?;
    }
    Ok(forgotten.len())
}

/// Removes a file, and puts it back where another process took the same one in meanwhile.
async fn remove(app: &App, name: &Hash) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // One that is damaged is not worth putting back: who brings it again writes it whole.
    let content = app.artefacts.get(name).await.ok().flatten();
    app.artefacts.remove(name).await?;
    let is_known = app.store.missing_artefacts(&[name.as_str().to_owned()]).await?.is_empty();
    if let Some(content) = content.filter(|_| is_known) {
        app.artefacts.put(name, content).await?;
    }
    Ok(())
}
