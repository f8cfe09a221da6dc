//! The files of a site's folder into an object store.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::refused;
use crate::artefacts::{ArtefactFolder, Artefacts, Hash, S3Artefacts};
use crate::config::{Config, Storage};
use crate::start::SiteError;

/// Files that are on their way at once.
const AT_ONCE: usize = 8;

/// What a copy did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Copied {
    /// Files that are there now, and were seen to be what their names say.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Copies every file of the data folder to the object store that is configured, reads each back, and holds it against
/// its name. It can be repeated, also after it broke off: what is there already is only read. The folder stays as it
/// is, and a server may go on using it meanwhile.
///
/// # Errors
/// The configuration names no object store, a file of the folder is damaged, or the store refuses.
pub async fn copy_artefacts(config: &Config) -> Result<Copied, SiteError> {
    let Storage::S3(options) = &config.storage else {
        return Err(refused(
            "no object store is named to copy the files to".to_owned(),
            "give it with --artefacts s3://BUCKET/PREFIX",
        ));
    };
    let path = config.artefacts();
    let from = Arc::new(ArtefactFolder::reading(&path));
    let names = from.names().map_err(|source| SiteError::Read { path, source })?;
    let to = S3Artefacts::open(options)?;
    to.check().await?;
    let to = Arc::new(to);
    let mut copied = Copied::default();
    let mut running = JoinSet::new();
    for name in names {
        if running.len() >= AT_ONCE {
            copied.add(running.join_next().await)?;
        }
        let (from, to) = (Arc::clone(&from), Arc::clone(&to));
        running.spawn(async move { copy(&*from, &*to, &name).await });
    }
    while !running.is_empty() {
        copied.add(running.join_next().await)?;
    }
    Ok(copied)
}

impl Copied {
    fn add(
        &mut self,
        done: Option<Result<Result<u64, SiteError>, tokio::task::JoinError>>,
    ) -> Result<(), SiteError> {
        match done {
            Some(Ok(result)) => {
                self.bytes += result?;
                self.files += 1;
                Ok(())
            }
            Some(Err(error)) => Err(refused(format!("copying broke off: {error}"), "try again")),
            None => Ok(()),
        }
    }
}

async fn copy(from: &dyn Artefacts, to: &dyn Artefacts, name: &Hash) -> Result<u64, SiteError> {
    let text = name.as_str();
    let fail = |what: String| refused(what, "mend that and repeat the command: what was copied stays");
    // Cleared away since the folder was listed: no run names it.
    let Some(content) = from.get(name).await.map_err(|error| fail(error.to_string()))? else { return Ok(0) };
    let bytes = content.len() as u64;
    to.put(name, content).await.map_err(|error| fail(format!("the file {text} was not copied: {error}")))?;
    match to.get(name).await {
        Ok(Some(_)) => Ok(bytes),
        Ok(None) => Err(fail(format!("the file {text} was copied and is not there"))),
        Err(error) => Err(fail(format!("the file {text} was copied and can't be read: {error}"))),
    }
}
