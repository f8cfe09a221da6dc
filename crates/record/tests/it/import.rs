//! Published matrices become records, and nothing of them is lost.

use serde_json::Value;
use tokometer_record::{Cell, Phase, ReasonRule, Run, RunState, Status, import, published};

const FILES: [(&str, &str); 2] =
    [("h200-x4.json", published::H200_X4), ("rtx-pro-6000-x4.json", published::RTX_PRO_6000_X4)];

fn imported(file: &str, text: &str) -> (Run, Value) {
    (import::published(text, file).unwrap(), serde_json::from_str(text).unwrap())
}

fn cell<'a>(run: &'a Run, row: &Value) -> &'a Cell {
    let phase = if row["phase"] == "prefill" { Phase::Prefill } else { Phase::Decode };
    run.cells
        .iter()
        .find(|cell| {
            cell.phase == phase
                && Some(cell.context_nominal) == row["context_tokens"].as_u64()
                && Some(u64::from(cell.concurrency)) == row["concurrency"].as_u64()
        })
        .unwrap()
}

#[test]
fn every_value_of_both_files_is_kept() {
    for (file, text) in FILES {
        let (run, source) = imported(file, text);
        let rows = source["measurements"].as_array().unwrap();
        assert_eq!((rows.len(), run.cells.len()), (55, 55));
        for row in rows {
            let cell = cell(&run, row);
            assert_eq!(cell.status.code(), row["status"].as_str().unwrap());
            let total = cell.throughput.as_ref().map(|rates| rates.total);
            let p50 =
                |latency: &Option<tokometer_record::Distribution>| latency.as_ref().and_then(|all| all.p50);
            let whole = |count: Option<u64>| count.map(|count| count as f64);
            let kept = [
                ("prompt_tok_per_s", cell.prefill_rate),
                ("total_tok_per_s", total),
                ("ttft_ms", p50(&cell.ttft_ms)),
                ("per_request_tok_per_s", p50(&cell.per_request_rate)),
                ("inter_token_ms", p50(&cell.time_between_tokens_ms)),
                ("average_active_requests", cell.average_active_requests),
                ("completed_requests", whole(cell.requests.ended)),
                ("output_tokens", whole(cell.tokens.out)),
                ("measured_s", cell.window.as_ref().map(|window| window.seconds)),
            ];
            for (name, value) in kept {
                assert_eq!(value, row[name].as_f64(), "{name} of {}", cell.name());
            }
        }
    }
}

#[test]
fn set_up_and_settings_are_mapped() {
    let (run, source) = imported(FILES[0].0, FILES[0].1);
    assert_eq!(run.state, RunState::Finished);
    assert_eq!(run.imported.as_ref().unwrap().file, "h200-x4.json");
    assert_eq!((run.tool.name.as_str(), run.tool.version.as_str()), ("llm-inference-bench", "0.6.2"));
    assert_eq!((run.method.name.as_str(), run.method.version.as_str()), ("llm-inference-bench", "0.6.2"));
    assert_eq!(run.model.id.as_deref(), Some("Qwen/Qwen3.8-Flash-Next"));
    assert_eq!(run.model.served_name.as_deref(), Some("qwen"));
    assert_eq!(run.model.quantization.as_deref(), Some("BF16"));
    assert_eq!(run.model.max_length, Some(262_144));
    assert_eq!(run.engine.version.as_deref(), Some("0.1.1.dev5+ge77daef89"));
    let accelerator = &run.hardware.accelerators[0];
    assert_eq!(
        (accelerator.name.as_str(), accelerator.count, accelerator.memory_gb),
        ("H200 SXM", 4, Some(141.0))
    );
    assert_eq!(run.launch_command.as_deref(), source["launch_command"].as_str());
    let k = |labels: &[u64]| labels.iter().map(|label| label * 1024).collect::<Vec<_>>();
    assert_eq!(run.settings.contexts, k(&[8, 16, 32, 64, 128, 251]));
    assert_eq!(run.settings.prefill_contexts, k(&[8, 16, 32, 64, 128, 251, 256]));
    assert_eq!(run.settings.concurrency, [1, 2, 4, 8, 16, 32, 64, 128]);
    assert_eq!((run.settings.duration_seconds, run.settings.max_output_tokens), (30.0, 4096));
    assert_eq!(run.settings.prefill_mode, "during_decode_warmup");
    for field in ["created_at", "capacity.kv_tokens", "settings.prompts"] {
        assert!(run.unknown[field].contains("llm-inference-bench 0.6.2"), "{field}");
    }
}

