//! What is sent of a run: its document without what is private, and its files.

use std::path::Path;

use anyhow::Context;
use bytes::Bytes;
use serde_json::Value;
use tokometer_record::store::sha256;
use tokometer_record::{Cell, Run, RunFolder, RunState, TraceFile};
use tokometer_wire::redact;

use crate::failure::Hinted;
use crate::out;

/// Why the address is not in a published record.
const LEFT_OUT: &str = "left out when the run was published";

/// A run as it is sent.
pub(crate) struct Parcel {
    /// The run, as it is sent.
    pub(crate) run: Run,
    /// The document.
    pub(crate) document: Bytes,
    /// Files: hash, content.
    pub(crate) files: Vec<(String, Bytes)>,
    /// What was taken out of the record.
    pub(crate) taken_out: Vec<String>,
}

impl Parcel {
    /// Packs a run.
    pub(crate) fn pack(path: &Path, keep_address: bool) -> anyhow::Result<Parcel> {
        let folder = RunFolder::open(path)?;
        let mut run = folder.load_run()?;
        if matches!(run.state, RunState::DryRun | RunState::Running) {
            let hint = "publish a run that was measured to its end, or was ended";
            return Err(Hinted::new("this run has no results to publish", hint).into());
        }
        let mut taken_out = Vec::new();
        if !keep_address && run.target.url.take().is_some() {
            run.unknown.insert("target.url".to_owned(), LEFT_OUT.to_owned());
            run.evidence.retain(|evidence| evidence.field != "target.url");
            taken_out.push("the server's address (--keep-address leaves it in)".to_owned());
        }
        hide(&mut run, &mut taken_out);
        let mut files = Vec::new();
        for file in run.cells.iter().flat_map(Cell::traces).chain(&run.telemetry) {
            files.push((file.sha256.clone(), content(&folder, file)?));
        }
        files.sort();
        files.dedup();
        let document = Bytes::from(serde_json::to_vec(&run)?);
        Ok(Parcel { run, document, files, taken_out })
    }

    /// What is sent, in a few lines.
    pub(crate) fn preview(&self, to: &str) -> String {
        let run = &self.run;
        let mut lines = vec![format!("to {to}:"), format!("  {}", run.display_title())];
        let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let accelerators = run.hardware.accelerators.iter();
        let devices: Vec<String> = accelerators.map(|one| format!("{} ×{}", one.name, one.count)).collect();
        let devices = if devices.is_empty() { "hardware unknown".to_owned() } else { devices.join(" + ") };
        let engine = &run.engine;
        lines.push(format!(
            "  {}, {} {}, {devices}",
            or_unknown(&run.model.id),
            or_unknown(&engine.name),
            engine.version.clone().unwrap_or_default()
        ));
        for (name, text) in
            [("launch", &run.launch_command), ("note", &run.note), ("address", &run.target.url)]
        {
            if let Some(text) = text {
                lines.push(format!("  {name}: {text}"));
            }
        }
        if let Some(name) = run.hardware.host.as_ref().and_then(|host| host.hostname.as_ref()) {
            lines.push(format!("  host: {name}"));
        }
        let bytes: usize = self.files.iter().map(|(_, content)| content.len()).sum();
        lines.push(format!(
            "  {}, {} ({:.1} MB), a document of {} KB (--show prints it)",
            out::count(run.cells.len(), "cell"),
            out::count(self.files.len(), "file"),
            bytes as f64 / 1e6,
            self.document.len().div_ceil(1000)
        ));
        lines.extend(self.taken_out.iter().map(|what| format!("  taken out: {what}")));
        lines.join("\n")
    }

    /// The key by which the site knows a retry.
    pub(crate) fn key(&self) -> String {
        sha256(&self.document)[..32].to_owned()
    }
}

/// Takes out what looks like a secret. What was recorded has been through this; what a user wrote by hand has not.
fn hide(run: &mut Run, taken_out: &mut Vec<String>) {
    let mut text = |name: &str, text: &mut String| {
        let hidden = redact::text(text);
        if hidden != *text {
            *text = hidden;
            taken_out.push(format!("what looks like a secret in {name}"));
        }
    };
    for (name, field) in [
        ("the title", &mut run.title),
        ("the note", &mut run.note),
        ("the launch command", &mut run.launch_command),
        ("the reason of the state", &mut run.state_reason),
        ("the address", &mut run.target.url),
    ] {
        if let Some(field) = field {
            text(name, field);
        }
    }
    run.remarks.iter_mut().for_each(|remark| text("a remark", remark));
    run.unknown.values_mut().for_each(|why| text("a reason", why));
    run.evidence.iter_mut().for_each(|evidence| text("the evidence", &mut evidence.value));
    let settings = &mut run.settings;
    for (name, field) in
        [("request_json", &mut settings.request_json), ("request_fields", &mut settings.request_fields)]
    {
        if let Some(value) = field.take() {
            let hidden: Value = redact::json(value.clone());
            if hidden != value {
                taken_out.push(format!("what looks like a secret in settings.{name}"));
            }
            *field = Some(hidden);
        }
    }
}

fn content(folder: &RunFolder, file: &TraceFile) -> anyhow::Result<Bytes> {
    let path = folder.path.join(&file.file);
    let missing = || {
        Hinted::new(
            format!("{} can't be read, and a run is published with its traces", path.display()),
            "publish the run's whole folder, where it was measured",
        )
    };
    let content = std::fs::read(&path).with_context(missing)?;
    if sha256(&content) != file.sha256 {
        let hint = "tokometer verify RUN says what differs; only what was measured can be published";
        return Err(
            Hinted::new(format!("{} is not the file that the record names", path.display()), hint).into()
        );
    }
    Ok(Bytes::from(content))
}
