//! The first start: an admin, and a token for it in the data folder.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use uuid::Uuid;

use crate::clock;
use crate::domain::{NewToken, Role, Scopes, User};
use crate::secret;
use crate::start::SiteError;
use crate::store::Store;

/// The first user's public name.
pub(crate) const ADMIN: &str = "admin";

/// Makes the admin where there is none, and its token where its file is not there. True if it made either.
///
/// The file is written before the token holds: a process that is killed between the two leaves a file with a token
/// that is not known, which the next start replaces.
pub(crate) async fn ensure_admin(store: &Store, file: &Path) -> Result<bool, SiteError> {
    let user = if let Some(user) = store.user(ADMIN).await? {
        user
    } else {
        let user = User {
            id: Uuid::now_v7().to_string(),
            handle: ADMIN.to_owned(),
            role: Role::Admin,
            created_at: clock::now(),
            disabled_at: None,
        };
        store.add_user(&user).await?;
        user
    };
    if holds(store, file).await? {
        return Ok(false);
    }
    let (id, token) = secret::new_token()?;
    write_secret(file, token.expose())
        .map_err(|source| SiteError::Write { path: file.to_owned(), source })?;
    let new = NewToken {
        id,
        hash: secret::hash(token.expose()),
        user_id: user.id,
        scopes: Scopes::of_role(user.role),
        label: "data folder".to_owned(),
        expires_at: None,
    };
    store.add_token(&new, clock::now()).await?;
    Ok(true)
}

/// True if the file holds a token that is known and was not revoked.
async fn holds(store: &Store, file: &Path) -> Result<bool, SiteError> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(SiteError::Read { path: file.to_owned(), source }),
    };
    let text = text.trim();
    let Some(id) = secret::token_id(text) else { return Ok(false) };
    let row = store.token(id).await?;
    Ok(row.is_some_and(|row| row.revoked_at.is_none() && secret::is_hash_of(&row.hash, text)))
}

/// Writes a file that only its owner can read, whole or not at all.
fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let temporary = path.with_extension("new");
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(format!("{text}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}
