//! Users, tokens, sessions, invitations.

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::damaged;
use crate::domain::{Millis, NewToken, Role, Session, TokenRow, User};
use crate::store::StoreError;

const TOKEN: &str = "SELECT tokens.id AS token_id, tokens.hash, tokens.scopes, tokens.label, \
    tokens.created_at AS token_created_at, tokens.expires_at, tokens.last_used_at, tokens.revoked_at, users.* \
    FROM tokens JOIN users ON users.id = tokens.user_id WHERE tokens.id = $1";
const TOKENS: &str = "SELECT tokens.id AS token_id, tokens.hash, tokens.scopes, tokens.label, \
    tokens.created_at AS token_created_at, tokens.expires_at, tokens.last_used_at, tokens.revoked_at, users.* \
    FROM tokens JOIN users ON users.id = tokens.user_id WHERE tokens.user_id = $1 ORDER BY tokens.created_at DESC";

pub(super) async fn add_user(connection: &mut SqliteConnection, user: &User) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO users (id, handle, role, created_at, disabled_at) VALUES ($1, $2, $3, $4, $5)")
        .bind(&user.id)
        .bind(&user.handle)
        .bind(user.role.code())
        .bind(user.created_at)
        .bind(user.disabled_at)
        .execute(connection)
        .await
        .map_err(|error| match &error {
            sqlx::Error::Database(inner) if inner.is_unique_violation() => {
                StoreError::Taken { what: format!("the name {:?}", user.handle) }
            }
            _ => error.into(),
        })?;
    Ok(())
}

pub(super) async fn user(pool: &SqlitePool, handle: &str) -> Result<Option<User>, StoreError> {
    let row = sqlx::query("SELECT * FROM users WHERE handle = $1").bind(handle).fetch_optional(pool).await?;
    row.as_ref().map(user_of).transpose()
}

pub(super) async fn users(pool: &SqlitePool) -> Result<Vec<User>, StoreError> {
    sqlx::query("SELECT * FROM users ORDER BY handle").fetch_all(pool).await?.iter().map(user_of).collect()
}

pub(super) async fn disable(
    connection: &mut SqliteConnection,
    handle: &str,
    now: Millis,
) -> Result<bool, StoreError> {
    let done = sqlx::query("UPDATE users SET disabled_at = $1 WHERE handle = $2 AND disabled_at IS NULL")
        .bind(now)
        .bind(handle)
        .execute(&mut *connection)
        .await?;
    for query in [
        "UPDATE tokens SET revoked_at = $1 WHERE revoked_at IS NULL AND user_id = \
         (SELECT id FROM users WHERE handle = $2)",
        "UPDATE sessions SET expires_at = $1 WHERE user_id = (SELECT id FROM users WHERE handle = $2)",
    ] {
        sqlx::query(query).bind(now).bind(handle).execute(&mut *connection).await?;
    }
    Ok(done.rows_affected() > 0)
}

pub(super) async fn add_token(
    connection: &mut SqliteConnection,
    token: &NewToken,
    now: Millis,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO tokens (id, user_id, hash, scopes, label, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(&token.id)
    .bind(&token.user_id)
    .bind(token.hash.as_slice())
    .bind(token.scopes.to_string())
    .bind(&token.label)
    .bind(now)
    .bind(token.expires_at)
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn token(pool: &SqlitePool, id: &str) -> Result<Option<TokenRow>, StoreError> {
    let row = sqlx::query(TOKEN).bind(id).fetch_optional(pool).await?;
    row.as_ref().map(token_of).transpose()
}

pub(super) async fn tokens(pool: &SqlitePool, user_id: &str) -> Result<Vec<TokenRow>, StoreError> {
    sqlx::query(TOKENS).bind(user_id).fetch_all(pool).await?.iter().map(token_of).collect()
}

pub(super) async fn add_session(
    pool: &SqlitePool,
    hash: &[u8; 32],
    user_id: &str,
    form_key: &str,
    now: Millis,
    expires_at: Millis,
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM sessions WHERE expires_at <= $1").bind(now).execute(pool).await?;
    sqlx::query(
        "INSERT INTO sessions (hash, user_id, form_key, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(hash.as_slice())
    .bind(user_id)
    .bind(form_key)
    .bind(now)
    .bind(expires_at)
    .execute(pool)
    .await?;
    Ok(())
}

pub(super) async fn session(
    pool: &SqlitePool,
    hash: &[u8; 32],
    now: Millis,
) -> Result<Option<Session>, StoreError> {
    let row = sqlx::query(
        "SELECT users.*, sessions.form_key, sessions.expires_at FROM sessions \
         JOIN users ON users.id = sessions.user_id \
         WHERE sessions.hash = $1 AND sessions.expires_at > $2 AND users.disabled_at IS NULL",
    )
    .bind(hash.as_slice())
    .bind(now)
    .fetch_optional(pool)
    .await?;
    row.map(|row| {
        Ok(Session {
            user: user_of(&row)?,
            form_key: row.try_get("form_key")?,
            expires_at: row.try_get("expires_at")?,
        })
    })
    .transpose()
}

pub(super) async fn add_invitation(
    pool: &SqlitePool,
    hash: &[u8; 32],
    role: Role,
    note: Option<&str>,
    now: Millis,
    expires_at: Millis,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO invitations (hash, role, note, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(hash.as_slice())
    .bind(role.code())
    .bind(note)
    .bind(now)
    .bind(expires_at)
    .execute(pool)
    .await?;
    Ok(())
}

pub(super) async fn invitation(
    pool: &SqlitePool,
    hash: &[u8; 32],
    now: Millis,
) -> Result<Option<Role>, StoreError> {
    let row =
        sqlx::query("SELECT role FROM invitations WHERE hash = $1 AND used_at IS NULL AND expires_at > $2")
            .bind(hash.as_slice())
            .bind(now)
            .fetch_optional(pool)
            .await?;
    row.map(|row| role_of(&row)).transpose()
}

/// The user is there already, since the row refers to it.
pub(super) async fn use_invitation(
    connection: &mut SqliteConnection,
    hash: &[u8; 32],
    user_id: &str,
    now: Millis,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE invitations SET used_at = $1, user_id = $2 \
         WHERE hash = $3 AND used_at IS NULL AND expires_at > $1",
    )
    .bind(now)
    .bind(user_id)
    .bind(hash.as_slice())
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

fn user_of(row: &SqliteRow) -> Result<User, StoreError> {
    Ok(User {
        id: row.try_get("id")?,
        handle: row.try_get("handle")?,
        role: role_of(row)?,
        created_at: row.try_get("created_at")?,
        disabled_at: row.try_get("disabled_at")?,
    })
}

fn role_of(row: &SqliteRow) -> Result<Role, StoreError> {
    row.try_get::<&str, _>("role")?.parse().map_err(|why: String| damaged("a user's role", why))
}

fn token_of(row: &SqliteRow) -> Result<TokenRow, StoreError> {
    let scopes: &str = row.try_get("scopes")?;
    Ok(TokenRow {
        id: row.try_get("token_id")?,
        hash: row.try_get("hash")?,
        user: user_of(row)?,
        scopes: scopes.parse().map_err(|why: String| damaged("a token's scopes", why))?,
        label: row.try_get("label")?,
        created_at: row.try_get("token_created_at")?,
        expires_at: row.try_get("expires_at")?,
        last_used_at: row.try_get("last_used_at")?,
        revoked_at: row.try_get("revoked_at")?,
    })
}
