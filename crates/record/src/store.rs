//! A run's folder: `run.json`, `trace/<cell>.parquet`, `report.html`. A page is a data file too: what reads a run
//! document reads the one that is embedded in a page.
//!
//! Every file is written beside its place, flushed to disk and renamed into it. A process that is killed at
//! any moment leaves whole files only, and a `run.json` that names no trace that is not there.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{CellDetail, CellTrace, RecordError, Run, TraceFile, page, trace};

/// A run's folder.
#[derive(Debug, Clone)]
pub struct RunFolder {
    /// Where it is.
    pub path: PathBuf,
    /// Name of the run document in it.
    run_name: OsString,
}

/// A trace as it was found.
#[derive(Debug)]
pub struct StoredTrace {
    /// SHA-256 of the file, hex.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// What it holds, if it can be read.
    pub trace: Result<CellTrace, RecordError>,
}

/// Name of the run document in its folder.
const RUN_FILE: &str = "run.json";
/// Name of the file that holds space for the last write of a run on a full disk.
const RESERVE_FILE: &str = ".reserve";
/// A run document and a page of a full matrix.
const RESERVE_BYTES: usize = 512 * 1024;
/// Name of the folder of traces.
const TRACE_FOLDER: &str = "trace";

impl RunFolder {
    /// Makes the folder of a new run, `out_dir/run_id`, and checks that it can be written to.
    pub fn create(out_dir: &Path, run_id: &str) -> Result<RunFolder, RecordError> {
        check_id(run_id)?;
        let path = out_dir.join(run_id);
        fs::create_dir_all(out_dir)
            .map_err(|source| RecordError::Write { path: out_dir.to_owned(), source })?;
        fs::create_dir(&path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => RecordError::Exists { path: path.clone() },
            _ => RecordError::Write { path: path.clone(), source },
        })?;
        let traces = path.join(TRACE_FOLDER);
        fs::create_dir(&traces).map_err(|source| RecordError::Write { path: traces, source })?;
        Ok(RunFolder { path, run_name: OsString::from(RUN_FILE) })
    }

    /// Sets space aside, so that the run document can still be written when the disk is full.
    pub fn hold_reserve(&self) -> Result<(), RecordError> {
        write_whole(&self.path.join(RESERVE_FILE), &vec![0; RESERVE_BYTES])
    }

    /// Gives the space back.
    pub fn release_reserve(&self) {
        // Not there means that it takes no space.
        let _ = fs::remove_file(self.path.join(RESERVE_FILE));
    }

    /// Finds a run by its folder, by its run document or by its page, and looks whether it is one that can be read.
    pub fn open(path: &Path) -> Result<RunFolder, RecordError> {
        let meta =
            fs::metadata(path).map_err(|source| RecordError::Read { path: path.to_owned(), source })?;
        let folder = if meta.is_dir() {
            if !path.join(RUN_FILE).is_file() {
                let why = format!("there is no {RUN_FILE} in it");
                return Err(RecordError::NotARecord { path: path.to_owned(), why });
            }
            RunFolder { path: path.to_owned(), run_name: OsString::from(RUN_FILE) }
        } else {
            let name = path.file_name().unwrap_or(OsStr::new(RUN_FILE)).to_owned();
            let folder = match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            RunFolder { path: folder.to_owned(), run_name: name }
        };
        folder.read_document()?;
        Ok(folder)
    }

    /// The run document's file.
    pub fn run_file(&self) -> PathBuf {
        self.path.join(&self.run_name)
    }

    /// The page's file.
    pub fn report_file(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// Writes the run document, whole or not at all.
    pub fn save_run(&self, run: &Run) -> Result<(), RecordError> {
        let path = self.run_file();
        let mut text = serde_json::to_vec_pretty(run)
            .map_err(|error| RecordError::Write { path: path.clone(), source: io::Error::other(error) })?;
        text.push(b'\n');
        write_whole(&path, &text)
    }

    /// Writes the page, whole or not at all.
    pub fn save_report(&self, html: &str) -> Result<(), RecordError> {
        write_whole(&self.report_file(), html.as_bytes())
    }

    /// Reads the run document.
    pub fn load_run(&self) -> Result<Run, RecordError> {
        let document = self.read_document()?;
        Run::deserialize(document)
            .map_err(|error| RecordError::Damaged { path: self.run_file(), why: error.to_string() })
    }

    /// The details of cells that a page holds; none where the run document is no page, or one without them.
    pub fn load_details(&self) -> Result<Option<Vec<CellDetail>>, RecordError> {
        let path = self.run_file();
        let text = fs::read(&path).map_err(|source| RecordError::Read { path: path.clone(), source })?;
        if !page::is_page(&text) {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&text);
        let Some(json) = page::embedded(&text, page::DETAILS) else { return Ok(None) };
        let details: Vec<CellDetail> = serde_json::from_str(json)
            .map_err(|error| RecordError::Damaged { path: path.clone(), why: error.to_string() })?;
        if details.iter().any(|detail| !detail.requests.is_even()) {
            let why = "the columns of a cell's requests differ in length".to_owned();
            return Err(RecordError::Damaged { path, why });
        }
        Ok(Some(details))
    }

    /// Writes a cell's trace, whole or not at all, and returns what the run document says about it.
    pub fn save_trace(&self, cell: &CellTrace) -> Result<TraceFile, RecordError> {
        let name = cell.meta.file_name();
        let bytes = trace::parquet::write(cell)?;
        let file = format!("{TRACE_FOLDER}/{name}");
        let path = self.path.join(TRACE_FOLDER).join(&name);
        fs::create_dir_all(self.path.join(TRACE_FOLDER))
            .map_err(|source| RecordError::Write { path: self.path.join(TRACE_FOLDER), source })?;
        write_whole(&path, &bytes)?;
        Ok(TraceFile { file, sha256: sha256(&bytes), bytes: bytes.len() as u64 })
    }

    /// Reads a cell's trace, and checks that it is the one that the run document names.
    pub fn load_trace(&self, trace: &TraceFile) -> Result<CellTrace, RecordError> {
        let path = self.trace_path(trace)?;
        let bytes = fs::read(&path).map_err(|source| RecordError::Read { path: path.clone(), source })?;
        let found = sha256(&bytes);
        if found != trace.sha256 {
            return Err(RecordError::TraceChanged { path, found, recorded: trace.sha256.clone() });
        }
        trace::parquet::read(Bytes::from(bytes), &path)
    }

    /// A trace as it lies in the folder, whatever its state; `None` where there is no such file.
    pub fn find_trace(&self, trace: &TraceFile) -> Result<Option<StoredTrace>, RecordError> {
        let path = self.trace_path(trace)?;
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(RecordError::Read { path, source }),
        };
        let (sha256, size) = (sha256(&bytes), bytes.len() as u64);
        Ok(Some(StoredTrace { sha256, bytes: size, trace: trace::parquet::read(Bytes::from(bytes), &path) }))
    }

    /// Where a trace lies. Records come from anywhere: a path that leads out of the folder is refused.
    pub(crate) fn trace_path(&self, trace: &TraceFile) -> Result<PathBuf, RecordError> {
        let relative = Path::new(&trace.file);
        if relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Ok(self.path.join(relative));
        }
        let why = format!("its trace {:?} lies outside of the run's folder", trace.file);
        Err(RecordError::Damaged { path: self.run_file(), why })
    }

    /// The run document as JSON, as it was written.
    pub fn load_document(&self) -> Result<Value, RecordError> {
        self.read_document()
    }

    /// The run document as JSON, its schema checked.
    fn read_document(&self) -> Result<Value, RecordError> {
        let path = self.run_file();
        let text = fs::read(&path).map_err(|source| RecordError::Read { path: path.clone(), source })?;
        let not_a_record = |why: String| RecordError::NotARecord { path: path.clone(), why };
        let document: Value = if page::is_page(&text) {
            let page = String::from_utf8_lossy(&text);
            let json = page::embedded(&page, page::RUN)
                .ok_or_else(|| not_a_record("it is a page without an embedded record".to_owned()))?;
            serde_json::from_str(json).map_err(|error| not_a_record(format!("its JSON: {error}")))?
        } else {
            serde_json::from_slice(&text).map_err(|error| not_a_record(format!("no JSON ({error})")))?
        };
        let schema = match document.get("schema") {
            Some(Value::String(schema)) => schema.as_str(),
            Some(_) => return Err(not_a_record("its \"schema\" is no text".to_owned())),
            None if crate::import::knows(&document) => return Err(RecordError::NotImported { path }),
            None => return Err(not_a_record("it has no \"schema\"".to_owned())),
        };
        match schema_version(schema, "tokometer.run/") {
            _ if schema == Run::SCHEMA => Ok(document),
            Some(version) if version > RUN_VERSION => {
                Err(RecordError::NewerSchema { found: schema.to_owned(), known: Run::SCHEMA, path })
            }
            _ => Err(not_a_record(format!("its schema is {schema:?}"))),
        }
    }
}

