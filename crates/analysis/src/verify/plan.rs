//! The rows of a record are those that its settings ask for.

use std::collections::BTreeSet;

use tokometer_record::verification::Check;
use tokometer_record::{Cell, Phase, Prompts, Reason, ReasonRule, Run};

use super::Findings;

/// Every row that was asked for is there, once, and no other.
pub(super) fn rows(findings: &mut Findings, run: &Run) {
    let settings = &run.settings;
    let mut asked: BTreeSet<(Phase, u64, u32)> =
        settings.prefill_contexts.iter().map(|context| (Phase::Prefill, *context, 1)).collect();
    for context in &settings.contexts {
        asked.extend(settings.concurrency.iter().map(|concurrency| (Phase::Decode, *context, *concurrency)));
    }
    let mut seen = BTreeSet::new();
    for cell in &run.cells {
        let place = (cell.phase, cell.context_nominal, cell.concurrency);
        if !seen.insert(place) {
            findings.failure(Check::Plan, Some(&cell.name()), "the row is there twice".to_owned());
        } else if !asked.contains(&place) {
            let text = "the settings do not ask for this row".to_owned();
            findings.failure(Check::Plan, Some(&cell.name()), text);
        }
    }
    // A matrix that was imported may have holes: its settings are those of its rows.
    for (phase, context, concurrency) in asked.difference(&seen).filter(|_| run.imported.is_none()) {
        let name = phase.cell_name(*context, *concurrency);
        findings.failure(
            Check::Plan,
            Some(&name),
            "the settings ask for this row, and it is not there".to_owned(),
        );
    }
}

/// What a row needs and what there is, by the rule that it names; `None` where the record does not have the figures.
pub(super) fn limit(run: &Run, cell: &Cell, reason: &Reason) -> Option<(Option<u64>, Option<u64>)> {
    let context = cell.context_nominal;
    let each = context.saturating_add(run.settings.max_output_tokens);
    let decode = cell.phase == Phase::Decode;
    let needed = match reason.rule {
        ReasonRule::ModelLength => (if decode { each } else { context }, run.model.max_length),
        ReasonRule::ConcurrentRequests => (u64::from(cell.concurrency), run.capacity.concurrent_requests),
        // With prompts of their own the engine's block figures decide where it tells them.
        ReasonRule::KvTokens if decode && run.settings.prompts == Some(Prompts::Unique) => {
            let requests = u64::from(cell.concurrency);
            match run.capacity.kv_blocks {
                Some(blocks) => {
                    let needed = blocks.in_tokens(blocks.needed(requests, each));
                    (needed, Some(blocks.in_tokens(blocks.blocks)))
                }
                None => (each.saturating_mul(requests), run.capacity.kv_tokens),
            }
        }
        ReasonRule::KvTokens if decode => {
            (each.saturating_mul(u64::from(cell.concurrency)), run.capacity.kv_tokens)
        }
        ReasonRule::KvTokens => {
            (crate::expected_prompt_tokens(run, cell.phase, context), run.capacity.kv_tokens)
        }
        ReasonRule::Stated | ReasonRule::Method => return None,
    };
    Some((Some(needed.0), needed.1))
}