#[test]
fn rows_without_a_number_say_why() {
    let (run, _) = imported(FILES[0].0, FILES[0].1);
    let looped: Vec<_> = run.cells.iter().filter(|cell| cell.status == Status::Looped).collect();
    assert_eq!(looped.len(), 1);
    assert_eq!(looped[0].name(), "decode-32768-64");
    assert_eq!(run.cells.iter().filter(|cell| cell.status == Status::OverCapacity).count(), 10);
    for cell in &run.cells {
        match cell.status {
            Status::Valid => assert!(cell.reason.is_none()),
            _ => assert_eq!(cell.reason.as_ref().unwrap().rule, ReasonRule::Stated),
        }
        assert_eq!(cell.context_actual, None);
        assert_eq!(cell.unknown.contains_key("context_actual"), !cell.status.not_run_by_plan());
    }
    assert!(looped[0].unknown.contains_key("ttft_ms"));
}

#[test]
fn the_same_file_gives_the_same_id() {
    let (first, _) = imported("a.json", published::H200_X4);
    let (again, _) = imported("b.json", published::H200_X4);
    let (other, _) = imported("c.json", published::RTX_PRO_6000_X4);
    assert_eq!(first.id, again.id);
    assert_ne!(first.id, other.id);
    assert_eq!((first.id.len(), &first.id[14..15]), (36, "8"));
}

/// Changes the file, and gives the message that importing it then gives.
fn refused(change: impl Fn(&mut Value)) -> String {
    let mut document: Value = serde_json::from_str(published::H200_X4).unwrap();
    change(&mut document);
    let message = import::published(&document.to_string(), "odd.json").unwrap_err().to_string();
    assert!(message.starts_with("odd.json: "), "{message}");
    message
}

#[test]
fn what_is_not_understood_is_an_error() {
    type Change<'a> = &'a dyn Fn(&mut Value);
    let cases: [(&str, Change<'_>); 14] = [
        ("unknown field `power_w`", &|all| all["power_w"] = 1.into()),
        ("unknown field `power_w`", &|all| all["measurements"][9]["power_w"] = 1.into()),
        ("unknown field `total_tok_per_s`", &|all| all["measurements"][0]["total_tok_per_s"] = 1.into()),
        ("unknown variant `fine`", &|all| all["measurements"][9]["status"] = "fine".into()),
        ("unknown variant `burst`", &|all| all["measurements"][9]["phase"] = "burst".into()),
        ("missing field `hardware`", &|all| {
            all.as_object_mut().unwrap().remove("hardware");
        }),
        ("total_tok_per_s is missing", &|all| all["measurements"][9]["total_tok_per_s"] = Value::Null),
        ("total_tok_per_s is -1", &|all| all["measurements"][9]["total_tok_per_s"] = (-1.0).into()),
        ("ttft_ms is 0", &|all| all["measurements"][9]["ttft_ms"] = 0.into()),
        ("over_capacity (not run), but", &|all| all["measurements"][9]["status"] = "over_capacity".into()),
        ("is 0.5, which is no count", &|all| all["measurements"][9]["output_tokens"] = 0.5.into()),
        ("do not agree", &|all| all["measurements"][9]["context_tokens"] = 8000.into()),
        ("is there twice", &|all| all["measurements"][9] = all["measurements"][8].clone()),
        ("gpu_count is 0", &|all| all["hardware"]["gpu_count"] = 0.into()),
    ];
    for (expected, change) in cases {
        let message = refused(change);
        assert!(message.contains(expected), "{expected:?} is not in {message:?}");
    }
    assert!(refused(|all| all["measurements"][9]["status"] = "fine".into()).contains("measurement 10: "));
    assert!(refused(|all| all["measurements"] = Value::Array(Vec::new())).contains("no measurements"));
    let cut = &published::H200_X4[..1000];
    assert!(import::published(cut, "cut.json").unwrap_err().to_string().contains("whole and unchanged"));
}
