//! A run document as a row for lists: which set-up it is, and the figures that rankings go by.
//!
//! Every figure is taken out of the document as it stands; `tokometer-analysis` made it.

use serde_json::{Value, json};
use tokometer_analysis::{DEFAULT_LEVEL, effective_settings, users_by_medians};
use tokometer_record::store::sha256;
use tokometer_record::{Cell, Interval, Phase, Run, Status};

use crate::canonical;
use crate::clock;
use crate::domain::{CellRow, Evidence, Headline, Millis, RunRow, Shelf};

/// What stands where something is not known.
const UNKNOWN: &str = "unknown";

/// The row of a run that is published now, in its first revision.
pub(crate) fn row(run: &Run, submitter: &str, evidence: Evidence, now: Millis) -> RunRow {
    let setup = Setup::of(run);
    let valid = |phase: Phase| {
        run.cells.iter().filter(move |cell| cell.phase == phase && cell.status == Status::Valid)
    };
    let rate = |cell: &Cell| cell.throughput.as_ref().map(|rates| rates.total);
    let one_user =
        valid(Phase::Decode).filter(|cell| cell.concurrency == 1).min_by_key(|cell| cell.context_nominal);
    let peak = valid(Phase::Decode)
        .filter(|cell| rate(cell).is_some())
        .max_by(|one, other| rate(one).partial_cmp(&rate(other)).unwrap_or(std::cmp::Ordering::Equal));
    let peak_rate = peak.and_then(total);
    let mut contexts: Vec<u64> = valid(Phase::Decode).map(|cell| cell.context_nominal).collect();
    contexts.sort_unstable();
    contexts.dedup();
    RunRow {
        id: run.id.clone(),
        submitter: submitter.to_owned(),
        revision: 1,
        shelf: Shelf::of(run.simulated, evidence.level),
        measured_at: run.created_at.as_deref().and_then(clock::parse),
        published_at: now,
        revised_at: now,
        withdrawn_reason: None,
        title: run.display_title(),
        peak_per_accelerator: peak_rate
            .zip(setup.accelerators)
            .map(|(peak, count)| peak.value / f64::from(count)),
        model: setup.model.clone(),
        hardware: setup.hardware.clone(),
        accelerators: setup.accelerators,
        engine: setup.engine.clone(),
        engine_version: setup.engine_version.clone(),
        quantization: setup.quantization.clone(),
        speculative: setup.speculative.clone(),
        contexts,
        method: format!("{} {}", run.method.name, run.method.version),
        evidence,
        group_hash: setup.hash(run, true),
        series_hash: setup.hash(run, false),
        content_sha256: content_sha256(run),
        one_user: one_user.and_then(total),
        peak: peak_rate,
        prefill: valid(Phase::Prefill).filter_map(|cell| cell.prefill_rate).reduce(f64::max),
        users_at_limits: users(run),
        // Without the machine's series nobody could compute it again.
        joules_per_token: peak.filter(|_| run.telemetry.is_some()).and_then(joules),
        valid_cells: (valid(Phase::Decode).count() + valid(Phase::Prefill).count()) as u32,
        all_cells: run.cells.len() as u32,
        is_lead: true,
        replicates: 1,
        submitters: 1,
        spread: std::collections::BTreeMap::new(),
    }
}

/// The rows of a run's cells.
pub(crate) fn cells(run: &Run) -> Vec<CellRow> {
    run.cells.iter().map(cell).collect()
}

/// SHA-256 of a document in its canonical form.
pub(crate) fn content_sha256(run: &Run) -> String {
    sha256(canonical::json(&serde_json::to_value(run).unwrap_or_default()).as_bytes())
}

fn cell(cell: &Cell) -> CellRow {
    let median = |of: &Option<tokometer_record::Distribution>| of.as_ref().and_then(|it| it.p50);
    CellRow {
        name: cell.name(),
        phase: match cell.phase {
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
        },
        context: cell.context_nominal,
        concurrency: cell.concurrency,
        status: cell.status.code(),
        total: total(cell),
        prefill_rate: cell.prefill_rate,
        ttft_p50: median(&cell.ttft_ms),
        per_request_p50: median(&cell.per_request_rate),
        joules_per_token: joules(cell),
        acceptance_length: cell.speculative.as_ref().map(|figures| figures.acceptance_length),
    }
}

