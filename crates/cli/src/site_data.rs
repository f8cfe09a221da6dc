//! Where the data of a site on this host lies, and what `publish` may know of it.

use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Hinted;

/// Name of the file with the admin's token.
pub(crate) const TOKEN_FILE: &str = "admin-token";
/// Name of the file with the address that the server last listened on.
const ADDRESS_FILE: &str = "address";
/// Variable that names the folder.
pub(crate) const VARIABLE: &str = "TOKOMETER_SITE_DATA";

/// The folder: the one that was named, also by the variable, else the user's.
pub(crate) fn folder(named: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let of_variable = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(of_variable).or_else(usual).ok_or_else(|| {
        Hinted::usage("there is no home folder to keep the site's data in", "name a folder with --data DIR")
            .into()
    })
}

/// `$XDG_DATA_HOME/tokometer/site`, or below `~/.local/share`.
fn usual() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = of("XDG_DATA_HOME").or_else(|| of("HOME").map(|home| home.join(".local/share")))?;
    Some(data.join("tokometer/site"))
}

/// Keeps where the server of a folder listens.
#[cfg(feature = "site")]
pub(crate) fn keep_address(folder: &Path, address: &str) -> io::Result<()> {
    std::fs::write(folder.join(ADDRESS_FILE), format!("{address}\n"))
}

/// Where the server of a folder last listened.
pub(crate) fn address(folder: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(folder.join(ADDRESS_FILE)) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
