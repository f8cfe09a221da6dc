//! The plan of a run: which steps in which order, and which rows are not run.

use std::collections::HashSet;

use tokometer_record::{AtEnd, Cell, Order, Phase, Prompts, Reason, Status};

use crate::order::{sequence, shuffled};
use crate::{Limits, PlanError};

/// Requests at once where none are named.
const DEFAULT_CONCURRENCY: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// What the user asks of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Contexts of the decode matrix; none: by the model's length. An empty list: no decode cells.
    pub contexts: Option<Vec<u64>>,
    /// Requests at once; none: 1, 2, 4 … 128.
    pub concurrency: Option<Vec<u32>>,
    /// Contexts of the prefill row; none: those of the matrix, and unless they were named also the longest
    /// that the model takes. An empty list: no prefill row.
    pub prefill_contexts: Option<Vec<u64>>,
    /// Cold requests per prefill context.
    pub prefill_repeats: u32,
    /// Window length.
    pub duration_seconds: f64,
    /// Output tokens asked per request.
    pub max_output_tokens: u64,
    /// One prompt for all streams of a context, or one each.
    pub prompts: Prompts,
    /// True if prompts are not warmed before the window (`unique` only).
    pub cold: bool,
    /// What happens to running requests at the window's end.
    pub at_end: AtEnd,
    /// How often everything is measured: rounds of the whole plan, one after the other.
    pub repeats: u32,
    /// The order of the cells.
    pub order: Order,
    /// Seed of a shuffled order.
    pub seed: u64,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            contexts: None,
            concurrency: None,
            prefill_contexts: None,
            prefill_repeats: 1,
            duration_seconds: 30.0,
            max_output_tokens: 4096,
            prompts: Prompts::Shared,
            cold: false,
            at_end: AtEnd::Cut,
            repeats: 1,
            order: Order::Standard,
            seed: 1,
        }
    }
}

impl Request {
    pub(crate) fn shares_no_prefix(&self) -> bool {
        self.prompts == Prompts::Unique
    }

    fn check(&self) -> Result<(), PlanError> {
        let setting = |setting, expected, given: String| Err(PlanError::Setting { setting, expected, given });
        if !(self.duration_seconds.is_finite() && self.duration_seconds > 0.0) {
            return setting("the window's length", "more than 0 seconds", self.duration_seconds.to_string());
        }
        if self.max_output_tokens == 0 {
            return setting("the output length", "at least 1 token", "0".to_owned());
        }
        if self.prefill_repeats == 0 {
            return setting("the number of prefill repeats", "at least 1", "0".to_owned());
        }
        if self.repeats == 0 {
            return setting("the number of repeats", "at least 1", "0".to_owned());
        }
        if self.cold && self.prompts == Prompts::Shared {
            let expected = "used with prompts of each stream's own (--prompts unique)";
            return setting("--cold", expected, "with shared ones".to_owned());
        }
        let zero = self.contexts.iter().chain(&self.prefill_contexts).flatten().any(|context| *context == 0);
        if zero || self.concurrency.iter().flatten().any(|concurrency| *concurrency == 0) {
            return setting("a context and a number of requests", "at least 1", "0".to_owned());
        }
        Ok(())
    }
}

/// One thing to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Cold requests alone on the server.
    Prefill {
        /// Context by label.
        context: u64,
        /// Prompt length, shorter than the label where the model needs it so.
        prompt_tokens: u64,
    },
    /// One cell of the decode matrix.
    Cell {
        /// Context by label, which is also the prompt length.
        context: u64,
        /// Requests at once.
        concurrency: u32,
    },
}

/// The requests before the first measurement, which are discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// Prompt length of the one prefill: the smallest that will be measured.
    pub prefill_tokens: u64,
    /// Prompt length of the 3 s of decode at one request: the largest context that fits; none if the plan has no
    /// decode cell.
    pub decode_context: Option<u64>,
}

/// What will be done, in order, and what not.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Contexts of the decode matrix, in the order of its rows.
    pub contexts: Vec<u64>,
    /// Requests at once, in the order of the matrix's columns.
    pub concurrency: Vec<u32>,
    /// Contexts of the prefill row.
    pub prefill_contexts: Vec<u64>,
    /// What is run, in order; with repeats the first round of it.
    pub steps: Vec<Step>,
    /// Rows that are not run, each with its reason.
    pub not_run: Vec<Cell>,
    /// What the user should know about the plan.
    pub notes: Vec<String>,
    /// What was asked.
    pub request: Request,
}

impl Plan {
    /// All rows of the record, none measured yet: the prefill row, then the decode matrix context by context.
    pub fn cells(&self) -> Vec<Cell> {
        let prefill = self.prefill_contexts.iter().map(|context| (Phase::Prefill, *context, 1));
        let decode = self.contexts.iter().flat_map(|context| {
            self.concurrency.iter().map(|concurrency| (Phase::Decode, *context, *concurrency))
        });
        prefill
            .chain(decode)
            .map(|(phase, context, concurrency)| {
                let same = |cell: &&Cell| {
                    (cell.phase, cell.context_nominal, cell.concurrency) == (phase, context, concurrency)
                };
                match self.not_run.iter().find(same) {
                    Some(cell) => cell.clone(),
                    None => Cell::planned(phase, context, concurrency),
                }
            })
            .collect()
    }

    /// What round `index` (from 0 on) runs, in order: the same steps, anew shuffled where that is the order.
    pub fn round(&self, index: u32) -> Vec<Step> {
        match self.request.order {
            Order::Shuffled if index > 0 => shuffled(&self.steps, self.request.seed, index),
            _ => self.steps.clone(),
        }
    }

