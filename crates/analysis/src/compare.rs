//! Runs side by side: what differs in their settings, then a ratio for each cell (method section 6).
//!
//! The first run is the base. A cell is compared only with a cell of the same phase, context and concurrency
//! whose prompts had the same number of actual tokens, and only where both are valid.

mod cells;
mod gates;
mod notices;
mod settings;

use tokometer_record::comparison::{ComparedRun, Comparison, Rules, ServiceLevel};
use tokometer_record::{Run, Status};

use crate::error::AnalysisError;
use crate::launch;
use crate::samples::LEVEL;
use crate::users;

pub use gates::Gate;

/// Smallest change that counts as one, as a share.
const NOISE_FLOOR: f64 = 0.01;
/// Share of the findings that may be false.
const FALSE_DISCOVERY_RATE: f64 = 0.05;
/// How far the actual tokens of paired cells may differ, as a share.
const TOKEN_TOLERANCE: f64 = 0.01;

/// What a comparison is asked beside the ratios.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareOptions {
    /// Limits for the number of users that a run serves.
    pub level: ServiceLevel,
    /// Gates.
    pub gates: Vec<Gate>,
}

impl Default for CompareOptions {
    /// The limits of the page (50 tok/s, 1 s), no gate.
    fn default() -> CompareOptions {
        CompareOptions { level: users::DEFAULT_LEVEL, gates: Vec::new() }
    }
}

/// Compares runs with the first of them.
pub fn compare(runs: &[Run], options: &CompareOptions) -> Result<Comparison, AnalysisError> {
    let [base, others @ ..] = runs else { return Err(AnalysisError::Runs { count: 0 }) };
    if others.is_empty() || runs.len() > Comparison::MOST_RUNS {
        return Err(AnalysisError::Runs { count: runs.len() });
    }
    let twice = |(index, run): (usize, &Run)| runs[..index].iter().any(|other| other.id == run.id);
    if let Some((_, run)) = runs.iter().enumerate().find(|pair| twice(*pair)) {
        return Err(AnalysisError::SameRun { id: run.id.clone() });
    }
    let differences = settings::differences(runs);
    let against: Vec<_> =
        others.iter().zip(1..).map(|(new, index)| cells::against(base, new, index)).collect();
    let gates = against
        .iter()
        .flat_map(|ratios| options.gates.iter().map(|gate| gates::judge(gate, ratios)))
        .collect();
    Ok(Comparison {
        schema: Comparison::SCHEMA.to_owned(),
        runs: runs.iter().map(compared).collect(),
        notices: notices::notices(runs, &differences, &against),
        differences,
        against,
        users: users::by_medians(runs, options.level),
        gates,
        rules: Rules {
            level: LEVEL,
            false_discovery_rate: FALSE_DISCOVERY_RATE,
            noise_floor: NOISE_FLOOR,
            token_tolerance: TOKEN_TOLERANCE,
        },
    })
}

fn compared(run: &Run) -> ComparedRun {
    let accelerators = &run.hardware.accelerators;
    let engine = run.engine.name.as_ref().map(|name| match &run.engine.version {
        Some(version) => format!("{name} {version}"),
        None => name.clone(),
    });
    let hardware = settings::accelerators(run);
    let label: Vec<String> =
        [hardware, engine.clone(), run.model.quantization.clone()].into_iter().flatten().collect();
    ComparedRun {
        id: run.id.clone(),
        title: run.display_title(),
        label: label.join(" · "),
        simulated: run.simulated,
        imported: run.imported.as_ref().map(|imported| imported.format.clone()),
        created_at: run.created_at.clone(),
        model: run.model.id.clone().or_else(|| run.model.served_name.clone()),
        engine,
        accelerators: accelerators.clone(),
        accelerator_count: (!accelerators.is_empty()).then(|| accelerators.iter().map(|one| one.count).sum()),
        launch_command: run.launch_command.clone(),
        effective: launch::effective(run),
        valid_cells: run.cells.iter().filter(|cell| cell.status == Status::Valid).count() as u32,
    }
}
