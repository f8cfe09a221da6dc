//! An upload, taken apart.

use std::path::Path;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokometer_analysis::{FoundTrace, verify};
use tokometer_record::columnar;
use tokometer_record::trace::parquet;
use tokometer_record::verification::{Check, Finding, Level, Verification};
use tokometer_record::{Run, StoredTelemetry, Telemetry, TraceFile};

use super::{evidence, identity, prints};
use crate::app::App;
use crate::artefacts::Hash;
use crate::domain::Evidence;
use crate::problem::Problem;

/// How far a number may be off the one that is computed here, as a share.
pub(super) const TOLERANCE: f64 = 0.005;
/// So many times the bound of the hardware no honest mistake explains.
const IMPOSSIBLE: f64 = 3.0;
/// Findings that an answer names.
const NAMED: usize = 20;

/// An upload that holds.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) run: Run,
    pub(crate) verification: Verification,
    pub(crate) evidence: Evidence,
    /// Prints of its traces.
    pub(crate) prints: Vec<String>,
    /// Why its figures are more than its hardware can do, where they are.
    pub(crate) implausible: Option<String>,
}

/// The document as a record that may be published, its traces aside.
pub(crate) fn document(bytes: &[u8]) -> Result<(Run, Value), Problem> {
    let document: Value = serde_json::from_slice(bytes).map_err(|error| {
        Problem::bad("no_json", format!("the body is no JSON document: {error}"), "send the run's run.json")
    })?;
    let schema = document.get("schema").and_then(Value::as_str).unwrap_or_default();
    if schema != Run::SCHEMA {
        return Err(Problem::refused(
            "unknown_schema",
            format!("the document's schema is not {}", Run::SCHEMA),
            "send a run.json; a newer or older tokometer may have made this one: update it, or tell the operator",
        ));
    }
    let run = Run::deserialize(&document).map_err(|error| {
        Problem::refused(
            "no_record",
            format!("the document is no run record: {error}"),
            "send the run's run.json as it is",
        )
    })?;
    identity::check(&run)?;
    Ok((run, document))
}

/// Every file that a record names: name and hash.
pub(crate) fn files(run: &Run) -> Vec<(String, String)> {
    run.files().into_iter().map(|file| (file.file.clone(), file.sha256.clone())).collect()
}

/// Computes everything again from the traces, which must be there.
pub(crate) async fn check(app: &App, bytes: Bytes) -> Result<Checked, Problem> {
    let Ok(_room) = app.checks.acquire().await else { return Err(Problem::unavailable()) };
    let app = app.clone();
    let handle = Handle::current();
    // A file that was made to break its reader must break no more than its own check.
    let work = tokio::task::spawn_blocking(move || work(&app, &handle, &bytes));
    work.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "a check broke off");
        Err(Problem::refused(
            "unreadable",
            "a trace can't be read",
            "run `tokometer verify` on it; it may be damaged",
        ))
    })
}

fn work(app: &App, handle: &Handle, bytes: &[u8]) -> Result<Checked, Problem> {
    let (run, document) = document(bytes)?;
    let limits = &app.config.limits;
    let mut files = Files { app, handle, rows: 0, prints: Vec::new(), failed: None };
    let series = files.series(&run)?;
    let verification = verify(&run, Some(&document), true, series, |file| files.trace(file));
    if let Some(problem) = files.failed {
        return Err(problem);
    }
    if files.rows > limits.run_rows {
        return Err(too_many_rows());
    }
    let differing = differing(&verification);
    if !differing.is_empty() {
        return Err(refusal(&differing));
    }
    let implausible = implausible(&verification)?;
    let evidence = evidence::of(&run, &verification, implausible.as_deref());
    Ok(Checked { run, verification, evidence, prints: files.prints, implausible })
}

/// The files of an upload, each looked at once.
struct Files<'a> {
    app: &'a App,
    handle: &'a Handle,
    rows: u64,
    prints: Vec<String>,
    failed: Option<Problem>,
}

