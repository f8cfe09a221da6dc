//! Runs that wait for a connection: one small file each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use crate::args::publish::SiteOptions;
use crate::failure::Hinted;

/// The folder of what waits.
pub(crate) struct Queue {
    folder: PathBuf,
}

/// A run that waits.
pub(crate) struct Waiting {
    /// Its folder.
    pub(crate) run: PathBuf,
    /// Where it is to go.
    pub(crate) site: String,
    /// As whom, and how.
    pub(crate) options: SiteOptions,
    file: PathBuf,
}

impl Queue {
    /// `$XDG_STATE_HOME/tokometer/queue`, or below `~/.local/state`.
    pub(crate) fn of_user() -> anyhow::Result<Queue> {
        let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let state = of("XDG_STATE_HOME").or_else(|| of("HOME").map(|home| home.join(".local/state")));
        let Some(state) = state else {
            return Err(
                Hinted::new("there is no home folder for the queue", "set HOME, or try again later").into()
            );
        };
        Ok(Queue { folder: state.join("tokometer/queue") })
    }

    /// Puts a run in. Put in twice it waits once.
    pub(crate) fn add(&self, run: &Path, site: &str, options: &SiteOptions) -> anyhow::Result<()> {
        let run = fs::canonicalize(run)?;
        let absolute = |path: &Option<PathBuf>| path.as_ref().map(fs::canonicalize).transpose();
        // Where the token is, never the token.
        let entry = json!({
            "run": run,
            "site": site,
            "token_file": absolute(&options.token_file)?,
            "keep_address": options.keep_address,
            "site_cacert": absolute(&options.site_cacert)?,
            "without_tls": options.without_tls,
        });
        let name = tokometer_record::store::sha256(format!("{}\n{site}", run.display()).as_bytes());
        let path = self.folder.join(format!("{}.json", &name[..16]));
        let write = || -> io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            let temporary = path.with_extension("new");
            fs::write(&temporary, entry.to_string())?;
            fs::rename(&temporary, &path)
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }

    /// What waits, oldest first.
    pub(crate) fn waiting(&self) -> anyhow::Result<Vec<Waiting>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", self.folder.display()));
            }
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let changed = fs::metadata(&path).and_then(|meta| meta.modified())?;
                found.push((changed, read(path)?));
            }
        }
        found.sort_by_key(|(changed, _)| *changed);
        Ok(found.into_iter().map(|(_, waiting)| waiting).collect())
    }
}

impl Waiting {
    /// Takes it out of the queue.
    pub(crate) fn done(&self) -> anyhow::Result<()> {
        fs::remove_file(&self.file).with_context(|| format!("cannot remove {}", self.file.display()))
    }
}

fn read(file: PathBuf) -> anyhow::Result<Waiting> {
    let broken = || Hinted::new(format!("{} is no entry of the queue", file.display()), "remove it");
    let text = fs::read(&file).with_context(broken)?;
    let entry: Value = serde_json::from_slice(&text).with_context(broken)?;
    let path = |name: &str| entry[name].as_str().map(PathBuf::from);
    let (Some(run), Some(site)) = (path("run"), entry["site"].as_str()) else { return Err(broken().into()) };
    let options = SiteOptions {
        token_file: path("token_file"),
        keep_address: entry["keep_address"] == true,
        site_cacert: path("site_cacert"),
        without_tls: entry["without_tls"] == true,
    };
    Ok(Waiting { run, site: site.to_owned(), options, file })
}
