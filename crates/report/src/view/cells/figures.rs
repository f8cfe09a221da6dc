//! The figures of a cell: single ones, and distributions.

use tokometer_record::{AdaptiveEnd, Cell, Distribution, Figure, Phase};

use crate::number::{self, count};
use crate::words::{self, clean, shorten};

/// A figure with its name and unit.
#[derive(Debug)]
pub(crate) struct Fact {
    /// `Longest gap`.
    pub(crate) label: &'static str,
    /// `88.1 ms`.
    pub(crate) value: String,
}

/// A distribution as a row of a table.
#[derive(Debug)]
pub(crate) struct Latency {
    /// `TTFT, ms`.
    pub(crate) name: &'static str,
    /// n, mean, p50 with its interval, p90, p95, p99, max.
    pub(crate) values: [String; 7],
}

/// What the record has of single figures.
pub(crate) fn facts(cell: &Cell) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |label: &'static str, value: Option<String>| {
        facts.extend(value.map(|value| Fact { label, value }));
    };
    let whole = |value: Option<u64>| value.map(count);
    let share = |value: f64| format!("{} %", number::plain(100.0 * value));

    if let Some(throughput) = &cell.throughput {
        let rate = |value: f64| format!("{} tok/s", number::rate(value));
        add("Total rate", Some(rate(throughput.total)));
        add(
            "95 % interval",
            throughput.interval.as_ref().map(|ends| {
                let scope = match ends.scope.as_str() {
                    "within_run" => "within this run",
                    "repeats" => "over repeats",
                    _ => "scope not known",
                };
                let how = match ends.method.as_str() {
                    "batch_means_t" => " (6 parts of the window, Student's t)",
                    "repeats_t" => " (Student's t)",
                    _ => "",
                };
                format!("{}–{} tok/s, {scope}{how}", number::rate(ends.low), number::rate(ends.high))
            }),
        );
        add("Decoding rate", throughput.decoding.map(rate));
        add("Restart share", throughput.restart_share.map(share));
        add("Lag-1 autocorrelation", throughput.lag1.map(number::plain));
    }
    add("Prefill rate", cell.prefill_rate.map(|rate| format!("{} tok/s", number::rate(rate))));
    add(
        "95 % interval over repeats",
        cell.prefill_interval
            .as_ref()
            .map(|ends| format!("{}–{} tok/s", number::rate(ends.low), number::rate(ends.high))),
    );
    if cell.prefill_samples.len() > 1 {
        let samples: Vec<String> = cell.prefill_samples.iter().map(|rate| number::rate(*rate)).collect();
        add("Each sample", Some(format!("{} tok/s", samples.join(", "))));
    }
    add(
        "Actual prompt",
        cell.context_actual.map(|actual| {
            let range = if actual.min == actual.max {
                String::new()
            } else {
                format!(" ({}–{})", count(actual.min), count(actual.max))
            };
            format!("{} tokens{range}", number::fixed(actual.p50, number::decimals(actual.p50, 1)))
        }),
    );
    add("Measured for", cell.window.as_ref().map(|window| format!("{} s", number::seconds(window.seconds))));
    add(
        "Ready after",
        cell.ready.as_ref().map(|ready| {
            let limit = if ready.reached { "" } else { ", the limit" };
            format!("{} s{limit}", number::seconds(ready.seconds))
        }),
    );
    add("Active requests on average", cell.average_active_requests.map(number::plain));
    let requests = &cell.requests;
    add("Requests started", whole(requests.started));
    add("Completed", whole(requests.ended));
    add("Completed in the window", whole(requests.ended_in_window));
    add("Cut at the end", whole(requests.cut));
    add("Failed", whole(requests.failed));
    add("Sent again", requests.resent.filter(|number| *number > 0).map(count));
    let tokens = &cell.tokens;
    add("Output tokens in the window", whole(tokens.out));
    add("Output tokens of the cell", whole(tokens.out_cell));
    add("Of these reasoning", tokens.reasoning.filter(|tokens| *tokens > 0).map(count));
    add("Prompt tokens, all requests", whole(tokens.input));
    add("Of these cached", whole(tokens.cached));
    add("Tokens by the server's counter", whole(tokens.server));
    add("By ours, over the same span", tokens.client.filter(|_| tokens.server.is_some()).map(count));
    add("Tokens per event", tokens.per_event.map(number::plain));
    add(
        "Tokens counted by",
        tokens
            .source
            .filter(|_| cell.phase == Phase::Decode)
            .map(|source| words::token_source(source).to_owned()),
    );
    if let Some(figures) = &cell.speculative {
        add(
            "Acceptance length",
            Some(format!("{} tokens per step", number::plain(figures.acceptance_length))),
        );
        add("Drafted tokens accepted", figures.acceptance_rate.map(share));
        add(
            "Verification steps",
            figures.verify_steps_rate.map(|rate| format!("{} step/s", number::rate(rate))),
        );
        if !figures.accepted_per_position.is_empty() {
            let positions: Vec<String> =
                figures.accepted_per_position.iter().map(|part| share(*part)).collect();
            add("Accepted by position", Some(positions.join(", ")));
        }
    }
    if let Some(adaptive) = &cell.adaptive {
        let end = match adaptive.end {
            AdaptiveEnd::Precise => "precise enough twice in a row",
            AdaptiveEnd::GoodEnough => "good enough at the length asked",
            AdaptiveEnd::Limit => "the longest that it may be",
            AdaptiveEnd::Undecided => "before a check could decide",
        };
        let checks = words::counted(adaptive.checks.len() as u64, "check");
        add("Adaptive window ended", Some(format!("{end} ({checks})")));
    }
    add("Longest gap", cell.longest_gap_ms.map(|gap| format!("{} ms", number::ms(gap))));
    if let Some(server) = &cell.server {
        add("Requests on the server, mean", server.running_mean.map(number::plain));
        add("Requests on the server, most", server.running_max.map(number::plain));
        add("Waiting on the server, most", server.waiting_max.map(number::plain));
        add("Samples with waiting requests", server.waiting_share.map(share));
        add("KV cache in use, most", server.kv_used_max.map(share));
        add("Samples of the server's gauges", Some(count(server.samples)));
    }
    add("Events per read", cell.events_per_read.map(number::plain));
    add("Arrival stamped by", cell.stamp_source.map(|source| words::stamp_source(source).to_owned()));
    facts
}

