//! What a trace holds, whatever run it is said to be of.

use sha2::{Digest, Sha256};
use tokometer_record::CellTrace;

use crate::artefacts::Hash;

/// Events from which on two traces are not alike by chance.
const LEAST_EVENTS: usize = 16;

/// The print of a trace: a hash of when its events came, counted from its first request, and of their tokens. None
/// where it has too few events to be told from another one.
///
/// The same trace under another run's id, moved in time, or written anew, has the same print.
pub(super) fn of(trace: &CellTrace) -> Option<String> {
    if trace.events.len() < LEAST_EVENTS {
        return None;
    }
    let first = trace.requests.iter().map(|request| request.send_ns).min()?;
    let mut hasher = Sha256::new();
    for event in &trace.events {
        hasher.update(event.arrival_ns.saturating_sub(first).to_le_bytes());
        hasher.update(event.tokens.unwrap_or(u32::MAX).to_le_bytes());
    }
    Some(Hash::hex(&hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use tokometer_record::{
        EventRow, Outcome, Phase, RequestKind, RequestRow, StampSource, TokenSource, TraceMeta,
    };

    use super::*;

    fn trace(offset: u64, step: u64) -> CellTrace {
        let request = RequestRow {
            request: 0,
            stream: 0,
            kind: RequestKind::Stream,
            send_ns: offset,
            connect_ns: None,
            first_byte_ns: None,
            end_ns: offset + 1000,
            outcome: Outcome::Ended,
            finish_reason: None,
            failure: None,
            prompt_tokens: None,
            cached_tokens: None,
            completion_tokens: None,
            reasoning_tokens: None,
            token_source: TokenSource::Usage,
            reads: 1,
            events: 20,
            unknown_events: None,
        };
        let event = |index: u64| EventRow {
            request: 0,
            arrival_ns: offset + index * step,
            lag_ns: index,
            tokens: Some(index as u32),
            bytes: 1,
            payload: true,
            answer: true,
            last_of_read: true,
        };
        let meta = TraceMeta {
            schema: TraceMeta::SCHEMA.to_owned(),
            run: "run".to_owned(),
            phase: Phase::Decode,
            context_nominal: 8192,
            concurrency: 1,
            max_output_tokens: 20,
            repeat: None,
            segment: None,
            duration_seconds: 1.0,
            window_start_ns: None,
            window_end_ns: None,
            adaptive: None,
            ready: None,
            counters_before: None,
            counters_after: None,
            counters_window_start: None,
            counters_window_end: None,
            counters_by_request: Vec::new(),
            drained: true,
            stamp_source: StampSource::Kernel,
            clock_step_ns: 0,
            resent: 0,
            interrupted: false,
            failure: None,
            loops: Vec::new(),
        };
        CellTrace {
            meta,
            requests: vec![request],
            events: (1..=20).map(event).collect(),
            samples: Vec::new(),
        }
    }

    #[test]
    fn a_copy_has_the_same_print() {
        let mut copy = trace(5_000, 10);
        copy.meta.run = "another".to_owned();
        assert_eq!(of(&trace(100, 10)), of(&copy));
        assert_ne!(of(&trace(100, 10)), of(&trace(100, 11)));
        copy.events.truncate(3);
        assert_eq!(of(&copy), None);
    }
}
