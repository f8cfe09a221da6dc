//! `tokometer site …`: what is done beside the server, on its host.

use tokometer_site::store::Rehearsal;
use tokometer_site::{Config, Limits, SiteError, Storage, host};

use crate::args::database::DatabaseArgs;
use crate::args::site::{DataArgs, SiteArgs, SiteCommand};
use crate::failure::Hinted;
use crate::{out, site_data, site_database};

/// Does it.
pub(crate) fn site(args: SiteArgs) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(command(args.command)).map_err(hinted)
}

/// A refusal of the site with its next step on a line of its own.
fn hinted(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<SiteError>() {
        Ok(SiteError::Refused { what, hint }) => Hinted::new(what, hint).into(),
        Ok(error) => error.into(),
        Err(error) => error,
    }
}

async fn command(command: SiteCommand) -> anyhow::Result<u8> {
    match command {
        SiteCommand::Invite { role, url, data } => {
            let role = role.parse().map_err(|why: String| Hinted::usage(why, "see --help"))?;
            let config = config(data)?;
            let url = match url {
                Some(url) => url,
                None => site_data::address(&config.data)?.unwrap_or_else(|| config.url()),
            };
            let code = host::invite(&config, role).await?;
            // Told once, to who asked for it: only its hash is kept.
            out::result_line(&format!("{}/invitation/{}", url.trim_end_matches('/'), code.expose()))?;
        }
        SiteCommand::Users { data } => out::result(&host::users(&config(data)?).await?)?,
        SiteCommand::Token { user, scopes, label, days, data } => {
            let scopes = scopes.parse().map_err(|why: String| Hinted::usage(why, "see --help"))?;
            let token = host::new_token(&config(data)?, &user, scopes, &label, days).await?;
            out::result_line(token.expose())?;
        }
        SiteCommand::Revoke { token, data } => {
            host::revoke(&config(data)?, &token).await?;
            out::say(&format!("token {token} no longer holds"));
        }
        SiteCommand::Disable { user, reason, data } => {
            host::disable(&config(data)?, &user, &reason).await?;
            out::say(&format!("the account {user} is closed"));
        }
        SiteCommand::Dump { out: to, data } => {
            let done = host::dump(&config(data)?, &to).await?;
            out::say(&format!("{done} are in {}", to.display()));
        }
        SiteCommand::Backup { to, data, storage } => {
            let config = Config { storage: storage.storage()?, ..config(data)? };
            let done = host::backup(&config, &to).await?;
            out::say(&format!("{done} are in {}", to.display()));
        }
        SiteCommand::Migrate { to, dry_run, data } => {
            let to = site_database::at(to.as_deref())?.ok_or_else(|| {
                Hinted::usage(
                    "no database is named to move to",
                    "give it with --to or the variable DATABASE_URL",
                )
            })?;
            let config = config(DataArgs { data, database: DatabaseArgs::default() })?;
            let rehearsal = if dry_run { Rehearsal::Yes } else { Rehearsal::No };
            let moved = host::migrate(&config, &to, rehearsal).await?;
            for (table, rows) in moved.tables.iter().filter(|(_, rows)| *rows > 0) {
                out::say(&format!("{rows:>9} {table}"));
            }
            let runs = moved.rows("runs");
            if dry_run {
                out::say(&format!("{runs} runs can be moved to the {to}; nothing was kept"));
            } else {
                out::say(&format!("{runs} runs are in the {to}, each row compared"));
                out::say(&format!(
                    "their files stay in {}: serve with the same --data and this database",
                    config.artefacts().display()
                ));
            }
        }
        SiteCommand::Restore { from, data, storage } => {
            let config = Config { storage: storage.storage()?, ..config(data)? };
            let done = host::restore(&from, &config).await?;
            out::say(&format!("{done} are in {}", config.data.display()));
        }
        SiteCommand::CopyArtefacts { data, storage } => {
            let config = Config { storage: storage.storage()?, ..config(data)? };
            let host::Copied { files, bytes } = host::copy_artefacts(&config).await?;
            out::say(&format!(
                "{files} files ({bytes} bytes) are in the object store, each read back and whole"
            ));
        }
    }
    Ok(0)
}

fn config(data: DataArgs) -> anyhow::Result<Config> {
    Ok(Config {
        listen: ([127, 0, 0, 1], 8787).into(),
        database_url: site_database::named(&data.database)?,
        data: site_data::folder(data.data)?,
        base_url: None,
        behind_proxy: false,
        storage: Storage::Folder,
        sign_in: None,
        require_sign_in: false,
        limits: Limits::default(),
    })
}
