//! What was asked and what was found, in the words of the plan and of the record.

use tokometer_plan::{Limits, Plan, Request};
use tokometer_record::{AtEnd, Endpoint, Order, Prompts, Run, RunState, Settings, Tool};
use tokometer_target::Target;
use tokometer_wire::clock::Clock;
use tokometer_wire::{self as wire, Expect};

use super::Session;
use crate::args::matrix::{AtEndArg, EndpointArg, MatrixArgs, OrderArg, PromptsArg};

/// Seconds of a window where the user names none.
pub(super) const DURATION: f64 = 30.0;

pub(super) fn request(args: &MatrixArgs) -> Request {
    Request {
        contexts: args.contexts.as_ref().map(|list| list.0.clone()),
        concurrency: args.concurrency.as_ref().map(|list| list.0.clone()),
        prefill_contexts: args.prefill_contexts.as_ref().map(|list| list.0.clone()),
        prefill_repeats: args.prefill_repeats,
        duration_seconds: args.duration.unwrap_or(DURATION),
        max_output_tokens: args.max_output,
        prompts: prompts(args),
        cold: args.cold,
        at_end: at_end(args),
        repeats: args.repeats,
        order: order(args),
        seed: args.seed,
    }
}

pub(super) fn limits(target: &Target, args: &MatrixArgs) -> Limits {
    Limits {
        max_model_length: target.model.max_length,
        kv_tokens: args.kv_tokens.or(target.capacity.kv_tokens),
        concurrent_requests: target.capacity.concurrent_requests,
        kv_blocks: if args.kv_tokens.is_some() { None } else { target.kv_blocks.map(kv_blocks) },
    }
}

fn kv_blocks(told: tokometer_target::KvBlocks) -> tokometer_plan::KvBlocks {
    tokometer_plan::KvBlocks {
        blocks: told.blocks,
        block_tokens: told.block_tokens,
        fixed_per_request: told.fixed_per_request,
    }
}

pub(super) fn wire_endpoint(args: &MatrixArgs) -> wire::Endpoint {
    match args.endpoint {
        EndpointArg::Chat => wire::Endpoint::Chat,
        EndpointArg::Completions => wire::Endpoint::Completions,
    }
}

pub(super) fn expect(args: &MatrixArgs, target: &Target) -> Expect {
    Expect { endpoint: wire_endpoint(args), dialect: target.dialect }
}

pub(super) fn endpoint(args: &MatrixArgs) -> Endpoint {
    match args.endpoint {
        EndpointArg::Chat => Endpoint::Chat,
        EndpointArg::Completions => Endpoint::Completions,
    }
}

pub(super) fn at_end(args: &MatrixArgs) -> AtEnd {
    match args.at_end {
        AtEndArg::Cut => AtEnd::Cut,
        AtEndArg::Finish => AtEnd::Finish,
    }
}

fn order(args: &MatrixArgs) -> Order {
    match args.order {
        OrderArg::Standard => Order::Standard,
        OrderArg::Shuffled => Order::Shuffled,
    }
}

pub(super) fn prompts(args: &MatrixArgs) -> Prompts {
    match args.prompts {
        PromptsArg::Shared => Prompts::Shared,
        PromptsArg::Unique => Prompts::Unique,
    }
}

/// The record before anything is measured.
pub(super) fn record(session: &Session, target: &Target, plan: &Plan, threads: usize, clock: Clock) -> Run {
    let args = &session.matrix;
    let tool = Tool {
        name: "tokometer".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("TOKOMETER_COMMIT").map(str::to_owned),
    };
    let settings = Settings {
        contexts: plan.contexts.clone(),
        concurrency: plan.concurrency.clone(),
        prefill_contexts: plan.prefill_contexts.clone(),
        prefill_repeats: args.prefill_repeats,
        duration_seconds: plan.request.duration_seconds,
        adaptive: args.adaptive,
        repeats: args.repeats,
        order: order(args),
        max_output_tokens: args.max_output,
        decode_test: if args.adaptive { "adaptive_duration" } else { "fixed_duration" }.to_owned(),
        prefill_mode: "cold_alone".to_owned(),
        prompts: Some(prompts(args)),
        cold: Some(args.cold),
        endpoint: Some(endpoint(args)),
        respect_eos: Some(args.respect_eos),
        temperature: args.temperature,
        top_p: args.top_p,
        seed: Some(args.seed),
        request_json: args.request_json.as_ref().map(|object| serde_json::Value::Object(object.0.clone())),
        request_fields: None,
        at_end: Some(at_end(args)),
        timeout_seconds: Some(args.timeout),
        corpus: None,
        prompt_sizing: None,
        allow_busy: Some(session.target.allow_busy),
        load_threads: u32::try_from(threads).ok(),
    };
    let mut run = Run::new(uuid::Uuid::now_v7().to_string(), tool, settings);
    run.created_at = jiff::Timestamp::try_from(clock.wall_start())
        .ok()
        .map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    run.state = if session.output.dry_run { RunState::DryRun } else { RunState::Running };
    run.title.clone_from(&session.output.title);
    run.note.clone_from(&session.output.note);
    run.simulated = target.simulated;
    run.target = target.address();
    run.model = target.model.clone();
    run.engine = target.engine.clone();
    run.capacity = target.capacity.clone();
    if let Some(tokens) = args.kv_tokens {
        run.capacity.kv_tokens = Some(tokens);
        run.capacity.kv_source = Some("stated by the user (--kv-tokens)".to_owned());
    }
    run.evidence.clone_from(&target.evidence);
    run.unknown.clone_from(&target.unknown);
    if args.kv_tokens.is_some() {
        run.unknown.remove("capacity.kv_tokens");
    }
    run.remarks.clone_from(&plan.notes);
    run.cells = plan.cells();
    run
}
