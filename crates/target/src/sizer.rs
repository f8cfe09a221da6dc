//! Prompts of an exact number of tokens.
//!
//! A prompt is a salt, words of a text, and a closing. How many words make the tokens asked for is found
//! with the server's tokenise route ([`Sizing::TokenizeRoute`]), which costs a few calls per prompt and no
//! generation; else from the usage of real requests ([`Sizing::MeasuredUsage`]). That way is dearer: two
//! short requests once, then each new prompt is sent once with an output of one token, under a throwaway
//! salt so that the real one stays cold.

mod search;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};
use tokometer_record::Endpoint;
use tokometer_wire::{Connector, Control, Failure, FailureKind};

use self::search::Search;
use crate::error::TargetError;
use crate::target::Target;
use crate::tokenize::TokenizeRoute;

/// Words of the two prompts that tell how many tokens a word has.
const CALIBRATION_WORDS: [usize; 2] = [40, 840];
/// Off by so many tokens is exact enough for a tokenise route.
const TOLERANCE: u64 = 2;
/// Calls per prompt at most.
const MAX_CALLS: u32 = 12;
/// Calls per prompt at most where each is a prefill.
const MAX_SENDS: u32 = 3;
/// A correction of so many times the allowed error is not measured again where that costs a prefill.
const TRUSTED_CORRECTION: u64 = 20;

/// The user's field that changes what the chat template adds.
const TEMPLATE_FIELD: &str = "chat_template_kwargs";

/// The first `n` words of a text; more words continue the text of fewer.
pub type Words = Box<dyn FnMut(usize) -> String + Send>;

/// How prompts are sized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizing {
    /// By the server's tokenise route.
    TokenizeRoute,
    /// By the usage of real requests.
    MeasuredUsage,
}

impl Sizing {
    /// The word in the record.
    pub fn code(self) -> &'static str {
        match self {
            Sizing::TokenizeRoute => "tokenize_route",
            Sizing::MeasuredUsage => "measured_usage",
        }
    }
}

/// Settings of a [`Sizer`].
#[derive(Debug, Clone)]
pub struct SizerOptions {
    /// Route of the requests that are sized.
    pub endpoint: Endpoint,
    /// Prompts that are built at once.
    pub parallel: usize,
    /// Limit for one call; a prefill of 256K tokens on a slow machine takes minutes.
    pub timeout: Duration,
    /// The user's own fields, for they may change the chat template.
    pub request_json: Option<Map<String, Value>>,
    /// Opens the calibration prompts; never used for a measured prompt.
    pub salt: String,
    /// What every prompt ends with, leading space included.
    pub closing: String,
}

/// A prompt to be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSpec {
    /// Tokens, the chat template included.
    pub tokens: u64,
    /// The words that open it.
    pub salt: String,
    /// The words that open it where it must be sent to be sized; never used for a measured prompt.
    pub throwaway_salt: String,
    /// Words of the same text under another salt, from [`SizedPrompt::words`]: then one call is enough with a
    /// tokenise route, and none is made without.
    pub known_words: Option<usize>,
}

/// A prompt that has been built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizedPrompt {
    /// The whole prompt.
    pub text: String,
    /// Tokens, as far as the sizing tells.
    pub expected_tokens: u64,
    /// Words of the text in it, without salt and closing.
    pub words: usize,
    /// Calls that it took.
    pub calls: u32,
}

/// Builds prompts for one target; cheap to clone.
#[derive(Clone)]
pub struct Sizer {
    shared: Arc<Shared>,
}

struct Shared {
    target: Target,
    connector: Connector,
    options: SizerOptions,
    /// Tokens that a request has beyond those that the tokenise route counts.
    overhead: u64,
    /// Tokens of a prompt without words.
    fixed: f64,
    rate: Mutex<Rate>,
    idle: Mutex<Vec<Control>>,
    permits: Semaphore,
}

