//! What is done on the host of a site, beside its server: accounts, backup, restore, the moves to PostgreSQL and to an
//! object store.

mod backup;
mod dump;
mod migrate;
mod move_files;

use std::fmt::Write;

use tokometer_wire::Secret;

use crate::account;
use crate::clock;
use crate::config::Config;
use crate::domain::{Action, ModerationEntry, NewToken, Role, Scopes};
use crate::secret;
use crate::start::{SiteError, open_store};

pub use backup::{backup, restore};
pub use dump::dump;
pub use migrate::migrate;
pub use move_files::{Copied, copy_artefacts};

/// Makes an invitation; its code, which is told once.
pub async fn invite(config: &Config, role: Role) -> Result<Secret, SiteError> {
    account::invite(&*open_store(config).await?, role, None).await
}

/// Users and their tokens as text.
pub async fn users(config: &Config) -> Result<String, SiteError> {
    let store = open_store(config).await?;
    let mut text = String::new();
    // Writing to a string can't fail.
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{arguments}");
    };
    for user in store.users().await? {
        let closed = user.disabled_at.map_or(String::new(), |at| format!(", closed {}", clock::text(at)));
        line(format_args!(
            "{} ({}), since {}{closed}",
            user.handle,
            user.role.code(),
            clock::text(user.created_at)
        ));
        for token in store.tokens(&user.id).await? {
            let time = |at: Option<i64>| at.map_or("never".to_owned(), clock::text);
            let ended = token.revoked_at.map_or(String::new(), |at| format!(", revoked {}", clock::text(at)));
            line(format_args!(
                "  {} \"{}\" ({}), last used {}, ends {}{ended}",
                token.id,
                token.label,
                token.scopes,
                time(token.last_used_at),
                time(token.expires_at)
            ));
        }
    }
    store.close().await;
    Ok(text)
}

/// Makes a token for a user; it is told once.
pub async fn new_token(
    config: &Config,
    handle: &str,
    scopes: Scopes,
    label: &str,
    days: Option<u32>,
) -> Result<Secret, SiteError> {
    let store = open_store(config).await?;
    let user =
        store.user(handle).await?.filter(|user| user.disabled_at.is_none()).ok_or_else(|| {
            refused(format!("there is no user {handle:?}"), "tokometer site users lists them")
        })?;
    let allowed = Scopes::of_role(user.role);
    if let Some(scope) = scopes.0.iter().find(|scope| !allowed.has(**scope)) {
        let what = format!("a {} can't have the scope {}", user.role.code(), scope.code());
        return Err(refused(what, "leave it out, or make a token for another user"));
    }
    let (id, token) = secret::new_token()?;
    let now = clock::now();
    let new = NewToken {
        id,
        hash: secret::hash(token.expose()),
        user_id: user.id,
        scopes,
        label: label.chars().take(100).collect(),
        expires_at: days.map(|days| now + i64::from(days) * 86_400_000),
    };
    store.add_token(&new, now).await?;
    store.close().await;
    Ok(token)
}

/// Ends a token.
pub async fn revoke(config: &Config, id: &str) -> Result<(), SiteError> {
    let store = open_store(config).await?;
    if !store.revoke_token(id, clock::now()).await? {
        return Err(refused(format!("no token {id:?} holds"), "tokometer site users lists them"));
    }
    store.close().await;
    Ok(())
}

/// Closes an account.
pub async fn disable(config: &Config, handle: &str, reason: &str) -> Result<(), SiteError> {
    let store = open_store(config).await?;
    let entry = ModerationEntry {
        at: clock::now(),
        actor: "operator".to_owned(),
        action: Action::UserDisabled,
        run_id: None,
        reason: format!("{handle}: {reason}"),
    };
    if !store.disable_user(handle, &entry).await? {
        return Err(refused(
            format!("there is no open account {handle:?}"),
            "tokometer site users lists them",
        ));
    }
    store.close().await;
    Ok(())
}

fn refused(what: String, hint: &str) -> SiteError {
    SiteError::Refused { what, hint: hint.to_owned() }
}
