//! What fits the target: the limits, and the rules of method 5.1 over them.

use tokometer_record::{CONTEXT_K, Figure, KvBlocks, Reason, ReasonRule, Status, context_label};

use crate::matrix::Request;

/// What the target can hold; a null is unknown and limits nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Longest prompt plus output, in tokens.
    pub max_model_length: Option<u64>,
    /// Tokens that the KV cache holds, all ranks.
    pub kv_tokens: Option<u64>,
    /// Requests that the server runs at once.
    pub concurrent_requests: Option<u64>,
    /// The engine's own block figures, which apply instead of `kv_tokens` where streams share no prefix.
    pub kv_blocks: Option<KvBlocks>,
}

/// Tokens between prompt and model length that a prefill request leaves free.
const PREFILL_MARGIN: u64 = 64;
/// Longest context that is measured unasked.
const LONGEST_DEFAULT: u64 = 256 * CONTEXT_K;
/// Contexts that are measured unasked where they fit.
const DEFAULT_CONTEXTS: [u64; 5] =
    [8 * CONTEXT_K, 16 * CONTEXT_K, 32 * CONTEXT_K, 64 * CONTEXT_K, 128 * CONTEXT_K];
/// Longest default context where the model's length is unknown.
const LONGEST_UNKNOWN: u64 = 32 * CONTEXT_K;

impl Limits {
    /// The contexts of the decode matrix where none are named; none if there is no room for any.
    pub(crate) fn default_contexts(&self, max_output_tokens: u64) -> Option<Vec<u64>> {
        let Some(max) = self.max_model_length else {
            return Some(
                DEFAULT_CONTEXTS.into_iter().filter(|context| *context <= LONGEST_UNKNOWN).collect(),
            );
        };
        let room = max.checked_sub(max_output_tokens.saturating_add(CONTEXT_K))?;
        let longest = whole_k(room.min(LONGEST_DEFAULT));
        if longest == 0 {
            return None;
        }
        let mut contexts: Vec<_> =
            DEFAULT_CONTEXTS.into_iter().filter(|context| *context < longest).collect();
        contexts.push(longest);
        Some(contexts)
    }

    /// The context that the prefill row has beyond those of the matrix.
    pub(crate) fn longest_prefill(&self) -> Option<u64> {
        let longest = whole_k(self.max_model_length?.min(LONGEST_DEFAULT));
        (longest > 0).then_some(longest)
    }

    /// Prompt length of a prefill request: shorter than its label only where the model needs it so.
    pub(crate) fn prefill_prompt(&self, context: u64) -> u64 {
        match self.max_model_length {
            Some(max) if context <= max => context.min(max.saturating_sub(PREFILL_MARGIN).max(1)),
            _ => context,
        }
    }

    /// Why a prefill row cannot be measured.
    pub(crate) fn refuse_prefill(&self, context: u64) -> Option<(Status, Reason)> {
        if let Some(max) = self.max_model_length.filter(|max| context > *max) {
            let text =
                format!("a context of {} is longer than the model's {max} tokens", context_label(context));
            return Some((Status::OverLimit, reason(ReasonRule::ModelLength, text, context, max)));
        }
        let prompt = self.prefill_prompt(context);
        let kv = self.kv_tokens.filter(|kv| prompt > *kv)?;
        let text = format!("a prompt of {prompt} tokens is more than the KV cache's {kv}");
        Some((Status::OverCapacity, reason(ReasonRule::KvTokens, text, prompt, kv)))
    }

    /// Why a decode cell cannot be measured.
    pub(crate) fn refuse_cell(
        &self,
        request: &Request,
        context: u64,
        concurrency: u32,
    ) -> Option<(Status, Reason)> {
        let output = request.max_output_tokens;
        let each = context.saturating_add(output);
        if let Some(max) = self.max_model_length.filter(|max| each > *max) {
            let text =
                format!("{context} prompt + {output} output tokens are more than the model's {max} tokens");
            return Some((Status::OverLimit, reason(ReasonRule::ModelLength, text, each, max)));
        }
        let requests = u64::from(concurrency);
        if let Some(most) = self.concurrent_requests.filter(|most| requests > *most) {
            let text = format!("{requests} requests at once are more than the {most} that the server runs");
            return Some((
                Status::OverCapacity,
                reason(ReasonRule::ConcurrentRequests, text, requests, most),
            ));
        }
        if let (Some(blocks), true) = (self.kv_blocks, request.shares_no_prefix()) {
            let needed = blocks.needed(requests, each);
            return (needed > blocks.blocks).then(|| {
                let (in_tokens, available) = (blocks.in_tokens(needed), blocks.in_tokens(blocks.blocks));
                let text = format!(
                    "{requests} × ({context} prompt + {output} output tokens) take {needed} blocks of {} tokens, {:.1} of \
                     them per request whatever its length: {in_tokens} tokens, more than the KV cache's {available}",
                    blocks.block_tokens, blocks.fixed_per_request
                );
                (Status::OverCapacity, reason(ReasonRule::KvTokens, text, in_tokens, available))
            });
        }
        let needed = each.saturating_mul(requests);
        let kv = self.kv_tokens.filter(|kv| needed > *kv)?;
        let text = format!(
            "{requests} × ({context} prompt + {output} output tokens) = {needed} tokens, more than the KV \
             cache's {kv}"
        );
        Some((Status::OverCapacity, reason(ReasonRule::KvTokens, text, needed, kv)))
    }
}

fn reason(rule: ReasonRule, text: String, needed: u64, available: u64) -> Reason {
    let unit = if rule == ReasonRule::ConcurrentRequests { "requests" } else { "tok" };
    let figure = Figure {
        name: "needed".to_owned(),
        value: needed as f64,
        unit: unit.to_owned(),
        limit: Some(available as f64),
    };
    Reason { rule, text, figures: vec![figure], needed: Some(needed), available: Some(available) }
}

/// The largest multiple of 1K up to `tokens`.
fn whole_k(tokens: u64) -> u64 {
    tokens / CONTEXT_K * CONTEXT_K
}
