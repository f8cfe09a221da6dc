//! A run's folder: `run.json`, `trace/<cell>.parquet`, `report.html`.

use std::path::PathBuf;

/// Why a record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file that is not in the format expected.
    #[error("{file}: {why}")]
    Foreign {
        /// Name of the file.
        file: String,
        /// What is wrong, and what to do.
        why: String,
    },
}

/// A run's folder.
#[derive(Debug, Clone)]
pub struct RunFolder {
    /// Where it is.
    pub path: PathBuf,
}
