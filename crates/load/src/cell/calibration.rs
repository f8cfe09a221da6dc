//! Calibration: the tokens per event of a cell whose requests were all cut, on a server that counts only whole
//! responses.

use std::collections::HashSet;

use tokometer_record::{EventRow, Outcome, RequestKind, RequestRow, TokenSource};

use super::gathering::Gathering;
use super::{CellSpec, Conductor};

impl Conductor {
    /// Sends the cell's calibration request, if one is needed.
    pub(super) async fn calibrate(&self, spec: &CellSpec, cell: &mut Gathering) {
        if let Some(request) = &spec.calibration
            && !cell.has_failed()
            && !self.wants_to_end()
            && is_needed(&cell.rows.requests, &cell.rows.events)
        {
            self.one(RequestKind::Calibration, request, cell).await;
        }
    }
}

/// True if requests were cut whose tokens only another request can tell: none ended, and those that were cut had
/// output without a count on each event. A server that told no count for its scout tells none at all.
fn is_needed(requests: &[RequestRow], events: &[EventRow]) -> bool {
    let ended = |kind: RequestKind| {
        requests.iter().filter(move |row| row.kind == kind && row.outcome == Outcome::Ended)
    };
    if ended(RequestKind::Stream).next().is_some()
        || ended(RequestKind::Scout).any(|row| row.completion_tokens.is_none())
    {
        return false;
    }
    let untold: HashSet<u32> = requests
        .iter()
        .filter(|row| row.kind == RequestKind::Stream && row.outcome == Outcome::Cut)
        .filter(|row| !is_counted_per_event(row.token_source))
        .map(|row| row.request)
        .collect();
    !untold.is_empty() && events.iter().any(|event| event.payload && untold.contains(&event.request))
}

/// True if a request's counts stand on each of its events.
fn is_counted_per_event(source: TokenSource) -> bool {
    matches!(source, TokenSource::Usage | TokenSource::TokenIds | TokenSource::EngineEvents)
}
