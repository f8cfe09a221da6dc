//! The token ledger (method section 3): how many tokens each event brought.

use std::borrow::Cow;

use tokometer_record::{CellTrace, EventRow, Outcome, RequestKind, RequestRow, TokenSource};

/// A request with its events.
pub(crate) struct Request<'a> {
    pub(crate) row: &'a RequestRow,
    pub(crate) events: &'a [EventRow],
    /// Tokens that each event added to the request's count.
    pub(crate) added: Vec<f64>,
    /// True if the server told counts on events, false if they are spread over the events.
    told: bool,
    /// Where the counts come from; `None` where no payload event came.
    pub(crate) source: Option<TokenSource>,
}

impl Request<'_> {
    pub(crate) fn payload(&self) -> impl DoubleEndedIterator<Item = &EventRow> {
        self.events.iter().filter(|event| event.payload)
    }

    pub(crate) fn first_payload(&self) -> Option<&EventRow> {
        self.payload().next()
    }

    pub(crate) fn last_payload(&self) -> Option<&EventRow> {
        self.payload().next_back()
    }

    /// The request's count after its payload event `index`: the one that came with it, else the one that came
    /// before the next payload event, else the count so far; `None` where none was told by then.
    pub(crate) fn count_at(&self, index: usize) -> Option<f64> {
        let is_told_at = |index: &usize| self.events[*index].tokens.is_some();
        let next =
            (index + 1..self.events.len()).take_while(|later| !self.events[*later].payload).find(is_told_at);
        let end = if !self.told || is_told_at(&index) { index } else { next.unwrap_or(index) };
        let count: f64 = self.added[..=end].iter().sum();
        (count > 0.0).then_some(count)
    }

    /// Tokens that arrived in events.
    pub(crate) fn counted(&self) -> f64 {
        self.added.iter().sum()
    }

    /// All output tokens of the request: those that its usage names, also where no event carried them.
    pub(crate) fn total(&self) -> f64 {
        self.row.completion_tokens.map_or(0.0, |tokens| tokens as f64).max(self.counted())
    }
}

/// Events in the order that the ledger needs: by request, by arrival within one.
pub(crate) fn ordered_events(trace: &CellTrace) -> Cow<'_, [EventRow]> {
    if trace.events.is_sorted_by_key(|event| event.request) {
        return Cow::Borrowed(&trace.events);
    }
    let mut events = trace.events.clone();
    events.sort_by_key(|event| event.request);
    Cow::Owned(events)
}

/// The counts of a cell.
pub(crate) struct Ledger<'a> {
    /// Every request of the trace.
    pub(crate) requests: Vec<Request<'a>>,
    /// Events of requests that the trace does not list.
    pub(crate) stray_events: usize,
}

impl<'a> Ledger<'a> {
    pub(crate) fn new(trace: &'a CellTrace, events: &'a [EventRow]) -> Ledger<'a> {
        let mut listed = 0;
        let rows: Vec<(&RequestRow, &[EventRow])> = trace
            .requests
            .iter()
            .map(|row| {
                let first = events.partition_point(|event| event.request < row.request);
                let own = &events[first..];
                let own = &own[..own.partition_point(|event| event.request == row.request)];
                listed += own.len();
                (row, own)
            })
            .collect();
        let per_event = tokens_per_event(&rows);
        let requests = rows.into_iter().map(|(row, own)| count(row, own, per_event)).collect();
        Ledger { requests, stray_events: events.len().saturating_sub(listed) }
    }

    /// Requests of the cell's streams.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &Request<'a>> {
        self.of_kind(RequestKind::Stream)
    }

    pub(crate) fn of_kind(&self, kind: RequestKind) -> impl Iterator<Item = &Request<'a>> {
        self.requests.iter().filter(move |request| request.row.kind == kind)
    }

    /// All output tokens of all requests, as the server's counter should have seen them.
    pub(crate) fn total(&self) -> f64 {
        self.requests.iter().map(Request::total).sum()
    }

    /// True if the server told the tokens of every request that brought output, so that none is estimated.
    pub(crate) fn all_told(&self) -> bool {
        self.requests.iter().all(|request| match request.source {
            Some(TokenSource::UsageFinal) => final_count(request.row).is_some(),
            Some(TokenSource::Events) => false,
            _ => true,
        })
    }
}

/// Tokens per payload event of the ended requests whose count came at their end, else of the request that
/// was sent after the window for this purpose.
fn tokens_per_event(rows: &[(&RequestRow, &[EventRow])]) -> Option<f64> {
    let ratio = |kind: RequestKind| {
        let (tokens, events) = rows
            .iter()
            .filter(|(row, own)| row.kind == kind && !is_told(row, own) && final_count(row).is_some())
            .fold((0, 0), |(tokens, events), (row, own)| {
                (
                    tokens + final_count(row).unwrap_or(0),
                    events + own.iter().filter(|event| event.payload).count(),
                )
            });
        (events > 0).then(|| tokens as f64 / events as f64)
    };
    ratio(RequestKind::Stream).or_else(|| ratio(RequestKind::Calibration))
}

/// True if the server told cumulative counts on this request's events.
fn is_told(row: &RequestRow, events: &[EventRow]) -> bool {
    row.token_source <= TokenSource::EngineEvents
        && events.iter().any(|event| event.tokens.is_some_and(|count| count > 0))
}

/// The count at the request's own end; a cut or failed request has not told it. All zero while payload
/// arrived counts as missing.
fn final_count(row: &RequestRow) -> Option<u64> {
    row.completion_tokens.filter(|tokens| *tokens > 0 && row.outcome == Outcome::Ended)
}

fn count<'a>(row: &'a RequestRow, events: &'a [EventRow], per_event: Option<f64>) -> Request<'a> {
    let payload = events.iter().filter(|event| event.payload).count();
    if is_told(row, events) {
        return count_told(row, events, payload > 0);
    }
    let (each, source) = match (final_count(row), per_event) {
        (Some(tokens), _) if payload > 0 => (tokens as f64 / payload as f64, TokenSource::UsageFinal),
        (_, Some(tokens)) => (tokens, TokenSource::UsageFinal),
        _ => (1.0, TokenSource::Events),
    };
    Request {
        row,
        events,
        added: events.iter().map(|event| if event.payload { each } else { 0.0 }).collect(),
        told: false,
        source: (payload > 0).then_some(source),
    }
}

/// Cumulative counts: the last value wins, an event without one inherits, and a count never falls.
fn count_told<'a>(row: &'a RequestRow, events: &'a [EventRow], has_payload: bool) -> Request<'a> {
    let mut count = 0.0_f64;
    let added = events
        .iter()
        .map(|event| {
            let before = count;
            count = event.tokens.map_or(before, |tokens| before.max(f64::from(tokens)));
            count - before
        })
        .collect();
    Request { row, events, added, told: true, source: has_payload.then_some(row.token_source) }
}
