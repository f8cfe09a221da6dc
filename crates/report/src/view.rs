//! What every format shows of a run: picked, grouped and formatted here, only printed there.

pub(crate) mod answers;
pub(crate) mod cells;
pub(crate) mod charts;
pub(crate) mod compare;
pub(crate) mod evidence;
pub(crate) mod faces;
pub(crate) mod machine;
pub(crate) mod matrix;
pub(crate) mod measurements;
pub(crate) mod notes;
pub(crate) mod prefill;
pub(crate) mod reason;
pub(crate) mod setup;

use tokometer_record::{CellDetail, Run, RunState, Status};

use crate::definitions::{Definition, terms};
use crate::svg::Chart;
use crate::words::{clean, counted, shorten};
use crate::{launch, number, words};
use answers::Answers;
use cells::Sheet;
use evidence::Evidence;
use matrix::Matrix;
use measurements::Measurements;
use notes::{Note, Notes};
use prefill::Prefill;
use setup::Setup;

/// Longest title that is shown whole.
const TITLE_LENGTH: usize = 200;

/// A run, ready to print. All text in it is safe to show on a terminal, and still to be escaped for HTML.
#[derive(Debug)]
pub(crate) struct View {
    /// The line that titles the report; it says SIMULATED where the run is.
    pub(crate) title: String,
    /// True if the target is a simulated engine.
    pub(crate) simulated: bool,
    /// What was measured on what, in short: precision, hardware, engine.
    pub(crate) subtitle: Vec<String>,
    /// How the run went: state, origin, date.
    pub(crate) badges: Vec<Badge>,
    /// The user's note.
    pub(crate) note: Option<String>,
    /// What happened beside the numbers.
    pub(crate) remarks: Vec<String>,
    /// The answer strip.
    pub(crate) answers: Answers,
    /// The decode matrix.
    pub(crate) matrix: Matrix,
    /// The prefill row.
    pub(crate) prefill: Prefill,
    /// Prefill by context.
    pub(crate) prefill_chart: Option<Chart>,
    /// Throughput against interactivity.
    pub(crate) interactivity: Option<Chart>,
    /// What its upper axis measures: `tok/s per GPU`.
    pub(crate) interactivity_unit: &'static str,
    /// The same as rows: context, requests at once, rate of a request, rate of a GPU.
    pub(crate) interactivity_rows: Vec<[String; 4]>,
    /// Cell by cell.
    pub(crate) sheets: Vec<Sheet>,
    /// What the numbers rest on.
    pub(crate) evidence: Evidence,
    /// Hardware, engine, model, settings, launch command.
    pub(crate) setup: Setup,
    /// Every row with every value.
    pub(crate) measurements: Measurements,
    /// Footnotes: why cells have no number, and flags.
    pub(crate) notes: Vec<Note>,
    /// Said where the numbers follow another tool's definitions.
    pub(crate) foreign_method: Option<String>,
    /// What the words mean.
    pub(crate) definitions: Vec<Definition>,
}

/// A short fact about the whole run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Badge {
    /// What it says.
    pub(crate) text: String,
    /// How much it matters: `plain`, `good`, `warn`, `bad`.
    pub(crate) tone: &'static str,
}

impl View {
    /// Prepares a run without the details of its cells.
    pub(crate) fn of(run: &Run) -> View {
        View::with(run, &[])
    }

    /// Prepares a run with the details of cells that are at hand.
    pub(crate) fn with(run: &Run, details: &[CellDetail]) -> View {
        let notes = Notes::of(run);
        let interactivity = charts::interactivity(run);
        View {
            title: shorten(&clean(&run.display_title()), TITLE_LENGTH),
            simulated: run.simulated,
            subtitle: subtitle(run),
            badges: badges(run),
            note: run.note.as_deref().map(words::clean_lines),
            remarks: remarks(run),
            answers: Answers::of(run),
            matrix: Matrix::of(run, &notes),
            prefill: Prefill::of(run, &notes),
            prefill_chart: charts::prefill(run),
            interactivity_unit: charts::unit(run),
            interactivity_rows: interactivity.as_ref().map(charts::rows).unwrap_or_default(),
            interactivity,
            sheets: cells::sheets(run, details),
            evidence: Evidence::of(run),
            setup: Setup::of(run),
            measurements: Measurements::of(run),
            notes: notes.into_list(),
            foreign_method: foreign_method(run),
            definitions: terms(run),
        }
    }
}

