//! How the simulated engine behaves, read off a run record.

mod grid;

use std::path::Path;

use tokometer_record::{Phase, Run, RunFolder, Status, import, published};

use crate::SimError;
use crate::engine::Speculation;
use grid::{Grid, Point};

/// The built-in profiles: name, published matrix, KV tokens.
///
/// The pages do not tell the KV capacity. These figures lie in the bracket that their skipped cells give.
const BUILTIN: [(&str, &str, u64); 2] =
    [("h200-x4", published::H200_X4, 3_145_728), ("rtx-pro-6000-x4", published::RTX_PRO_6000_X4, 1_048_576)];

/// Longest prompt plus output where the record does not tell.
const MAX_MODEL_LENGTH: u64 = 262_144;

/// Requests that run at once where the record does not tell.
const MAX_CONCURRENT_REQUESTS: u32 = 256;

/// Name of the model of the steady profile.
const STEADY: &str = "steady";

/// Longest prompt plus output of the steady profile: more than any stream lives to see.
const STEADY_LENGTH: u64 = 1 << 40;

/// Requests at once of the steady profile.
const STEADY_REQUESTS: u32 = 1 << 20;

/// Most tokens a second for one stream.
const MAX_RATE: f64 = 1e6;

/// How the simulated engine behaves: its limits, and its times by (context, concurrency).
///
/// Between the cells of the record values are interpolated on log2(context) × log2(concurrency); a cell
/// without a measurement takes the nearest context at its concurrency; beyond the edges the edge holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    name: String,
    model_id: String,
    served_name: String,
    max_model_length: u64,
    kv_tokens: u64,
    max_concurrent_requests: u32,
    prefill_rate: Grid,
    ttft_seconds: Grid,
    step_seconds: Grid,
    rows: Vec<Row>,
    flat_out: bool,
    speculation: Option<Speculation>,
}

/// The decode cells of one context that were run: concurrency, and whether their text looped.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    context: u64,
    cells: Vec<(u32, bool)>,
}

/// What replaces the figures of the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Name of the profile; else the record's title or model.
    pub name: Option<String>,
    /// Name that requests use.
    pub served_name: Option<String>,
    /// Longest prompt plus output, tokens.
    pub max_model_length: Option<u64>,
    /// Tokens that the KV cache holds.
    pub kv_tokens: Option<u64>,
    /// Requests that run at once.
    pub max_concurrent_requests: Option<u32>,
}

