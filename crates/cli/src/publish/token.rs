//! The token: from a file, from the environment, of a login, or of the site on this host. Never from an argument.

use std::path::Path;

use anyhow::Context;
use tokometer_wire::{Secret, TargetUrl};

use super::kept::Kept;
use crate::failure::Hinted;
use crate::site_data;

/// The environment variable that holds it.
const VARIABLE: &str = "TOKOMETER_TOKEN";

/// Finds the token for a site.
pub(super) fn find(file: Option<&Path>, site: &TargetUrl) -> anyhow::Result<Secret> {
    if let Some(path) = file {
        return read(path);
    }
    if let Some(token) = std::env::var(VARIABLE).ok().filter(|token| !token.trim().is_empty()) {
        return Ok(Secret::new(token.trim()));
    }
    if let Ok(kept) = Kept::of_user()
        && let Some(token) = kept.find(site)?
    {
        return Ok(token);
    }
    match of_this_host(site)? {
        Some(token) => Ok(token),
        None => Err(Hinted::usage(
            format!("there is no token for {site}"),
            format!(
                "tokometer login --site {site} gets one; or set {VARIABLE}, or name its file with --token-file"
            ),
        )
        .into()),
    }
}

/// The token of the site whose data is on this host, only for the address that it listens on: no other site may see it.
fn of_this_host(site: &TargetUrl) -> anyhow::Result<Option<Secret>> {
    let Ok(folder) = site_data::folder(std::env::var_os(site_data::VARIABLE).map(Into::into)) else {
        return Ok(None);
    };
    let address = site_data::address(&folder)
        .with_context(|| format!("cannot read the address of the site in {}", folder.display()))?;
    let Some(address) = address.and_then(|text| TargetUrl::parse(&text).ok()) else { return Ok(None) };
    let file = folder.join(site_data::TOKEN_FILE);
    if address != *site || !file.is_file() {
        return Ok(None);
    }
    read(&file).map(Some)
}

fn read(path: &Path) -> anyhow::Result<Secret> {
    let text = std::fs::read_to_string(path).with_context(|| {
        Hinted::usage(
            format!("cannot read the token from {}", path.display()),
            "give the path of a file that holds the token and nothing else",
        )
    })?;
    let token = text.trim();
    if token.is_empty() || token.contains(char::is_whitespace) {
        let hint = "the file must hold the token and nothing else";
        return Err(Hinted::usage(format!("{} holds no token", path.display()), hint).into());
    }
    Ok(Secret::new(token))
}
