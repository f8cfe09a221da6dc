//! What is drawn once and kept for the next reader, and how much is drawn at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokometer_record::CellDetail;

use crate::problem::Problem;

/// Things of one kind that are kept; when there are more, all are forgotten.
const MOST: usize = 128;
/// Things that are drawn at once.
const AT_ONCE: usize = 2;

/// What is kept, by the hash of what it was made from.
#[derive(Debug)]
pub(crate) struct Kept {
    details: Mutex<HashMap<String, Arc<CellDetail>>>,
    cards: Mutex<HashMap<String, Bytes>>,
    room: Semaphore,
}

impl Default for Kept {
    fn default() -> Kept {
        Kept { details: Mutex::default(), cards: Mutex::default(), room: Semaphore::new(AT_ONCE) }
    }
}

impl Kept {
    /// The detail of a trace, by its hash; `make` is done aside, since it takes a while.
    pub(super) async fn detail(
        &self,
        sha256: &str,
        make: impl FnOnce() -> Result<CellDetail, Problem> + Send + 'static,
    ) -> Result<Arc<CellDetail>, Problem> {
        let make = move || make().map(Arc::new);
        self.once(|kept| &kept.details, sha256, make).await
    }

    /// The card of a document, by its hash.
    pub(super) async fn card(
        &self,
        sha256: &str,
        make: impl FnOnce() -> Result<Bytes, Problem> + Send + 'static,
    ) -> Result<Bytes, Problem> {
        self.once(|kept| &kept.cards, sha256, make).await
    }

    async fn once<T: Clone + Send + 'static>(
        &self,
        shelf: fn(&Kept) -> &Mutex<HashMap<String, T>>,
        key: &str,
        make: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let look = || shelf(self).lock().ok().and_then(|kept| kept.get(key).cloned());
        if let Some(found) = look() {
            return Ok(found);
        }
        let Ok(_room) = self.room.acquire().await else { return Err(Problem::unavailable()) };
        // Somebody may have made it meanwhile.
        if let Some(found) = look() {
            return Ok(found);
        }
        let made = tokio::task::spawn_blocking(make).await.map_err(|error| {
            tracing::error!(%error, "a drawing broke off");
            Problem::internal()
        })??;
        if let Ok(mut kept) = shelf(self).lock() {
            if kept.len() >= MOST {
                kept.clear();
            }
            kept.insert(key.to_owned(), made.clone());
        }
        Ok(made)
    }
}
