//! What the words of a report mean, in the sense of the method, version 1.0.

use tokometer_record::{FlagCode, Prompts, Run, Status};

/// A word of the page and its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Definition {
    /// The word.
    pub(crate) term: &'static str,
    /// Its meaning, with the unit.
    pub(crate) meaning: &'static str,
}

/// The words that a page uses, as they apply to this run.
pub(crate) fn terms(run: &Run) -> Vec<Definition> {
    let mut terms = Vec::with_capacity(TERMS.len() + 1);
    for term in TERMS {
        terms.push(term);
        if term.term == TTFT {
            terms.push(define("TTFT in decode cells", decode_ttft(run)));
        }
    }
    terms
}

/// How much of prefill is in the TTFT of decode cells, by what was asked of the run.
fn decode_ttft(run: &Run) -> &'static str {
    match (run.settings.prompts, run.settings.cold) {
        (None, _) => {
            "The record does not tell whether prompts of decode cells were in the server's prefix cache, and so how much of prefill is in their TTFT."
        }
        (Some(_), _) if run.engine.prefix_caching == Some(false) => {
            "The server keeps no prefix cache, so all of prefill is in the TTFT of every request."
        }
        (Some(Prompts::Unique), Some(true)) => {
            "Each stream has a prompt of its own that was not sent before: the stream's first request is cold, with all of prefill in its TTFT. Later requests of the same stream find their own prompt in the server's prefix cache."
        }
        (Some(Prompts::Unique), _) => {
            "Each stream has a prompt of its own, sent once before the measured requests: they find it in the server's prefix cache, so most of prefill is not in their TTFT."
        }
        (Some(Prompts::Shared), _) => {
            "All streams of a context send the same prompt, which is already in the server's prefix cache, so most of prefill is not in their TTFT."
        }
    }
}

const TTFT: &str = "TTFT";

/// The words of every run.
const TERMS: [Definition; 17] = [
    define(
        "Context",
        "Prompt length of a cell, by label. Labels count in 1024 (8K = 8192 tokens). Actual tokens are what the server counted.",
    ),
    define(
        "Concurrency",
        "Streams that send requests at once. Each reads its answer to the end and sends the next request straight away.",
    ),
    define("Cell", "One context at one concurrency: a point of the decode matrix."),
    define(
        "Window",
        "The span that rates are taken over. It starts once every stream has had a token and the server runs them all; events belong to it by their arrival.",
    ),
    define(
        "Total rate",
        "Output tokens of all streams that arrived in the window ÷ its seconds, in tok/s. Higher is better.",
    ),
    define(
        "Per-request rate",
        "1 ÷ time between tokens of one request, in tok/s; the median over requests. What one user sees.",
    ),
    define(
        TTFT,
        "Time to first token: from sending a request, on an open connection, to the first event with output, in ms. Lower is better.",
    ),
    define(
        "Time between tokens",
        "Mean of one request, in ms per token: from its first to its last event with output ÷ the tokens that came after the first event. The page shows the median over requests. Lower is better.",
    ),
    define(
        "Prefill rate",
        "Prompt tokens that were not cached ÷ TTFT, of a cold request that has the server to itself, in tok/s.",
    ),
    define(
        "± (interval)",
        "Half of the 95 % interval, from six equal parts of the window (Student's t). It covers this run alone unless it says repeats.",
    ),
    define(
        "Tokens per step, verify steps",
        "Speculative decoding, by the server's own counters or gauge over the window: 1 + accepted ÷ drafts, and the total rate ÷ that. The text moves the first, the hardware the second.",
    ),
    define("p50, n", "The median, and over how many requests. A median of few requests says little."),
    define(
        "Average active requests",
        "Requests between sending and end, averaged over the time of the window.",
    ),
    define(
        "Completed requests",
        "Requests of the cell that came to their own end, those before the window included. Requests cut at the window's end are no failures, and not counted here.",
    ),
    define("Output tokens, measured s", "Tokens that arrived in the window, and the seconds of the window."),
    define(
        "Users served",
        "The highest measured concurrency whose valid cell has a median per-request rate and a median TTFT within the limits shown. Below it: what stops the next higher one.",
    ),
    define("K", "1024 tokens in context labels, 1000 in rates (28.1K tok/s)."),
];

const fn define(term: &'static str, meaning: &'static str) -> Definition {
    Definition { term, meaning }
}

/// What a status says about its cell.
pub(crate) fn status_meaning(status: Status) -> &'static str {
    match status {
        Status::Planned => "The run did not get to this cell.",
        Status::OverLimit => "Not run: prompt and output do not fit the model's length.",
        Status::OverCapacity => "Not run: the server cannot hold this many such requests at once.",
        Status::Skipped => "Left out by the user.",
        Status::Interrupted => "Ended early by the user.",
        Status::Error => "A request failed, so the rate is not that of the whole load.",
        Status::Looped => {
            "A stream repeated itself (at least 4 exact cycles and 4096 characters): repeated text is easier to produce than real text, so its rate is not shown."
        }
        Status::ClientLimited => {
            "The measuring program was too slow; the result says nothing about the server."
        }
        Status::Contaminated => "The server worked for somebody else at the same time.",
        Status::Queued => "Requests waited on the server, so fewer ran than the cell says.",
        Status::Short => "Answers ended long before the length that was asked for.",
        Status::Throttled => "The accelerators slowed themselves down (heat or hardware limits).",
        Status::Unstable => "The rate was still moving in the window: no steady state.",
        Status::Valid => "Measured, and nothing speaks against the result.",
    }
}

/// What a flag says about its cell.
pub(crate) fn flag_meaning(code: FlagCode) -> &'static str {
    match code {
        FlagCode::Simulated => "The target is a simulated engine.",
        FlagCode::NotReady => "The load was not complete when the window had to start.",
        FlagCode::Underfilled => "The server ran fewer requests than were sent, though none waited.",
        FlagCode::PromptLength => "The prompt is off its label by more than 16 tokens and 0.1 %.",
        FlagCode::TokenMismatch => "The server's own token count and ours differ by more than 2 %.",
        FlagCode::TokensEstimated => "Token counts were not told with each event; they are estimates.",
        FlagCode::Coalesced => "Several events came in one read, so gaps between them are unknown.",
        FlagCode::PrefixHit => "A cold request found part of its prompt in the prefix cache.",
        FlagCode::PowerCapped => "The power limit held the accelerators back.",
        FlagCode::OverRatedClock => "Clocks were above the rated maximum.",
        FlagCode::ClockStep => "The host's wall clock was moved in the window.",
        FlagCode::SyntheticAcceptance => "The engine was told to accept drafted tokens whether right or not.",
        FlagCode::Retuned => "The user changed defaults of the method.",
        FlagCode::FewSamples => "A median of fewer than 6 requests, or a window under 10 s.",
    }
}
