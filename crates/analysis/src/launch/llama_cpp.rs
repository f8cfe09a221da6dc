//! Flags of llama.cpp (`llama-server`).

use tokometer_record::comparison::Severity;

use super::rules::{Flags, Read, Rule};

pub(super) fn is_started_by(program: &str, _argument: &str) -> bool {
    matches!(program, "llama-server" | "llama-server.exe")
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        key: "gpu_layers",
        name: "layers on accelerators",
        read: Read::Value(&["--n-gpu-layers", "--gpu-layers", "-ngl"]),
        default: "as many as fit",
        severity: Severity::High,
        why: "layers that do not fit are computed by the CPU",
    },
    Rule {
        key: "cpu_experts",
        name: "experts in host memory",
        read: Read::Many(&["--cpu-moe", "-cmoe", "--n-cpu-moe", "-ncmoe"], cpu_experts),
        default: "none",
        severity: Severity::High,
        why: "experts that the CPU computes",
    },
    Rule {
        key: "tensor_placement",
        name: "tensors placed by hand",
        read: Read::Value(&["--override-tensor", "-ot"]),
        default: "none",
        severity: Severity::High,
        why: "which memory holds which tensors",
    },
    Rule {
        key: "split_mode",
        name: "split over accelerators",
        read: Read::Value(&["--split-mode", "-sm"]),
        default: "layer",
        severity: Severity::High,
        why: "whether accelerators work at once or in turn",
    },
    Rule {
        key: "tensor_split",
        name: "shares of accelerators",
        read: Read::Value(&["--tensor-split", "-ts"]),
        default: "by memory",
        severity: Severity::Medium,
        why: "how much of the model each accelerator holds",
    },
    Rule {
        key: "speculative",
        name: "speculative decoding",
        read: Read::Many(
            &["--spec-type", "--model-draft", "-md", "--hf-repo-draft", "-hfd", "--draft-max", "--draft-n"],
            speculative,
        ),
        default: "off",
        severity: Severity::High,
        why: "several tokens a step where the draft is right, so text moves the rate and not hardware alone",
    },
    Rule {
        key: "kv_dtype",
        name: "KV cache dtype",
        read: Read::Many(&["--cache-type-k", "-ctk", "--cache-type-v", "-ctv"], |flags| {
            Some(kv_dtype(flags))
        }),
        default: "f16",
        severity: Severity::High,
        why: "bytes read for each token of context, and how many fit",
    },
    Rule {
        key: "kv_offload",
        name: "KV cache on the accelerator",
        read: Read::Switch { on: &["--kv-offload", "-kvo"], off: &["--no-kv-offload", "-nkvo"] },
        default: "on",
        severity: Severity::High,
        why: "where the context is read from",
    },
    Rule {
        key: "attention_backend",
        name: "flash attention",
        read: Read::Value(&["--flash-attn", "-fa"]),
        default: "auto",
        severity: Severity::Medium,
        why: "which kernels read the context",
    },
    Rule {
        key: "continuous_batching",
        name: "continuous batching",
        read: Read::Switch { on: &["--cont-batching", "-cb"], off: &["--no-cont-batching", "-nocb"] },
        default: "on",
        severity: Severity::High,
        why: "whether requests share a step",
    },
    Rule {
        key: "batch",
        name: "logical batch",
        read: Read::Value(&["--batch-size", "-b"]),
        default: "2048",
        severity: Severity::Medium,
        why: "tokens of a prefill chunk",
    },
    Rule {
        key: "micro_batch",
        name: "physical batch",
        read: Read::Value(&["--ubatch-size", "-ub"]),
        default: "512",
        severity: Severity::Medium,
        why: "tokens that one pass of prefill computes",
    },
    Rule {
        key: "max_running_requests",
        name: "requests at once",
        read: Read::Value(&["--parallel", "-np"]),
        default: "auto",
        severity: Severity::Medium,
        why: "how many requests share a step; more wait",
    },
    Rule {
        key: "max_model_length",
        name: "longest prompt and output",
        read: Read::Value(&["--ctx-size", "-c"]),
        default: "the model's own",
        severity: Severity::Low,
        why: "which contexts fit; shared by all requests or by each slot",
    },
    Rule {
        key: "prefix_caching",
        name: "prefix caching",
        read: Read::Switch { on: &["--cache-prompt"], off: &["--no-cache-prompt"] },
        default: "on",
        severity: Severity::Medium,
        why: "whether a prompt that was seen is read again: TTFT of the decode matrix",
    },
    Rule {
        key: "threads",
        name: "CPU threads",
        read: Read::Value(&["--threads", "-t"]),
        default: "by the CPU",
        severity: Severity::Medium,
        why: "decode speed of what the CPU computes",
    },
    Rule {
        key: "threads_prefill",
        name: "CPU threads of prefill",
        read: Read::Value(&["--threads-batch", "-tb"]),
        default: "as of decode",
        severity: Severity::Medium,
        why: "prefill speed of what the CPU computes",
    },
];

fn cpu_experts(flag: &Flags<'_>) -> Option<String> {
    if flag("--cpu-moe").or_else(|| flag("-cmoe")).is_some() {
        return Some("all".to_owned());
    }
    let layers = flag("--n-cpu-moe").or_else(|| flag("-ncmoe"))?;
    Some(if layers == "0" { "none".to_owned() } else { format!("of the first {layers} layers") })
}

/// `f16`, or `q8_0 keys, f16 values` where they differ.
fn kv_dtype(flag: &Flags<'_>) -> String {
    let of = |long: &str, short: &str| flag(long).or_else(|| flag(short)).unwrap_or_else(|| "f16".to_owned());
    let (keys, values) = (of("--cache-type-k", "-ctk"), of("--cache-type-v", "-ctv"));
    if keys == values { keys } else { format!("{keys} keys, {values} values") }
}

/// `draft model.gguf, 16 tokens`.
fn speculative(flag: &Flags<'_>) -> Option<String> {
    let any = |names: &[&str]| names.iter().find_map(|name| flag(name));
    let draft =
        any(&["--model-draft", "-md", "--hf-repo-draft", "-hfd"]).map(|model| format!("draft {model}"));
    let tokens = any(&["--draft-max", "--draft-n"]).map(|count| format!("{count} tokens"));
    // The number of tokens alone turns nothing on.
    let method = any(&["--spec-type"]);
    if method.is_none() && draft.is_none() {
        return None;
    }
    Some(method.into_iter().chain(draft).chain(tokens).collect::<Vec<_>>().join(", "))
}
