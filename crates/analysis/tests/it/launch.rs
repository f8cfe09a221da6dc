//! Launch commands and the settings that took effect.

use tokometer_analysis::effective_settings;
use tokometer_record::comparison::Origin;
use tokometer_record::{Run, Tool};

use crate::build::settings;

fn run(engine: &str, command: Option<&str>) -> Run {
    let mut run = Run::new("a".to_owned(), Tool::default(), settings());
    run.engine.name = Some(engine.to_owned());
    run.launch_command = command.map(str::to_owned);
    run
}

fn setting(run: &Run, key: &str) -> (Option<String>, Origin) {
    let settings = effective_settings(run);
    let found = settings.iter().find(|setting| setting.key == key).unwrap_or_else(|| panic!("{key}"));
    (found.value.effective.clone(), found.value.origin)
}

fn is(run: &Run, key: &str, value: &str, origin: Origin) {
    assert_eq!(setting(run, key), (Some(value.to_owned()), origin), "{key}");
}

#[test]
fn vllm() {
    let mut run = run(
        "vllm",
        Some(
            "VLLM_ATTENTION_BACKEND=FLASHINFER \"$HOME/bin/vllm\" serve m -tp=4 --enable-expert-parallel \
             --no-enable-prefix-caching --enforce-eager --kv_cache_dtype fp8 --max-num-seqs 64 --dtype half \
             --speculative-config '{\"num_speculative_tokens\": 3, \"method\": \"eagle3\", \"model\": \"d/e\"}'",
        ),
    );
    for (key, value) in [
        ("tensor_parallel", "4"),
        ("expert_parallel", "on"),
        ("prefix_caching", "off"),
        ("cuda_graphs", "off"),
        ("kv_dtype", "fp8"),
        ("max_running_requests", "64"),
        ("dtype", "float16"),
        ("attention_backend", "FLASHINFER"),
        ("speculative", "eagle3, draft d/e, 3 tokens"),
    ] {
        is(&run, key, value, Origin::Stated);
    }
    is(&run, "pipeline_parallel", "1", Origin::Default);
    is(&run, "chunked_prefill", "on", Origin::Default);
    run.engine.parallelism = Some("tp4 dp2 ep".to_owned());
    is(&run, "data_parallel", "2", Origin::Record);
    run.launch_command = None;
    is(&run, "tensor_parallel", "4", Origin::Record);
    is(&run, "expert_parallel", "on", Origin::Record);
    assert_eq!(setting(&run, "cuda_graphs"), (None, Origin::Unknown), "nobody knows what was not given");
}

#[test]
fn what_the_server_tells_stands_for_a_wish() {
    let mut run =
        run("vllm", Some("vllm serve m --dtype auto --max-model-len auto --no-enable-expert-parallel"));
    is(&run, "dtype", "auto", Origin::Stated);
    run.model.quantization = Some("BF16".to_owned());
    is(&run, "dtype", "bfloat16", Origin::Record);
    run.model.max_length = Some(40_960);
    is(&run, "max_model_length", "40960", Origin::Record);
    is(&run, "expert_parallel", "off", Origin::Stated);
}

#[test]
fn sglang() {
    let run = run(
        "sglang",
        Some(
            "python3 -m sglang.launch_server --model-path m --tp 2 --ep-size 2 --disable-radix-cache \
             --chunked-prefill-size -1 --speculative-algorithm EAGLE --speculative-num-steps 3 \
             --speculative-num-draft-tokens 4 --mem-fraction-static 0.8 --disable-cuda-graph",
        ),
    );
    for (key, value) in [
        ("tensor_parallel", "2"),
        ("expert_parallel", "on"),
        ("prefix_caching", "off"),
        ("chunked_prefill", "off"),
        ("cuda_graphs", "off"),
        ("memory_share", "0.8"),
        ("speculative", "EAGLE, 3 steps, 4 draft tokens"),
    ] {
        is(&run, key, value, Origin::Stated);
    }
    is(&run, "async_scheduling", "on", Origin::Default);
    is(&run, "data_parallel", "1", Origin::Default);
}

#[test]
fn llama_cpp() {
    let run = run(
        "llama.cpp",
        Some("llama-server -m m.gguf -ngl 99 -c 32768 -np 4 -fa on -ctk q8_0 -ub 1024 -ncmoe 12 -nocb -t 8"),
    );
    for (key, value) in [
        ("gpu_layers", "99"),
        ("max_model_length", "32768"),
        ("max_running_requests", "4"),
        ("attention_backend", "on"),
        ("kv_dtype", "q8_0 keys, f16 values"),
        ("micro_batch", "1024"),
        ("cpu_experts", "of the first 12 layers"),
        ("continuous_batching", "off"),
        ("threads", "8"),
    ] {
        is(&run, key, value, Origin::Stated);
    }
    is(&run, "batch", "2048", Origin::Default);
    is(&run, "speculative", "off", Origin::Default);
}

#[test]
fn the_engine_is_known_by_its_command_too() {
    let mut run = run("", Some("nohup /opt/bin/llama-server -ngl 10"));
    run.engine.name = None;
    is(&run, "gpu_layers", "10", Origin::Stated);
    run.launch_command = Some("my-engine --fast".to_owned());
    assert!(effective_settings(&run).is_empty());
}
