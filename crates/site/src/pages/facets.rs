//! What a list can be narrowed by, with counts that say what one would see.

use super::{links, words};
use crate::clock;
use crate::domain::{EvidenceLevel, FacetCount, Facets, Filters, Millis, RunQuery};

/// Values of a facet that are seen at once.
const SEEN: usize = 7;
const DAY: Millis = 86_400_000;
/// Spans that a list can be narrowed to, days.
pub(super) const SPANS: [Millis; 3] = [30, 90, 365];

/// A facet.
#[derive(Debug)]
pub(super) struct Facet {
    pub(super) name: &'static str,
    pub(super) values: Vec<Value>,
    /// Values that are seen when they are asked for.
    pub(super) more: Vec<Value>,
}

/// A value of a facet.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) count: String,
    pub(super) address: String,
    pub(super) selected: bool,
    /// True if choosing it would change nothing, or leave nothing.
    pub(super) idle: bool,
}

/// A filter that is in force, and the list without it.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) name: &'static str,
    pub(super) text: String,
    pub(super) address: String,
}

/// Times since when a list can be narrowed, to the day, so that they stay the same for one.
pub(super) fn since(now: Millis) -> [Millis; 3] {
    SPANS.map(|days| now / DAY * DAY - days * DAY)
}

/// Every facet of a list; `since` is how many rows are as young as each of the spans.
pub(super) fn of(query: &RunQuery, facets: &Facets, since: [(Millis, u64); 3]) -> Vec<Facet> {
    let plain = |text: &str| text.to_owned();
    let facet = |name, code: &str, counts: &[FacetCount], text: &dyn Fn(&str) -> String| {
        facet(name, code, counts, query, facets.total, text)
    };
    vec![
        facet("Model", "model", &facets.model, &plain),
        facet("Hardware", "hardware", &facets.hardware, &plain),
        facet("Accelerators", "accelerators", &facets.accelerators, &|text| format!("× {text}")),
        facet("Engine", "engine", &facets.engine, &plain),
        facet("Engine version", "engine_version", &facets.engine_version, &plain),
        facet("Precision", "quantization", &facets.quantization, &plain),
        facet("Speculative decoding", "speculative", &facets.speculative, &plain),
        facet("Context measured", "context", &facets.context, &words::context),
        facet("Evidence, at least", "evidence", &facets.evidence, &|text| {
            let level = EvidenceLevel::ALL.into_iter().find(|level| level.code() == text);
            level.map_or_else(|| text.to_owned(), |level| format!("{text} {}", level.words()))
        }),
        dates(query, facets.total, since),
    ]
    .into_iter()
    .filter(|facet| !facet.values.is_empty())
    .collect()
}

fn facet(
    name: &'static str,
    code: &str,
    counts: &[FacetCount],
    query: &RunQuery,
    total: u64,
    text: &dyn Fn(&str) -> String,
) -> Facet {
    let mut values: Vec<Value> = counts
        .iter()
        .map(|one| Value {
            text: text(&one.value),
            count: tokometer_report::number::count(one.count),
            address: links::list(&query.toggled(code, &one.value)),
            selected: one.selected,
            idle: !one.selected && (one.count == 0 || one.count == total && counts.len() == 1),
        })
        .collect();
    // What is chosen is always seen.
    let mut place = 0;
    let more = values
        .extract_if(.., |value| {
            place += 1;
            place > SEEN && !value.selected
        })
        .collect();
    Facet { name, values, more }
}

fn dates(query: &RunQuery, total: u64, since: [(Millis, u64); 3]) -> Facet {
    let values = since
        .into_iter()
        .zip(SPANS)
        .map(|((at, count), days)| {
            let selected = query.filters.since == Some(at);
            let filters = Filters { since: (!selected).then_some(at), ..query.filters.clone() };
            let text = if days == 365 { "last year".to_owned() } else { format!("last {days} days") };
            Value {
                text,
                count: tokometer_report::number::count(count),
                address: links::list(&RunQuery { filters, after: None, ..query.clone() }),
                selected,
                idle: !selected && (count == 0 || count == total && query.filters.since.is_none()),
            }
        })
        .collect();
    Facet { name: "Published", values, more: Vec::new() }
}

/// The filters that are in force.
pub(super) fn chosen(query: &RunQuery) -> Vec<Chosen> {
    let filters = &query.filters;
    let mut chosen = Vec::new();
    let mut add = |name, code: &str, value: &str, text: String| {
        chosen.push(Chosen { name, text, address: links::list(&query.toggled(code, value)) });
    };
    for (name, code, values) in [
        ("Model", "model", &filters.model),
        ("Hardware", "hardware", &filters.hardware),
        ("Engine", "engine", &filters.engine),
        ("Engine version", "engine_version", &filters.engine_version),
        ("Precision", "quantization", &filters.quantization),
        ("Speculative decoding", "speculative", &filters.speculative),
    ] {
        for value in values {
            add(name, code, value, value.clone());
        }
    }
    for count in &filters.accelerators {
        add("Accelerators", "accelerators", &count.to_string(), format!("× {count}"));
    }
    for context in &filters.context {
        add("Context", "context", &context.to_string(), words::context(&context.to_string()));
    }
    if let Some(level) = filters.evidence {
        add("Evidence, at least", "evidence", level.code(), level.code().to_owned());
    }
    let mut without = |name, text: String, filters: Filters| {
        let query = RunQuery { filters, after: None, ..query.clone() };
        chosen.push(Chosen { name, text, address: links::list(&query) });
    };
    if let Some(since) = filters.since {
        let text: String = clock::text(since).chars().take(10).collect();
        without("Published since", text, Filters { since: None, ..filters.clone() });
    }
    if let Some(text) = &filters.text {
        without("Text", text.clone(), Filters { text: None, ..filters.clone() });
    }
    if let Some(handle) = &filters.submitter {
        without("Submitter", handle.clone(), Filters { submitter: None, ..filters.clone() });
    }
    if filters.group.is_some() {
        without("Replicates", "of one set-up".to_owned(), Filters { group: None, ..filters.clone() });
    }
    if filters.series.is_some() {
        without("Series", "of one set-up".to_owned(), Filters { series: None, ..filters.clone() });
    }
    chosen
}
