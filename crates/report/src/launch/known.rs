//! What flags of engines do, in a sentence each.

/// Spellings of a flag, and its meaning.
type Known = (&'static [&'static str], &'static str);

/// Flags of vLLM, SGLang, TensorRT-LLM, llama.cpp and TGI that people set, the ones that change speed first.
pub(super) const KNOWN: &[Known] = &[
    // How the model is spread.
    (
        &["--tensor-parallel-size", "--tensor-parallel", "--tp-size", "--tp", "-tp", "--num-shard"],
        "Splits every layer over this many accelerators.",
    ),
    (
        &["--pipeline-parallel-size", "--pp-size", "--pp", "-pp"],
        "Splits the layers, in order, over this many groups of accelerators.",
    ),
    (
        &["--data-parallel-size", "--dp-size", "--dp", "-dp"],
        "Runs this many copies of the model side by side.",
    ),
    (
        &["--enable-expert-parallel", "--expert-parallel-size", "--ep-size", "--ep", "-ep"],
        "Spreads the experts of a mixture-of-experts model over the accelerators instead of splitting each.",
    ),
    (
        &["--decode-context-parallel-size", "-dcp"],
        "Splits the KV cache of a sequence over this many accelerators while decoding.",
    ),
    (&["--split-mode", "-sm"], "How the model is split over several accelerators."),
    (&["--tensor-split", "-ts"], "What share of the model each accelerator gets."),
    (
        &["--n-gpu-layers", "--gpu-layers", "-ngl"],
        "How many layers run on the accelerator; the rest run on the CPU.",
    ),
    (&["--n-cpu-moe", "--cpu-moe"], "Keeps the experts of this many layers on the CPU."),
    (&["--cpu-offload-gb"], "Keeps this much of the weights in the host's memory: slower, but it fits."),
    // Guessing ahead.
    (
        &["--speculative-config", "--speculative-algorithm", "--speculative-model"],
        "Drafts tokens ahead and checks several at once. Its gain depends on the text.",
    ),
    (
        &[
            "--speculative-num-steps",
            "--num-speculative-tokens",
            "--speculative-num-draft-tokens",
            "--draft-max",
            "--draft",
        ],
        "How many tokens are drafted ahead at most.",
    ),
    (&["--speculative-eagle-topk"], "How many candidates the drafting model keeps at each step."),
    (
        &["--model-draft", "-md", "--speculative-draft-model-path"],
        "The small model that drafts tokens ahead.",
    ),
    // Precision.
    (&["--dtype"], "Number format that weights and activations are computed in."),
    (&["--quantization", "-q", "--quantize"], "Compression of the weights: fewer bits, less memory traffic."),
    (
        &["--kv-cache-dtype", "--cache-type-k", "-ctk", "--cache-type-v", "-ctv"],
        "Number format of the KV cache: fewer bits hold more tokens.",
    ),
    // Capacity and batching.
    (
        &["--max-model-len", "--context-length", "--ctx-size", "-c", "--max-seq-len", "--max-total-tokens"],
        "Longest prompt and output together, in tokens.",
    ),
    (
        &[
            "--max-num-seqs",
            "--max-running-requests",
            "--max-batch-size",
            "--parallel",
            "-np",
            "--max-concurrent-requests",
        ],
        "Most requests that run at once; more have to wait.",
    ),
    (
        &[
            "--max-num-batched-tokens",
            "--chunked-prefill-size",
            "--max-prefill-tokens",
            "--max-num-tokens",
            "--batch-size",
            "-b",
            "--max-batch-prefill-tokens",
        ],
        "Most tokens that one step computes: larger steps make prefill faster and disturb running requests more.",
    ),
    (&["--ubatch-size", "-ub"], "Tokens that are computed in one go within a step."),
    (&["--enable-chunked-prefill"], "Computes long prompts in pieces, between which running requests go on."),
    (
        &[
            "--gpu-memory-utilization",
            "--mem-fraction-static",
            "--kv-cache-free-gpu-memory-fraction",
            "--cuda-memory-fraction",
        ],
        "Share of the accelerator's memory that the engine takes; what the weights leave of it becomes KV cache.",
    ),
    (&["--num-gpu-blocks-override"], "Sets the size of the KV cache by hand."),
    (&["--block-size", "--page-size", "--tokens-per-block"], "Tokens in one block of the KV cache."),
    (
        &["--enable-prefix-caching", "--disable-radix-cache", "--cache-reuse", "--cache-prompt"],
        "Whether the KV cache of earlier prompts is kept and used again.",
    ),
    (&["--swap-space"], "Host memory for requests that had to give way."),
    (&["--scheduling-policy", "--schedule-policy"], "Which waiting request is taken next."),
    (
        &["--schedule-conservativeness"],
        "How much room is left for running requests before new ones are taken.",
    ),
    (
        &["--async-scheduling", "--disable-overlap-schedule"],
        "Whether the next step is planned while this one is computed.",
    ),
    (
        &["--num-scheduler-steps", "--num-continuous-decode-steps", "--stream-interval"],
        "Steps between two looks at new requests or between two events.",
    ),
    // Kernels.
    (
        &["--enforce-eager", "--disable-cuda-graph"],
        "Whether steps are replayed from recorded CUDA graphs; without them each step starts more slowly.",
    ),
    (
        &["--cuda-graph-max-bs", "--cuda-graph-bs", "--compilation-config", "-O"],
        "What is compiled or recorded ahead, and up to which batch size.",
    ),
    (&["--enable-torch-compile"], "Compiles the model's graph before serving."),
    (
        &[
            "--attention-backend",
            "--flash-attn",
            "-fa",
            "--prefill-attention-backend",
            "--decode-attention-backend",
        ],
        "Which kernels compute attention.",
    ),
    (
        &["--moe-backend", "--moe-runner-backend", "--moe-a2a-backend", "--all2all-backend"],
        "Which kernels compute the experts, or move tokens between them.",
    ),
    (
        &["--disable-custom-all-reduce", "--enable-nccl-nvls", "--enable-flashinfer-allreduce-fusion"],
        "How results are added up over the accelerators.",
    ),
    (&["--threads", "-t", "--threads-batch", "-tb"], "CPU threads that compute."),
    (&["--mlock", "--no-mmap", "--mmap", "--load-format"], "How the weights are loaded and kept in memory."),
    (&["--numa"], "How work is placed on the host's memory nodes."),
    // What is served, and how.
    (&["--model", "--model-path", "-m", "--model-id", "--hf-repo", "-hf"], "The weights that are served."),
    (&["--served-model-name", "--alias", "-a"], "The name that requests use."),
    (&["--revision"], "Which revision of the weights is served."),
    (
        &["--tokenizer", "--tokenizer-path", "--tokenizer-mode"],
        "The tokeniser, if it is not the model's own.",
    ),
    (&["--trust-remote-code"], "Runs code that comes with the model."),
    (&["--host"], "Address that the server listens on."),
    (&["--port"], "Port that the server listens on."),
    (&["--api-key"], "Requests need this key."),
    (&["--reasoning-parser"], "Tells the model's reasoning from its answer."),
    (&["--tool-call-parser", "--enable-auto-tool-choice"], "Reads tool calls out of the model's output."),
    (&["--chat-template", "--jinja"], "How messages become a prompt."),
    (
        &["--enable-metrics", "--metrics", "--disable-log-stats", "--enable-cache-report"],
        "Which figures the server tells about itself.",
    ),
    (
        &["--disable-log-requests", "--enable-log-requests", "--log-level", "--uvicorn-log-level"],
        "What the server writes to its log.",
    ),
    (
        &["--generation-config", "--override-generation-config"],
        "Sampling that applies where a request says nothing.",
    ),
    (&["--seed", "--random-seed"], "Start of the random numbers."),
    (
        &["--limit-mm-per-prompt", "--mm-processor-kwargs", "--language-model-only", "--mmproj"],
        "What is taken of images, sound and video.",
    ),
];