fn total(cell: &Cell) -> Option<Headline> {
    let rates = cell.throughput.as_ref()?;
    let end = |of: fn(&Interval) -> f64| rates.interval.as_ref().map(of);
    Some(Headline { value: rates.total, low: end(|it| it.low), high: end(|it| it.high) })
}

fn joules(cell: &Cell) -> Option<f64> {
    cell.telemetry.as_ref().and_then(|machine| machine.joules_per_token)
}

/// Users at the default limits, at the shortest context of the matrix.
fn users(run: &Run) -> Option<u32> {
    let users = users_by_medians(std::slice::from_ref(run), DEFAULT_LEVEL)?;
    users.contexts.first()?.runs.first()?.users
}

/// What a run was made with.
struct Setup {
    model: String,
    hardware: String,
    accelerators: Option<u32>,
    engine: String,
    engine_version: String,
    quantization: String,
    speculative: String,
    launch: Vec<(String, Option<String>)>,
}

impl Setup {
    fn of(run: &Run) -> Setup {
        let text = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let known = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
        let launch: Vec<(String, Option<String>)> = effective_settings(run)
            .into_iter()
            .map(|setting| (setting.key, setting.value.effective))
            .collect();
        let speculative = launch
            .iter()
            .find(|(key, _)| key == "speculative")
            .and_then(|(_, value)| value.clone())
            .or_else(|| text(&run.engine.speculative));
        let accelerators = &run.hardware.accelerators;
        let mut names: Vec<&str> = accelerators.iter().map(|one| one.name.as_str()).collect();
        names.dedup();
        let host_cpu = || run.hardware.host.as_ref().and_then(|host| text(&host.cpu));
        let hardware = if names.is_empty() { host_cpu() } else { Some(names.join(" + ")) };
        Setup {
            model: known(text(&run.model.id).or_else(|| text(&run.model.served_name))),
            hardware: known(hardware),
            accelerators: (!accelerators.is_empty()).then(|| accelerators.iter().map(|one| one.count).sum()),
            engine: known(text(&run.engine.name)),
            engine_version: known(text(&run.engine.version)),
            quantization: known(text(&run.model.quantization)),
            speculative: known(speculative),
            launch,
        }
    }

    /// The same for runs that measure the same thing: the set-up and the plan, with or without the engine's version.
    fn hash(&self, run: &Run, with_version: bool) -> String {
        let settings = &run.settings;
        let version =
            if with_version { json!([self.engine_version, run.engine.commit]) } else { Value::Null };
        let setup = json!({
            "simulated": run.simulated,
            "model": [self.model.to_lowercase(), run.model.revision, self.quantization.to_lowercase()],
            "hardware": [self.hardware, self.accelerators],
            "engine": [self.engine, run.engine.build, run.engine.backend, run.engine.parallelism],
            "version": version,
            "launch": self.launch,
            "speculative": self.speculative,
            "method": [run.method.name, run.method.version, settings.decode_test, settings.prefill_mode],
            "matrix": [sorted(&settings.contexts), sorted(&settings.concurrency), sorted(&settings.prefill_contexts)],
            "load": [json!(settings.prompts), json!(settings.cold), json!(settings.endpoint),
                json!(settings.respect_eos), json!(settings.at_end), json!(settings.max_output_tokens)],
            "sampling": [json!(settings.temperature), json!(settings.top_p), json!(settings.request_json)],
            "corpus": settings.corpus,
        });
        sha256(canonical::json(&setup).as_bytes())
    }
}

fn sorted<T: Ord + Copy>(list: &[T]) -> Vec<T> {
    let mut list = list.to_vec();
    list.sort_unstable();
    list
}
