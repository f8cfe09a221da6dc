//! Finds the number of words that makes a number of tokens.

use std::collections::BTreeMap;

/// Words from which on one prompt tells the tokens per word better than what was known before.
const TELLING_WORDS: usize = 200;
/// A prompt that the server calls too long is shortened by this factor, and tried again.
const SHORTER: f64 = 0.97;

/// The search for one prompt: tokens grow with words, nearly but not exactly evenly.
#[derive(Debug)]
pub(super) struct Search {
    want: u64,
    fixed: f64,
    per_word: f64,
    next: Option<usize>,
    /// Tokens by words, as counted.
    seen: BTreeMap<usize, u64>,
    /// Fewest words that were refused as too long.
    refused: usize,
}

impl Search {
    /// A search that begins with `first` words; a prompt without words takes about `fixed` tokens.
    pub(super) fn new(want: u64, first: usize, fixed: f64, per_word: f64) -> Search {
        let per_word = per_word.max(1e-3);
        Search { want, fixed, per_word, next: Some(first), seen: BTreeMap::new(), refused: usize::MAX }
    }

    /// The number of words to try; none once a better one cannot be found.
    pub(super) fn next(&self) -> Option<usize> {
        self.next
    }

    /// The last try was too long to be counted at all.
    pub(super) fn too_long(&mut self) {
        if let Some(words) = self.next.take() {
            self.refused = self.refused.min(words);
            let shorter = (words as f64 * SHORTER) as usize;
            self.next = Some(shorter).filter(|shorter| *shorter < words && !self.seen.contains_key(shorter));
        }
    }

    /// A count: `words` words make `tokens` tokens.
    pub(super) fn saw(&mut self, words: usize, tokens: u64) {
        self.seen.insert(words, tokens);
        if words >= TELLING_WORDS {
            self.per_word = ((tokens as f64 - self.fixed) / words as f64).max(1e-3);
        }
        let missing = self.want as f64 - tokens as f64;
        let step = match (missing / self.per_word).round() {
            0.0 => missing.signum(),
            step => step,
        };
        let mut next = words.saturating_add_signed(step as isize).min(self.refused.saturating_sub(1));
        // The answer lies between the nearest counts on both sides, if there is one.
        let below = self.seen.iter().rev().find(|(_, tokens)| **tokens <= self.want).map(|(words, _)| *words);
        let above = self.seen.iter().find(|(_, tokens)| **tokens > self.want).map(|(words, _)| *words);
        if let (Some(below), Some(above)) = (below, above)
            && !(below < next && next < above)
        {
            next = usize::midpoint(below, above);
        }
        self.next = Some(next).filter(|next| !self.seen.contains_key(next));
    }
}
