//! One row, computed again from its trace or traces.

use serde_json::Value;
use tokometer_record::verification::{CellVerification, Check, Level, Reach};
use tokometer_record::{
    Cell, CellTrace, Phase, Reason, RequestKind, Run, RunState, Status, Telemetry, TraceFile,
};

use super::numbers::{self, Difference};
use super::{Findings, FoundTrace, plan};
use crate::telemetry::summarise_on;
use crate::{Context, combine, summarise};

/// A row that is being checked.
pub(super) struct Row<'a> {
    run: &'a Run,
    cell: &'a Cell,
    /// What the machine did, if it is at hand.
    series: Option<&'a Telemetry>,
    name: String,
    traces_expected: bool,
    reach: Reach,
    compared: u64,
    failures: usize,
    /// When the last request of its traces ended, ns from the run's start.
    pub(super) last_ns: u64,
}

impl<'a> Row<'a> {
    pub(super) fn new(
        run: &'a Run,
        cell: &'a Cell,
        series: Option<&'a Telemetry>,
        traces_expected: bool,
    ) -> Row<'a> {
        let name = cell.name();
        let reach = Reach::NotMeasured;
        Row { run, cell, series, name, traces_expected, reach, compared: 0, failures: 0, last_ns: 0 }
    }

    pub(super) fn result(self) -> CellVerification {
        CellVerification {
            cell: self.name,
            reach: self.reach,
            compared: self.compared,
            failures: self.failures as u64,
        }
    }

    pub(super) fn check(&mut self, findings: &mut Findings, load: &mut impl FnMut(&TraceFile) -> FoundTrace) {
        let before = findings.failures();
        if self.cell.traces().next().is_some() {
            self.recompute(findings, load);
        } else if self.run.imported.is_some() {
            self.reach = Reach::NoTrace;
        } else if self.was_not_measured() {
            self.unmeasured(findings);
        } else if let Some(why) = self.cell.unknown.get("trace") {
            self.reach = Reach::NoTrace;
            let text = format!("the trace could not be saved ({why}): nothing of this row can be checked");
            findings.warning(Check::Trace, Some(&self.name), text);
        } else {
            self.reach = Reach::BadTrace;
            let text = format!("it is {} and names no trace", self.cell.status.words().to_lowercase());
            findings.failure(Check::Trace, Some(&self.name), text);
        }
        self.failures = findings.failures() - before;
    }

    fn was_not_measured(&self) -> bool {
        let status = self.cell.status;
        status.not_run_by_plan() || matches!(status, Status::Planned | Status::Skipped)
    }

    /// A row that no request was sent for holds its reason and nothing else.
    fn unmeasured(&mut self, findings: &mut Findings) {
        let cell = self.cell;
        let mut expected = Cell::planned(cell.phase, cell.context_nominal, cell.concurrency);
        expected.status = cell.status;
        expected.reason.clone_from(&cell.reason);
        expected.unknown.clone_from(&cell.unknown);
        self.compare(findings, &expected, "it was not measured");
        if let Some(reason) = &cell.reason {
            self.reason(findings, reason);
        }
    }

    /// The figures of the limit that kept the row from being measured.
    fn reason(&mut self, findings: &mut Findings, reason: &Reason) {
        let Some(expected) = plan::limit(self.run, self.cell, reason) else { return };
        let figures = [("needed", reason.needed, expected.0), ("available", reason.available, expected.1)];
        for (name, recorded, found) in figures {
            self.compared += 1;
            if recorded == found {
                continue;
            }
            let path = format!("reason.{name}");
            let text = "the limit that kept it from being measured is another one".to_owned();
            self.differs(findings, Level::Failure, Check::Plan, &path, recorded.into(), found.into(), text);
        }
        let told =
            |number: Option<u64>| number.is_none_or(|number| reason.text.contains(&number.to_string()));
        if !told(expected.0) && !told(expected.1) {
            let text = "the reason does not have the figures of its limit".to_owned();
            let found = format!("{:?} needed, {:?} available", expected.0, expected.1);
            self.differs(
                findings,
                Level::Failure,
                Check::Plan,
                "reason.text",
                reason.text.clone().into(),
                found.into(),
                text,
            );
        }
        if let (Some(needed), Some(available)) = (reason.needed, reason.available)
            && needed <= available
        {
            let text = format!("{needed} needed, {available} available: nothing kept it from being measured");
            findings.failure(Check::Plan, Some(&self.name), text);
        }
    }

    fn recompute(&mut self, findings: &mut Findings, load: &mut impl FnMut(&TraceFile) -> FoundTrace) {
        let mut rows = Vec::new();
        for (index, file) in self.cell.traces().enumerate() {
            let Some(trace) = self.read(findings, file, load(file)) else { continue };
            self.identity(findings, &trace, index);
            let context = Context::of(self.run, self.cell.phase, self.cell.context_nominal);
            let mut row = match (self.series, &self.cell.telemetry) {
                // Without the series what the machine did is taken as recorded; all that follows from it is not.
                (None, Some(machine)) => {
                    let context = Context { telemetry: Some(machine.into()), ..context };
                    let mut row = summarise(&trace, &context);
                    crate::telemetry::attach(&mut row, machine.clone());
                    row
                }
                (series, _) => summarise_on(series, &trace, &context),
            };
            row.trace = Some(file.clone());
            let last = trace.requests.iter().map(|request| request.end_ns).max();
            self.last_ns = self.last_ns.max(last.unwrap_or(0));
            rows.push((trace.meta.repeat, row));
        }
        if rows.len() != self.cell.traces().count() {
            if self.reach != Reach::NoTrace {
                self.reach = Reach::BadTrace;
            }
            return;
        }
        self.reach = Reach::Recomputed;
        self.repeats(findings);
        let again = if let [(None, row)] = rows.as_slice() {
            Some(row.clone())
        } else {
            let rows: Vec<(u32, Cell)> =
                rows.into_iter().map(|(repeat, row)| (repeat.unwrap_or(0), row)).collect();
            combine(&rows)
        };
        if let Some(again) = again {
            self.compare(findings, &again, "computed from the trace");
        }
    }

    /// As many repeats as were asked for; fewer only of a run that was cut short.
    fn repeats(&mut self, findings: &mut Findings) {
        let (asked, made) = (self.run.settings.repeats as usize, self.cell.repeats.len().max(1));
        let cut_short = self.run.state != RunState::Finished;
        self.compared += 1;
        if made != asked && !(cut_short && made < asked) {
            let text = format!("the row has {made} of them");
            let (recorded, found) = (asked.into(), made.into());
            self.differs(findings, Level::Failure, Check::Facts, "settings.repeats", recorded, found, text);
        }
    }

    /// The trace, if it is the one that the record names.
    fn read(
        &mut self,
        findings: &mut Findings,
        file: &TraceFile,
        found: FoundTrace,
    ) -> Option<Box<CellTrace>> {
        let (sha256, bytes, trace) = match found {
            FoundTrace::Missing if self.traces_expected => {
                let text = format!("{} is not there", file.file);
                findings.failure(Check::Trace, Some(&self.name), text);
                return None;
            }
            FoundTrace::Missing => {
                self.reach = Reach::NoTrace;
                return None;
            }
            FoundTrace::Unreadable { sha256, bytes, why } => {
                let text = format!("{} can't be read as a trace: {why}", file.file);
                findings.failure(Check::Trace, Some(&self.name), text);
                (sha256, bytes, None)
            }
            FoundTrace::Read { sha256, bytes, trace } => (sha256, bytes, Some(trace)),
        };
        self.compared += 2;
        if sha256 != file.sha256 {
            let text = format!("{} is not the trace that the record names: it was changed", file.file);
            let (recorded, found) = (file.sha256.clone().into(), sha256.into());
            self.differs(findings, Level::Failure, Check::Trace, "trace.sha256", recorded, found, text);
        }
        if bytes != file.bytes {
            let text = format!("{} has another size", file.file);
            let (recorded, found) = (file.bytes.into(), bytes.into());
            self.differs(findings, Level::Failure, Check::Trace, "trace.bytes", recorded, found, text);
        }
        trace
    }

    /// The trace is that of this run and cell, measured as the settings say.
    fn identity(&mut self, findings: &mut Findings, trace: &CellTrace, index: usize) {
        let (meta, cell, settings) = (&trace.meta, self.cell, &self.run.settings);
        let repeat = cell.repeats.get(index).map(|repeat| repeat.repeat);
        let mut facts: Vec<(&str, Value, Value)> = vec![
            ("id", self.run.id.clone().into(), meta.run.clone().into()),
            ("phase", word(&cell.phase), word(&meta.phase)),
            ("context_nominal", cell.context_nominal.into(), meta.context_nominal.into()),
            ("concurrency", cell.concurrency.into(), meta.concurrency.into()),
            ("repeats[].repeat", repeat.into(), meta.repeat.into()),
        ];
        if cell.phase == Phase::Decode {
            facts.extend([
                (
                    "settings.max_output_tokens",
                    settings.max_output_tokens.into(),
                    meta.max_output_tokens.into(),
                ),
                ("settings.duration_seconds", settings.duration_seconds.into(), meta.duration_seconds.into()),
                ("settings.adaptive", settings.adaptive.into(), meta.adaptive.is_some().into()),
            ]);
        } else if !meta.interrupted && meta.failure.is_none() {
            let cold = trace.requests.iter().filter(|row| row.kind == RequestKind::Prefill).count();
            facts.push(("settings.prefill_repeats", settings.prefill_repeats.into(), cold.into()));
        }
        for (path, recorded, found) in facts {
            self.compared += 1;
            if !numbers::same(&recorded, &found) {
                let text = "the trace says otherwise".to_owned();
                self.differs(findings, Level::Failure, Check::TraceIdentity, path, recorded, found, text);
            }
        }
    }

    /// Every value of the row against what it should be.
    fn compare(&mut self, findings: &mut Findings, expected: &Cell, source: &str) {
        let value = |cell: &Cell| serde_json::to_value(cell).unwrap_or_default();
        let (differences, compared) = numbers::differences(&value(self.cell), &value(expected));
        self.compared += compared;
        let same_version = self.run.tool.version == env!("CARGO_PKG_VERSION");
        for difference in differences {
            // Another version may say it in other words, or leave out what was not known then. Its numbers hold.
            // What the machine did as a whole is none of these: whoever saved its series had it.
            let is_gap = difference.is_gap() && difference.path != "telemetry";
            let by_version = !same_version && (is_text(&difference) || is_gap);
            let level = if by_version { Level::Warning } else { Level::Failure };
            let check = if difference.is_number() { Check::Number } else { Check::Verdict };
            let Difference { path, recorded, found } = difference;
            let text = format!("it does not follow: {source} it is {}", shown(&found));
            self.differs(findings, level, check, &path, recorded, found, text);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one finding has so many parts")]
    fn differs(
        &self,
        findings: &mut Findings,
        level: Level,
        check: Check,
        path: &str,
        recorded: Value,
        found: Value,
        text: String,
    ) {
        let finding = findings.add(level, check, Some(&self.name), text);
        finding.path = Some(path.to_owned());
        (finding.recorded, finding.found) = (Some(recorded), Some(found));
    }
}

/// True for sentences, whose words change from version to version.
fn is_text(difference: &Difference) -> bool {
    let last = difference.path.rsplit('.').next().unwrap_or_default();
    difference.path.starts_with("unknown.") || matches!(last, "text" | "detail")
}

fn word(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A value in a sentence.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "a group of fields".to_owned(),
        other => other.to_string(),
    }
}
