//! Speculative decoding in a window, by the server's counters or its gauge.

use tokometer_record::{CellTrace, CounterSnapshot, SampleRow, Speculative, SpeculativeSource};
use tokometer_stats::mean;

use crate::rates::Span;

/// What speculative decoding did in `window`, in which the total rate was `total`: nothing where the server tells
/// nothing of it, else the figures, or why there are none.
pub(crate) fn view(
    trace: &CellTrace,
    window: Span,
    total: Option<f64>,
) -> Option<Result<Speculative, &'static str>> {
    let meta = &trace.meta;
    let told = |counters: &Option<CounterSnapshot>| {
        counters.as_ref().filter(|counters| counters.drafts.is_some()).cloned()
    };
    let inside = || trace.samples.iter().filter(|sample| window.holds(sample.time_ns));
    let mut figures = if let (Some(start), Some(end)) =
        (told(&meta.counters_window_start), told(&meta.counters_window_end))
    {
        between(&start, &end, 2, SpeculativeSource::Counters)
    } else {
        let counting: Vec<&SampleRow> = inside().filter(|sample| sample.drafts.is_some()).collect();
        match counting.as_slice() {
            [] => from_gauge(inside())?,
            [_] => Err("the counters of speculative decoding were read only once in the window"),
            [first, .., last] => between(
                &snapshot(first),
                &snapshot(last),
                counting.len() as u64,
                SpeculativeSource::SampledCounters,
            ),
        }
    };
    if let Ok(figures) = &mut figures {
        figures.verify_steps_rate = total.map(|total| total / figures.acceptance_length);
    }
    Some(figures)
}

/// The figures of the time between two readings of the counters.
fn between(
    start: &CounterSnapshot,
    end: &CounterSnapshot,
    readings: u64,
    source: SpeculativeSource,
) -> Result<Speculative, &'static str> {
    let rise = |counter: fn(&CounterSnapshot) -> Option<f64>| Some(counter(end)? - counter(start)?);
    let drafts = rise(|counters| counters.drafts);
    let accepted = rise(|counters| counters.accepted_tokens);
    let (Some(drafts), Some(accepted)) = (drafts, accepted) else {
        return Err("the server tells its drafts, but not how many of their tokens it accepted");
    };
    let drafted = rise(|counters| counters.draft_tokens);
    if drafts < 0.0 || accepted < 0.0 || drafted.is_some_and(|tokens| tokens < 0.0) {
        return Err("the counters of speculative decoding fell: the server was started anew");
    }
    if drafts == 0.0 {
        return Err("no draft was verified in the window");
    }
    let by_position = |counters: &CounterSnapshot, position: usize| {
        counters.accepted_per_position.get(position).copied().unwrap_or(0.0)
    };
    let accepted_per_position = (0..end.accepted_per_position.len())
        .map(|position| (by_position(end, position) - by_position(start, position)) / drafts)
        .collect();
    Ok(Speculative {
        acceptance_length: 1.0 + accepted / drafts,
        acceptance_rate: drafted.filter(|tokens| *tokens > 0.0).map(|tokens| accepted / tokens),
        accepted_per_position,
        verify_steps_rate: None,
        drafts: Some(drafts.round() as u64),
        draft_tokens: drafted.map(|tokens| tokens.round() as u64),
        accepted_tokens: Some(accepted.round() as u64),
        source,
        readings,
        start_ns: start.time_ns,
        end_ns: end.time_ns,
    })
}

fn snapshot(sample: &SampleRow) -> CounterSnapshot {
    CounterSnapshot {
        time_ns: sample.time_ns,
        drafts: sample.drafts,
        draft_tokens: sample.draft_tokens,
        accepted_tokens: sample.accepted_tokens,
        ..CounterSnapshot::default()
    }
}

/// The mean of the engine's own gauge. A step gives at least one token: what says less says nothing.
fn from_gauge<'a>(samples: impl Iterator<Item = &'a SampleRow>) -> Option<Result<Speculative, &'static str>> {
    let told: Vec<(u64, f64)> = samples
        .filter_map(|sample| {
            Some((sample.time_ns, sample.acceptance_length.filter(|length| *length >= 1.0)?))
        })
        .collect();
    let lengths: Vec<f64> = told.iter().map(|(_, length)| *length).collect();
    Some(Ok(Speculative {
        acceptance_length: mean(&lengths)?,
        acceptance_rate: None,
        accepted_per_position: Vec::new(),
        verify_steps_rate: None,
        drafts: None,
        draft_tokens: None,
        accepted_tokens: None,
        source: SpeculativeSource::Gauge,
        readings: told.len() as u64,
        start_ns: told.first()?.0,
        end_ns: told.last()?.0,
    }))
}
