//! The details of a cell for a page: bounded views of its trace.

use tokometer_record::{
    CellDetail, CellTrace, Curve, Outcome, RateSeries, RequestColumns, RequestKind, RequestRow, TraceMeta,
};
use tokometer_stats::{percentile, sorted};

use crate::decode::measured;
use crate::latency::{self, Gaps};
use crate::ledger::{Ledger, Request, ordered_events};
use crate::rates::{Span, seconds};

/// Most bins of a rate over time.
const MOST_BINS: f64 = 120.0;
/// Lengths of a bin, s: the first with which a cell has no more than [`MOST_BINS`]; else a multiple of the last.
const BIN_SECONDS: [f64; 7] = [0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0];
/// Most points of a distribution.
const MOST_POINTS: usize = 60;
/// Most requests that are listed one by one.
const MOST_REQUESTS: usize = 50;

/// What a page shows of a cell beside its row. Its size is bounded whatever the trace holds.
pub fn detail(trace: &CellTrace) -> CellDetail {
    let events = ordered_events(trace);
    let ledger = Ledger::new(trace, &events);
    let meta = &trace.meta;
    let requests: Vec<&Request<'_>> = measured(meta, &ledger).collect();
    let start = requests.iter().map(|request| request.row.send_ns).min().unwrap_or(0);
    CellDetail {
        cell: meta.cell_name(),
        rate: is_decode(&requests).then(|| rate(&requests, meta, start)).flatten(),
        ttft_ms: curve(&requests.iter().filter_map(|request| latency::ttft_ms(request)).collect::<Vec<_>>()),
        gap_ms: Span::of(meta).and_then(|window| {
            let mut gaps = Gaps::default();
            for request in &requests {
                gaps.add(request, window);
            }
            curve(&gaps.own_stamps)
        }),
        requests: columns(&requests, start),
    }
}

