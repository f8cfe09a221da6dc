//! Where records become numbers: the facts of a cell in, its row of the run document out.
//!
//! [`summarise`] is a pure function of a recorded trace. The live report, the page and `verify` all call it,
//! so there is one version of every number. What the numbers mean is in the method (sections 3, 4, 6, 7);
//! the verdicts are together in one file, `verdict.rs`.
//!
//! This crate does no I/O and reads no clock.
//!
//! ```no_run
//! use tokometer_analysis::{Context, summarise};
//! # fn example(trace: &tokometer_record::CellTrace, run: &tokometer_record::Run) {
//! let cell = summarise(trace, &Context::of(run, trace.meta.phase, trace.meta.context_nominal));
//! println!("{}: {:?}", cell.name(), cell.throughput.map(|rates| rates.total));
//! # }
//! ```

pub mod adaptive;
mod cold;
pub mod compare;
mod compat;
mod decode;
mod detail;
mod error;
mod exit;
pub mod fidelity;
mod latency;
mod launch;
mod ledger;
mod outlier;
mod prefill;
mod rates;
mod reanalyse;
mod repeats;
mod samples;
mod server;
mod speculative;
mod sweep;
pub mod telemetry;
mod units;
mod users;
mod verdict;
pub mod verify;

use tokometer_record::{Cell, CellTrace, Phase, Run, Settings};

pub use compare::{CompareOptions, Gate, compare};
pub use compat::CompatBuilder;
pub use detail::detail;
pub use error::AnalysisError;
pub use exit::exit_code;
pub use launch::effective as effective_settings;
pub use outlier::{Outlier, outlier};
pub use reanalyse::{Part, add_count, part_of_window, users_by_requests};
pub use repeats::combine;
pub use sweep::{EntryRuns, SweepResult, sweep};
pub use users::{DEFAULT_LEVEL, Judged, by_medians as users_by_medians, judged, parse_service_level};
pub use verify::{FoundTrace, verify};

/// What a trace does not say about its cell.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// What was asked of the run.
    pub settings: &'a Settings,
    /// True if the target is a simulated engine.
    pub simulated: bool,
    /// True if the user changed defaults of the method.
    pub retuned: bool,
    /// True if the engine was told to force speculative acceptance.
    pub synthetic_acceptance: bool,
    /// What the accelerators' telemetry said over the cell; none where there is none.
    pub telemetry: Option<Telemetry>,
    /// Prompt tokens that were aimed at, where they are not the cell's label (a shortened prefill prompt).
    pub expected_prompt_tokens: Option<u64>,
}

impl<'a> Context<'a> {
    /// A real target, nothing changed, prompts as long as their label.
    pub fn new(settings: &'a Settings) -> Context<'a> {
        Context {
            settings,
            simulated: false,
            retuned: false,
            synthetic_acceptance: false,
            telemetry: None,
            expected_prompt_tokens: None,
        }
    }
}

/// What the accelerators did while a cell was measured, over the samples in which they were busy. A share is null
/// where the accelerators don't tell it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Telemetry {
    /// Samples of busy accelerators, all of the server's together.
    pub busy_samples: u64,
    /// Share of these in which heat or the hardware slowed a clock down.
    pub slowed_share: Option<f64>,
    /// Share of these in which the power limit held a clock back.
    pub power_capped_share: Option<f64>,
    /// Share of these with a clock above its rated maximum.
    pub over_rated_share: Option<f64>,
}

impl<'a> Context<'a> {
    /// What a run's record says of one of its rows: all that is needed to compute the row again from its trace.
    pub fn of(run: &'a Run, phase: Phase, context_nominal: u64) -> Context<'a> {
        Context {
            settings: &run.settings,
            simulated: run.simulated,
            retuned: run.settings.allow_busy == Some(true),
            synthetic_acceptance: launch::forces_acceptance(run),
            telemetry: None,
            expected_prompt_tokens: Some(expected_prompt_tokens(run, phase, context_nominal)),
        }
    }
}

/// Tokens between a prefill prompt and the model's length that stay free.
const PREFILL_MARGIN: u64 = 64;

/// Prompt tokens that a row aims at: its label, of a prefill row less where the model needs it so (method 5.1).
pub fn expected_prompt_tokens(run: &Run, phase: Phase, context_nominal: u64) -> u64 {
    match (phase, run.model.max_length) {
        (Phase::Prefill, Some(max)) if context_nominal <= max => {
            context_nominal.min(max.saturating_sub(PREFILL_MARGIN).max(1))
        }
        _ => context_nominal,
    }
}

/// The row of a measured cell: every number of method section 4, its uncertainty, its verdict.
///
/// `trace` of the row is left null: the file is known to who stored it.
pub fn summarise(trace: &CellTrace, context: &Context<'_>) -> Cell {
    match trace.meta.phase {
        Phase::Prefill => prefill::summarise(trace, context),
        Phase::Decode => decode::summarise(trace, context),
    }
}
