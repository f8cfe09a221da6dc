//! What the machine did, computed again from its series where it was uploaded.

use std::collections::BTreeMap;

use serde_json::Value;
use tokometer_analysis::telemetry;
use tokometer_record::verification::{Check, Finding, Level, Verification};
use tokometer_record::{CellTrace, Run, Telemetry};

use super::check::TOLERANCE;

/// How far a share of samples may be off: a sample at the edge of a window may fall to either side.
const SHARE_TOLERANCE: f64 = 0.02;

/// What the series says of one trace's span.
#[derive(Debug)]
pub(super) struct Found {
    energy_joules: Option<f64>,
    slowed_share: Option<f64>,
    power_capped_share: Option<f64>,
}

impl Found {
    pub(super) fn of(series: &Telemetry, trace: &CellTrace) -> Option<Found> {
        let machine = telemetry::machine(series, trace)?;
        Some(Found {
            energy_joules: machine.energy_joules,
            slowed_share: machine.slowed_share,
            power_capped_share: machine.power_capped_share,
        })
    }
}

/// Adds a failure for each row whose figures of the machine are not those of its series.
pub(super) fn check(verification: &mut Verification, run: &Run, found: &BTreeMap<String, Found>) {
    let mut findings = Vec::new();
    for cell in &run.cells {
        // Of a row of several repeats only the one that its figures are of is recorded, and it is not said which.
        let (Some(trace), Some(recorded)) = (&cell.trace, &cell.telemetry) else { continue };
        let Some(found) = found.get(&trace.file) else { continue };
        let figures = [
            ("energy_joules", recorded.energy_joules, found.energy_joules, TOLERANCE),
            ("slowed_share", recorded.slowed_share, found.slowed_share, SHARE_TOLERANCE),
            ("power_capped_share", recorded.power_capped_share, found.power_capped_share, SHARE_TOLERANCE),
        ];
        for (name, recorded, found, tolerance) in figures {
            if !near(recorded, found, tolerance) {
                findings.push(Finding {
                    level: Level::Failure,
                    check: Check::Verdict,
                    cell: Some(cell.name()),
                    path: Some(format!("telemetry.{name}")),
                    text: "it does not follow from the machine's series".to_owned(),
                    recorded: recorded.map(Value::from),
                    found: found.map(Value::from),
                });
            }
        }
    }
    verification.passed &= findings.is_empty();
    findings.append(&mut verification.findings);
    verification.findings = findings;
}

/// True if a figure is the one that was found, or was left out, which gains nothing. Above 1 the tolerance is a share of
/// the figure.
fn near(recorded: Option<f64>, found: Option<f64>, tolerance: f64) -> bool {
    match (recorded, found) {
        (Some(one), Some(other)) => (one - other).abs() <= tolerance * one.abs().max(other.abs()).max(1.0),
        (None, _) => true,
        (Some(_), None) => false,
    }
}
