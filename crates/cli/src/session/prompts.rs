//! Every prompt of a run, sized before the first measurement.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokometer_plan::seed::{self, Purpose, TextSeed};
use tokometer_plan::text::{CLOSING, Corpus, Source, salt};
use tokometer_plan::{Plan, Step};
use tokometer_record::{Endpoint, Run};
use tokometer_target::{
    PromptSpec, RequestSpec, SizedPrompt, Sizer, SizerOptions, Target, TargetError, Words,
};
use tokometer_wire::{Connector, PreparedRequest};

use super::server::Server;
use super::{Site, settings};
use crate::args::matrix::MatrixArgs;
use crate::failure::Hinted;
use crate::out;
use crate::progress::Progress;

/// Output tokens of a prefill sample, a scout, and other requests that only read their prompt.
pub(super) const PREFILL_OUTPUT: u64 = 1;
/// Prompts that are sized at once.
const PARALLEL: usize = 4;

/// The prompts of a run.
pub(super) struct Prompts {
    target: Target,
    connector: Connector,
    endpoint: Endpoint,
    matrix: MatrixArgs,
    /// Seed of salts, from the run's id: no two runs share a prefix.
    salts: u64,
    next_salt: Cell<u64>,
    /// By prompt tokens: the prompt that all streams of a context share.
    shared: BTreeMap<u64, Salted>,
    /// By prompt tokens: prompts of the same length under salts of their own, each used once.
    cold: std::cell::RefCell<BTreeMap<u64, VecDeque<String>>>,
}

/// A prompt, and where its salt ends.
struct Salted {
    text: String,
    salt_bytes: usize,
}

impl Prompts {
    /// Sizes the prompts of `plan`; says in `run` how.
    pub(super) async fn build(
        matrix: &MatrixArgs,
        site: &Site,
        run: &mut Run,
        progress: &Progress,
    ) -> Result<Prompts, TargetError> {
        let Site { server: Server { connector, .. }, target, plan, corpus, .. } = site;
        let corpus = corpus.as_ref();
        let mut prompts = Prompts {
            target: target.clone(),
            connector: connector.clone(),
            endpoint: settings::endpoint(matrix),
            matrix: matrix.clone(),
            salts: seed::of_run(&run.id),
            next_salt: Cell::new(0),
            shared: BTreeMap::new(),
            cold: std::cell::RefCell::default(),
        };
        run.settings.request_fields = Some(prompts.request_fields());
        let words = |tokens: u64| {
            let text = TextSeed::new(matrix.seed, Purpose::Decode, tokens);
            let mut source = Source::new(corpus, text.value());
            Box::new(move |count| source.text(count)) as Words
        };
        let options = SizerOptions {
            endpoint: prompts.endpoint,
            parallel: PARALLEL,
            timeout: Duration::from_secs_f64(matrix.timeout),
            request_json: matrix.request_json.as_ref().map(|object| object.0.clone()),
            salt: prompts.salt(),
            closing: CLOSING.to_owned(),
        };
        let sizer = Sizer::start(target, connector, options, words(0)).await?;
        run.settings.prompt_sizing = Some(sizer.sizing().code().to_owned());

        let lengths = lengths(plan);
        progress.note(&format!("building prompts of {}", out::count(lengths.len(), "length")));
        let jobs = lengths.iter().map(|tokens| (prompts.spec(*tokens, None), words(*tokens))).collect();
        let shared = sizer.build_all(jobs, |_| {}).await?;
        let mut jobs = Vec::new();
        for (tokens, prompt) in lengths.iter().zip(&shared) {
            let times = cold_prompts(plan, *tokens);
            jobs.extend((0..times).map(|_| (prompts.spec(*tokens, Some(prompt.words)), words(*tokens))));
            if let Some(note) = corpus.and_then(|corpus| corpus.note(prompt.words)) {
                run.remarks.push(note);
            }
        }
        let owners: Vec<u64> = jobs.iter().map(|(spec, _)| spec.tokens).collect();
        let cold = sizer.build_all(jobs, |_| {}).await?;
        for (tokens, prompt) in owners.into_iter().zip(cold) {
            prompts.cold.get_mut().entry(tokens).or_default().push_back(prompt.text);
        }
        for (tokens, prompt) in lengths.into_iter().zip(shared) {
            let salted = Salted::new(prompt);
            prompts.shared.insert(tokens, salted);
        }
        Ok(prompts)
    }

    /// The prompt that all streams of a context share.
    pub(super) fn shared(&self, tokens: u64) -> String {
        self.shared[&tokens].text.clone()
    }