/// `BF16 · 4 × H200 SXM · vllm 0.11.0`, leaving out what is unknown.
fn subtitle(run: &Run) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(id) = run.title.as_ref().and(run.model.id.as_ref().or(run.model.served_name.as_ref())) {
        parts.push(shorten(&clean(id), TITLE_LENGTH));
    }
    parts.extend(run.model.quantization.as_deref().map(clean));
    parts.extend(run.hardware.accelerators.iter().map(setup::accelerator));
    if let Some(name) = &run.engine.name {
        let version = run.engine.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        parts.push(clean(&format!("{name}{version}")));
    }
    let flags = run.launch_command.as_deref().map(launch::flags).unwrap_or_default();
    match run.engine.parallelism.as_deref() {
        Some(parallelism) => parts.push(clean(parallelism)),
        None => parts.extend(launch::parallelism(&flags).map(|said| clean(&said))),
    }
    if run.engine.speculative.is_none() {
        parts.extend(launch::speculative(&flags).map(|said| clean(&said)));
    }
    let speculative = run.engine.speculative.as_deref().filter(|speculative| *speculative != "off");
    parts.extend(speculative.map(|speculative| format!("speculative decoding {}", clean(speculative))));
    parts.into_iter().map(|part| shorten(&part, TITLE_LENGTH)).collect()
}

fn badges(run: &Run) -> Vec<Badge> {
    let mut badges = Vec::new();
    let mut add = |tone: &'static str, text: String| badges.push(Badge { text, tone });
    let open = run.cells.iter().filter(|cell| is_open(cell.status)).count();
    let of_cells = format!("{open} of {} not reached", counted(run.cells.len() as u64, "row"));
    match run.state {
        RunState::Finished => {}
        RunState::DryRun => add("warn", "Dry run: a plan, nothing measured".to_owned()),
        RunState::Running => add("warn", format!("Running or killed: {of_cells}")),
        RunState::Interrupted => add("warn", format!("Interrupted: {of_cells}")),
        RunState::Failed => {
            let why = run.state_reason.as_deref().map(|why| format!(" ({})", clean(why))).unwrap_or_default();
            add("bad", format!("Failed{why}: {of_cells}"));
        }
    }
    let with = |status: Status| run.cells.iter().filter(|cell| cell.status == status).count();
    let valid = with(Status::Valid);
    if valid > 0 {
        add("good", format!("✓ {valid} valid"));
    }
    for status in notes::STATUS_ORDER {
        let number = with(status);
        if number > 0 && !is_open(status) {
            let tone = if status.not_run_by_plan() { "plain" } else { "warn" };
            let plural = if status == Status::Error && number > 1 { "s" } else { "" };
            add(tone, format!("{} {number} {}{plural}", words::glyph(status), status.words().to_lowercase()));
        }
    }
    if let Some(imported) = &run.imported {
        add("plain", format!("Imported from {}", clean(&imported.file)));
    }
    add("plain", clean(format!("Measured by {} {}", run.tool.name, run.tool.version).trim()));
    if let Some(created) = &run.created_at {
        add("plain", clean(created));
    }
    badges
}

/// True for rows that the run has yet to settle.
fn is_open(status: Status) -> bool {
    status == Status::Planned
}

fn remarks(run: &Run) -> Vec<String> {
    let mut remarks: Vec<String> = run.remarks.iter().map(|remark| words::sentence(&clean(remark))).collect();
    if let (Some(why), true) = (&run.state_reason, run.state != RunState::Failed) {
        remarks.push(words::sentence(&clean(why)));
    }
    remarks
}

fn foreign_method(run: &Run) -> Option<String> {
    (run.method.name != "tokometer").then(|| {
        format!(
            "This run was measured by {tool} {version} and follows the definitions of that tool. The words below are tokometer's; where the two differ, the numbers are as {tool} defines them.",
            tool = clean(&run.method.name),
            version = clean(&run.method.version)
        )
    })
}

/// An optional number, formatted, or the dash.
pub(crate) fn or_none<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| number::NONE.to_owned(), format)
}
