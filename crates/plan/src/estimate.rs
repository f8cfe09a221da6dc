//! How long a plan takes and how much it sends, as far as can be told before.

use tokometer_record::{AtEnd, Prompts};

use crate::matrix::{Plan, Step};

/// Seconds of the phases of method section 5 that do not depend on the server's speed.
mod seconds {
    /// A short chat request.
    pub(super) const SHORT_REQUEST: f64 = 1.0;
    /// Decode of the warm-up.
    pub(super) const WARM_UP_DECODE: f64 = 3.0;
    /// The server must be idle for so long before a cell, and again after it.
    pub(super) const DRAIN: f64 = 0.5;
    /// 2 s until streams may be ready, then 3 s on end.
    pub(super) const READY: f64 = 5.0;
    /// Pause between cells.
    pub(super) const PAUSE: f64 = 2.0;
}

/// How fast the server is guessed to be; better figures come as a run goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpeedGuess {
    /// Cold prompt tokens per second.
    pub prefill_rate: f64,
    /// Output tokens per second of one stream.
    pub per_request_rate: f64,
}

impl Default for SpeedGuess {
    /// A midsize server: 8,000 prompt tokens and 40 output tokens per second.
    fn default() -> SpeedGuess {
        SpeedGuess { prefill_rate: 8_000.0, per_request_rate: 40.0 }
    }
}

impl SpeedGuess {
    fn prefill_seconds(self, tokens: u64) -> f64 {
        tokens as f64 / self.prefill_rate.max(1e-3)
    }

    fn output_seconds(self, tokens: u64) -> f64 {
        tokens as f64 / self.per_request_rate.max(1e-3)
    }
}

impl Plan {
    /// Seconds of the whole plan, the warm-up included; 0 where nothing is run.
    pub fn estimate_seconds(&self, guess: &SpeedGuess) -> f64 {
        self.warm_up_seconds(guess) + self.remaining_seconds(0, guess)
    }

    /// Seconds of the steps from number `next` on, counted over all rounds.
    pub fn remaining_seconds(&self, next: usize, guess: &SpeedGuess) -> f64 {
        self.seconds_of(self.all_steps().skip(next), guess)
    }

    /// Seconds of these steps, each with its round from 0 on, in order: of a run that was broken off, those that are
    /// left.
    pub fn seconds_of(&self, steps: impl IntoIterator<Item = (u32, Step)>, guess: &SpeedGuess) -> f64 {
        let mut known: Option<(u32, Vec<Step>)> = None;
        let mut sum = 0.0;
        for (round, step) in steps {
            let whole = match &known {
                Some((of, whole)) if *of == round => whole,
                _ => &known.insert((round, self.round(round))).1,
            };
            if let Some(at) = whole.iter().position(|other| *other == step) {
                sum += self.seconds_in_round(round, whole, at, guess);
            }
        }
        sum
    }

    /// Seconds of the warm-up.
    pub fn warm_up_seconds(&self, guess: &SpeedGuess) -> f64 {
        self.warm_up().map_or(0.0, |warm_up| {
            let decode = warm_up
                .decode_context
                .map_or(0.0, |context| guess.prefill_seconds(context) + seconds::WARM_UP_DECODE);
            seconds::SHORT_REQUEST + guess.prefill_seconds(warm_up.prefill_tokens) + decode
        })
    }

    /// Seconds of one step of the first round; 0 past the end.
    pub fn step_seconds(&self, step: usize, guess: &SpeedGuess) -> f64 {
        self.seconds_in_round(0, &self.steps, step, guess)
    }

    fn seconds_in_round(&self, round: u32, steps: &[Step], step: usize, guess: &SpeedGuess) -> f64 {
        match steps.get(step) {
            None => 0.0,
            Some(Step::Prefill { prompt_tokens, .. }) => {
                f64::from(self.request.prefill_repeats)
                    * (seconds::DRAIN + guess.prefill_seconds(*prompt_tokens))
            }
            Some(Step::Cell { context, concurrency }) => {
                let before = &steps[..step];
                let cold_prompts = self.cold_prompts(round, before, *context, *concurrency);
                let run_out = match self.request.at_end {
                    AtEnd::Cut => 0.0,
                    AtEnd::Finish => guess.output_seconds(self.request.max_output_tokens),
                };
                cold_prompts as f64 * guess.prefill_seconds(*context)
                    + 2.0 * seconds::DRAIN
                    + seconds::READY
                    + self.request.duration_seconds
                    + run_out
                    + seconds::PAUSE
            }
        }
    }

    /// Bytes of the prompts that will be sent, given the size of a token's text and the guess, on which depends how
    /// often streams restart. Sizing the prompts before the run comes on top.
    pub fn prompt_bytes(&self, bytes_per_token: f64, guess: &SpeedGuess) -> u64 {
        let warm_up =
            self.warm_up().map_or(0, |warm_up| warm_up.prefill_tokens + warm_up.decode_context.unwrap_or(0));
        let per_request = guess.output_seconds(self.request.max_output_tokens).max(1e-3);
        let rounds = ((seconds::READY + self.request.duration_seconds) / per_request).ceil() as u64;
        let steps: u64 = self
            .steps
            .iter()
            .map(|step| match step {
                Step::Prefill { prompt_tokens, .. } => {
                    prompt_tokens * u64::from(self.request.prefill_repeats)
                }
                Step::Cell { context, concurrency } => {
                    let streams = u64::from(*concurrency);
                    context * (self.warming_requests(streams) + streams * rounds.max(1))
                }
            })
            .sum();
        let rounds = u64::from(self.request.repeats);
        ((warm_up + rounds * steps) as f64 * bytes_per_token) as u64
    }

    /// Requests before the window that only warm the prefix.
    fn warming_requests(&self, streams: u64) -> u64 {
        match (self.request.prompts, self.request.cold) {
            (Prompts::Shared, _) => 1,
            (Prompts::Unique, false) => streams,
            (Prompts::Unique, true) => 0,
        }
    }

    /// Prompts of a cell that no earlier cell of its context has warmed; those of a former round have.
    fn cold_prompts(&self, round: u32, before: &[Step], context: u64, concurrency: u32) -> u64 {
        let warmed = before
            .iter()
            .filter_map(|earlier| match earlier {
                Step::Cell { context: other, concurrency } if *other == context => Some(*concurrency),
                _ => None,
            })
            .max()
            .unwrap_or(0);
        let warmed = if round > 0 { u32::MAX } else { warmed };
        match self.request.prompts {
            Prompts::Shared => u64::from(warmed == 0),
            Prompts::Unique if self.request.cold => u64::from(concurrency),
            Prompts::Unique => u64::from(concurrency.saturating_sub(warmed)),
        }
    }
}
