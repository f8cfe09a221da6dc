//! What a cell is to be: its prompts, and how long its phases last.

use std::time::Duration;

use tokometer_record::{AtEnd, CONTEXT_K};
use tokometer_wire::PreparedRequest;

use super::Adaptive;

/// One cell of the decode matrix.
#[derive(Clone)]
pub struct CellSpec {
    /// Context by label, tokens.
    pub context_nominal: u64,
    /// Requests at once.
    pub concurrency: u32,
    /// Output tokens asked per request.
    pub max_output_tokens: u64,
    /// Window length; where `adaptive` decides it, the length that was asked.
    pub duration: Duration,
    /// What decides the window's length while it runs; none: it is fixed.
    pub adaptive: Option<Adaptive>,
    /// Which repeat of the cell it is, from 1 on; none where it is measured once.
    pub repeat: Option<u32>,
    /// The prompt of each stream: one for all, or one for each.
    pub requests: Vec<PreparedRequest>,
    /// The same prompts with one output token, sent first to warm the prefix; empty: streams meet a cold one.
    pub scouts: Vec<PreparedRequest>,
    /// The cell's prompt with 256 output tokens, for a server that counts only whole responses.
    pub calibration: Option<PreparedRequest>,
    /// What happens to running requests at the window's end.
    pub at_end: AtEnd,
}

/// Cold requests of one context, alone on the server.
#[derive(Clone)]
pub struct PrefillSpec {
    /// Context by label, tokens.
    pub context_nominal: u64,
    /// Which repeat of the row it is, from 1 on; none where it is measured once.
    pub repeat: Option<u32>,
    /// Output tokens asked (1, or 8 where a parser hides the first).
    pub max_output_tokens: u64,
    /// One request per sample, each with its own salt.
    pub requests: Vec<PreparedRequest>,
}

/// Lengths and limits of the phases; [`Timing::default`] is the method's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Streams run at least this long before they can be ready.
    pub ready_minimum: Duration,
    /// The ready conditions must hold this long on end.
    pub ready_stable: Duration,
    /// Longest ready phase; twice as long from 64K of context, three times from 128K.
    pub ready_limit: Duration,
    /// Between two readings of the server's gauges while streams run.
    pub sample_every: Duration,
    /// Between two readings while an empty server is waited for.
    pub drain_every: Duration,
    /// An empty server must stay empty this long.
    pub drain_stable: Duration,
    /// Longest wait for an empty server.
    pub drain_limit: Duration,
    /// Streams are read so much longer than the window: what arrived in it may not have been read yet.
    pub linger: Duration,
    /// Gauges that do not answer for so long, while an empty server is waited for, mean that the server is gone.
    pub silence_limit: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            ready_minimum: Duration::from_secs(2),
            ready_stable: Duration::from_secs(3),
            ready_limit: Duration::from_secs(60),
            sample_every: Duration::from_millis(500),
            drain_every: Duration::from_millis(100),
            drain_stable: Duration::from_millis(500),
            drain_limit: Duration::from_secs(300),
            linger: Duration::from_millis(100),
            silence_limit: Duration::from_secs(15),
        }
    }
}

impl Timing {
    /// Longest ready phase of a context.
    pub(super) fn ready_limit_of(&self, context_nominal: u64) -> Duration {
        let times = match context_nominal / CONTEXT_K {
            0..64 => 1,
            64..128 => 2,
            _ => 3,
        };
        self.ready_limit * times
    }

    /// Longest wait for an empty server where little hangs on it: others may use it, or the cell is lost anyway.
    pub(super) fn short_drain(&self) -> Duration {
        self.drain_stable * 4
    }
}
