//! The arguments of a run, from its record.

use tokometer_plan::Limits;
use tokometer_record::{AtEnd, Endpoint, Order, Prompts, Run};

use crate::args::matrix::{AtEndArg, EndpointArg, MatrixArgs, OrderArg, PromptsArg};
use crate::args::values::{List, Object};
use crate::failure::Hinted;

/// Where a stated size of the KV cache comes from.
const STATED: &str = "stated by the user";

/// What was asked of the run. What a record does not hold comes from `given`: the file of a corpus, source addresses.
pub(super) fn matrix(run: &Run, given: &MatrixArgs) -> anyhow::Result<MatrixArgs> {
    let settings = &run.settings;
    if let (Some(corpus), None) = (&settings.corpus, &given.corpus) {
        return Err(Hinted::usage(
            format!("the run's prompts are built from a corpus of the user's: {corpus}"),
            "give the file again with --corpus",
        )
        .into());
    }
    let stated = run.capacity.kv_source.as_ref().is_some_and(|source| source.starts_with(STATED));
    Ok(MatrixArgs {
        contexts: Some(List(settings.contexts.clone())),
        concurrency: Some(List(settings.concurrency.clone())),
        duration: Some(settings.duration_seconds),
        adaptive: settings.adaptive,
        repeats: settings.repeats,
        order: match settings.order {
            Order::Standard => OrderArg::Standard,
            Order::Shuffled => OrderArg::Shuffled,
        },
        max_output: settings.max_output_tokens,
        prefill_contexts: Some(List(settings.prefill_contexts.clone())),
        prefill_repeats: settings.prefill_repeats,
        prompts: match settings.prompts {
            Some(Prompts::Unique) => PromptsArg::Unique,
            Some(Prompts::Shared) | None => PromptsArg::Shared,
        },
        cold: settings.cold.unwrap_or(false),
        kv_tokens: run.capacity.kv_tokens.filter(|_| stated),
        respect_eos: settings.respect_eos.unwrap_or(false),
        temperature: settings.temperature,
        top_p: settings.top_p,
        seed: settings.seed.unwrap_or(1),
        request_json: match &settings.request_json {
            Some(serde_json::Value::Object(fields)) => Some(Object(fields.clone())),
            _ => None,
        },
        endpoint: match settings.endpoint {
            Some(Endpoint::Completions) => EndpointArg::Completions,
            Some(Endpoint::Chat) | None => EndpointArg::Chat,
        },
        timeout: settings.timeout_seconds.unwrap_or(given.timeout),
        corpus: given.corpus.clone().filter(|_| settings.corpus.is_some()),
        at_end: match settings.at_end {
            Some(AtEnd::Finish) => AtEndArg::Finish,
            Some(AtEnd::Cut) | None => AtEndArg::Cut,
        },
        source_address: given.source_address.clone(),
        load_threads: given
            .load_threads
            .or_else(|| settings.load_threads.and_then(|threads| u16::try_from(threads).ok())),
    })
}

/// What the server could hold when the run was planned.
pub(super) fn limits(run: &Run) -> Limits {
    Limits {
        max_model_length: run.model.max_length,
        kv_tokens: run.capacity.kv_tokens,
        concurrent_requests: run.capacity.concurrent_requests,
        kv_blocks: run.capacity.kv_blocks,
    }
}
