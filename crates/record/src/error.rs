//! What can go wrong with a record's files.

use std::io;
use std::path::PathBuf;

/// Why a record could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A foreign file that is not in the format expected.
    #[error("{file}: {why}")]
    Foreign {
        /// Name of the file.
        file: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A result file of another program where a record was expected.
    #[error(
        "{path} is a result of another program, not a record of tokometer; make it one first: tokometer import {path}"
    )]
    NotImported {
        /// The file.
        path: PathBuf,
    },
    /// A file or folder that is no record at all.
    #[error(
        "{path} is not a record of tokometer: {why}; give the folder of a run, its run.json, or its report.html"
    )]
    NotARecord {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A record of the right kind whose content can't be read.
    #[error("{path} is damaged: {why}; restore it from a copy, or measure again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A record that a newer tokometer wrote.
    #[error("{path} has the schema {found}, this tokometer reads up to {known}: update tokometer to read it")]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Schema of the file.
        found: String,
        /// Newest schema that this program knows.
        known: &'static str,
    },
    /// A run that another process measures into.
    #[error("{path} is being measured by another tokometer: wait until it ends, or end it")]
    InUse {
        /// The run's folder.
        path: PathBuf,
    },
    /// A trace that is not the one which its record names.
    #[error(
        "{path} is not the trace that its record names (SHA-256 {found}, recorded {recorded}): it was changed"
    )]
    TraceChanged {
        /// The file.
        path: PathBuf,
        /// Hash of the file.
        found: String,
        /// Hash in the record.
        recorded: String,
    },
    /// The folder of a new run is there already.
    #[error("{path} exists already; give another folder with --out, or move it away")]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A run id that can't be the name of a folder.
    #[error("{id:?} can't be the name of a run's folder; use letters, digits, '-', '_' and '.'")]
    BadId {
        /// The id.
        id: String,
    },
    /// Something that can't be written as a trace, such as a request number that is used twice.
    #[error("the trace of {cell} can't be written: {why}; please report this")]
    BadTrace {
        /// Name of the cell.
        cell: String,
        /// What is wrong.
        why: String,
    },
    /// Something that can't be written as the truth of a simulated engine.
    #[error("the truth can't be written: {why}; please report this")]
    BadTruth {
        /// What is wrong.
        why: String,
    },
    /// The system refused to read.
    #[error("can't read {path}: {source}{}", hint(source))]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system refused to write.
    #[error("can't write {path}: {source}{}", hint(source))]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// What to try, by the reason that the system gives.
fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space, or give a folder on another disk with --out"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; check its permissions, or give another folder with --out"
        }
        io::ErrorKind::NotADirectory => "; a file stands where a folder is needed",
        io::ErrorKind::NotFound => "; check the path",
        _ => "",
    }
}
