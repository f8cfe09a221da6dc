//! Sets of values with a name.

use clap::ValueEnum;

/// A set of values. It stands right below what is named beside it: on the command line below the other options there
/// and above the file, in the file below the file's own keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// A first look in some five minutes: 8K and 32K, at 1, 8 and 32 requests, windows of 10 s
    Quick,
    /// The method's own defaults, whatever the file says
    Standard,
    /// The matrix of llm-inference-bench 0.6.2 but for its context 0, and its numbers by its own definitions beside ours
    Compat,
}

impl Preset {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Preset::Quick => "quick",
            Preset::Standard => "standard",
            Preset::Compat => "compat",
        }
    }

    /// What it sets: section, key, value.
    pub(super) fn values(self) -> &'static [(&'static str, &'static str, &'static str)] {
        match self {
            Preset::Quick => &[
                ("matrix", "contexts", "8k,32k"),
                ("matrix", "concurrency", "1,8,32"),
                ("method", "duration", "10s"),
            ],
            Preset::Standard => &[
                ("matrix", "concurrency", "1,2,4,8,16,32,64,128"),
                ("matrix", "repeats", "1"),
                ("matrix", "order", "standard"),
                ("matrix", "prefill_repeats", "1"),
                ("method", "duration", "30s"),
                ("method", "adaptive", "false"),
                ("method", "max_output", "4096"),
                ("method", "prompts", "shared"),
                ("method", "cold", "false"),
                ("method", "respect_eos", "false"),
                ("method", "endpoint", "chat"),
                ("method", "at_end", "cut"),
                ("method", "timeout", "600s"),
            ],
            // That tool's context 0 is a prompt of one sentence; a context here is a length in tokens.
            Preset::Compat => &[
                ("matrix", "contexts", "16k,32k,64k,128k"),
                ("matrix", "concurrency", "1,2,4,8,16,32,64,128"),
                ("matrix", "prefill_contexts", "8k,16k,32k,64k,128k"),
                ("matrix", "repeats", "1"),
                ("matrix", "order", "standard"),
                ("matrix", "prefill_repeats", "1"),
                ("method", "duration", "30s"),
                ("method", "adaptive", "false"),
                ("method", "max_output", "8192"),
                ("method", "prompts", "shared"),
                ("method", "cold", "false"),
                ("method", "respect_eos", "false"),
                ("method", "endpoint", "chat"),
                ("method", "at_end", "cut"),
                ("method", "timeout", "600s"),
            ],
        }
    }
}
