use std::collections::BTreeSet;

use serde_json::Value;
use tokometer_plan::{Limits, PlanError, Request, Step, WarmUp, build};
use tokometer_record::{CONTEXT_K, KvBlocks, Order, Phase, Prompts, ReasonRule, Status, published};

const K: u64 = CONTEXT_K;

fn published_limits(kv_tokens: u64) -> Limits {
    Limits { max_model_length: Some(262_144), kv_tokens: Some(kv_tokens), ..Limits::default() }
}

/// Rows of a published matrix as (context, concurrency), of one phase, that `keep` accepts.
fn published_rows(json: &str, phase: &str, keep: impl Fn(&str) -> bool) -> BTreeSet<(u64, u64)> {
    let matrix: Value = serde_json::from_str(json).unwrap();
    let rows = matrix["measurements"].as_array().unwrap();
    rows.iter()
        .filter(|row| row["phase"] == phase && keep(row["status"].as_str().unwrap()))
        .map(|row| (row["context_tokens"].as_u64().unwrap(), row["concurrency"].as_u64().unwrap()))
        .collect()
}

#[test]
fn the_default_plan_is_that_of_the_published_matrices() {
    for (json, kv_tokens) in [(published::H200_X4, 3_145_728), (published::RTX_PRO_6000_X4, 1_048_576)] {
        let plan = build(&Request::default(), &published_limits(kv_tokens)).unwrap();
        let ours = |phase: Phase, keep: &dyn Fn(Status) -> bool| -> BTreeSet<(u64, u64)> {
            plan.cells()
                .iter()
                .filter(|cell| cell.phase == phase && keep(cell.status))
                .map(|cell| (cell.context_nominal, u64::from(cell.concurrency)))
                .collect()
        };
        assert_eq!(ours(Phase::Prefill, &|_| true), published_rows(json, "prefill", |_| true));
        assert_eq!(ours(Phase::Decode, &|_| true), published_rows(json, "sustained_decode", |_| true));
        assert_eq!(
            ours(Phase::Decode, &|status| status == Status::OverCapacity),
            published_rows(json, "sustained_decode", |status| status == "over_capacity")
        );
        assert_eq!(ours(Phase::Decode, &|_| true).len(), 48);
        assert!(plan.cells().iter().all(|cell| (cell.reason.is_some()) == (cell.status != Status::Planned)));
        assert!(plan.notes.is_empty());
    }
}

#[test]
fn the_prefill_row_ends_at_256k_with_a_shortened_prompt() {
    let plan = build(&Request::default(), &published_limits(3_145_728)).unwrap();
    assert_eq!(plan.prefill_contexts, [8 * K, 16 * K, 32 * K, 64 * K, 128 * K, 251 * K, 256 * K]);
    assert_eq!(plan.steps[0], Step::Prefill { context: 256 * K, prompt_tokens: 262_080 });
    assert!(plan.steps.contains(&Step::Prefill { context: 251 * K, prompt_tokens: 251 * K }));
}

#[test]
fn an_over_capacity_row_keeps_needed_and_available() {
    let plan = build(&Request::default(), &published_limits(1_048_576)).unwrap();
    let row = plan
        .not_run
        .iter()
        .find(|cell| cell.context_nominal == 251 * K && cell.concurrency == 8)
        .and_then(|cell| cell.reason.as_ref())
        .unwrap();
    assert_eq!(row.rule, ReasonRule::KvTokens);
    assert_eq!((row.needed, row.available), (Some(8 * (251 * K + 4096)), Some(1_048_576)));
}

#[test]
fn steps_follow_the_order_of_the_method() {
    let request = Request {
        contexts: Some(vec![8 * K, 16 * K]),
        concurrency: Some(vec![1, 2, 4]),
        prefill_contexts: Some(vec![8 * K, 16 * K, 32 * K]),
        ..Request::default()
    };
    let plan = build(&request, &Limits::default()).unwrap();
    let prefill = |context| Step::Prefill { context, prompt_tokens: context };
    let cell = |context, concurrency| Step::Cell { context, concurrency };
    assert_eq!(
        plan.steps,
        [
            prefill(32 * K),
            prefill(8 * K),
            cell(8 * K, 1),
            prefill(16 * K),
            cell(16 * K, 1),
            cell(8 * K, 2),
            cell(8 * K, 4),
            cell(16 * K, 2),
            cell(16 * K, 4),
        ]
    );
    assert_eq!(plan.warm_up(), Some(WarmUp { prefill_tokens: 8 * K, decode_context: Some(16 * K) }));
}

