//! Traces from the timing model of the simulated engine, in virtual time: no socket, no waiting, and a true rate that
//! is known.
//!
//! The engine says when each token is due. Two kinds of noise with seeds go on top. *Steps* take longer or shorter
//! by a factor that remembers the step before (autoregressive, mean 1). *Text* moves how many tokens an event brings,
//! as speculative decoding does: up to two more, with a chance that wanders slowly. Both have no effect on the mean,
//! so that the true decoding rate is the model's, times the tokens of an event.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokometer_record::{CellTrace, EventRow, Outcome, Phase, RequestRow, SampleRow};
use tokometer_sim::Profile;
use tokometer_sim::engine::{Engine, Finish, Request, RequestId};
use tokometer_sim::tokenizer::Prompt;

use crate::build::{MS, SECOND, counters, event, meta, request};

/// Between the end of a request and the next one of its stream.
const TURN_NS: u64 = 300_000;
/// Memory of the text's noise, events.
const TEXT_MEMORY: f64 = 50.0;
/// From the streams' start to the window.
pub(crate) const READY_NS: u64 = 3 * SECOND;

/// A cell with its noise.
#[derive(Debug, Clone)]
pub(crate) struct Synthetic {
    pub(crate) profile: Arc<Profile>,
    pub(crate) context: u64,
    pub(crate) concurrency: u32,
    pub(crate) max_output: u64,
    /// The output ends by itself after so many tokens of the model.
    pub(crate) natural_end: Option<u64>,
    /// Spread of a step's length, relative.
    pub(crate) step_noise: f64,
    /// How much of a step's deviation the next one has.
    pub(crate) step_memory: f64,
    /// Chance of each of two more tokens on an event; 0: always one token.
    pub(crate) acceptance: f64,
    /// Spread of that chance.
    pub(crate) text_noise: f64,
    pub(crate) seed: u64,
}

impl Synthetic {
    /// Decoding rate of the model, tok/s.
    pub(crate) fn true_rate(&self) -> f64 {
        self.profile.total_rate(self.context, self.concurrency) * (1.0 + 2.0 * self.acceptance)
    }

    /// The trace of a cell whose window lasts so long.
    pub(crate) fn trace(&self, seconds: f64) -> CellTrace {
        let end = READY_NS + (seconds * 1e9) as u64;
        let mut meta = meta(Phase::Decode, self.concurrency);
        (meta.context_nominal, meta.max_output_tokens) = (self.context, self.max_output);
        (meta.window_start_ns, meta.window_end_ns) = (Some(READY_NS), Some(end));
        meta.duration_seconds = seconds;
        let trace = CellTrace { meta, requests: Vec::new(), events: Vec::new(), samples: Vec::new() };
        let mut streams = Streams::new(self, trace, end);
        streams.run();
        streams.finish()
    }
}

/// The streams of a cell while they run.
struct Streams<'a> {
    cell: &'a Synthetic,
    engine: Engine,
    prompt: Prompt,
    time: Warp,
    text: Vec<Text>,
    trace: CellTrace,
    end: u64,
    /// Row of the request that a number of the engine stands for.
    rows: Vec<usize>,
    generated: f64,
}

