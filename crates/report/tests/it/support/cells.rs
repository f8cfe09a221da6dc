//! Cells to report on, with all figures.

use std::collections::BTreeMap;

use tokometer_record::telemetry::{CellTelemetry, DeviceTelemetry, Reading};
use tokometer_record::{
    Cell, Distribution, Failure, FailureKind, Figure, Flag, FlagCode, Interval, LoopEvidence, Phase, Reason,
    ReasonRule, Requests, Spread, StampSource, Status, Throughput, TokenSource, Tokens, Window,
};

/// A valid decode cell with all figures.
pub(crate) fn decode(context: u64, concurrency: u32) -> Cell {
    let streams = f64::from(concurrency);
    let total = 220.123_456 * streams.powf(0.8) * (8192.0 / context as f64).powf(0.02);
    let mut cell = Cell::planned(Phase::Decode, context, concurrency);
    let n = u64::from(concurrency) * 2;
    cell.status = Status::Valid;
    cell.context_actual = Some(Spread { n, p50: context as f64 - 3.0, min: context - 4, max: context + 2 });
    cell.throughput = Some(Throughput {
        total,
        interval: Some(Interval {
            low: total * 0.99,
            high: total * 1.01,
            half_width_relative: 0.01,
            level: 0.95,
            method: "batch_means_t".to_owned(),
            scope: "within_run".to_owned(),
        }),
        decoding: Some(total * 1.02),
        restart_share: Some(0.02),
        batches: vec![total; 6],
        lag1: Some(0.1),
    });
    cell.ttft_ms = Some(distribution(n, 150.25 * streams.sqrt()));
    cell.time_between_tokens_ms = Some(distribution(n, 1000.0 * streams / total));
    cell.per_request_rate = Some(distribution(n, total / streams));
    cell.longest_gap_ms = Some(88.125);
    cell.average_active_requests = Some(streams - 0.25);
    cell.requests = Requests {
        started: Some(n),
        ended: Some(n / 2),
        cut: Some(n - n / 2),
        failed: Some(0),
        ended_in_window: Some(1),
        resent: Some(0),
    };
    cell.tokens =
        Tokens { out: Some((total * 30.0) as u64), source: Some(TokenSource::Usage), ..Tokens::default() };
    cell.window = Some(Window { start_ns: Some(5_000_000_000), end_ns: Some(35_000_000_000), seconds: 30.0 });
    cell.stamp_source = Some(StampSource::Kernel);
    cell.telemetry = Some(telemetry(total));
    cell
}

/// Four boards of 600 W or so over a window of 30 s.
fn telemetry(total: f64) -> CellTelemetry {
    let reading = |p50: f64| Some(Reading { n: 60, min: p50 * 0.97, p50, max: p50 * 1.01 });
    CellTelemetry {
        start_ns: 5_000_000_000,
        end_ns: 35_000_000_000,
        devices: (0..4)
            .map(|index| DeviceTelemetry {
                device: index,
                core_clock_mhz: reading(1980.0),
                memory_clock_mhz: reading(3201.0),
                power_watts: reading(590.0 + 5.0 * f64::from(index)),
                energy_joules: Some(18_000.0),
                temperature_c: reading(61.0),
                memory_temperature_c: None,
                busy: reading(0.98),
                memory_used_bytes: reading(131_000_000_000.0),
                pcie_received: None,
                pcie_sent: None,
                reasons: Some(4),
                reason_words: vec!["power limit".to_owned()],
                unknown_bits: None,
            })
            .collect(),
        busy_samples: 240,
        slowed_share: Some(0.0),
        power_capped_share: Some(0.125),
        over_rated_share: Some(0.0),
        energy_joules: Some(72_000.0),
        energy_source: Some("counter".to_owned()),
        joules_per_token: Some(72_000.0 / (30.0 * total)),
        cpu_busy: reading(0.11),
        unknown: BTreeMap::new(),
    }
}

pub(crate) fn prefill(context: u64, rate: f64) -> Cell {
    let mut cell = Cell::planned(Phase::Prefill, context, 1);
    cell.status = Status::Valid;
    cell.context_actual = Some(Spread { n: 3, p50: context as f64, min: context, max: context });
    cell.prefill_rate = Some(rate);
    cell.prefill_samples = vec![rate * 0.98, rate, rate * 1.01];
    cell.ttft_ms = Some(distribution(3, 1000.0 * context as f64 / rate));
    cell.requests = Requests { started: Some(3), ended: Some(3), ..Requests::default() };
    cell.flags.push(flag(FlagCode::Simulated));
    cell
}

pub(crate) fn with_status(mut cell: Cell, status: Status) -> Cell {
    let reason = |rule, text: &str, needed, available| {
        let figures = vec![Figure {
            name: "share_of_it".to_owned(),
            value: 0.12,
            unit: "share".to_owned(),
            limit: Some(0.1),
        }];
        let figures = if rule == ReasonRule::Method { figures } else { Vec::new() };
        Some(Reason { rule, text: text.to_owned(), figures, needed, available })
    };
    match status {
        Status::Valid => return cell,
        Status::Planned | Status::OverLimit | Status::OverCapacity | Status::Skipped => {
            cell = Cell::planned(cell.phase, cell.context_nominal, cell.concurrency);
        }
        _ => {}
    }
    cell.status = status;
    cell.reason = match status {
        Status::Valid | Status::Planned => None,
        Status::OverLimit => {
            reason(ReasonRule::ModelLength, "does not fit the model", Some(266_240), Some(262_144))
        }
        Status::OverCapacity => {
            reason(ReasonRule::KvTokens, "does not fit the cache", Some(4_718_592), Some(1_048_576))
        }
        Status::Error => {
            cell.error = Some(failure());
            reason(ReasonRule::Method, "1 of 8 requests failed", None, None)
        }
        Status::Looped => {
            cell.loops = vec![LoopEvidence {
                request: 3,
                stream: 2,
                channel: "reasoning".to_owned(),
                period: 812,
                cycles: 6,
                repeated_characters: 4872,
                excerpt: "The same sentence again and again.".to_owned(),
            }];
            reason(ReasonRule::Method, "1 of 2 streams repeated itself", None, None)
        }
        Status::Queued => {
            reason(ReasonRule::Method, "requests waited in 34 % of 30 samples (limit 10 %)", None, None)
        }
        status => reason(
            ReasonRule::Method,
            &format!("figures of {}: 12 % (limit 10 %)", status.code()),
            None,
            None,
        ),
    };
    cell
}

pub(crate) fn failure() -> Failure {
    Failure {
        kind: FailureKind::Rejected,
        message: "the server answered 503".to_owned(),
        http_status: Some(503),
        headers: BTreeMap::new(),
        body: Some("{\"error\":\"too many requests\"}".to_owned()),
    }
}

/// A flag with figures.
pub(crate) fn flag(code: FlagCode) -> Flag {
    Flag {
        code,
        detail: format!("{} was 12.5 with a limit of 10", code.code()),
        figures: vec![Figure {
            name: "figure".to_owned(),
            value: 12.5,
            unit: "s".to_owned(),
            limit: Some(10.0),
        }],
    }
}

fn distribution(n: u64, middle: f64) -> Distribution {
    Distribution {
        n: Some(n),
        mean: Some(middle * 1.01),
        min: Some(middle * 0.9),
        p50: Some(middle),
        max: Some(middle * 1.2),
        ..Distribution::default()
    }
}
