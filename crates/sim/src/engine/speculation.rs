//! Speculative decoding: in each step a few tokens are drafted for every request, and those that the model would
//! have made itself are kept, up to the first that it would not.

use std::fmt;
use std::str::FromStr;

use super::request::{RequestId, Stats};
use crate::SimError;
use crate::random::{Random, mix};

/// Most tokens of a draft.
pub const MOST_DRAFTED: usize = 16;
/// Steps over which the gauge of the acceptance length is taken.
const INTERVAL_STEPS: u32 = 40;
/// Keeps these choices apart from those of a request's text.
const PURPOSE: u64 = 0x0073_7065_6375_6c61;

/// How the engine speculates. In text `TOKENS,ACCEPTANCE`, as `3,0.7`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speculation {
    tokens: u32,
    acceptance: f64,
}

impl Speculation {
    /// Drafts of `tokens` tokens (1 to 16), each of which is accepted with probability `acceptance` if all before it
    /// were.
    pub fn new(tokens: u32, acceptance: f64) -> Result<Speculation, SimError> {
        let in_range = (1..=MOST_DRAFTED as u32).contains(&tokens) && (0.0..=1.0).contains(&acceptance);
        in_range.then_some(Speculation { tokens, acceptance }).ok_or_else(|| SimError::Speculation {
            text: format!("{tokens},{acceptance}"),
            most: MOST_DRAFTED,
        })
    }

    /// Tokens of a draft.
    pub fn tokens(self) -> u32 {
        self.tokens
    }

    /// Tokens that a step gives on average: 1 + Σ acceptanceⁱ.
    pub fn expected_length(self) -> f64 {
        1.0 + (1..=self.tokens as i32).map(|position| self.acceptance.powi(position)).sum::<f64>()
    }
}

impl FromStr for Speculation {
    type Err = SimError;

    fn from_str(text: &str) -> Result<Speculation, SimError> {
        let unknown = || SimError::Speculation { text: text.to_owned(), most: MOST_DRAFTED };
        let (tokens, acceptance) = text.split_once(',').ok_or_else(unknown)?;
        let tokens = tokens.trim().parse().map_err(|_| unknown())?;
        let acceptance = acceptance.trim().parse().map_err(|_| unknown())?;
        Speculation::new(tokens, acceptance).map_err(|_| unknown())
    }
}

impl fmt::Display for Speculation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.tokens, self.acceptance)
    }
}

/// The drafts of one request, the same for the same request number.
#[derive(Debug)]
pub(super) struct Drafts {
    speculation: Speculation,
    random: Random,
}

impl Drafts {
    pub(super) fn new(speculation: Speculation, id: RequestId) -> Drafts {
        Drafts { speculation, random: Random::new(mix(id.0 ^ PURPOSE)) }
    }

    /// How many tokens of the next draft are accepted.
    pub(super) fn accepted(&mut self) -> u32 {
        let Speculation { tokens, acceptance } = self.speculation;
        let limit = (acceptance * 4_294_967_296.0) as u64;
        (0..tokens).take_while(|_| self.random.below(1 << 32) < limit).count() as u32
    }
}

/// What the gauge of the acceptance length is made of.
#[derive(Debug, Default)]
pub(super) struct Interval {
    steps: u32,
    drafts: u64,
    accepted: u64,
}

impl Interval {
    /// Counts the drafts of one step, given the accepted tokens of each.
    pub(super) fn count(
        &mut self,
        speculation: Speculation,
        accepted: impl Iterator<Item = u32>,
        stats: &mut Stats,
    ) {
        for accepted in accepted {
            self.drafts += 1;
            self.accepted += u64::from(accepted);
            stats.drafts += 1;
            stats.draft_tokens += u64::from(speculation.tokens);
            stats.accepted_tokens += u64::from(accepted);
            for count in stats.accepted_per_position.iter_mut().take(accepted as usize) {
                *count += 1;
            }
        }
        self.steps += 1;
        if self.steps == INTERVAL_STEPS {
            (stats.recent_drafts, stats.recent_accepted_tokens) = (self.drafts, self.accepted);
            *self = Interval::default();
        }
    }
}
