//! A copy of the whole site, and a site from a copy.
//!
//! A backup is a folder like the data folder: `site.db` (one consistent state of the database, taken while the server
//! may write) and `artefacts/`. Files are copied after the database, so each one that it names is in the copy.

use std::fs;
use std::io;
use std::path::Path;

use super::refused;
use crate::artefacts::{ArtefactFolder, Artefacts, Hash};
use crate::config::Config;
use crate::start::{SiteError, open_store};
use crate::store::Store;

/// Copies a site to a folder that is not there yet; how much, in words.
pub async fn backup(config: &Config, to: &Path) -> Result<String, SiteError> {
    if to.exists() {
        return Err(refused(
            format!("{} is there already", to.display()),
            "name a new folder for each backup",
        ));
    }
    let store = open_store(config).await?;
    make(to)?;
    let copied = store.copy_to(&to.join("site.db")).await;
    store.close().await;
    copied?;
    let copy = Store::sqlite(&to.join("site.db")).await?;
    let done = files(&copy, &config.artefacts(), &to.join("artefacts")).await;
    copy.close().await;
    done
}

/// Makes a site's folder of a backup, where there is none; how much, in words.
pub async fn restore(from: &Path, config: &Config) -> Result<String, SiteError> {
    if config.database().exists() {
        let what = format!("{} has a site already", config.data.display());
        return Err(refused(what, "name another folder with --data, or move that one away"));
    }
    if !from.join("site.db").is_file() {
        return Err(SiteError::NoSite { path: from.to_owned() });
    }
    make(&config.data)?;
    // Under another name until all of it is there: a restore that was cut short leaves no site.
    let begun = config.data.join("site.db.begun");
    copy(&from.join("site.db"), &begun)?;
    let store = Store::sqlite(&begun).await?;
    let done = files(&store, &from.join("artefacts"), &config.artefacts()).await;
    // Dumps are no part of a backup: they are made anew.
    store.forget_dumps(0).await?;
    store.close().await;
    let done = done?;
    fs::rename(&begun, config.database())
        .map_err(|source| SiteError::Write { path: config.database(), source })?;
    Ok(done)
}

/// Copies each file that some run names, and looks whether it is what its name says.
async fn files(store: &Store, from: &Path, to: &Path) -> Result<String, SiteError> {
    let wanted = store.named_artefacts().await?;
    let target =
        ArtefactFolder::open(to).map_err(|source| SiteError::Write { path: to.to_owned(), source })?;
    let source = ArtefactFolder::reading(from);
    for text in &wanted {
        let bad = |why: &str| {
            let what = format!("the file {text} {why} in {}", from.display());
            refused(what, "take it from an older backup; nothing was put in place")
        };
        let name = Hash::parse(text).ok_or_else(|| bad("has no proper name"))?;
        let content = source
            .get(&name)
            .await
            .map_err(|source| SiteError::Read { path: from.to_owned(), source })?
            .ok_or_else(|| bad("is missing"))?;
        if Hash::of(&content) != name {
            return Err(bad("is damaged"));
        }
        target
            .put(&name, content)
            .await
            .map_err(|source| SiteError::Write { path: to.to_owned(), source })?;
    }
    Ok(format!("{} runs and {} files", store.count_runs().await?, wanted.len()))
}

fn make(folder: &Path) -> Result<(), SiteError> {
    fs::create_dir_all(folder).map_err(|source| SiteError::Write { path: folder.to_owned(), source })
}

fn copy(from: &Path, to: &Path) -> Result<(), SiteError> {
    let work = || -> io::Result<()> {
        fs::copy(from, to)?;
        fs::File::open(to)?.sync_all()
    };
    work().map_err(|source| SiteError::Write { path: to.to_owned(), source })
}
