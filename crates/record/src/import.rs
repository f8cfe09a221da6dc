//! Foreign result files as run documents.
//!
//! One file per foreign format. An import keeps what the file states and nothing more: numbers follow the other
//! tool's own definitions (`method`), there are no intervals, what it does not tell is null with a reason, and a
//! percentile that its samples do not bear is told as such a reason. In the format of published matrices everything
//! must be known; of a tool's own result file, which holds much more than a record has a place for, the rest is
//! left where it is.

mod aiperf;
mod common;
mod guidellm;
mod llm_inference_bench;
mod published;
mod vllm_bench;

use serde_json::Value;

pub use published::published;

use crate::{RecordError, Run};

/// A format: its name in records, what it is, how it is recognised and read.
struct Format {
    name: &'static str,
    what: &'static str,
    is: fn(&Value) -> bool,
    read: fn(&Value, &common::Source<'_>) -> Result<Run, String>,
}

/// Every format that is recognised by its content, most telling first.
const FORMATS: [Format; 4] = [
    Format {
        name: "llm_inference_bench",
        what: "the result file of llm-inference-bench (--output)",
        is: llm_inference_bench::is,
        read: llm_inference_bench::read,
    },
    Format { name: "guidellm", what: "the JSON output of guidellm", is: guidellm::is, read: guidellm::read },
    Format {
        name: "aiperf",
        what: "profile_export_aiperf.json of AIPerf",
        is: aiperf::is,
        read: aiperf::read,
    },
    Format {
        name: "vllm_bench_serve",
        what: "the result file of vllm bench serve (--save-result)",
        is: vllm_bench::is,
        read: vllm_bench::read,
    },
];

/// Reads a result file of any known format, which it finds out by itself. `file` is the name to remember.
///
/// The run's id is made from the text, so the same file gives the same record.
pub fn read(text: &str, file: &str) -> Result<Run, RecordError> {
    let foreign = |why: String| RecordError::Foreign { file: file.to_owned(), why };
    let document: Value = serde_json::from_str(text).map_err(|error| {
        foreign(format!("not a JSON document ({error}); what can be imported: {}", list_of_formats()))
    })?;
    if is_published(&document) {
        return published(text, file);
    }
    let Some(format) = FORMATS.iter().find(|format| (format.is)(&document)) else {
        return Err(foreign(format!("no known result file; what can be imported: {}", list_of_formats())));
    };
    let source = common::Source { text, file, format: format.name };
    (format.read)(&document, &source).map_err(|why| foreign(format!("as {}: {why}", format.what)))
}

/// True for a document that [`read`] takes for one of its formats.
pub(crate) fn knows(document: &Value) -> bool {
    is_published(document) || FORMATS.iter().any(|format| (format.is)(document))
}

fn is_published(document: &Value) -> bool {
    document.get("measurements").is_some()
}

fn list_of_formats() -> String {
    let mut list: Vec<&str> = FORMATS.iter().map(|format| format.what).collect();
    list.push("a published matrix (prefill and sustained_decode rows in `measurements`)");
    list.join(", ")
}
