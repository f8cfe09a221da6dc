//! A run checked against its traces and against itself.
//!
//! Every row is computed again from its trace with the recorded settings, and every value compared. What the record
//! says twice must agree. Beyond that, implausible figures are named: these are warnings, since a strange result may
//! be true. What nobody can check from a record is listed too.

mod bounds;
mod facts;
mod identities;
mod numbers;
mod plan;
mod rows;
mod series;

use serde_json::Value;
use tokometer_record::verification::{Check, Finding, Level, Reach, Verification};
use tokometer_record::{CellTrace, Run, StoredTelemetry, TraceFile};

use rows::Row;

/// A trace as it was found.
#[derive(Debug)]
pub enum FoundTrace {
    /// There is no such file.
    Missing,
    /// It can't be read as a trace.
    Unreadable {
        /// SHA-256 of the file, hex.
        sha256: String,
        /// Size in bytes.
        bytes: u64,
        /// What is wrong.
        why: String,
    },
    /// It was read.
    Read {
        /// SHA-256 of the file, hex.
        sha256: String,
        /// Size in bytes.
        bytes: u64,
        /// What it holds.
        trace: Box<CellTrace>,
    },
}

/// Checks a run.
///
/// `document` is the run document as it was read, so that fields which are not known can be named. `load` is asked for
/// each trace once, in the order of the rows, so that one at a time is in memory. With `traces_expected` a missing
/// trace is a failure; a page alone has none. `series` is the machine's series as it was found
/// (`RunFolder::find_series`); none where the record names none.
pub fn verify(
    run: &Run,
    document: Option<&Value>,
    traces_expected: bool,
    series: Option<StoredTelemetry>,
    mut load: impl FnMut(&TraceFile) -> FoundTrace,
) -> Verification {
    let mut findings = Findings::default();
    if let Some(document) = document {
        facts::unknown_fields(&mut findings, run, document);
    }
    plan::rows(&mut findings, run);
    facts::settings(&mut findings, run);
    facts::evidence(&mut findings, run);
    let (series, of_machine) = series::check(&mut findings, run, series, traces_expected);
    let mut cells = Vec::new();
    let mut last_ns = 0;
    for cell in &run.cells {
        let mut row = Row::new(run, cell, series.as_ref(), traces_expected);
        row.check(&mut findings, &mut load);
        last_ns = last_ns.max(row.last_ns);
        cells.push(row.result());
    }
    facts::elapsed(&mut findings, run, last_ns);
    identities::cells(&mut findings, run);
    identities::matrix(&mut findings, run);
    let mut not_checked = facts::not_checked(run);
    not_checked.extend(of_machine);
    not_checked.extend(bounds::check(&mut findings, run));
    if cells.iter().any(|cell| cell.reach == Reach::NoTrace) {
        let why = if run.imported.is_some() {
            "the record was imported and has no traces"
        } else {
            "the traces are not at hand"
        };
        not_checked.push(facts::not("cells (rows without a trace)", why));
    }
    let Findings(mut findings) = findings;
    findings.sort_by_key(|finding| finding.level);
    Verification {
        schema: Verification::SCHEMA.to_owned(),
        run: run.id.clone(),
        title: run.display_title(),
        passed: findings.iter().all(|finding| finding.level != Level::Failure),
        findings,
        cells,
        not_checked,
    }
}

/// The verification of a document that is no run record, for the reason `why`.
pub fn unreadable(why: &str) -> Verification {
    let mut findings = Findings::default();
    findings.failure(Check::Document, None, why.to_owned());
    Verification {
        schema: Verification::SCHEMA.to_owned(),
        run: String::new(),
        title: "no run record".to_owned(),
        passed: false,
        findings: findings.0,
        cells: Vec::new(),
        not_checked: Vec::new(),
    }
}

/// What was found so far.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn failure(&mut self, check: Check, cell: Option<&str>, text: String) -> &mut Finding {
        self.add(Level::Failure, check, cell, text)
    }

    fn warning(&mut self, check: Check, cell: Option<&str>, text: String) -> &mut Finding {
        self.add(Level::Warning, check, cell, text)
    }

    fn add(&mut self, level: Level, check: Check, cell: Option<&str>, text: String) -> &mut Finding {
        let cell = cell.map(str::to_owned);
        let index = self.0.len();
        self.0.push(Finding { level, check, cell, path: None, text, recorded: None, found: None });
        &mut self.0[index]
    }

    /// A field of the run that is not what it should be.
    fn field(&mut self, check: Check, path: &str, recorded: Value, found: Value, text: String) {
        let finding = self.failure(check, None, text);
        finding.path = Some(path.to_owned());
        (finding.recorded, finding.found) = (Some(recorded), Some(found));
    }

    fn failures(&self) -> usize {
        self.0.iter().filter(|finding| finding.level == Level::Failure).count()
    }
}
