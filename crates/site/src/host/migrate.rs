//! A site's SQLite file into a PostgreSQL database.

use super::refused;
use crate::config::Config;
use crate::start::{SiteError, open_store};
use crate::store::{DatabaseUrl, Moved, Rehearsal, Store, StoreError};

/// Moves users, runs and all else that a folder's database holds to an empty database of a server. The folder stays as
/// it is, with the files of runs, which are not in the database.
///
/// # Errors
/// The folder has no site, the target is not empty or can't be reached, or a row differs afterwards. Then nothing was
/// moved, and the command can be repeated.
pub async fn migrate(config: &Config, to: &DatabaseUrl, rehearsal: Rehearsal) -> Result<Moved, SiteError> {
    let source = open_store(&Config { database_url: None, ..config.clone() }).await?;
    let target = Store::postgres(to).await?;
    let moved = source.move_to(&target, rehearsal).await;
    target.close().await;
    source.close().await;
    moved.map_err(|error| match error {
        StoreError::NotEmpty { table } => refused(
            format!("the table {table} of the {to} has rows already"),
            "nothing was moved: name an empty database",
        ),
        error => error.into(),
    })
}
