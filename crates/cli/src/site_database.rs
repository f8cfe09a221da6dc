//! The address of a site's PostgreSQL database, which may hold a password.

use std::ffi::OsStr;

use tokometer_site::store::DatabaseUrl;

use crate::args::database::DatabaseArgs;
use crate::failure::Hinted;

/// The variable that other programs use too.
const VARIABLE: &str = "DATABASE_URL";

/// The database that was named, also by a file or a variable; none: the file in the data folder.
pub(crate) fn named(args: &DatabaseArgs) -> anyhow::Result<Option<DatabaseUrl>> {
    if let Some(path) = &args.database_url_file {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Hinted::usage(
                format!("can't read {}: {error}", path.display()),
                "name a file with the address in it, postgres://…",
            )
        })?;
        return Ok(Some(parsed(&text)?));
    }
    at(args.database_url.as_deref())
}

/// The database at an address that was given as an argument or a setting, else in the variable.
pub(crate) fn at(given: Option<&str>) -> anyhow::Result<Option<DatabaseUrl>> {
    let given = given.map(str::to_owned).or_else(|| std::env::var(VARIABLE).ok());
    let Some(text) = given.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let url = parsed(&text)?;
    if url.has_password() && std::env::args_os().any(|argument| holds(&argument, &text)) {
        return Err(Hinted::usage(
            "the address of the database has a password, and every user of this machine can read arguments",
            "put the address into the variable DATABASE_URL or a file (--database-url-file), or the password into \
             PGPASSWORD or ~/.pgpass",
        )
        .into());
    }
    Ok(Some(url))
}

fn parsed(text: &str) -> anyhow::Result<DatabaseUrl> {
    Ok(text.parse().map_err(|error: tokometer_site::store::BadDatabaseUrl| {
        Hinted::usage(error.to_string(), "see `tokometer serve --help`")
    })?)
}

fn holds(argument: &OsStr, text: &str) -> bool {
    argument.to_string_lossy().contains(text)
}
