//! Plans: which rows there are, which are not run, and that a plan alone sends nothing.

use std::collections::BTreeSet;

use tokometer_record::{Phase, Run, RunState, Status, import, published};

use crate::scripted::Scripted;
use crate::support::call;

/// The decode cells of a status.
fn cells(run: &Run, status: Status) -> BTreeSet<(u64, u32)> {
    let decode = run.cells.iter().filter(|cell| cell.phase == Phase::Decode && cell.status == status);
    decode.map(|cell| (cell.context_nominal, cell.concurrency)).collect()
}

#[test]
fn the_demo_leaves_out_what_the_published_pages_leave_out() {
    for (profile, matrix) in
        [("h200-x4", published::H200_X4), ("rtx-pro-6000-x4", published::RTX_PRO_6000_X4)]
    {
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().to_string_lossy();
        let ended = call(["demo", "--dry-run", "--json", "--profile", profile, "--out", &folder]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let planned: Run = serde_json::from_value(ended.json()).unwrap();
        let measured = import::published(matrix, profile).unwrap();
        assert_eq!(planned.state, RunState::DryRun);
        let decode = planned.cells.iter().filter(|cell| cell.phase == Phase::Decode);
        assert_eq!(decode.count(), 48, "{profile}");
        let over = cells(&planned, Status::OverCapacity);
        assert!(!over.is_empty());
        assert_eq!(over, cells(&measured, Status::OverCapacity), "{profile}");
        assert_eq!(cells(&planned, Status::Planned).len(), 48 - over.len());
        for cell in planned.cells.iter().filter(|cell| cell.status == Status::OverCapacity) {
            let reason = cell.reason.as_ref().unwrap();
            assert!(reason.needed > reason.available, "{reason:?}");
        }
        for line in ["not run:", "38 cells", "about"].iter().filter(|_| profile == "h200-x4") {
            assert!(ended.stderr.contains(line), "{line:?}: {ended:?}");
        }
    }
}

/// vLLM with two data-parallel ranks and a model with recurrent layers, by hand after its labels.
fn two_ranks() -> Scripted {
    let label = |engine: u32| {
        format!(
            "vllm:cache_config_info{{block_size=\"784\",engine=\"{engine}\",kv_cache_max_concurrency=\"4.0\",\
             kv_cache_size_tokens=\"1048576\",num_gpu_blocks=\"2800\"}} 1.0\n"
        )
    };
    let metrics = label(0) + &label(1);
    Scripted::http(move |request| match request.line.as_str() {
        "GET /v1/models" => {
            let models = r#"{"data":[{"id":"m","owned_by":"vllm","max_model_len":262144}]}"#;
            (200, "application/json", models.to_owned())
        }
        "GET /metrics" => (200, "text/plain", metrics.clone()),
        _ => (404, "text/plain", String::new()),
    })
}

#[test]
fn ranks_and_blocks_are_told_with_their_source() {
    let server = two_ranks();
    let probe = call(["probe", &server.url(), "--no-requests"]);
    assert_eq!(probe.code, Some(0), "{probe:?}");
    for words in ["2097152 (kv_cache_size_tokens of vllm:cache_config_info", "rank 1", "2800 of 784 tokens"] {
        assert!(probe.stdout.contains(words), "{words}: {probe:?}");
    }
    for (prompts, needed, available) in [
        // 128 × (8192 + 4096) fit the tokens, and with 15 fixed blocks for each they don't fit the blocks.
        ("shared", None, None),
        ("unique", Some(128 * (16 + 15) * 784), Some(2800 * 784)),
    ] {
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().to_string_lossy();
        let matrix = ["--contexts", "8k", "--concurrency", "128", "--prompts", prompts];
        let place = ["--out", &folder, "--dry-run", "--json"];
        let ended = call(["run", &server.url()].into_iter().chain(matrix).chain(place));
        let run: Run = serde_json::from_value(ended.json()).unwrap();
        assert_eq!(run.capacity.kv_tokens_per_rank, [1_048_576; 2]);
        assert_eq!(run.capacity.kv_blocks.unwrap().fixed_per_request, 15.0);
        let reason = run.cells.iter().find(|cell| cell.phase == Phase::Decode).unwrap().reason.clone();
        let figures = reason.map(|reason| (reason.needed, reason.available)).unwrap_or_default();
        assert_eq!(figures, (needed, available), "{prompts}");
        // What the record says is enough to compute them again.
        let verified = call(["verify", &crate::support::only_run(out.path()).to_string_lossy()]);
        assert_eq!(verified.code, Some(0), "{verified:?}");
    }
}

#[test]
fn a_dry_run_sends_no_request_that_generates() {
    let server = Scripted::models(r#"{"data":[{"id":"m","max_model_len":40000}]}"#);
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_string_lossy();
    let ended = call([
        "run",
        &server.url(),
        "--dry-run",
        "--json",
        "--contexts",
        "8k,64k",
        "--concurrency",
        "1,2",
        "--out",
        &folder,
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let run: Run = serde_json::from_value(ended.json()).unwrap();
    assert_eq!(cells(&run, Status::Planned), BTreeSet::from([(8192, 1), (8192, 2)]));
    assert_eq!(cells(&run, Status::OverLimit), BTreeSet::from([(65_536, 1), (65_536, 2)]));
    let asked = server.asked();
    assert!(asked.iter().any(|request| request.line == "GET /v1/models"));
    assert!(!asked.iter().any(|request| request.line.ends_with("completions")), "{asked:?}");
}

#[test]
fn a_dry_run_sends_nothing_even_to_an_engine_that_names_itself_in_answers() {
    // vLLM tells its parallelism in the fingerprint of an answer only; a probe asks it for one token.
    let server = Scripted::models(r#"{"data":[{"id":"m","owned_by":"vllm","max_model_len":40000}]}"#);
    let generating = |server: &Scripted| {
        let asked = server.asked();
        let bodies = asked.into_iter().filter(|request| request.line.ends_with("completions"));
        bodies.map(|request| serde_json::from_str(&request.body).unwrap()).collect::<Vec<serde_json::Value>>()
    };
    let out = tempfile::tempdir().unwrap();
    let args = ["run", &server.url(), "--dry-run", "--quiet", "--out", &out.path().to_string_lossy()];
    assert_eq!(call(args).code, Some(0));
    assert!(generating(&server).is_empty());
    assert_eq!(call(["probe", &server.url(), "--no-requests"]).code, Some(0));
    assert!(generating(&server).is_empty());
    assert_eq!(call(["probe", &server.url()]).code, Some(0));
    assert_eq!(generating(&server)[0]["max_tokens"], 1);
}