/// Tokens per word, and how many words say so.
#[derive(Debug, Clone, Copy)]
struct Rate {
    per_word: f64,
    from_words: usize,
}

impl Sizer {
    /// Measures what a word and the chat template cost, with a text as the prompts will have.
    pub async fn start(
        target: &Target,
        connector: &Connector,
        options: SizerOptions,
        mut words: Words,
    ) -> Result<Sizer, TargetError> {
        let mut shared = Shared {
            target: target.clone(),
            connector: connector.clone(),
            overhead: 0,
            fixed: 0.0,
            rate: Mutex::new(Rate { per_word: 1.3, from_words: 0 }),
            idle: Mutex::new(vec![Control::new(connector.clone())]),
            permits: Semaphore::new(options.parallel.max(1)),
            options,
        };
        let [few, many] = CALIBRATION_WORDS
            .map(|count| (count, compose(&shared.options.salt, &words(count), &shared.options.closing)));
        if let Some(route) = shared.route() {
            // The template is not counted by a route that takes plain text.
            if route != TokenizeRoute::Messages {
                let sent = shared.measure(&few.1).await?;
                shared.overhead = sent.saturating_sub(shared.tokenize(route, &few.1).await?);
            }
        }
        let (low, high) = (shared.count(&few.1).await?, shared.count(&many.1).await?);
        let per_word = high.saturating_sub(low).max(1) as f64 / (many.0 - few.0) as f64;
        shared.fixed = low as f64 - per_word * few.0 as f64;
        shared.rate = Mutex::new(Rate { per_word, from_words: many.0 });
        Ok(Sizer { shared: Arc::new(shared) })
    }

    /// How it sizes.
    pub fn sizing(&self) -> Sizing {
        match self.shared.route() {
            Some(_) => Sizing::TokenizeRoute,
            None => Sizing::MeasuredUsage,
        }
    }

    /// Tokens of a word of the text, as far as measured.
    pub fn tokens_per_word(&self) -> f64 {
        self.shared.per_word()
    }

    /// Builds one prompt: exact to [two tokens](SizedPrompt::expected_tokens) with a tokenise route, to
    /// max(16 tokens, 0.1 %) without.
    pub async fn build(&self, spec: PromptSpec, words: Words) -> Result<SizedPrompt, TargetError> {
        let Ok(_permit) = self.shared.permits.acquire().await else {
            unreachable!("the semaphore is never closed")
        };
        let closing = self.shared.options.closing.clone();
        let mut text = Text { closing, words: Some(words) };
        match self.shared.route() {
            Some(_) => self.build_counted(&spec, &mut text).await,
            None => self.build_measured(&spec, &mut text).await,
        }
    }

    /// Builds many prompts at once, in the order of `jobs`; `done` is told how many are ready.
    pub async fn build_all(
        &self,
        jobs: Vec<(PromptSpec, Words)>,
        mut done: impl FnMut(usize),
    ) -> Result<Vec<SizedPrompt>, TargetError> {
        let mut building = JoinSet::new();
        let mut prompts: Vec<Option<SizedPrompt>> = vec![None; jobs.len()];
        for (at, (spec, words)) in jobs.into_iter().enumerate() {
            let sizer = self.clone();
            building.spawn(async move { (at, sizer.build(spec, words).await) });
        }
        let mut ready = 0;
        while let Some(built) = building.join_next().await {
            let (at, prompt) = built.map_err(|error| TargetError::Aborted(error.to_string()))?;
            prompts[at] = Some(prompt?);
            ready += 1;
            done(ready);
        }
        Ok(prompts.into_iter().flatten().collect())
    }

    async fn build_counted(&self, spec: &PromptSpec, text: &mut Text) -> Result<SizedPrompt, TargetError> {
        let first = spec.known_words.unwrap_or_else(|| self.shared.guess(spec.tokens));
        let hit = self.search(text, &spec.salt, spec.tokens, first, TOLERANCE, MAX_CALLS).await?;
        Ok(SizedPrompt { text: hit.prompt, expected_tokens: hit.tokens, words: hit.words, calls: hit.calls })
    }

