//! Why there can be no plan.

/// A request that no plan can be made from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A context length that cannot be read.
    #[error("{text:?} is no context length: write tokens as 8192, or as 8k (1k = 1024)")]
    Context {
        /// What was given.
        text: String,
    },
    /// A number of requests that cannot be read.
    #[error("{text:?} is no number of requests at once: write whole numbers from 1 on, such as 1,2,4")]
    Concurrency {
        /// What was given.
        text: String,
    },
    /// A time that cannot be read.
    #[error("{text:?} is no length of time up to a day: write 30s, 2m, 500ms, or seconds as a plain number")]
    Duration {
        /// What was given.
        text: String,
    },
    /// A value that stands twice in a list.
    #[error("{text} stands twice in the list: name each value once")]
    Twice {
        /// The value.
        text: String,
    },
    /// A setting outside its range.
    #[error("{setting} must be {expected}, not {given}")]
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it was.
        given: String,
    },
    /// The model is too short for the output alone.
    #[error(
        "the model takes {max_model_length} tokens, which leaves no 1K context beside an output of \
         {max_output_tokens}: ask for a shorter output (--max-output) or name the contexts (--contexts)"
    )]
    NoRoom {
        /// Longest prompt plus output.
        max_model_length: u64,
        /// Output asked for.
        max_output_tokens: u64,
    },
    /// Neither a cell nor a prefill row was asked for.
    #[error("there is nothing to measure: name at least one context, and at least one number of requests")]
    Empty,
    /// A corpus of too few words.
    #[error(
        "the corpus holds {words} words: give a text of at least {least}, best of more than the longest prompt"
    )]
    ShortCorpus {
        /// Words found.
        words: usize,
        /// Words needed.
        least: usize,
    },
}
