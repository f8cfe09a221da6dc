//! The order of a run's steps (method 5.4).

use std::collections::HashSet;

use crate::matrix::Step;
use crate::seed;
use crate::text::Random;

/// The standard order: contexts that are only prefilled; all contexts at the first concurrency, each after its
/// prefill; then the first context at all others, then row by row.
pub(crate) fn sequence(
    contexts: &[u64],
    concurrency: &[u32],
    prefill: Vec<Step>,
    cells: &HashSet<(u64, u32)>,
) -> Vec<Step> {
    let first_column = contexts.iter().map(|context| (*context, concurrency.first().copied()));
    let rest = contexts.iter().flat_map(|context| {
        concurrency.iter().skip(1).map(move |concurrency| (*context, Some(*concurrency)))
    });
    let decode = first_column
        .chain(rest)
        .filter_map(|(context, concurrency)| Some((context, concurrency?)))
        .filter(|cell| cells.contains(cell))
        .collect();
    after_prefill(prefill, decode)
}

/// The same steps with their cells shuffled: by the seed of the run, each round in its own way.
pub(crate) fn shuffled(steps: &[Step], seed: u64, round: u32) -> Vec<Step> {
    let mut prefill = Vec::new();
    let mut decode = Vec::new();
    for step in steps {
        match *step {
            Step::Prefill { .. } => prefill.push(*step),
            Step::Cell { context, concurrency } => decode.push((context, concurrency)),
        }
    }
    // The same cells in whatever order they come: it must not matter how the round before was shuffled.
    decode.sort_unstable();
    Random::new(seed::of_order(seed, round)).shuffle(&mut decode);
    after_prefill(prefill, decode)
}

/// Each prefill right before the first cell of its context; those of no cell before all others.
fn after_prefill(prefill: Vec<Step>, decode: Vec<(u64, u32)>) -> Vec<Step> {
    let is_decoded = |step: &Step| match step {
        Step::Prefill { context, .. } => decode.iter().any(|(decoded, _)| decoded == context),
        Step::Cell { .. } => true,
    };
    let (mut before_cells, mut steps): (Vec<_>, Vec<_>) = prefill.into_iter().partition(is_decoded);
    for (context, concurrency) in decode {
        let own =
            |step: &Step| matches!(step, Step::Prefill { context: prefilled, .. } if *prefilled == context);
        if let Some(at) = before_cells.iter().position(own) {
            steps.push(before_cells.remove(at));
        }
        steps.push(Step::Cell { context, concurrency });
    }
    steps
}