    async fn build_measured(&self, spec: &PromptSpec, text: &mut Text) -> Result<SizedPrompt, TargetError> {
        let want = spec.tokens;
        if let Some(words) = spec.known_words {
            let text = text.compose(&spec.salt, words).await?;
            return Ok(SizedPrompt { text, expected_tokens: want, words, calls: 0 });
        }
        let first = self.shared.guess(want);
        let tolerance = TRUSTED_CORRECTION * 16.max(want / 1000);
        let hit = self.search(text, &spec.throwaway_salt, want, first, tolerance, MAX_SENDS).await?;
        let per_word = self.shared.per_word();
        let missing = (want as f64 - hit.tokens as f64) / per_word;
        let words = hit.words.saturating_add_signed(missing.round() as isize);
        let expected = hit.tokens as f64 + (words as f64 - hit.words as f64) * per_word;
        let text = text.compose(&spec.salt, words).await?;
        Ok(SizedPrompt { text, expected_tokens: expected.round() as u64, words, calls: hit.calls })
    }

    /// The number of words that comes within `tolerance` of `want` tokens, or the nearest that is found.
    async fn search(
        &self,
        text: &mut Text,
        salt: &str,
        want: u64,
        first: usize,
        tolerance: u64,
        max_calls: u32,
    ) -> Result<Hit, TargetError> {
        let shared = &self.shared;
        let mut search = Search::new(want, first, shared.fixed, shared.per_word());
        let mut best: Option<Hit> = None;
        let mut refused = None;
        let mut calls = 0;
        while let Some(words) = search.next().filter(|_| calls < max_calls) {
            let prompt = text.compose(salt, words).await?;
            calls += 1;
            let tokens = match shared.count(&prompt).await {
                Ok(tokens) => tokens,
                Err(error) if is_too_long(&error) => {
                    refused = Some(error);
                    search.too_long();
                    continue;
                }
                Err(error) => return Err(error),
            };
            search.saw(words, tokens);
            let off = tokens.abs_diff(want);
            if best.as_ref().is_none_or(|best| off < best.tokens.abs_diff(want)) {
                best = Some(Hit { prompt, words, tokens, calls });
            }
            if off <= tolerance {
                break;
            }
            if words == 0 && tokens > want {
                return Err(TargetError::ShortPrompt { tokens: want, least: tokens });
            }
        }
        match (best, refused) {
            (Some(best), _) => {
                shared.learn(&best);
                Ok(Hit { calls, ..best })
            }
            (None, Some(refused)) => Err(refused),
            (None, None) => Err(TargetError::Aborted("no length was tried".to_owned())),
        }
    }
}

/// A prompt that was counted.
struct Hit {
    prompt: String,
    words: usize,
    tokens: u64,
    calls: u32,
}

impl Shared {
    /// The tokenise route that counts what the requests will hold.
    fn route(&self) -> Option<TokenizeRoute> {
        match (self.target.tokenize?, self.options.endpoint) {
            (TokenizeRoute::Messages, Endpoint::Completions) => Some(TokenizeRoute::Prompt),
            (route, _) => Some(route),
        }
    }

    /// Words for a prompt of `tokens`; rather too few while only the calibration is known, since too long a
    /// prompt may be refused.
    fn guess(&self, tokens: u64) -> usize {
        let rate = self.rate();
        let words = ((tokens as f64 - self.fixed) / rate.per_word).max(0.0);
        // The calibration's own error falls with the root of its words.
        let doubt = 1.0 - 0.5 / (rate.from_words.max(1) as f64).sqrt();
        if words > rate.from_words as f64 { (words * doubt) as usize } else { words.round() as usize }
    }

