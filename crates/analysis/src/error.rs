//! What can't be analysed.

use tokometer_record::Comparison;

/// Why a question could not be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// A comparison of too few or too many runs.
    #[error(
        "a comparison takes 2 to {} runs, not {count}: give the base first, then the others",
        Comparison::MOST_RUNS
    )]
    Runs {
        /// How many were given.
        count: usize,
    },
    /// One run given twice.
    #[error("the run {id} is given twice; a run compared with itself says nothing")]
    SameRun {
        /// Its id.
        id: String,
    },
    /// A gate that can't be read.
    #[error(
        "the gate {text:?} can't be read: {why}; write it as 'total_rate<-3%', 'ttft>+50ms' or 'ttft>1s'"
    )]
    Gate {
        /// As it was written.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// Limits of a service level that can't be read.
    #[error("the limits {text:?} can't be read: {why}; write them as 'ttft<=1s,rate>=50'")]
    ServiceLevel {
        /// As they were written.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// A window that can't be read.
    #[error("the window {text:?} can't be read: {why}; write it as '10s..25s', '10s..' or '..25s'")]
    Window {
        /// As it was written.
        text: String,
        /// What is wrong.
        why: String,
    },
}
