//! A copy of the whole site, and a site from a copy.
//!
//! A backup is a folder like the data folder: `site.db` (one consistent state of the database, taken while the server
//! may write) and `artefacts/`, wherever the site keeps them. Files are copied after the database, so each one that it
//! names is in the copy.

use std::fs;
use std::io;
use std::path::Path;

use super::refused;
use crate::artefacts::{self, ArtefactFolder, Artefacts, Hash};
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
    if let Some(url) = &config.database_url {
        return Err(refused(
            format!("the {url} is not copied by this command"),
            "copy it with pg_dump, then the files, which never change",
        ));
    }
    let store = open_store(config).await?;
    make(to)?;
    let copied = store.copy_to(&to.join("site.db")).await;
    store.close().await;
    copied?;
    let copy = Store::sqlite(&to.join("site.db")).await?;
    let done = files(&copy, &*artefacts::reading(config)?, &folder(&to.join("artefacts"))?).await;
    copy.close().await;
    done
}

/// Makes a site's folder of a backup, where there is none; how much, in words.
pub async fn restore(from: &Path, config: &Config) -> Result<String, SiteError> {
    if let Some(url) = &config.database_url {
        return Err(refused(
            format!("a backup is no source for the {url}"),
            "restore it to a folder, then move that with `tokometer site migrate`; what pg_dump made is for pg_restore",
        ));
    }
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
    // What a restore that was killed left of another backup does not get into this one.
    for left in ["site.db.begun-wal", "site.db.begun-shm"] {
        let _ = fs::remove_file(config.data.join(left));
    }
    copy(&from.join("site.db"), &begun)?;
    let store = Store::sqlite(&begun).await?;
    let source = ArtefactFolder::reading(&from.join("artefacts"));
    let done = match artefacts::open(config).await {
        Ok(target) => files(&store, &source, &*target).await,
        Err(error) => Err(error),
    };
    // Dumps are no part of a backup: they are made anew.
    store.forget_dumps(0).await?;
    store.close().await;
    let done = done?;
    fs::rename(&begun, config.database())
        .map_err(|source| SiteError::Write { path: config.database(), source })?;
    Ok(done)
}

/// Copies each file that some run names, and looks whether it is what its name says.
async fn files(store: &Store, from: &dyn Artefacts, to: &dyn Artefacts) -> Result<String, SiteError> {
    let wanted = store.named_artefacts().await?;
    for text in &wanted {
        let bad = |why: &str| {
            refused(
                format!("the file {text} {why}"),
                "take it from an older backup; nothing was put in place",
            )
        };
        let name = Hash::parse(text).ok_or_else(|| bad("has no proper name"))?;
        let content = match from.get(&name).await {
            Ok(Some(content)) => content,
            Ok(None) => return Err(bad("is missing")),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(bad("is damaged")),
            Err(error) => return Err(refused(error.to_string(), "nothing was put in place; try again")),
        };
        to.put(&name, content).await.map_err(|error| {
            refused(format!("the file {text} can't be kept: {error}"), "mend that, and try again")
        })?;
    }
    Ok(format!("{} runs and {} files", store.count_runs().await?, wanted.len()))
}

fn folder(path: &Path) -> Result<ArtefactFolder, SiteError> {
    ArtefactFolder::open(path).map_err(|source| SiteError::Write { path: path.to_owned(), source })
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
