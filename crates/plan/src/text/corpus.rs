//! A user's own text as prompts.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::random::Random;
use crate::PlanError;

/// Fewest words that make a corpus.
const LEAST_WORDS: usize = 100;
/// Words of a sequence that should occur once.
const SEQUENCE: usize = 8;
/// Share of such sequences that may occur again before the user is told.
const REPEATED_LIMIT: f64 = 0.02;

/// A text that prompts are cut from.
#[derive(Debug)]
pub struct Corpus {
    text: String,
    /// Start and end of each word.
    words: Vec<(usize, usize)>,
}

impl Corpus {
    /// Takes `text` apart into words.
    pub fn new(text: String) -> Result<Corpus, PlanError> {
        let start_of = |word: &str| word.as_ptr().addr() - text.as_ptr().addr();
        let words: Vec<_> = text
            .split_whitespace()
            .map(|word| {
                let start = start_of(word);
                (start, start + word.len())
            })
            .collect();
        if words.len() < LEAST_WORDS {
            return Err(PlanError::ShortCorpus { words: words.len(), least: LEAST_WORDS });
        }
        Ok(Corpus { text, words })
    }

    /// Number of words; a prompt with more of them repeats itself.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// What to tell the user about a prompt of `words` words, if it repeats.
    pub fn note(&self, words: usize) -> Option<String> {
        if words > self.words() {
            return Some(format!(
                "the corpus holds {} words and the longest prompt needs about {words}: it repeats, which \
                 prefix caches and speculative decoding may profit from; give a longer text",
                self.words()
            ));
        }
        let share = self.repeated_share();
        (share > REPEATED_LIMIT).then(|| {
            format!(
                "{:.0} % of the corpus's sequences of {SEQUENCE} words occur more than once, which speculative \
                 decoding may profit from; give a text that repeats itself less",
                share * 100.0
            )
        })
    }

    /// Share of sequences of [`SEQUENCE`] words that occurred earlier in the corpus.
    fn repeated_share(&self) -> f64 {
        let mut seen = HashSet::new();
        let mut is_new = |run: &[(usize, usize)]| {
            let mut hasher = DefaultHasher::new();
            for (start, end) in run {
                self.text[*start..*end].hash(&mut hasher);
            }
            seen.insert(hasher.finish())
        };
        let repeated = self.words.windows(SEQUENCE).filter(|run| !is_new(run));
        repeated.count() as f64 / self.words.len() as f64
    }

    /// The text from the word that `seed` picks on, from the end on again from the beginning.
    pub fn text_from(self: &Arc<Corpus>, seed: u64) -> CorpusText {
        CorpusText { corpus: Arc::clone(self), first: Random::new(seed).below(self.words()) }
    }

    /// Words `from..to` with what stands between them.
    fn slice(&self, from: usize, to: usize) -> &str {
        match to.checked_sub(1) {
            Some(last) if from <= last => &self.text[self.words[from].0..self.words[last].1],
            _ => "",
        }
    }
}

/// A corpus, read from one of its words on.
#[derive(Debug, Clone)]
pub struct CorpusText {
    corpus: Arc<Corpus>,
    first: usize,
}

impl CorpusText {
    /// The first `words` words from the starting word on.
    pub fn text(&self, words: usize) -> String {
        let mut text = String::new();
        let (mut from, mut left) = (self.first, words);
        while left > 0 {
            let to = self.corpus.words().min(from + left);
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(self.corpus.slice(from, to));
            left -= to - from;
            from = 0;
        }
        text
    }
}
