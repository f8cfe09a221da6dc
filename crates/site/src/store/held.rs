//! What several processes of a site must not do at once.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

use super::database::Connection;
use super::{Store, StoreError};

/// Something is held until this is dropped.
#[derive(Debug)]
#[must_use = "it is held for as long as this lives"]
pub struct Held {
    _by: By,
}

#[derive(Debug)]
#[expect(dead_code, reason = "held, and let go by being dropped")]
enum By {
    Shared(OwnedRwLockReadGuard<()>),
    Alone(OwnedRwLockWriteGuard<()>),
    /// A lock of the database, which goes with the transaction.
    Everywhere(Connection),
    /// One process alone has the database.
    Nobody,
}

impl Store {
    /// Holds the files while one is added, so that no clearing away comes between a file and its entry.
    pub async fn hold_files(&self) -> Result<Held, StoreError> {
        let by = match self.database.lock("SELECT pg_advisory_xact_lock_shared(7461936, 1)").await? {
            Some(connection) => By::Everywhere(connection),
            None => By::Shared(Arc::clone(&self.files).read_owned().await),
        };
        Ok(Held { _by: by })
    }

    /// Holds the files alone while some are cleared away, so that none is removed that was just brought again.
    pub async fn hold_files_alone(&self) -> Result<Held, StoreError> {
        let by = match self.database.lock("SELECT pg_advisory_xact_lock(7461936, 1)").await? {
            Some(connection) => By::Everywhere(connection),
            None => By::Alone(Arc::clone(&self.files).write_owned().await),
        };
        Ok(Held { _by: by })
    }

    /// Holds the start of a site: of several processes that start at once, one makes what the first start makes.
    pub async fn hold_start(&self) -> Result<Held, StoreError> {
        let by = match self.database.lock("SELECT pg_advisory_xact_lock(7461936, 2)").await? {
            Some(connection) => By::Everywhere(connection),
            None => By::Nobody,
        };
        Ok(Held { _by: by })
    }
}