#[test]
fn a_context_without_a_cell_to_run_is_only_prefilled_and_comes_first() {
    let request =
        Request { contexts: Some(vec![8 * K, 16 * K]), concurrency: Some(vec![4, 8]), ..Request::default() };
    let limits = Limits { kv_tokens: Some(8 * 12 * K), ..Limits::default() };
    let plan = build(&request, &limits).unwrap();
    let prefill = |context| Step::Prefill { context, prompt_tokens: context };
    let cell = |context, concurrency| Step::Cell { context, concurrency };
    assert_eq!(
        plan.steps,
        [prefill(8 * K), cell(8 * K, 4), prefill(16 * K), cell(16 * K, 4), cell(8 * K, 8)]
    );

    let limits = Limits { kv_tokens: Some(4 * 12 * K), ..Limits::default() };
    let plan = build(&request, &limits).unwrap();
    assert_eq!(plan.steps, [prefill(16 * K), prefill(8 * K), cell(8 * K, 4)]);
    assert_eq!(plan.warm_up().unwrap().decode_context, Some(8 * K));
}

#[test]
fn default_contexts_follow_the_models_length() {
    let contexts = |max: u64, max_output_tokens| {
        let limits = Limits { max_model_length: Some(max), ..Limits::default() };
        build(&Request { max_output_tokens, ..Request::default() }, &limits)
            .map(|plan| (plan.contexts, plan.prefill_contexts))
    };
    let (decode, prefill) = contexts(131_072, 4096).unwrap();
    assert_eq!(decode, [8 * K, 16 * K, 32 * K, 64 * K, 123 * K]);
    assert_eq!(prefill, [8 * K, 16 * K, 32 * K, 64 * K, 123 * K, 128 * K]);

    // 32K is both the largest that fits and a default.
    let (decode, prefill) = contexts(37 * K, 4096).unwrap();
    assert_eq!((decode, prefill.last()), (vec![8 * K, 16 * K, 32 * K], Some(&(37 * K))));

    // Room beyond 256K is not used.
    let (decode, prefill) = contexts(1_048_576, 4096).unwrap();
    assert_eq!((decode.last(), prefill.last()), (Some(&(256 * K)), Some(&(256 * K))));
    assert_eq!(prefill.len(), 6);

    // Less than 8K of room: only the largest.
    assert_eq!(contexts(8 * K, 1024).unwrap(), (vec![6 * K], vec![6 * K, 8 * K]));
    assert_eq!(contexts(12 * K, 4096).unwrap().0, [7 * K]);
    assert_eq!(
        contexts(4096, 4096),
        Err(PlanError::NoRoom { max_model_length: 4096, max_output_tokens: 4096 })
    );
}

#[test]
fn an_unknown_length_means_up_to_32k_and_a_note() {
    let plan = build(&Request::default(), &Limits::default()).unwrap();
    assert_eq!(plan.contexts, [8 * K, 16 * K, 32 * K]);
    assert_eq!(plan.prefill_contexts, plan.contexts);
    assert!(plan.notes.iter().any(|note| note.contains("32K")), "{:?}", plan.notes);
    assert!(plan.notes.iter().any(|note| note.contains("--kv-tokens")), "{:?}", plan.notes);
}

#[test]
fn a_named_context_that_does_not_fit_is_over_limit() {
    let request = Request {
        contexts: Some(vec![8 * K, 16 * K]),
        concurrency: Some(vec![1]),
        prefill_contexts: Some(vec![16 * K, 17 * K]),
        ..Request::default()
    };
    let limits = Limits { max_model_length: Some(16 * K), ..Limits::default() };
    let plan = build(&request, &limits).unwrap();
    let refused: Vec<_> = plan.not_run.iter().map(|cell| (cell.phase, cell.context_nominal)).collect();
    assert_eq!(refused, [(Phase::Prefill, 17 * K), (Phase::Decode, 16 * K)]);
    assert!(plan.not_run.iter().all(|cell| cell.status == Status::OverLimit));
    let reason = plan.not_run[1].reason.as_ref().unwrap();
    assert_eq!(
        (reason.rule, reason.needed, reason.available),
        (ReasonRule::ModelLength, Some(20 * K), Some(16 * K))
    );
    assert_eq!(plan.steps[0], Step::Prefill { context: 16 * K, prompt_tokens: 16 * K - 64 });
}

#[test]
fn the_concurrent_requests_of_the_server_limit_cells() {
    let request = Request { contexts: Some(vec![8 * K]), ..Request::default() };
    let limits = Limits { concurrent_requests: Some(8), ..Limits::default() };
    let plan = build(&request, &limits).unwrap();
    let refused: Vec<_> = plan.not_run.iter().map(|cell| cell.concurrency).collect();
    assert_eq!(refused, [16, 32, 64, 128]);
    let reason = plan.not_run[0].reason.as_ref().unwrap();
    assert_eq!(reason.rule, ReasonRule::ConcurrentRequests);
    assert_eq!((reason.needed, reason.available), (Some(16), Some(8)));
}

