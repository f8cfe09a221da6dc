//! What is drawn once and kept for the next reader.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;
use tokometer_record::CellDetail;

use crate::problem::Problem;

/// Details that are kept; when there are more, all are forgotten.
const MOST: usize = 128;
/// Details, pictures and other files that are made at once.
const AT_ONCE: usize = 2;

/// The details of cells, by the hash of the trace that they were made from.
#[derive(Debug)]
pub(crate) struct Kept {
    details: Mutex<HashMap<String, Arc<CellDetail>>>,
    room: Semaphore,
}

impl Default for Kept {
    fn default() -> Kept {
        Kept { details: Mutex::default(), room: Semaphore::new(AT_ONCE) }
    }
}

impl Kept {
    /// The detail of a trace; none where `make` finds none. It is done aside, where there is room for it, since it
    /// takes a while, and memory for a whole trace.
    pub(super) async fn detail(
        &self,
        sha256: &str,
        make: impl FnOnce() -> Result<Option<CellDetail>, Problem> + Send + 'static,
    ) -> Result<Option<Arc<CellDetail>>, Problem> {
        if let Some(found) = self.find(sha256) {
            return Ok(Some(found));
        }
        let Ok(_room) = self.room.acquire().await else { return Err(Problem::unavailable()) };
        // Somebody may have made it meanwhile.
        if let Some(found) = self.find(sha256) {
            return Ok(Some(found));
        }
        let made = tokio::task::spawn_blocking(make).await.map_err(|error| {
            tracing::error!(%error, "a drawing broke off");
            Problem::internal()
        })??;
        let Some(made) = made.map(Arc::new) else { return Ok(None) };
        if let Ok(mut kept) = self.details.lock() {
            if kept.len() >= MOST {
                kept.clear();
            }
            kept.insert(sha256.to_owned(), Arc::clone(&made));
        }
        Ok(Some(made))
    }

    /// Room for what takes a while to be made.
    pub(super) fn room(&self) -> &Semaphore {
        &self.room
    }

    fn find(&self, sha256: &str) -> Option<Arc<CellDetail>> {
        self.details.lock().ok().and_then(|kept| kept.get(sha256).cloned())
    }
}