    fn per_word(&self) -> f64 {
        self.rate().per_word
    }

    fn rate(&self) -> Rate {
        *self.rate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the tokens per word of a longer prompt than before.
    fn learn(&self, hit: &Hit) {
        let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
        if hit.words > rate.from_words {
            *rate =
                Rate { per_word: (hit.tokens as f64 - self.fixed) / hit.words as f64, from_words: hit.words };
        }
    }

    /// Tokens of a request with this prompt.
    async fn count(&self, prompt: &str) -> Result<u64, TargetError> {
        match self.route() {
            Some(route) => Ok(self.tokenize(route, prompt).await? + self.overhead),
            None => self.measure(prompt).await,
        }
    }

    async fn tokenize(&self, route: TokenizeRoute, prompt: &str) -> Result<u64, TargetError> {
        let mut body = route.body(self.target.served_name(), prompt);
        let template = self.options.request_json.as_ref().and_then(|fields| fields.get(TEMPLATE_FIELD));
        if let (TokenizeRoute::Messages, Some(template)) = (route, template) {
            body[TEMPLATE_FIELD] = template.clone();
        }
        let answer = self.post(route.path(), &body).await?;
        route.count(&answer).ok_or_else(|| {
            let failure = Failure::new(FailureKind::Malformed, "the answer tells no number of tokens");
            TargetError::Sizing { route: route.name().to_owned(), failure: Box::new(failure) }
        })
    }

    async fn measure(&self, prompt: &str) -> Result<u64, TargetError> {
        let path = match self.options.endpoint {
            Endpoint::Chat => "/v1/chat/completions",
            Endpoint::Completions => "/v1/completions",
        };
        let body =
            self.target.sizing_request(self.options.endpoint, prompt, self.options.request_json.as_ref());
        let answer = self.post(path, &body).await?;
        answer
            .pointer("/usage/prompt_tokens")
            .and_then(Value::as_u64)
            .filter(|tokens| *tokens > 0)
            .ok_or_else(|| TargetError::NoUsage { route: path.to_owned() })
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, TargetError> {
        let failed =
            |failure| TargetError::Sizing { route: format!("POST {path}"), failure: Box::new(failure) };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let control = idle.unwrap_or_else(|| Control::new(self.connector.clone()));
        let answer = control.post_json(path, body, self.options.timeout).await;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(control);
        let answer = answer.map_err(failed)?;
        if !answer.is_success() {
            let excerpt: String = answer.text().chars().take(300).collect();
            let message = format!("HTTP {}: {excerpt}", answer.status);
            let failure = Failure {
                http_status: Some(answer.status),
                ..Failure::new(FailureKind::HttpStatus, message)
            };
            return Err(failed(failure));
        }
        answer.json().map_err(failed)
    }
}

/// A text in the making. Its words are written off the event loop: 256K tokens of them take a while.
struct Text {
    closing: String,
    words: Option<Words>,
}

impl Text {
    async fn compose(&mut self, salt: &str, count: usize) -> Result<String, TargetError> {
        let Some(mut words) = self.words.take() else {
            return Err(TargetError::Aborted("its text is gone".to_owned()));
        };
        let (salt, closing) = (salt.to_owned(), self.closing.clone());
        let written = spawn_blocking(move || {
            let text = compose(&salt, &words(count), &closing);
            (words, text)
        });
        let (words, text) = written.await.map_err(|error| TargetError::Aborted(error.to_string()))?;
        self.words = Some(words);
        Ok(text)
    }
}

fn compose(salt: &str, words: &str, closing: &str) -> String {
    let space = if words.is_empty() { "" } else { " " };
    [salt, space, words, closing].concat()
}

/// The server took the request for one that is too long.
fn is_too_long(error: &TargetError) -> bool {
    matches!(error, TargetError::Sizing { failure, .. } if matches!(failure.http_status, Some(400 | 413 | 422)))
}