/// A row's name, its distribution, and how its figures are written.
type LatencyRow<'a> = (&'static str, Option<&'a Distribution>, fn(f64) -> String);

/// What the record has of distributions.
pub(crate) fn latencies(cell: &Cell) -> Vec<Latency> {
    let window = cell.window_view.as_ref();
    let rows: [LatencyRow<'_>; 10] = [
        ("TTFT, ms", cell.ttft_ms.as_ref(), number::ms),
        ("TTFT in the window, ms", window.and_then(|window| window.ttft_ms.as_ref()), number::ms),
        ("Time between tokens, ms", cell.time_between_tokens_ms.as_ref(), number::gap_ms),
        (
            "Time between tokens in the window, ms",
            window.and_then(|window| window.time_between_tokens_ms.as_ref()),
            number::gap_ms,
        ),
        ("Gap in the window, ms", window.and_then(|window| window.gap_ms.as_ref()), number::gap_ms),
        ("Per-request rate, tok/s", cell.per_request_rate.as_ref(), number::rate),
        ("Time to answer, ms", cell.time_to_answer_ms.as_ref(), number::ms),
        ("First byte, ms", cell.first_byte_ms.as_ref(), number::ms),
        ("Connect, ms", cell.connect_ms.as_ref(), number::ms),
        ("Client lag, µs", cell.client_lag_us.as_ref(), number::ms),
    ];
    rows.into_iter().filter_map(|(name, values, text)| Some(latency(name, values?, text))).collect()
}

fn latency(name: &'static str, values: &Distribution, text: fn(f64) -> String) -> Latency {
    let or_dash = |value: Option<f64>| value.map_or_else(|| number::NONE.to_owned(), text);
    let interval =
        values.p50_interval.map(|[low, high]| format!(" ({}–{})", text(low), text(high))).unwrap_or_default();
    Latency {
        name,
        values: [
            values.n.map_or_else(|| number::NONE.to_owned(), count),
            or_dash(values.mean),
            format!("{}{interval}", or_dash(values.p50)),
            or_dash(values.p90),
            or_dash(values.p95),
            or_dash(values.p99),
            or_dash(values.max),
        ],
    }
}

/// `lag p99: 0.35 ms, limit 0.33 ms`.
pub(crate) fn figure(figure: &Figure) -> String {
    let unit = shorten(&clean(&figure.unit), 20);
    let with_unit = |value: f64| match unit.as_str() {
        "share" => format!("{} %", number::plain(100.0 * value)),
        "" => number::plain(value),
        unit => format!("{} {unit}", number::plain(value)),
    };
    let limit = figure.limit.map(|limit| format!(", limit {}", with_unit(limit))).unwrap_or_default();
    format!("{}: {}{limit}", shorten(&clean(&figure.name).replace('_', " "), 80), with_unit(figure.value))
}

/// The repeats of a cell: number with a mark for the one that stands for the others, verdict, rate with its interval,
/// TTFT, time between tokens, acceptance length.
pub(crate) fn repeats(cell: &Cell) -> Vec<[String; 6]> {
    let or_dash = |value: Option<f64>, text: fn(f64) -> String| super::super::or_none(value, text);
    cell.repeats
        .iter()
        .map(|repeat| {
            let rate = repeat.total.or(repeat.prefill_rate);
            let half = repeat
                .interval
                .as_ref()
                .zip(repeat.total)
                .map(|(ends, total)| {
                    format!(" ± {}", number::plus_minus(ends.half_width_relative * total, total))
                })
                .unwrap_or_default();
            [
                format!("{}{}", repeat.repeat, if repeat.represents { " ●" } else { "" }),
                repeat.status.words().to_owned(),
                format!("{}{half}", or_dash(rate, number::rate)),
                or_dash(repeat.ttft_p50_ms, number::ms),
                or_dash(repeat.time_between_tokens_p50_ms, number::gap_ms),
                or_dash(repeat.acceptance_length, number::plain),
            ]
        })
        .collect()
}