impl<'a> Streams<'a> {
    fn new(cell: &'a Synthetic, trace: CellTrace, end: u64) -> Streams<'a> {
        let mut prompt = Prompt::default();
        (0..cell.context).for_each(|token| prompt.push(token as u32 % 1000));
        let mut engine = Engine::new(Arc::clone(&cell.profile));
        // The scout leaves a warm prefix; its time is not part of the cell.
        engine.submit(cell.request(RequestId(u64::MAX), prompt.clone(), 1, 0));
        let mut first = Vec::new();
        while let Some(due) = engine.next_deadline() {
            engine.advance(due, &mut first);
        }
        let start = first.last().map_or(0, |emission| emission.due_ns) + SECOND;
        engine.advance(start, &mut Vec::new());
        let step_ns = cell.profile.step_seconds(cell.context, cell.concurrency) * 1e9;
        Streams {
            cell,
            engine,
            prompt,
            time: Warp::new(cell, start, step_ns),
            text: (0..cell.concurrency).map(|stream| Text::new(cell, stream)).collect(),
            trace,
            end,
            rows: Vec::new(),
            generated: 0.0,
        }
    }

    fn run(&mut self) {
        for stream in 0..self.cell.concurrency {
            self.send(stream, self.time.start);
        }
        let mut emissions = Vec::new();
        let mut arrival = 0;
        while arrival < self.end
            && let Some(due) = self.engine.next_deadline()
        {
            self.engine.advance(due, &mut emissions);
            for emission in emissions.drain(..) {
                let row = self.rows[emission.id.0 as usize];
                arrival = self.time.real(emission.due_ns);
                if arrival >= self.end {
                    continue;
                }
                let stream = self.trace.requests[row].stream;
                self.receive(row, arrival);
                if let Some(finish) = emission.finish {
                    let request = &mut self.trace.requests[row];
                    request.outcome = Outcome::Ended;
                    request.finish_reason = Some(match finish {
                        Finish::Length => "length".to_owned(),
                        Finish::Stop => "stop".to_owned(),
                    });
                    self.send(stream, emission.due_ns + TURN_NS);
                }
            }
        }
    }

    /// `at` is in the engine's time.
    fn send(&mut self, stream: u32, at: u64) {
        let id = RequestId(self.rows.len() as u64);
        let mut row = request(id.0 as u32, stream, self.time.real(at));
        (row.outcome, row.finish_reason) = (Outcome::Cut, None);
        row.prompt_tokens = Some(self.cell.context);
        row.cached_tokens = Some(self.cell.context - 1);
        row.completion_tokens = None;
        self.rows.push(self.trace.requests.len());
        self.trace.requests.push(row);
        self.engine.submit(self.cell.request(id, self.prompt.clone(), self.cell.max_output, at));
    }

    fn receive(&mut self, row: usize, arrival: u64) {
        let row = &mut self.trace.requests[row];
        let tokens = if row.events == 0 { 1 } else { self.text[row.stream as usize].tokens() };
        let count = row.completion_tokens.unwrap_or(0) + tokens;
        row.first_byte_ns.get_or_insert(arrival);
        row.completion_tokens = Some(count);
        (row.events, row.reads, row.end_ns) = (row.events + 1, row.reads + 1, arrival);
        self.generated += tokens as f64;
        self.trace
            .events
            .push(EventRow { lag_ns: 20_000, ..event(row.request, arrival, Some(count as u32)) });
    }

    fn finish(mut self) -> CellTrace {
        for row in &mut self.trace.requests {
            if row.outcome == Outcome::Cut {
                row.end_ns = self.end;
                row.completion_tokens = None;
            }
        }
        self.trace.requests.retain(|row: &RequestRow| row.send_ns < self.end);
        let last = self.end.saturating_sub(READY_NS) / SECOND;
        self.trace.samples = (0..last)
            .map(|second| SampleRow {
                time_ns: READY_NS + second * SECOND + 500 * MS,
                running: Some(f64::from(self.cell.concurrency)),
                waiting: Some(0.0),
                ..SampleRow::default()
            })
            .collect();
        counters(&mut self.trace, self.generated);
        self.trace.events.sort_by_key(|event| event.request);
        self.trace
    }
}

impl Synthetic {
    fn request(&self, id: RequestId, prompt: Prompt, max_tokens: u64, arrival_ns: u64) -> Request {
        Request { id, prompt, max_tokens, natural_end: self.natural_end, arrival_ns, trick: None }
    }
}

/// Turns the engine's time into the noisy one: stretches of one step each, longer or shorter.
struct Warp {
    start: u64,
    step_ns: f64,
    /// Real time at the beginning of each stretch.
    edges: Vec<f64>,
    noise: Autoregressive,
    spread: f64,
}

impl Warp {
    fn new(cell: &Synthetic, start: u64, step_ns: f64) -> Warp {
        let noise = Autoregressive::new(cell.seed, cell.step_memory);
        Warp { start, step_ns, edges: vec![0.0], noise, spread: cell.step_noise }
    }

    fn real(&mut self, engine_ns: u64) -> u64 {
        let position = engine_ns.saturating_sub(self.start) as f64 / self.step_ns;
        let stretch = position as usize;
        while self.edges.len() < stretch + 2 {
            let factor = (1.0 + self.spread * self.noise.next()).clamp(0.05, 1.95);
            self.edges.push(self.edges[self.edges.len() - 1] + factor * self.step_ns);
        }
        let (from, to) = (self.edges[stretch], self.edges[stretch + 1]);
        (from + (position - stretch as f64) * (to - from)) as u64
    }
}

/// How many tokens the events of a stream bring.
struct Text {
    random: Pcg64,
    chance: Autoregressive,
    mean: f64,
    spread: f64,
}

impl Text {
    fn new(cell: &Synthetic, stream: u32) -> Text {
        let seed = cell.seed.wrapping_mul(1009).wrapping_add(u64::from(stream) + 1);
        Text {
            random: Pcg64::seed_from_u64(seed),
            chance: Autoregressive::new(seed, (-1.0 / TEXT_MEMORY).exp()),
            mean: cell.acceptance,
            spread: cell.text_noise,
        }
    }

    fn tokens(&mut self) -> u64 {
        if self.mean == 0.0 {
            return 1;
        }
        // As far below as above, so that the mean stays.
        let room = self.mean.min(1.0 - self.mean);
        let chance = self.mean + (self.spread * self.chance.next()).clamp(-room, room);
        1 + (0..2).filter(|_| self.random.random_range(0.0..1.0) < chance).count() as u64
    }
}

/// Normal numbers, each of which remembers the one before.
struct Autoregressive {
    random: Pcg64,
    memory: f64,
    value: f64,
}

impl Autoregressive {
    fn new(seed: u64, memory: f64) -> Autoregressive {
        let mut random = Pcg64::seed_from_u64(seed);
        let value = normal(&mut random);
        Autoregressive { random, memory, value }
    }

    fn next(&mut self) -> f64 {
        let now = self.value;
        self.value = self.memory * now + (1.0 - self.memory.powi(2)).sqrt() * normal(&mut self.random);
        now
    }
}

/// By the polar method of Marsaglia.
fn normal(random: &mut Pcg64) -> f64 {
    loop {
        let (x, y) = (random.random_range(-1.0..1.0_f64), random.random_range(-1.0..1.0_f64));
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
}
