//! Users and their tokens.

use super::database::Connection;
use super::sql::{Row, sql};
use super::{Store, StoreError, damaged, moderation};
use crate::domain::{Millis, ModerationEntry, NewToken, Role, TokenRow, User};

const TOKEN: &str = "SELECT tokens.id AS token_id, tokens.hash, tokens.scopes, tokens.label, \
    tokens.created_at AS token_created_at, tokens.expires_at, tokens.last_used_at, tokens.revoked_at, users.* \
    FROM tokens JOIN users ON users.id = tokens.user_id WHERE tokens.id = $1";
const TOKENS: &str = "SELECT tokens.id AS token_id, tokens.hash, tokens.scopes, tokens.label, \
    tokens.created_at AS token_created_at, tokens.expires_at, tokens.last_used_at, tokens.revoked_at, users.* \
    FROM tokens JOIN users ON users.id = tokens.user_id WHERE tokens.user_id = $1 \
    ORDER BY tokens.created_at DESC, tokens.id";

impl Store {
    /// Adds a user.
    pub async fn add_user(&self, user: &User) -> Result<(), StoreError> {
        let mut transaction = self.database.transaction().await?;
        add_user(&mut transaction, user).await?;
        transaction.commit().await
    }

    /// A user by the public name.
    pub async fn user(&self, handle: &str) -> Result<Option<User>, StoreError> {
        let mut reader = self.database.reader().await?;
        let row = sql("SELECT * FROM users WHERE handle = $1").bind(handle).maybe(&mut reader).await?;
        row.as_ref().map(user_of).transpose()
    }

    /// Everybody, by name.
    pub async fn users(&self) -> Result<Vec<User>, StoreError> {
        let mut reader = self.database.reader().await?;
        sql("SELECT * FROM users ORDER BY handle").all(&mut reader).await?.iter().map(user_of).collect()
    }

    /// Closes an account: its tokens and sessions end. False if there is no open one of this name.
    pub async fn disable_user(&self, handle: &str, entry: &ModerationEntry) -> Result<bool, StoreError> {
        let mut transaction = self.database.transaction().await?;
        let done = sql("UPDATE users SET disabled_at = $1 WHERE handle = $2 AND disabled_at IS NULL")
            .bind(entry.at)
            .bind(handle)
            .run(&mut transaction)
            .await?;
        if done == 0 {
            return Ok(false);
        }
        for text in [
            "UPDATE tokens SET revoked_at = $1 WHERE revoked_at IS NULL AND user_id = \
             (SELECT id FROM users WHERE handle = $2)",
            "UPDATE sessions SET expires_at = $1 WHERE user_id = (SELECT id FROM users WHERE handle = $2)",
        ] {
            sql(text).bind(entry.at).bind(handle).run(&mut transaction).await?;
        }
        moderation::log(&mut transaction, entry).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Gives a user another role and writes the log. False if there is no open account of this name without it.
    pub async fn set_role(
        &self,
        handle: &str,
        role: Role,
        entry: &ModerationEntry,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.database.transaction().await?;
        let done = sql("UPDATE users SET role = $1 WHERE handle = $2 AND role <> $1 AND disabled_at IS NULL")
            .bind(role.code())
            .bind(handle)
            .run(&mut transaction)
            .await?;
        if done == 0 {
            return Ok(false);
        }
        moderation::log(&mut transaction, entry).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Adds a token.
    pub async fn add_token(&self, token: &NewToken, now: Millis) -> Result<(), StoreError> {
        add_token(&mut self.database.writer().await?, token, now).await
    }

    /// A token by its public part.
    pub async fn token(&self, id: &str) -> Result<Option<TokenRow>, StoreError> {
        let mut reader = self.database.reader().await?;
        let row = sql(TOKEN).bind(id).maybe(&mut reader).await?;
        row.as_ref().map(token_of).transpose()
    }

    /// The tokens of a user, newest first.
    pub async fn tokens(&self, user_id: &str) -> Result<Vec<TokenRow>, StoreError> {
        let mut reader = self.database.reader().await?;
        sql(TOKENS).bind(user_id).all(&mut reader).await?.iter().map(token_of).collect()
    }

    /// Keeps that a token was used.
    pub async fn touch_token(&self, id: &str, now: Millis) -> Result<(), StoreError> {
        let mut writer = self.database.writer().await?;
        sql("UPDATE tokens SET last_used_at = $1 WHERE id = $2").bind(now).bind(id).run(&mut writer).await?;
        Ok(())
    }

    /// Ends a token. False if none of this public part holds.
    pub async fn revoke_token(&self, id: &str, now: Millis) -> Result<bool, StoreError> {
        let mut writer = self.database.writer().await?;
        let done = sql("UPDATE tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL")
            .bind(now)
            .bind(id)
            .run(&mut writer)
            .await?;
        Ok(done > 0)
    }
}

pub(super) async fn add_user(connection: &mut Connection, user: &User) -> Result<(), StoreError> {
    sql("INSERT INTO users (id, handle, role, created_at, disabled_at) VALUES ($1, $2, $3, $4, $5)")
        .bind(&user.id)
        .bind(&user.handle)
        .bind(user.role.code())
        .bind(user.created_at)
        .bind(user.disabled_at)
        .run(connection)
        .await
        .map_err(|error| match error {
            StoreError::Database(sqlx::Error::Database(inner)) if inner.is_unique_violation() => {
                StoreError::Taken { what: format!("the name {:?}", user.handle) }
            }
            error => error,
        })?;
    Ok(())
}

pub(super) async fn add_token(
    connection: &mut Connection,
    token: &NewToken,
    now: Millis,
) -> Result<(), StoreError> {
    sql("INSERT INTO tokens (id, user_id, hash, scopes, label, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)")
    .bind(&token.id)
    .bind(&token.user_id)
    .bind(token.hash.as_slice())
    .bind(token.scopes.to_string())
    .bind(&token.label)
    .bind(now)
    .bind(token.expires_at)
    .run(connection)
    .await?;
    Ok(())
}

pub(super) fn user_of(row: &Row) -> Result<User, StoreError> {
    Ok(User {
        id: row.get("id")?,
        handle: row.get("handle")?,
        role: role_of(row)?,
        created_at: row.get("created_at")?,
        disabled_at: row.get("disabled_at")?,
    })
}

pub(super) fn role_of(row: &Row) -> Result<Role, StoreError> {
    row.get::<&str, _>("role")?.parse().map_err(|why: String| damaged("a user's role", why))
}

fn token_of(row: &Row) -> Result<TokenRow, StoreError> {
    let scopes: &str = row.get("scopes")?;
    Ok(TokenRow {
        id: row.get("token_id")?,
        hash: row.get("hash")?,
        user: user_of(row)?,
        scopes: scopes.parse().map_err(|why: String| damaged("a token's scopes", why))?,
        label: row.get("label")?,
        created_at: row.get("token_created_at")?,
        expires_at: row.get("expires_at")?,
        last_used_at: row.get("last_used_at")?,
        revoked_at: row.get("revoked_at")?,
    })
}
