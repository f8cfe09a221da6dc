//! What the server's own gauges and counters say.

use tokometer_record::{CellTrace, CounterSnapshot, SampleRow, ServerView};
use tokometer_stats::mean;

use crate::rates::Span;

/// The gauges during the window; `None` where there was no sample in it.
pub(crate) fn view(samples: &[SampleRow], window: Span, concurrency: u32) -> Option<ServerView> {
    let inside: Vec<&SampleRow> = inside(samples, window).collect();
    let values = |gauge: fn(&SampleRow) -> Option<f64>| -> Vec<f64> {
        inside.iter().filter_map(|sample| gauge(sample)).filter(|value| value.is_finite()).collect()
    };
    let running = running(samples, window);
    let waiting = values(|sample| sample.waiting);
    (!inside.is_empty()).then(|| ServerView {
        samples: inside.len() as u64,
        running_mean: mean(&running),
        running_max: largest(&running),
        waiting_max: largest(&waiting),
        waiting_share: share(&waiting, |value| value > 0.0),
        over_share: share(&running, |value| value > f64::from(concurrency)),
        kv_used_max: largest(&values(|sample| sample.kv_used)),
    })
}

/// The running gauge during the window.
pub(crate) fn running(samples: &[SampleRow], window: Span) -> Vec<f64> {
    inside(samples, window).filter_map(|sample| sample.running).filter(|value| value.is_finite()).collect()
}

fn inside(samples: &[SampleRow], window: Span) -> impl Iterator<Item = &SampleRow> {
    samples.iter().filter(move |sample| window.holds(sample.time_ns))
}

fn largest(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

fn share(values: &[f64], holds: impl Fn(f64) -> bool) -> Option<f64> {
    let count = values.iter().filter(|value| holds(**value)).count();
    (!values.is_empty()).then(|| count as f64 / values.len() as f64)
}

/// How much a counter rose from drain to drain, or why that is not known.
pub(crate) fn rise(
    trace: &CellTrace,
    counter: fn(&CounterSnapshot) -> Option<f64>,
) -> Result<f64, &'static str> {
    let read = |snapshot: &Option<CounterSnapshot>| snapshot.as_ref().and_then(counter);
    match (read(&trace.meta.counters_before), read(&trace.meta.counters_after)) {
        (Some(before), Some(after)) if after >= before => Ok(after - before),
        (Some(_), Some(_)) => Err("the server's counter fell: it was started anew"),
        (Some(_), None) => Err("the server's counter could not be read behind the cell"),
        _ => Err("the server tells no such counter"),
    }
}