/// Cold prefill requests bring one token each: their rate over time says nothing.
fn is_decode(requests: &[&Request<'_>]) -> bool {
    requests.iter().any(|request| request.row.kind == RequestKind::Stream)
}

/// Tokens of all streams in equal bins that count from the window's start, so that its edge is a bin's edge.
fn rate(requests: &[&Request<'_>], meta: &TraceMeta, start: u64) -> Option<RateSeries> {
    let last =
        requests.iter().filter_map(|request| request.events.last()).map(|event| event.arrival_ns).max()?;
    let length = seconds(last.saturating_sub(start)).max(BIN_SECONDS[0]);
    let bin = bin_seconds(length);
    let window = Span::of(meta);
    let since_start = |time: u64| (time as f64 - start as f64) / 1e9;
    let anchor = window.map_or(0.0, |window| since_start(window.start));
    let first = anchor - (anchor / bin).ceil() * bin;
    let mut tokens = vec![0.0; (((length - first) / bin) as usize).min(MOST_BINS as usize) + 1];
    for request in requests {
        for (event, added) in request.events.iter().zip(&request.added) {
            let index = ((since_start(event.arrival_ns) - first) / bin).max(0.0) as usize;
            if let Some(sum) = tokens.get_mut(index) {
                *sum += added;
            }
        }
    }
    tokens.iter().any(|sum| *sum > 0.0).then(|| RateSeries {
        start_seconds: round(first),
        bin_seconds: bin,
        rates: tokens.into_iter().map(|sum| round(sum / bin)).collect(),
        window_seconds: window
            .map(|window| [round(since_start(window.start)), round(since_start(window.end))]),
    })
}

fn bin_seconds(length: f64) -> f64 {
    // One bin may lie before the first send.
    let least = length / (MOST_BINS - 1.0);
    let longest = BIN_SECONDS[BIN_SECONDS.len() - 1];
    BIN_SECONDS.into_iter().find(|bin| *bin >= least).unwrap_or_else(|| (least / longest).ceil() * longest)
}

/// Every sample where they are few; else quantiles, closer together towards the slow end, which is what tails are.
fn curve(samples: &[f64]) -> Option<Curve> {
    let samples = sorted(samples);
    let n = samples.len();
    if n == 0 {
        return None;
    }
    let points = if n <= MOST_POINTS {
        samples
            .iter()
            .enumerate()
            .map(|(place, value)| [round((place + 1) as f64 / n as f64), round(*value)])
            .collect()
    } else {
        let even = (0..40).map(|step| f64::from(step) / 40.0);
        let tail = [0.98, 0.985, 0.99, 0.992, 0.995, 0.997, 0.998, 0.999, 0.9995, 0.9999, 1.0];
        // No share that falls between the last two samples: it would be made up.
        let finest = 1.0 - 1.0 / n as f64;
        even.chain(tail)
            .filter(|share| *share <= finest || *share == 1.0)
            .filter_map(|share| Some([share, round(percentile(&samples, share)?)]))
            .collect()
    };
    Some(Curve { n: n as u64, points })
}

/// Failed requests first of all, then in order of sending; listed in order of sending.
fn columns(requests: &[&Request<'_>], start: u64) -> RequestColumns {
    let mut listed: Vec<&&Request<'_>> = requests.iter().collect();
    listed.sort_by_key(|request| {
        (request.row.outcome != Outcome::Failed, request.row.send_ns, request.row.request)
    });
    listed.truncate(MOST_REQUESTS);
    listed.sort_by_key(|request| (request.row.send_ns, request.row.request));
    let mut columns = RequestColumns { total: requests.len() as u64, ..RequestColumns::default() };
    for request in listed {
        let RequestRow { request: number, stream, send_ns, end_ns, outcome, failure, .. } = request.row;
        let since = |time: u64| round(seconds(time.saturating_sub(start)));
        columns.request.push(*number);
        columns.stream.push(*stream);
        columns.sent_seconds.push(since(*send_ns));
        columns.end_seconds.push(since(*end_ns));
        columns.ttft_ms.push(latency::ttft_ms(request).map(round));
        columns.time_between_tokens_ms.push(latency::time_between_tokens_ms(request).map(round));
        columns.output_tokens.push(request.total().round() as u64);
        columns.outcome.push(*outcome);
        columns.failure.push(failure.as_ref().map(|failure| failure.kind));
    }
    columns
}

/// Four significant digits, and no fewer than three decimals of small numbers: enough for a chart or a list.
fn round(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 6);
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_few_and_even() {
        for (length, bin) in [(0.5, 0.1), (11.9, 0.1), (30.0, 0.5), (40.0, 0.5), (100.0, 1.0), (1000.0, 10.0)]
        {
            assert_eq!(bin_seconds(length), bin, "{length}");
        }
        assert_eq!(bin_seconds(5000.0), 50.0);
    }

    #[test]
    fn few_samples_are_all_there_and_many_are_bounded() {
        let few = curve(&[3.0, 1.0, 2.0, 2.0]).unwrap();
        assert_eq!(few, Curve { n: 4, points: vec![[0.25, 1.0], [0.5, 2.0], [0.75, 2.0], [1.0, 3.0]] });
        let many = curve(&(0..100_000).map(f64::from).collect::<Vec<_>>()).unwrap();
        assert!(many.n == 100_000 && many.points.len() <= MOST_POINTS);
        assert!(many.points.is_sorted_by(|one, other| one[0] < other[0] && one[1] <= other[1]));
        assert_eq!(many.points.last().unwrap()[1], 99_999.0);
        let hundred = curve(&(0..100).map(f64::from).collect::<Vec<_>>()).unwrap();
        assert!(hundred.points.iter().all(|[share, _]| *share <= 0.99 || *share == 1.0));
        assert_eq!(curve(&[]), None);
    }

    #[test]
    fn rounding_keeps_four_digits() {
        for (value, rounded) in
            [(1234.56, 1235.0), (0.012_345_6, 0.01235), (12.3456, 12.35), (0.0, 0.0), (56_789.4, 56_789.0)]
        {
            assert_eq!(round(value), rounded);
        }
    }
}