    /// One prompt for each of `count` streams: the same for every cell of the context, or new ones.
    pub(super) fn unique(&self, tokens: u64, count: u32, new: bool) -> Vec<String> {
        let base = &self.shared[&tokens];
        // Far from the other salts, so that the prompts of a stream stay the same from cell to cell.
        let fixed = |stream: u32| salt(self.salts, 1_000_000 + u64::from(stream));
        (0..count).map(|stream| base.with_salt(&if new { self.salt() } else { fixed(stream) })).collect()
    }

    /// A request whose prefix the server has never seen.
    pub(super) fn cold(&self, tokens: u64, max_output: u64) -> PreparedRequest {
        let sized = self.cold.borrow_mut().get_mut(&tokens).and_then(VecDeque::pop_front);
        let prompt = sized.unwrap_or_else(|| self.shared[&tokens].with_salt(&self.salt()));
        self.request(&prompt, max_output)
    }

    /// A short chat request.
    pub(super) fn short_request(&self, max_output: u64) -> PreparedRequest {
        self.request(&format!("{} Count from one to twenty in words.", self.salt()), max_output)
    }

    /// A request with this prompt.
    pub(super) fn request(&self, prompt: &str, max_output: u64) -> PreparedRequest {
        let body = self.target.request(&self.request_spec(prompt, max_output));
        self.connector.prepare(self.endpoint_path(), body)
    }

    fn request_fields(&self) -> serde_json::Value {
        self.target.request_fields(&self.request_spec("", self.matrix.max_output))
    }

    fn endpoint_path(&self) -> &'static str {
        settings::wire_endpoint(&self.matrix).path()
    }

    fn request_spec<'a>(&'a self, prompt: &'a str, max_output: u64) -> RequestSpec<'a> {
        RequestSpec {
            endpoint: self.endpoint,
            prompt,
            max_output_tokens: max_output,
            respect_eos: self.matrix.respect_eos,
            temperature: self.matrix.temperature,
            top_p: self.matrix.top_p,
            seed: None,
            request_json: self.matrix.request_json.as_ref().map(|object| &object.0),
        }
    }

    fn salt(&self) -> String {
        let index = self.next_salt.get();
        self.next_salt.set(index + 1);
        salt(self.salts, index)
    }

    fn spec(&self, tokens: u64, known_words: Option<usize>) -> PromptSpec {
        PromptSpec { tokens, salt: self.salt(), throwaway_salt: self.salt(), known_words }
    }
}

impl Salted {
    fn new(prompt: SizedPrompt) -> Salted {
        // The salt is the first sentence.
        let salt_bytes = prompt.text.find('.').map_or(0, |at| at + 1);
        Salted { text: prompt.text, salt_bytes }
    }

    fn with_salt(&self, salt: &str) -> String {
        format!("{salt}{}", &self.text[self.salt_bytes..])
    }
}

/// Prompt lengths that the plan needs.
fn lengths(plan: &Plan) -> Vec<u64> {
    let steps = plan.steps.iter().map(|step| match step {
        Step::Prefill { prompt_tokens, .. } => *prompt_tokens,
        Step::Cell { context, .. } => *context,
    });
    let warm_up = plan.warm_up().map(|warm_up| warm_up.prefill_tokens);
    steps.chain(warm_up).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Cold prompts of this length that will be sent: prefill samples and the warm-up.
fn cold_prompts(plan: &Plan, tokens: u64) -> u32 {
    let prefill =
        |step: &Step| matches!(step, Step::Prefill { prompt_tokens, .. } if *prompt_tokens == tokens);
    let samples =
        plan.steps.iter().filter(|step| prefill(step)).count() as u32 * plan.request.prefill_repeats;
    let samples = samples * plan.request.repeats;
    let warm_up = plan.warm_up().map_or(0, |warm_up| {
        u32::from(warm_up.prefill_tokens == tokens) + u32::from(warm_up.decode_context == Some(tokens))
    });
    samples + warm_up
}

/// The text that prompts are built from, where the user gives one, and its name for the record.
pub(super) fn corpus(matrix: &MatrixArgs) -> anyhow::Result<Option<(String, Arc<Corpus>)>> {
    const HINT: &str = "give a UTF-8 text with --corpus, or leave it out for the built-in generator";
    let Some(path) = &matrix.corpus else { return Ok(None) };
    let text = std::fs::read_to_string(path).with_context(|| {
        Hinted::usage(format!("cannot read the corpus {} as UTF-8 text", path.display()), HINT)
    })?;
    let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let name = format!("{file} sha256:{}", tokometer_record::store::sha256(text.as_bytes()));
    let corpus = Corpus::new(text).map_err(|error| Hinted::usage(error.to_string(), HINT))?;
    Ok(Some((name, Arc::new(corpus))))
}
