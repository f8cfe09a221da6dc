//! What can go wrong before the engine runs.

use std::io;
use std::net::SocketAddr;

use tokometer_record::RecordError;

/// Why a simulated engine could not be made or started.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// Neither a built-in profile nor a file.
    #[error("no profile `{name}`: give one of {known}, or the path of a run record")]
    UnknownProfile {
        /// What was asked for.
        name: String,
        /// Names of the built-in profiles.
        known: String,
    },
    /// The run record could not be read.
    #[error("cannot read the profile `{name}`; it must be a run record")]
    Record {
        /// Name of the profile.
        name: String,
        /// Why.
        #[source]
        source: RecordError,
    },
    /// The run record holds too little to replay.
    #[error("the run record `{name}` cannot be replayed: {why}; take a record with at least one valid cell")]
    Incomplete {
        /// Name of the profile.
        name: String,
        /// What is missing.
        why: &'static str,
    },
    /// The steady profile cannot be so fast or so slow.
    #[error("the rate must be more than 0 and at most {most} tokens/s for each stream")]
    Rate {
        /// The highest that can be given.
        most: f64,
    },
    /// The engine cannot speculate so.
    #[error(
        "no speculative decoding `{text}`: give the tokens of a draft (1 to {most}) and their acceptance (0 to 1), as 3,0.7"
    )]
    Speculation {
        /// What was given.
        text: String,
        /// Most tokens of a draft.
        most: usize,
    },
    /// No engine of this name is known.
    #[error("no dialect `{name}`: give one of {known}")]
    UnknownDialect {
        /// What was asked for.
        name: String,
        /// Names of the dialects.
        known: String,
    },
    /// Nothing of this name goes wrong.
    #[error("no fault `{text}`: give one of {known}, as NAME, NAME@TOKENS or NAME@TOKENS/EVERY")]
    UnknownFault {
        /// What was asked for.
        text: String,
        /// Names of the faults.
        known: String,
    },
    /// The address is taken, or not this machine's.
    #[error("cannot listen on {address}; choose another port, or 0 for any free one")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system gave no thread or no event loop.
    #[error("cannot start the engine's threads; raise the limits of processes and open files")]
    Threads(#[source] io::Error),
    /// The file of the truth could not be written.
    #[error("cannot write when each event was sent; give the truth another file")]
    Truth(#[source] RecordError),
}
