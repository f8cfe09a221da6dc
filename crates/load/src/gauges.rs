//! The server's own gauges and counters, read a few times a second from the conductor's event loop.

use std::sync::Arc;
use std::time::Duration;

use tokometer_record::{CounterSnapshot, SampleRow};
use tokometer_wire::Control;
use tokometer_wire::metrics::{self, MetricNames, Sample};

/// Longest wait for a reading.
const READING_LIMIT: Duration = Duration::from_secs(2);

/// Where the gauges are and what they are called.
#[derive(Clone)]
pub struct Gauges {
    control: Arc<Control>,
    path: String,
    names: &'static MetricNames,
}

impl Gauges {
    /// Reads `path` (`/metrics`) through `control`, by the engine's own names.
    pub fn new(control: Arc<Control>, path: impl Into<String>, names: &'static MetricNames) -> Gauges {
        Gauges { control, path: path.into(), names }
    }

    /// One reading; `None` when the server did not answer within 2 s or not with metrics.
    pub async fn read(&self) -> Option<Sample> {
        let answer = self.control.get(&self.path, READING_LIMIT).await.ok()?;
        if answer.status != 200 {
            return None;
        }
        Some(metrics::read(&answer.text(), self.names, answer.arrival_ns))
    }
}

/// A reading as a row of the trace.
pub(crate) fn sample_row(sample: &Sample) -> SampleRow {
    SampleRow {
        time_ns: sample.time_ns,
        running: sample.running,
        waiting: sample.waiting,
        generated_tokens: sample.generated_tokens,
        kv_used: sample.kv_used,
        drafts: sample.drafts,
        draft_tokens: sample.draft_tokens,
        accepted_tokens: sample.accepted_tokens,
        acceptance_length: sample.acceptance_length,
        prefill_tokens: sample.prompt_tokens,
        cached_prefill_tokens: sample.cached_tokens,
        preemptions: sample.preemptions,
    }
}

/// A reading as counters.
pub(crate) fn snapshot(sample: &Sample) -> CounterSnapshot {
    CounterSnapshot {
        time_ns: sample.time_ns,
        generated_tokens: sample.generated_tokens,
        prompt_tokens: sample.prompt_tokens,
        cached_tokens: sample.cached_tokens,
        preemptions: sample.preemptions,
        drafts: sample.drafts,
        draft_tokens: sample.draft_tokens,
        accepted_tokens: sample.accepted_tokens,
        accepted_per_position: sample.accepted_per_position.clone(),
    }
}

/// Whether the server has no request; none if it does not tell.
pub(crate) fn is_idle(sample: &Sample) -> Option<bool> {
    Some(sample.running? + sample.waiting.unwrap_or(0.0) == 0.0)
}