impl Profile {
    /// Names of the built-in profiles.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|entry| entry.0)
    }

    /// A built-in profile: one of the two published matrices.
    pub fn builtin(name: &str) -> Result<Profile, SimError> {
        let Some(&(name, matrix, kv_tokens)) = BUILTIN.iter().find(|entry| entry.0 == name) else {
            let known = Self::builtin_names().collect::<Vec<_>>().join(", ");
            return Err(SimError::UnknownProfile { name: name.to_owned(), known });
        };
        let run = import::published(matrix, &format!("{name}.json"))
            .map_err(|source| SimError::Record { name: name.to_owned(), source })?;
        let overrides = Overrides {
            name: Some(name.to_owned()),
            kv_tokens: Some(kv_tokens),
            max_concurrent_requests: Some(MAX_CONCURRENT_REQUESTS),
            ..Overrides::default()
        };
        Profile::from_run(&run, &overrides)
    }

    /// A built-in profile by its name, else the run record at this path (`run.json` or its folder).
    pub fn load(name_or_path: &str) -> Result<Profile, SimError> {
        let path = Path::new(name_or_path);
        if BUILTIN.iter().any(|entry| entry.0 == name_or_path) || !path.exists() {
            return Profile::builtin(name_or_path);
        }
        let run = RunFolder::open(path)
            .and_then(|folder| folder.load_run())
            .map_err(|source| SimError::Record { name: name_or_path.to_owned(), source })?;
        Profile::from_run(&run, &Overrides::default())
    }

    /// The profile of a run: step time = concurrency ÷ total rate, prefill time = tokens ÷ prefill rate, warm
    /// TTFT = the cell's median. A cell of status `looped` makes the engine repeat its text there.
    ///
    /// A record that tells no KV capacity gets what its largest measured cell needs. One without prefill rows
    /// prefills a cold prompt in the time to first token of a warm one.
    pub fn from_run(run: &Run, overrides: &Overrides) -> Result<Profile, SimError> {
        let model = run.model.id.clone().or_else(|| run.model.served_name.clone());
        let model_id = model.unwrap_or_else(|| "simulated".to_owned());
        let title = run.title.clone().or_else(|| run.model.served_name.clone());
        let name = overrides.name.clone().or(title).unwrap_or_else(|| model_id.clone());
        let incomplete = |why| SimError::Incomplete { name: name.clone(), why };

        let mut steps = Vec::new();
        let mut ttfts = Vec::new();
        let mut prefills = Vec::new();
        let mut rows: Vec<Row> = Vec::new();
        let mut largest_cell = 0;
        for cell in run.cells.iter().filter(|cell| can_be_replayed(cell.status)) {
            let point = |value| Point { context: cell.context_nominal, concurrency: cell.concurrency, value };
            if cell.phase == Phase::Prefill {
                prefills.extend(cell.prefill_rate.map(|rate| Point { concurrency: 1, ..point(rate) }));
                continue;
            }
            let c = f64::from(cell.concurrency);
            steps.extend(cell.throughput.as_ref().map(|rate| point(c / rate.total)));
            ttfts.extend(cell.ttft_ms.as_ref().and_then(|ttft| ttft.p50).map(|ms| point(ms / 1e3)));
            let need = cell.context_nominal + run.settings.max_output_tokens;
            largest_cell = largest_cell.max(u64::from(cell.concurrency) * need);
            let entry = (cell.concurrency, cell.status == Status::Looped);
            match rows.iter_mut().find(|row| row.context == cell.context_nominal) {
                Some(row) => row.cells.push(entry),
                None => rows.push(Row { context: cell.context_nominal, cells: vec![entry] }),
            }
        }
        for row in &mut rows {
            row.cells.sort_unstable();
        }

        let step_seconds = Grid::new(&steps).ok_or_else(|| incomplete("no decode cell has a total rate"))?;
        let ttft_seconds =
            Grid::new(&ttfts).ok_or_else(|| incomplete("no decode cell has a time to first token"))?;
        if prefills.is_empty() {
            prefills.extend(ttfts.iter().map(|ttft| Point {
                concurrency: 1,
                value: ttft.context as f64 / ttft_seconds.at(ttft.context, 1),
                ..*ttft
            }));
        }
        let prefill_rate = Grid::new(&prefills).ok_or_else(|| incomplete("no prefill row has a rate"))?;

        let recorded_requests = run.capacity.concurrent_requests.and_then(|count| u32::try_from(count).ok());
        Ok(Profile {
            served_name: overrides
                .served_name
                .clone()
                .or_else(|| run.model.served_name.clone())
                .unwrap_or_else(|| model_id.clone()),
            name,
            model_id,
            max_model_length: overrides.max_model_length.or(run.model.max_length).unwrap_or(MAX_MODEL_LENGTH),
            kv_tokens: overrides.kv_tokens.or(run.capacity.kv_tokens).unwrap_or(largest_cell).max(1),
            max_concurrent_requests: overrides
                .max_concurrent_requests
                .or(recorded_requests)
                .unwrap_or(MAX_CONCURRENT_REQUESTS)
                .max(1),
            prefill_rate,
            ttft_seconds,
            step_seconds,
            rows,
            flat_out: false,
            speculation: None,
        })
    }

    /// An engine that is a ruler: each stream gets `rate` tokens a second, whatever its prompt and however many
    /// streams there are, in steps that serve all of them; there is no prefill, and room for all.
    ///
    /// None: a step follows as soon as the one before has been sent, as fast as the machine can.
    pub fn steady(rate: Option<f64>) -> Result<Profile, SimError> {
        if rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0 || rate > MAX_RATE) {
            return Err(SimError::Rate { most: MAX_RATE });
        }
        let constant = |value| {
            let point = Point { context: 1, concurrency: 1, value };
            Grid::new(&[point]).ok_or(SimError::Rate { most: MAX_RATE })
        };
        let name = rate.map_or("steady, flat out".to_owned(), |rate| format!("steady, {rate} tokens/s"));
        Ok(Profile {
            name,
            model_id: STEADY.to_owned(),
            served_name: STEADY.to_owned(),
            max_model_length: STEADY_LENGTH,
            kv_tokens: STEADY_LENGTH * u64::from(STEADY_REQUESTS),
            max_concurrent_requests: STEADY_REQUESTS,
            prefill_rate: constant(1e15)?,
            ttft_seconds: constant(1e-6)?,
            step_seconds: constant(1.0 / rate.unwrap_or(MAX_RATE))?,
            rows: Vec::new(),
            flat_out: rate.is_none(),
            speculation: None,
        })
    }

    /// The same engine with another KV capacity.
    #[must_use]
    pub fn with_kv_tokens(self, kv_tokens: u64) -> Profile {
        Profile { kv_tokens: kv_tokens.max(1), ..self }
    }

    /// True if a step follows as soon as the one before has been sent.
    pub(crate) fn is_flat_out(&self) -> bool {
        self.flat_out
    }

    /// The same engine with speculative decoding: its steps take as long as before and give more tokens.
    #[must_use]
    pub fn with_speculation(self, speculation: Speculation) -> Profile {
        Profile { speculation: Some(speculation), ..self }
    }

    /// How it speculates, if it does.
    pub fn speculation(&self) -> Option<Speculation> {
        self.speculation
    }

    /// Name of the profile, as answers tell it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Full name of the model.
    pub fn model_id(&self) -> &str {
        &self.model_id
    }

    /// Name of the model that requests use.
    pub fn served_name(&self) -> &str {
        &self.served_name
    }

    /// Longest prompt plus output, tokens.
    pub fn max_model_length(&self) -> u64 {
        self.max_model_length
    }

    /// Tokens that the KV cache holds.
    pub fn kv_tokens(&self) -> u64 {
        self.kv_tokens
    }

    /// Requests that run at once.
    pub fn max_concurrent_requests(&self) -> u32 {
        self.max_concurrent_requests
    }

    /// Prompt tokens per second that are not in the prefix cache.
    pub fn prefill_rate(&self, context: u64) -> f64 {
        self.prefill_rate.at(context, 1)
    }

    /// Seconds to the first token of a prompt that is in the prefix cache, with this many requests at once.
    pub fn ttft_seconds(&self, context: u64, concurrency: u32) -> f64 {
        self.ttft_seconds.at(context, concurrency)
    }

    /// Seconds that a step takes, in which each of this many decoding requests gets one token.
    pub fn step_seconds(&self, context: u64, concurrency: u32) -> f64 {
        self.step_seconds.at(context, concurrency)
    }

    /// Tokens per second over all of this many decoding requests.
    pub fn total_rate(&self, context: u64, concurrency: u32) -> f64 {
        f64::from(concurrency) / self.step_seconds(context, concurrency)
    }

    /// True where the recorded text repeated itself: the row of the nearest context, and of it the cell with
    /// the highest concurrency up to this one.
    pub fn loops(&self, context: u64, concurrency: u32) -> bool {
        let distance = |row: &Row| (row.context.max(1) as f64 / context.max(1) as f64).log2().abs();
        let nearest = self.rows.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest
            .and_then(|row| row.cells.iter().rev().find(|cell| cell.0 <= concurrency))
            .is_some_and(|cell| cell.1)
    }

    /// The profile of an engine that has slots of the longest length each.
    pub(crate) fn in_slots(mut self) -> Profile {
        let slots = self.kv_tokens / self.max_model_length.max(1);
        let slots = slots.clamp(1, self.max_concurrent_requests.into());
        self.max_concurrent_requests = slots as u32;
        self.kv_tokens = slots * self.max_model_length;
        self
    }

    /// True if the text repeats itself anywhere.
    pub(crate) fn loops_somewhere(&self) -> bool {
        self.rows.iter().any(|row| row.cells.iter().any(|cell| cell.1))
    }
}

/// True for cells whose figures are the server's own; not for those that the client or others shaped.
fn can_be_replayed(status: Status) -> bool {
    matches!(status, Status::Valid | Status::Looped | Status::Unstable | Status::Throttled)
}
