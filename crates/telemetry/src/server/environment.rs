//! The environment of a server at its start: the variables that change speed, by an allow-list.

use std::collections::BTreeMap;

use tokometer_wire::redact;

use crate::root::Root;

/// Variables whose values are shown: whole names, and beginnings where they end with `*`.
const SHOWN: [&str; 32] = [
    "VLLM_*",
    "SGLANG_*",
    "SGL_*",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_MODULE_LOADING",
    "NCCL_*",
    "PYTORCH_*",
    "TORCH*",
    "TRITON_*",
    "FLASHINFER_*",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "MKL_NUM_THREADS",
    "LLAMA_ARG_*",
    "GGML_*",
    "OLLAMA_*",
    "TRTLLM_*",
    "TLLM_*",
    "HIP_*",
    "ROCR_*",
    "HSA_*",
    "AITER_*",
    "ZE_*",
    "ONEAPI_DEVICE_SELECTOR",
    "SYCL_*",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "HF_HUB_OFFLINE",
    "TOKENIZERS_PARALLELISM",
    "NVIDIA_VISIBLE_DEVICES",
];

/// Variables that are shown, and the names of the others.
pub(super) fn read(root: &Root, pid: u32) -> (BTreeMap<String, String>, Vec<String>) {
    let bytes = root.bytes(&format!("proc/{pid}/environ")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    select(text.split('\0').filter_map(|pair| pair.split_once('=')))
}

/// Of a whole environment, those that are shown, and the names of the others.
pub(super) fn select<'a>(
    variables: impl Iterator<Item = (&'a str, &'a str)>,
) -> (BTreeMap<String, String>, Vec<String>) {
    let mut shown = BTreeMap::new();
    let mut others = Vec::new();
    for (name, value) in variables {
        if SHOWN.iter().any(|pattern| fits(pattern, name)) {
            shown.insert(name.to_owned(), redact::variable(name, value));
        } else {
            others.push(name.to_owned());
        }
    }
    others.sort();
    (shown, others)
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}