    /// The steps of all rounds, in order, each with the number of its round from 0 on.
    pub fn all_steps(&self) -> impl Iterator<Item = (u32, Step)> {
        (0..self.request.repeats)
            .flat_map(|round| self.round(round).into_iter().map(move |step| (round, step)))
    }

    /// Steps of all rounds together.
    pub fn step_count(&self) -> usize {
        self.steps.len() * self.request.repeats as usize
    }

    /// What warms the server up; none where nothing is run.
    pub fn warm_up(&self) -> Option<WarmUp> {
        let tokens = |step: &Step| match step {
            Step::Prefill { prompt_tokens, .. } => *prompt_tokens,
            Step::Cell { context, .. } => *context,
        };
        let decode_context = |step: &Step| match step {
            Step::Prefill { .. } => None,
            Step::Cell { context, .. } => Some(*context),
        };
        Some(WarmUp {
            prefill_tokens: self.steps.iter().map(tokens).min()?,
            decode_context: self.steps.iter().filter_map(decode_context).max(),
        })
    }
}

/// Makes the plan of `request` on a target with `limits`.
pub fn build(request: &Request, limits: &Limits) -> Result<Plan, PlanError> {
    request.check()?;
    let mut notes = Vec::new();
    let contexts = match &request.contexts {
        Some(contexts) => contexts.clone(),
        None => limits.default_contexts(request.max_output_tokens).ok_or(PlanError::NoRoom {
            max_model_length: limits.max_model_length.unwrap_or_default(),
            max_output_tokens: request.max_output_tokens,
        })?,
    };
    let concurrency = request.concurrency.clone().unwrap_or_else(|| DEFAULT_CONCURRENCY.to_vec());
    let prefill_contexts = prefill_contexts(request, limits, &contexts);
    if (contexts.is_empty() || concurrency.is_empty()) && prefill_contexts.is_empty() {
        return Err(PlanError::Empty);
    }
    if limits.max_model_length.is_none() {
        notes.push(if request.contexts.is_none() {
            "the model's longest prompt is unknown: contexts up to 32K are measured; name longer ones with \
             --contexts"
                .to_owned()
        } else {
            "the model's longest prompt is unknown: contexts are not checked against it".to_owned()
        });
    }
    if limits.kv_tokens.is_none() && limits.kv_blocks.is_none() {
        notes.push(
            "the size of the KV cache is unknown: cells that do not fit show as queued or underfilled; give it \
             with --kv-tokens"
                .to_owned(),
        );
    }

    let mut not_run = Vec::new();
    for context in &prefill_contexts {
        if let Some(refusal) = limits.refuse_prefill(*context) {
            not_run.push(refused(Phase::Prefill, *context, 1, refusal));
        }
    }
    for context in &contexts {
        for concurrency in &concurrency {
            if let Some(refusal) = limits.refuse_cell(request, *context, *concurrency) {
                not_run.push(refused(Phase::Decode, *context, *concurrency, refusal));
            }
        }
    }
    let steps = steps(request, limits, &contexts, &concurrency, &prefill_contexts, &not_run);
    Ok(Plan { contexts, concurrency, prefill_contexts, steps, not_run, notes, request: request.clone() })
}

/// The plan of a run that was broken off: `request` names every list, and `not_run` are the rows that the first
/// plan left out. What the server says of itself now does not change it; `limits` are those of the record.
pub fn again(request: &Request, limits: &Limits, not_run: Vec<Cell>) -> Result<Plan, PlanError> {
    request.check()?;
    let contexts = request.contexts.clone().unwrap_or_default();
    let concurrency = request.concurrency.clone().unwrap_or_default();
    let prefill_contexts = request.prefill_contexts.clone().unwrap_or_default();
    let steps = steps(request, limits, &contexts, &concurrency, &prefill_contexts, &not_run);
    let request = request.clone();
    Ok(Plan { contexts, concurrency, prefill_contexts, steps, not_run, notes: Vec::new(), request })
}

/// What is run, in order: every row but those that are not.
fn steps(
    request: &Request,
    limits: &Limits,
    contexts: &[u64],
    concurrency: &[u32],
    prefill_contexts: &[u64],
    not_run: &[Cell],
) -> Vec<Step> {
    let left_out: HashSet<(Phase, u64, u32)> =
        not_run.iter().map(|cell| (cell.phase, cell.context_nominal, cell.concurrency)).collect();
    let prefill = prefill_contexts
        .iter()
        .filter(|context| !left_out.contains(&(Phase::Prefill, **context, 1)))
        .map(|context| Step::Prefill { context: *context, prompt_tokens: limits.prefill_prompt(*context) })
        .collect();
    let cells = contexts
        .iter()
        .flat_map(|context| concurrency.iter().map(|concurrency| (*context, *concurrency)))
        .filter(|(context, concurrency)| !left_out.contains(&(Phase::Decode, *context, *concurrency)))
        .collect();
    let steps = sequence(contexts, concurrency, prefill, &cells);
    match request.order {
        Order::Shuffled => shuffled(&steps, request.seed, 0),
        Order::Standard => steps,
    }
}

fn prefill_contexts(request: &Request, limits: &Limits, contexts: &[u64]) -> Vec<u64> {
    if let Some(named) = &request.prefill_contexts {
        return named.clone();
    }
    let mut all = contexts.to_vec();
    if request.contexts.is_none() {
        all.extend(limits.longest_prefill().filter(|longest| !contexts.contains(longest)));
    }
    all
}

fn refused(phase: Phase, context: u64, concurrency: u32, (status, reason): (Status, Reason)) -> Cell {
    Cell { status, reason: Some(reason), ..Cell::planned(phase, context, concurrency) }
}
