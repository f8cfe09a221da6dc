//! Evidence: where facts come from, which files the numbers rest on, and whose count of tokens says what.

use tokometer_record::calibration::{Calibration, Errors, Limit};
use tokometer_record::{Phase, Run};

use super::or_none;
use crate::number;
use crate::words::{cell_label, clean, counted, shorten};

/// Longest value that is shown whole.
const VALUE: usize = 400;

/// What the numbers rest on.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// The record's schema.
    pub(crate) schema: String,
    /// Facts of the probe: field, value, source.
    pub(crate) facts: Vec<[String; 3]>,
    /// Traces: cell's anchor, cell, file, size in bytes, SHA-256.
    pub(crate) traces: Vec<[String; 5]>,
    /// Tokens by the server's own counter and by ours: cell's anchor, cell, server's, ours, difference in percent.
    pub(crate) counters: Vec<[String; 5]>,
    /// The series of the machine: file, size in bytes, SHA-256.
    pub(crate) series: Option<[String; 3]>,
    /// How true the client is on the host that measured.
    pub(crate) calibration: Option<CalibrationView>,
    /// What is said where there is no trace.
    pub(crate) no_traces: &'static str,
}

/// A calibration of the client.
#[derive(Debug)]
pub(crate) struct CalibrationView {
    /// True if all is as the method needs it.
    pub(crate) passed: bool,
    /// When, where, and at what load.
    pub(crate) about: String,
    /// Name and figure.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// Needs of the method: whether it is so, what must be, what was found.
    pub(crate) checks: Vec<(bool, String, String)>,
}

impl CalibrationView {
    fn of(found: &Calibration) -> CalibrationView {
        let text = |text: &str| shorten(&clean(text), VALUE);
        let errors = |errors: &Errors| {
            let ms = |value: Option<f64>| or_none(value, number::gap_ms);
            format!(
                "p50 {} ms, p99 {} ms, most {} ms (n {})",
                ms(errors.p50_ms),
                ms(errors.p99_ms),
                ms(errors.max_ms),
                number::count(errors.n)
            )
        };
        let tokens = &found.tokens;
        let mut facts = vec![
            ("TTFT off the truth by", errors(&found.ttft_error)),
            ("Gaps off the truth by", errors(&found.gap_error)),
            ("Handled after arrival", errors(&found.client_lag)),
            (
                "Tokens counted, sent",
                format!("{}, {}", number::count(tokens.counted), number::count(tokens.sent)),
            ),
        ];
        facts.extend(found.events_per_second.map(|rate| ("Events a second", number::count(rate as u64))));
        facts.extend(
            found
                .cpu_us_per_event
                .map(|cost| ("CPU time of an event", format!("{} µs", number::plain(cost)))),
        );
        facts.extend(found.ceiling.as_ref().map(|ceiling| {
            let by = match ceiling.limited_by {
                Limit::Client => "limited by the client",
                Limit::Engine => "limited by the engine: the client can do more",
                Limit::Machine => "limited by other programs",
            };
            ("Most events a second", format!("{}, {by}", number::count(ceiling.events_per_second as u64)))
        }));
        let cpu = found.host.cpu.as_deref().map(|cpu| format!(" on {}", text(cpu))).unwrap_or_default();
        let when = found.created_at.as_deref().map(|when| format!(" at {}", text(when))).unwrap_or_default();
        CalibrationView {
            passed: found.passed(),
            about: format!(
                "Made by {} {}{when}{cpu}: {} of {} tok/s, for {} s, read by {}.",
                text(&found.tool.name),
                text(&found.tool.version),
                counted(u64::from(found.streams), "stream"),
                number::plain(found.rate),
                number::seconds(found.duration_seconds),
                counted(u64::from(found.load_threads), "thread")
            ),
            facts,
            checks: found
                .checks
                .iter()
                .map(|check| (check.passed, text(&check.name), text(&check.found)))
                .collect(),
        }
    }
}

impl Evidence {
    /// Collects what a run has.
    pub(crate) fn of(run: &Run) -> Evidence {
        let text = |text: &str| shorten(&clean(text), VALUE);
        let traces: Vec<[String; 5]> = run
            .cells
            .iter()
            .flat_map(|cell| cell.traces().map(move |trace| (cell, trace)))
            .map(|(cell, trace)| {
                [
                    cell.name(),
                    cell_label(cell),
                    text(&trace.file),
                    number::count(trace.bytes),
                    text(&trace.sha256),
                ]
            })
            .collect();
        Evidence {
            schema: text(&run.schema),
            facts: run
                .evidence
                .iter()
                .map(|fact| [text(&fact.field), text(&fact.value), text(&fact.source)])
                .collect(),
            no_traces: match &run.imported {
                _ if !traces.is_empty() => "",
                Some(_) => {
                    "The figures are as another program told them: the record has no traces to compute them from again."
                }
                None => "No cell of this record was measured, so there are no traces.",
            },
            series: run
                .telemetry
                .as_ref()
                .map(|file| [text(&file.file), number::count(file.bytes), text(&file.sha256)]),
            calibration: run.calibration.as_ref().map(CalibrationView::of),
            traces,
            counters: run
                .cells
                .iter()
                .filter(|cell| cell.phase == Phase::Decode)
                .filter_map(|cell| {
                    let (server, client) = (cell.tokens.server?, cell.tokens.client?);
                    let difference = (client > 0)
                        .then(|| 100.0 * (server as f64 - client as f64) / client as f64)
                        .map_or_else(|| number::NONE.to_owned(), |percent| number::signed(percent, 2));
                    Some([
                        cell.name(),
                        cell_label(cell),
                        number::count(server),
                        number::count(client),
                        difference,
                    ])
                })
                .collect(),
        }
    }
}