impl Files<'_> {
    fn bytes(&self, sha256: &str) -> Result<Option<Bytes>, Problem> {
        let Some(name) = Hash::parse(sha256) else { return Ok(None) };
        Ok(self.handle.block_on(self.app.artefacts.get(&name))?)
    }

    /// Looks what a Parquet file would be unpacked, before any of it is.
    fn measure(&mut self, bytes: &Bytes) -> Result<(), String> {
        let limits = &self.app.config.limits;
        let size = columnar::measure(bytes)?;
        self.rows += size.rows;
        if size.rows > limits.trace_rows || size.unpacked_bytes > limits.unpacked_bytes {
            return Err(format!(
                "{} rows, {} bytes unpacked: more than is taken here",
                size.rows, size.unpacked_bytes
            ));
        }
        Ok(())
    }

    fn trace(&mut self, file: &TraceFile) -> FoundTrace {
        let unreadable =
            |why: String| FoundTrace::Unreadable { sha256: file.sha256.clone(), bytes: file.bytes, why };
        let bytes = match self.bytes(&file.sha256) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return FoundTrace::Missing,
            Err(problem) => {
                self.failed = Some(problem);
                return FoundTrace::Missing;
            }
        };
        if let Err(why) = self.measure(&bytes) {
            return unreadable(why);
        }
        let size = bytes.len() as u64;
        // What is kept under a hash has that hash.
        let sha256 = file.sha256.clone();
        match parquet::read(bytes, Path::new(&file.file)) {
            Ok(trace) => {
                self.prints.extend(prints::of(&trace));
                FoundTrace::Read { sha256, bytes: size, trace: Box::new(trace) }
            }
            Err(error) => FoundTrace::Unreadable { sha256, bytes: size, why: error.to_string() },
        }
    }

    /// The series of the machine, where the record names one.
    fn series(&mut self, run: &Run) -> Result<Option<StoredTelemetry>, Problem> {
        let named = run.telemetry_files();
        if named.is_empty() {
            return Ok(None);
        }
        let (mut files, mut whole) = (Vec::new(), Telemetry::default());
        for file in named {
            let bad = |why: String| {
                Problem::refused(
                    "bad_series",
                    format!("{} can't be read: {why}", file.file),
                    "run `tokometer verify` on it",
                )
            };
            let bytes = self.bytes(&file.sha256)?.ok_or_else(|| bad("it is not there".to_owned()))?;
            self.measure(&bytes).map_err(bad)?;
            files.push(Some((file.sha256.clone(), bytes.len() as u64)));
            let piece = Telemetry::from_bytes(bytes, Path::new(&file.file))
                .map_err(|error| bad(error.to_string()))?;
            if piece.meta.run != run.id {
                return Err(bad("it is of another run".to_owned()));
            }
            whole.append(piece);
        }
        Ok(Some(StoredTelemetry { files, series: Ok(whole) }))
    }
}

/// Failures, but for numbers that are off by less than the tolerance.
fn differing(verification: &Verification) -> Vec<&Finding> {
    verification.of_level(Level::Failure).filter(|finding| deviation(finding).is_none()).collect()
}

/// By how much a number is off, as a share, where that is tolerated.
pub(super) fn deviation(finding: &Finding) -> Option<f64> {
    let number = |value: &Option<Value>| value.as_ref().and_then(Value::as_f64);
    let (recorded, found) = (number(&finding.recorded)?, number(&finding.found)?);
    let share = (recorded - found).abs() / found.abs();
    (finding.check == Check::Number && share <= TOLERANCE).then_some(share)
}

fn refusal(differing: &[&Finding]) -> Problem {
    let first = differing.first().map(|finding| describe(finding)).unwrap_or_default();
    let more = match differing.len() {
        1 => String::new(),
        count => format!("; {} more", count - 1),
    };
    let findings: Vec<Value> = differing
        .iter()
        .take(NAMED)
        .map(|finding| json!({"cell": finding.cell, "path": finding.path, "text": describe(finding)}))
        .collect();
    Problem::refused(
        "record_differs",
        format!("the record does not follow from its traces: {first}{more}"),
        "publish the run as it was measured; `tokometer verify RUN` says the same without sending anything",
    )
    .with("findings", findings.into())
}

fn describe(finding: &Finding) -> String {
    let place: Vec<&str> = [finding.cell.as_deref(), finding.path.as_deref()].into_iter().flatten().collect();
    format!("{}: {}", place.join(" "), finding.text)
}

/// Why figures are more than the hardware can do; a refusal where they are so by far.
fn implausible(verification: &Verification) -> Result<Option<String>, Problem> {
    let mut worst: Option<(f64, String)> = None;
    for finding in verification.findings.iter().filter(|finding| finding.check == Check::Bound) {
        let number = |value: &Option<Value>| value.as_ref().and_then(Value::as_f64);
        let (Some(rate), Some(bound)) = (number(&finding.recorded), number(&finding.found)) else { continue };
        let share = rate / bound;
        if share > 1.0 && worst.as_ref().is_none_or(|(most, _)| share > *most) {
            worst = Some((share, describe(finding)));
        }
    }
    match worst {
        Some((share, text)) if share > IMPOSSIBLE => Err(Problem::refused(
            "impossible",
            format!("a rate is {share:.1} times what the hardware can do: {text}"),
            "check hardware, model and precision of the record; if they are right, tell the operator",
        )),
        Some((_, text)) => Ok(Some(text)),
        None => Ok(None),
    }
}

fn too_many_rows() -> Problem {
    Problem::refused(
        "too_many_rows",
        "the traces of this run have more rows than are taken here",
        "publish a smaller matrix, or several runs",
    )
}
