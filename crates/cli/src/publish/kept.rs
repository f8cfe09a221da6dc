//! Tokens that `login` got: one file of the user's, readable by nobody else, with one entry a site.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use anyhow::Context;
use tokometer_wire::{Secret, TargetUrl};

use crate::failure::Hinted;

/// The file.
pub(crate) struct Kept {
    path: PathBuf,
}

impl Kept {
    /// `$XDG_CONFIG_HOME/tokometer/tokens.json`, or below `~/.config`.
    pub(crate) fn of_user() -> anyhow::Result<Kept> {
        let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config = of("XDG_CONFIG_HOME").or_else(|| of("HOME").map(|home| home.join(".config")));
        let Some(config) = config else {
            let hint = "set HOME, or give a token with TOKOMETER_TOKEN or --token-file";
            return Err(Hinted::usage("there is no home folder to keep tokens in", hint).into());
        };
        Ok(Kept { path: config.join("tokometer/tokens.json") })
    }

    /// The token of a site.
    pub(crate) fn find(&self, site: &TargetUrl) -> anyhow::Result<Option<Secret>> {
        Ok(self.read()?.remove(&site.display()).map(Secret::new))
    }

    /// Keeps a site's token, in the place of the one before.
    pub(crate) fn keep(&self, site: &TargetUrl, token: &Secret) -> anyhow::Result<()> {
        let mut tokens = self.read()?;
        tokens.insert(site.display(), token.expose().to_owned());
        self.write(&tokens)
    }

    /// Forgets a site's token. False if there is none.
    pub(crate) fn forget(&self, site: &TargetUrl) -> anyhow::Result<bool> {
        let mut tokens = self.read()?;
        let was_there = tokens.remove(&site.display()).is_some();
        if was_there {
            self.write(&tokens)?;
        }
        Ok(was_there)
    }

    /// Where it is, to be told.
    pub(crate) fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn read(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", self.path.display())),
        };
        // What stands there is secret, so the parser's words about it are left out.
        serde_json::from_str(&text).map_err(|_| {
            let what = format!("{} is damaged", self.path.display());
            Hinted::usage(what, "remove it, and use tokometer login again").into()
        })
    }

    fn write(&self, tokens: &BTreeMap<String, String>) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(tokens)?;
        let write = || -> io::Result<()> {
            if let Some(folder) = self.path.parent() {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            let temporary = self.path.with_extension(format!("new-{}", std::process::id()));
            // Left by one of the same number that was killed.
            let _ = fs::remove_file(&temporary);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &self.path)
        };
        write().with_context(|| format!("cannot write {}", self.path.display()))
    }
}
