//! Flags of vLLM (`vllm serve`), as of version 0.33.

use serde_json::Value;
use tokometer_record::comparison::Severity;

use super::rules::{Flags, Read, Rule, dtype};

pub(super) fn is_started_by(program: &str, argument: &str) -> bool {
    (program == "vllm" && argument == "serve") || program.starts_with("vllm.entrypoints")
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        key: "tensor_parallel",
        name: "tensor parallelism",
        read: Read::Value(&["--tensor-parallel-size", "-tp"]),
        default: "1",
        severity: Severity::High,
        why: "how many accelerators share each layer",
    },
    Rule {
        key: "pipeline_parallel",
        name: "pipeline parallelism",
        read: Read::Value(&["--pipeline-parallel-size", "-pp"]),
        default: "1",
        severity: Severity::High,
        why: "how many accelerators the layers are dealt out to",
    },
    Rule {
        key: "data_parallel",
        name: "data parallelism",
        read: Read::Value(&["--data-parallel-size", "-dp"]),
        default: "1",
        severity: Severity::High,
        why: "how many copies of the model share the requests",
    },
    Rule {
        key: "expert_parallel",
        name: "expert parallelism",
        read: Read::Switch {
            on: &["--enable-expert-parallel", "-ep"],
            off: &["--no-enable-expert-parallel"],
        },
        default: "off",
        severity: Severity::High,
        why: "whole experts on each accelerator instead of a slice of each",
    },
    Rule {
        key: "speculative",
        name: "speculative decoding",
        read: Read::Many(
            &["--speculative-config", "-sc", "--speculative-model", "--num-speculative-tokens"],
            |flags| Some(speculative(flags)),
        ),
        default: "off",
        severity: Severity::High,
        why: "several tokens a step where the draft is right, so text moves the rate and not hardware alone",
    },
    Rule {
        key: "quantization",
        name: "quantization",
        read: Read::Value(&["--quantization", "-q"]),
        default: "as the checkpoint",
        severity: Severity::High,
        why: "bytes read for each token, and the model's answers",
    },
    Rule {
        key: "dtype",
        name: "dtype",
        read: Read::Many(&["--dtype"], |flag| flag("--dtype").map(|name| dtype(&name))),
        default: "auto",
        severity: Severity::Medium,
        why: "precision of weights and activations",
    },
    Rule {
        key: "kv_dtype",
        name: "KV cache dtype",
        read: Read::Value(&["--kv-cache-dtype"]),
        default: "auto",
        severity: Severity::High,
        why: "bytes read for each token of context, and how many fit",
    },
    Rule {
        key: "cpu_offload",
        name: "weights in host memory",
        read: Read::Value(&["--cpu-offload-gb"]),
        default: "0",
        severity: Severity::High,
        why: "weights are read over the bus",
    },
    Rule {
        key: "attention_backend",
        name: "attention backend",
        read: Read::Value(&["--attention-backend", "env VLLM_ATTENTION_BACKEND"]),
        default: "chosen by the engine",
        severity: Severity::Medium,
        why: "which kernels read the context",
    },
    Rule {
        key: "moe_backend",
        name: "MoE backend",
        read: Read::Value(&["--moe-backend"]),
        default: "auto",
        severity: Severity::Medium,
        why: "which kernels compute the experts",
    },
    Rule {
        key: "cuda_graphs",
        name: "CUDA graphs",
        read: Read::Switch { on: &["--no-enforce-eager"], off: &["--enforce-eager"] },
        default: "on",
        severity: Severity::High,
        why: "without graphs every step pays for its launches",
    },
    Rule {
        key: "compilation",
        name: "compilation",
        read: Read::Value(&["--compilation-config", "-cc", "-O"]),
        default: "the engine's",
        severity: Severity::Medium,
        why: "what is fused and captured",
    },
    Rule {
        key: "chunked_prefill",
        name: "chunked prefill",
        read: Read::Switch { on: &["--enable-chunked-prefill"], off: &["--no-enable-chunked-prefill"] },
        default: "on",
        severity: Severity::Medium,
        why: "whether prompts are read between decode steps",
    },
    Rule {
        key: "max_batched_tokens",
        name: "tokens per step",
        read: Read::Value(&["--max-num-batched-tokens"]),
        default: "by version and accelerator",
        severity: Severity::Medium,
        why: "size of a prefill chunk: prefill rate, and how long decode waits for it",
    },
    Rule {
        key: "prefix_caching",
        name: "prefix caching",
        read: Read::Switch { on: &["--enable-prefix-caching"], off: &["--no-enable-prefix-caching"] },
        default: "on",
        severity: Severity::Medium,
        why: "whether a prompt that was seen is read again: TTFT of the decode matrix",
    },
    Rule {
        key: "async_scheduling",
        name: "asynchronous scheduling",
        read: Read::Switch { on: &["--async-scheduling"], off: &["--no-async-scheduling"] },
        default: "by version",
        severity: Severity::Medium,
        why: "whether the next step is planned while one runs",
    },
    Rule {
        key: "max_running_requests",
        name: "requests at once",
        read: Read::Value(&["--max-num-seqs"]),
        default: "by version and accelerator",
        severity: Severity::Medium,
        why: "how many requests share a step; more wait",
    },
    Rule {
        key: "max_model_length",
        name: "longest prompt and output",
        read: Read::Value(&["--max-model-len"]),
        default: "the model's own",
        severity: Severity::Low,
        why: "which contexts fit",
    },
    Rule {
        key: "memory_share",
        name: "share of memory",
        read: Read::Value(&["--gpu-memory-utilization"]),
        default: "by version",
        severity: Severity::Low,
        why: "how many tokens fit, not how fast they are",
    },
    Rule {
        key: "block_size",
        name: "KV block size",
        read: Read::Value(&["--block-size"]),
        default: "by the attention backend",
        severity: Severity::Low,
        why: "granularity of the KV cache",
    },
];

/// `mtp, 1 token` from the JSON of `--speculative-config`; the flags of old versions likewise.
fn speculative(flag: &Flags<'_>) -> String {
    let Some(config) = flag("--speculative-config").or_else(|| flag("-sc")) else {
        let tokens = flag("--num-speculative-tokens");
        return words(None, flag("--speculative-model").as_deref(), tokens.as_deref());
    };
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(&config) else { return config };
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let tokens = fields.get("num_speculative_tokens").map(Value::to_string);
    let mut all = words(text("method"), text("model"), tokens.as_deref());
    // Whatever else is set may matter: shown as it is.
    for (name, value) in &fields {
        if !["method", "model", "num_speculative_tokens"].contains(&name.as_str()) {
            all.extend([", ", name, " ", &value.to_string()]);
        }
    }
    all
}

fn words(method: Option<&str>, model: Option<&str>, tokens: Option<&str>) -> String {
    let tokens = tokens.map(|count| format!("{count} {}", if count == "1" { "token" } else { "tokens" }));
    let model = model.map(|model| format!("draft {model}"));
    let parts: Vec<String> = method.map(str::to_owned).into_iter().chain(model).chain(tokens).collect();
    if parts.is_empty() { "on".to_owned() } else { parts.join(", ") }
}
