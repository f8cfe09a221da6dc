//! A user's own text as prompts.

use std::sync::Arc;

use super::random::Random;
use crate::PlanError;

/// Fewest words that make a corpus.
const LEAST_WORDS: usize = 100;

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
        (words > self.words()).then(|| {
            format!(
                "the corpus holds {} words and the longest prompt needs about {words}: it repeats, which \
                 prefix caches and speculative decoding may profit from; give a longer text",
                self.words()
            )
        })
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