/// The version in [`Run::SCHEMA`].
const RUN_VERSION: u64 = 1;

/// The number behind `prefix` in a schema's name.
pub(crate) fn schema_version(schema: &str, prefix: &str) -> Option<u64> {
    schema.strip_prefix(prefix)?.parse().ok()
}

/// A run's id becomes the name of a folder, so it must not lead elsewhere.
fn check_id(id: &str) -> Result<(), RecordError> {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    if !id.is_empty() && !id.starts_with('.') && id.chars().all(is_plain) {
        Ok(())
    } else {
        Err(RecordError::BadId { id: id.to_owned() })
    }
}

/// SHA-256 in hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// Writes `bytes` to a temporary file beside `path`, flushes it to disk, and renames it into place.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    let (part, mut file) = PartFile::create(path)?;
    file.write_all(bytes).map_err(|source| part.failed(source))?;
    part.finish(file)
}

/// A file that is being written beside its place. What is left of a failed write is removed: it takes the space that
/// may be missing.
#[derive(Debug)]
pub(crate) struct PartFile {
    path: PathBuf,
    temporary: PathBuf,
    is_whole: bool,
}

impl PartFile {
    /// Begins a file that is to be at `path`.
    pub(crate) fn create(path: &Path) -> Result<(PartFile, File), RecordError> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let part = PartFile { path: path.to_owned(), temporary: temporary.into(), is_whole: false };
        let file = File::create(&part.temporary).map_err(|source| part.failed(source))?;
        Ok((part, file))
    }

    /// Flushes it to disk and renames it into place.
    pub(crate) fn finish(mut self, file: File) -> Result<(), RecordError> {
        let finish = || -> io::Result<()> {
            file.sync_all()?;
            drop(file);
            fs::rename(&self.temporary, &self.path)?;
            self.path.parent().map_or(Ok(()), flush_folder)
        };
        finish().map_err(|source| self.failed(source))?;
        self.is_whole = true;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> RecordError {
        RecordError::Write { path: self.path.clone(), source }
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_whole {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Makes a rename in a folder last through a crash of the machine.
#[cfg(unix)]
fn flush_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

/// Folders can't be flushed here.
#[cfg(not(unix))]
fn flush_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