#[test]
fn prompts_of_their_own_are_checked_by_blocks() {
    // 746 blocks of 1,600 tokens, 17.5 of them fixed per request: 8K + 4K needs 8 + 17.5.
    let limits = Limits {
        kv_tokens: Some(1_077_542),
        kv_blocks: Some(KvBlocks { blocks: 746, block_tokens: 1600, fixed_per_request: 17.5 }),
        ..Limits::default()
    };
    let shared = Request {
        contexts: Some(vec![8 * K]),
        concurrency: Some(vec![29, 30, 87, 88]),
        ..Request::default()
    };
    let unique = Request { prompts: Prompts::Unique, ..shared.clone() };
    let refused = |request: &Request| -> Vec<u32> {
        build(request, &limits).unwrap().not_run.iter().map(|cell| cell.concurrency).collect()
    };
    assert_eq!(refused(&shared), [88]);
    assert_eq!(refused(&unique), [30, 87, 88]);
}

#[test]
fn a_prompt_above_the_kv_cache_is_not_prefilled() {
    let request =
        Request { contexts: Some(vec![]), prefill_contexts: Some(vec![8 * K, 64 * K]), ..Request::default() };
    let plan = build(&request, &Limits { kv_tokens: Some(32 * K), ..Limits::default() }).unwrap();
    assert_eq!(plan.steps, [Step::Prefill { context: 8 * K, prompt_tokens: 8 * K }]);
    assert_eq!(plan.not_run[0].status, Status::OverCapacity);
    assert_eq!(plan.warm_up(), Some(WarmUp { prefill_tokens: 8 * K, decode_context: None }));
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let refused = |request: Request| build(&request, &Limits::default()).unwrap_err().to_string();
    assert!(refused(Request { duration_seconds: 0.0, ..Request::default() }).contains("window"));
    assert!(refused(Request { duration_seconds: f64::NAN, ..Request::default() }).contains("window"));
    assert!(refused(Request { max_output_tokens: 0, ..Request::default() }).contains("output"));
    assert!(refused(Request { prefill_repeats: 0, ..Request::default() }).contains("repeats"));
    assert!(refused(Request { cold: true, ..Request::default() }).contains("--prompts unique"));
    assert!(refused(Request { contexts: Some(vec![0]), ..Request::default() }).contains("at least 1"));
    let nothing = Request { contexts: Some(vec![]), prefill_contexts: Some(vec![]), ..Request::default() };
    assert_eq!(build(&nothing, &Limits::default()), Err(PlanError::Empty));
}

#[test]
fn a_shuffled_order_has_the_same_steps_and_keeps_prefill_before_its_cells() {
    let standard = Request {
        contexts: Some(vec![8 * K, 16 * K, 32 * K]),
        prefill_contexts: Some(vec![8 * K, 16 * K, 32 * K, 64 * K]),
        ..Request::default()
    };
    let shuffled = Request { order: Order::Shuffled, seed: 7, repeats: 3, ..standard.clone() };
    let limits = Limits::default();
    let plain = build(&standard, &limits).unwrap();
    let plan = build(&shuffled, &limits).unwrap();
    assert_eq!(plan.cells(), plain.cells(), "rows stay in the order of the matrix");
    let sorted = |steps: &[Step]| {
        let mut names: Vec<String> = steps.iter().map(|step| format!("{step:?}")).collect();
        names.sort();
        names
    };
    let rounds: Vec<Vec<Step>> = (0..3).map(|round| plan.round(round)).collect();
    assert_eq!(rounds[0], plan.steps);
    for steps in &rounds {
        assert_eq!(sorted(steps), sorted(&plain.steps));
        assert_ne!(steps, &plain.steps);
        assert_eq!(steps[0], Step::Prefill { context: 64 * K, prompt_tokens: 64 * K }, "no cell follows it");
        for (at, step) in steps.iter().enumerate().skip(1) {
            let Step::Prefill { context, .. } = step else { continue };
            let first =
                |step: &Step| matches!(step, Step::Cell { context: decoded, .. } if decoded == context);
            assert_eq!(steps.iter().position(first), Some(at + 1), "{step:?}");
        }
    }
    assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2], "each round has its own order");
    // By the seed alone.
    assert_eq!(build(&shuffled, &limits).unwrap().round(2), rounds[2]);
    assert_ne!(build(&Request { seed: 8, ..shuffled.clone() }, &limits).unwrap().steps, plan.steps);
    // The standard order is the same in every round.
    assert_eq!(plain.round(5), plain.steps);
}
