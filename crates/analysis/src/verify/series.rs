//! The series of the machine: it is the one that the record names, and what the record says of the machine is in it.

use serde_json::Value;
use tokometer_record::verification::{Check, NotChecked};
use tokometer_record::{Run, StoredTelemetry, Telemetry};

use super::numbers::differences;
use super::{Findings, facts, rows};

/// Checks the series; it, if the rows can be computed from it, and what of the machine can't be checked.
pub(super) fn check(
    findings: &mut Findings,
    run: &Run,
    stored: Option<StoredTelemetry>,
    expected: bool,
) -> (Option<Telemetry>, Vec<NotChecked>) {
    let named = run.telemetry_files();
    let stored = match stored {
        Some(stored) if !named.is_empty() => stored,
        _ => return (None, unchecked(run, "the record names no series of the machine")),
    };
    let mut whole = true;
    for (file, found) in named.iter().zip(&stored.files) {
        match found {
            Some((sha256, bytes)) if *sha256 == file.sha256 => {
                if *bytes != file.bytes {
                    let text = format!("{} has another size", file.file);
                    findings.field(Check::Trace, "telemetry.bytes", file.bytes.into(), (*bytes).into(), text);
                }
            }
            Some((sha256, _)) => {
                let text = format!("{} is not the series that the record names: it was changed", file.file);
                let (recorded, found) = (file.sha256.clone().into(), sha256.clone().into());
                findings.field(Check::Trace, "telemetry.sha256", recorded, found, text);
            }
            None if !expected => whole = false,
            None => {
                let text = format!("{} is not there", file.file);
                findings.failure(Check::Trace, None, text).path = Some("telemetry".to_owned());
                whole = false;
            }
        }
    }
    if !whole {
        return (None, unchecked(run, "the machine's series is not at hand"));
    }
    match stored.series {
        Ok(series) => {
            let not_checked = machine(findings, run, &series);
            (Some(series), not_checked)
        }
        Err(error) => {
            findings.failure(Check::Trace, None, error.to_string()).path = Some("telemetry".to_owned());
            (None, unchecked(run, "the machine's series can't be read"))
        }
    }
}

/// Hardware and reading against what the series tells of itself.
fn machine(findings: &mut Findings, run: &Run, series: &Telemetry) -> Vec<NotChecked> {
    if series.meta.run != run.id {
        let text = "the series is that of another run".to_owned();
        let (recorded, found) = (run.id.clone().into(), series.meta.run.clone().into());
        findings.field(Check::TraceIdentity, "id", recorded, found, text);
    }
    let mut not_checked = Vec::new();
    match series.meta.hardware.clone() {
        Some(mut found) => {
            crate::telemetry::links_under_load(&mut found, series);
            compare(findings, "hardware", &value(&run.hardware), &value(&found));
        }
        None => not_checked.extend(hardware(run, "the series is an older one, and does not tell it")),
    }
    let without_pieces = run.sampling.clone().map(|mut sampling| {
        sampling.pieces.clear();
        sampling
    });
    // An older series does not tell how it was read.
    if !series.meta.sampling.source.is_empty() || without_pieces.is_some() {
        compare(findings, "sampling", &value(&without_pieces), &value(&series.meta.sampling));
    }
    not_checked
}

fn compare(findings: &mut Findings, what: &str, recorded: &Value, found: &Value) {
    for difference in differences(recorded, found).0 {
        let path = match difference.path.as_str() {
            "" => what.to_owned(),
            path => format!("{what}.{path}"),
        };
        let text = format!("the machine's series says {}", rows::shown(&difference.found));
        findings.field(Check::Facts, &path, difference.recorded, difference.found, text);
    }
}

fn unchecked(run: &Run, why: &str) -> Vec<NotChecked> {
    let mut list = hardware(run, why);
    if run.cells.iter().any(|cell| cell.telemetry.is_some()) {
        list.push(facts::not("cells[].telemetry", why));
    }
    if run.sampling.is_some() {
        list.push(facts::not("sampling", why));
    }
    list
}

fn hardware(run: &Run, why: &str) -> Vec<NotChecked> {
    let there = run.hardware.class.is_some() || !run.hardware.accelerators.is_empty();
    let mut list = Vec::new();
    if there {
        list.push(facts::not("hardware", why));
    }
    if run.hardware.host.is_some() {
        list.push(facts::not("hardware.host", why));
    }
    list
}

fn value(of: &impl serde::Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}
