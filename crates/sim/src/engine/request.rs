//! What goes into the engine and what comes out.

use super::speculation::MOST_DRAFTED;
use crate::tokenizer::Prompt;

/// Number of a request, given by the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// A request to the engine.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its number; not in use by another one.
    pub id: RequestId,
    /// Its prompt.
    pub prompt: Prompt,
    /// Most output tokens, at least 1.
    pub max_tokens: u64,
    /// The output ends by itself after this many tokens; none: it never does.
    pub natural_end: Option<u64>,
    /// When it arrived; its time to first token counts from here.
    pub arrival_ns: u64,
    /// What goes wrong with it on purpose.
    pub trick: Option<Trick>,
}

/// What the engine does wrong with a request, on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trick {
    /// The prefix cache knows its prompt although nobody has sent it: a warm cache that is sold as cold.
    KnownPrompt,
    /// Its text repeats itself behind so many output tokens.
    Loop {
        /// Output tokens before the loop.
        after_tokens: u64,
    },
    /// It has to wait while as many requests run as are half of those in the system, though there is room; it never
    /// waits where nothing runs.
    HeldBack,
}

/// Why an output ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It has as many tokens as were allowed.
    Length,
    /// It ended by itself; the last token is the end token, which has no text.
    Stop,
}

/// Tokens for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emission {
    /// The request.
    pub id: RequestId,
    /// When the tokens were due.
    pub due_ns: u64,
    /// How many.
    pub tokens: u32,
    /// Tokens of the draft that were accepted, also those beyond the output's end; none where nothing was drafted.
    pub accepted: Option<u32>,
    /// True where the text repeats itself, by the profile or by a trick.
    pub looping: bool,
    /// Prompt tokens that were found in the prefix cache.
    pub cached_tokens: u64,
    /// Set with the last token.
    pub finish: Option<Finish>,
}

/// Gauges and counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests admitted and not ended.
    pub running: u64,
    /// Requests that wait for room.
    pub waiting: u64,
    /// Tokens that the running requests hold, prompt and output.
    pub kv_used_tokens: u64,
    /// Output tokens so far.
    pub generated_tokens: u64,
    /// Prompt tokens so far, cached ones included.
    pub prompt_tokens: u64,
    /// Prompt tokens that were found in the prefix cache.
    pub cached_tokens: u64,
    /// Requests ended by length.
    pub ended_by_length: u64,
    /// Requests ended by themselves.
    pub ended_by_stop: u64,
    /// Prompt tokens of the requests that have ended, by themselves or by length.
    pub ended_prompt_tokens: u64,
    /// Output tokens of the requests that have ended, by themselves or by length.
    pub ended_generated_tokens: u64,
    /// Requests aborted.
    pub aborted: u64,
    /// Drafts that were verified.
    pub drafts: u64,
    /// Tokens that were drafted.
    pub draft_tokens: u64,
    /// Drafted tokens that were accepted.
    pub accepted_tokens: u64,
    /// The same by position in the draft.
    pub accepted_per_position: [u64; MOST_DRAFTED],
    /// Drafts of the last 40 steps that were looked at together.
    pub recent_drafts: u64,
    /// Drafted tokens that were accepted in these steps.
    pub recent_accepted_tokens: u64,
}

impl Stats {
    /// Tokens per draft in the last 40 steps that were looked at together, as a gauge shows it; 0 before.
    pub fn recent_acceptance_length(&self) -> f64 {
        if self.recent_drafts == 0 {
            return 0.0;
        }
        1.0 + self.recent_accepted_tokens as f64 / self.recent_drafts as f64
    }
}
