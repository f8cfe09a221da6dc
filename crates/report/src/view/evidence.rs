//! Evidence: where facts come from, which files the numbers rest on, and whose count of tokens says what.

use tokometer_record::{Phase, Run};

use crate::number;
use crate::words::{cell_label, clean, shorten};

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
    /// What is said where there is no trace.
    pub(crate) no_traces: &'static str,
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
