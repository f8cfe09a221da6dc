//! What a sweep's folder holds already. There is no other state than that.

use std::path::Path;

use tokometer_record::{Run, RunFolder, RunState};

use crate::out;

/// The runs of a sweep's folder.
#[derive(Default)]
pub(crate) struct Found {
    parts: Vec<Part>,
}

/// A run, and its folder's name.
pub(crate) struct Part {
    pub(crate) folder: String,
    pub(crate) run: Run,
    /// True if all its traces are there.
    whole: bool,
}

impl Found {
    /// Looks at every folder in `folder`. What is no run, or a run of nobody's sweep, is left alone.
    pub(crate) fn look(folder: &Path) -> Found {
        let Ok(entries) = std::fs::read_dir(folder) else { return Found::default() };
        let mut parts = Vec::new();
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()) {
            match RunFolder::open(&path).and_then(|found| found.load_run()) {
                Ok(run) if run.sweep.is_some() => {
                    let file = |name: &str| path.join(name).is_file();
                    let whole = run.files().into_iter().all(|named| file(&named.file));
                    let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    parts.push(Part { folder, run, whole });
                }
                Ok(_) => {}
                Err(error) => out::say(&format!("left alone: {error}")),
            }
        }
        parts.sort_by(|one, other| one.folder.cmp(&other.folder));
        Found { parts }
    }

    /// The finished run of an entry's repeat, of this definition.
    pub(crate) fn finished(&self, entry: &str, repeat: u32, definition: &str) -> Option<&Part> {
        self.parts.iter().find(|part| {
            let of_job = |sweep: &tokometer_record::SweepPart| {
                sweep.entry == entry && sweep.repeat == repeat && sweep.definition == definition
            };
            part.whole && part.run.state == RunState::Finished && part.run.sweep.as_ref().is_some_and(of_job)
        })
    }
}

/// How far the run in a folder got, and why it stopped there.
pub(crate) fn state(folder: &Path) -> Option<(RunState, Option<String>)> {
    let run = RunFolder::open(folder).and_then(|folder| folder.load_run()).ok()?;
    Some((run.state, run.state_reason))
}
