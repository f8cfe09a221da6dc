//! Flags of SGLang (`sglang serve`, `python -m sglang.launch_server`).

use tokometer_record::comparison::Severity;

use super::rules::{Flags, Read, Rule, dtype};

pub(super) fn is_started_by(program: &str, argument: &str) -> bool {
    (program == "sglang" && argument == "serve") || program == "sglang.launch_server"
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        key: "tensor_parallel",
        name: "tensor parallelism",
        read: Read::Value(&["--tp-size", "--tp", "--tensor-parallel-size"]),
        default: "1",
        severity: Severity::High,
        why: "how many accelerators share each layer",
    },
    Rule {
        key: "pipeline_parallel",
        name: "pipeline parallelism",
        read: Read::Value(&["--pp-size", "--pipeline-parallel-size"]),
        default: "1",
        severity: Severity::High,
        why: "how many accelerators the layers are dealt out to",
    },
    Rule {
        key: "data_parallel",
        name: "data parallelism",
        read: Read::Value(&["--dp-size", "--dp", "--data-parallel-size"]),
        default: "1",
        severity: Severity::High,
        why: "how many copies of the model share the requests",
    },
    Rule {
        key: "dp_attention",
        name: "data-parallel attention",
        read: Read::Switch { on: &["--enable-dp-attention"], off: &[] },
        default: "off",
        severity: Severity::High,
        why: "attention by copies, experts shared",
    },
    Rule {
        key: "expert_parallel",
        name: "expert parallelism",
        read: Read::Many(&["--ep-size", "--ep", "--expert-parallel-size"], expert_parallel),
        default: "off",
        severity: Severity::High,
        why: "whole experts on each accelerator instead of a slice of each",
    },
    Rule {
        key: "speculative",
        name: "speculative decoding",
        read: Read::Many(
            &[
                "--speculative-algorithm",
                "--speculative-draft-model-path",
                "--speculative-num-steps",
                "--speculative-eagle-topk",
                "--speculative-num-draft-tokens",
            ],
            speculative,
        ),
        default: "off",
        severity: Severity::High,
        why: "several tokens a step where the draft is right, so text moves the rate and not hardware alone",
    },
    Rule {
        key: "quantization",
        name: "quantization",
        read: Read::Value(&["--quantization"]),
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
        read: Read::Value(&["--attention-backend"]),
        default: "chosen by the engine",
        severity: Severity::Medium,
        why: "which kernels read the context",
    },
    Rule {
        key: "moe_backend",
        name: "MoE backend",
        read: Read::Value(&["--moe-runner-backend"]),
        default: "auto",
        severity: Severity::Medium,
        why: "which kernels compute the experts",
    },
    Rule {
        key: "cuda_graphs",
        name: "CUDA graphs",
        read: Read::Switch { on: &[], off: &["--disable-cuda-graph"] },
        default: "on",
        severity: Severity::High,
        why: "without graphs every step pays for its launches",
    },
    Rule {
        key: "compilation",
        name: "compilation",
        read: Read::Switch { on: &["--enable-torch-compile"], off: &[] },
        default: "off",
        severity: Severity::Medium,
        why: "what is fused",
    },
    Rule {
        key: "chunked_prefill",
        name: "prefill chunk",
        read: Read::Many(&["--chunked-prefill-size"], |flag| {
            flag("--chunked-prefill-size").map(|size| if size == "-1" { "off".to_owned() } else { size })
        }),
        default: "by accelerator",
        severity: Severity::Medium,
        why: "size of a prefill chunk: prefill rate, and how long decode waits for it",
    },
    Rule {
        key: "max_batched_tokens",
        name: "prefill tokens per step",
        read: Read::Value(&["--max-prefill-tokens"]),
        default: "by version",
        severity: Severity::Medium,
        why: "how many prompts are read together",
    },
    Rule {
        key: "prefix_caching",
        name: "prefix caching",
        read: Read::Switch { on: &[], off: &["--disable-radix-cache"] },
        default: "on",
        severity: Severity::Medium,
        why: "whether a prompt that was seen is read again: TTFT of the decode matrix",
    },
    Rule {
        key: "async_scheduling",
        name: "overlapped scheduling",
        read: Read::Switch { on: &[], off: &["--disable-overlap-schedule"] },
        default: "on",
        severity: Severity::Medium,
        why: "whether the next step is planned while one runs",
    },
    Rule {
        key: "max_running_requests",
        name: "requests at once",
        read: Read::Value(&["--max-running-requests"]),
        default: "by the KV cache",
        severity: Severity::Medium,
        why: "how many requests share a step; more wait",
    },
    Rule {
        key: "max_model_length",
        name: "longest prompt and output",
        read: Read::Value(&["--context-length"]),
        default: "the model's own",
        severity: Severity::Low,
        why: "which contexts fit",
    },
    Rule {
        key: "memory_share",
        name: "share of memory",
        read: Read::Value(&["--mem-fraction-static"]),
        default: "by accelerator",
        severity: Severity::Low,
        why: "how many tokens fit, not how fast they are",
    },
    Rule {
        key: "block_size",
        name: "KV page size",
        read: Read::Value(&["--page-size"]),
        default: "by the attention backend",
        severity: Severity::Low,
        why: "granularity of the KV cache",
    },
];

fn expert_parallel(flag: &Flags<'_>) -> Option<String> {
    let size = flag("--ep-size").or_else(|| flag("--ep")).or_else(|| flag("--expert-parallel-size"))?;
    Some(if size == "1" { "off" } else { "on" }.to_owned())
}

/// `EAGLE, 3 steps, 4 draft tokens`.
fn speculative(flag: &Flags<'_>) -> Option<String> {
    let further = [
        ("--speculative-num-steps", "steps"),
        ("--speculative-num-draft-tokens", "draft tokens"),
        ("--speculative-eagle-topk", "branches"),
    ];
    let figures = further.into_iter().filter_map(|(name, unit)| Some(format!(", {} {unit}", flag(name)?)));
    let draft = flag("--speculative-draft-model-path").map(|model| format!(", draft {model}"));
    Some(flag("--speculative-algorithm")? + &figures.collect::<String>() + &draft.unwrap_or_default())
}
