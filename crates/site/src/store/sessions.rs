//! Sessions of browsers, and invitations.

use super::sql::sql;
use super::{Store, StoreError, accounts};
use crate::domain::{Millis, NewSession, NewToken, Role, Session, User};

impl Store {
    /// Adds a session under the hash of its cookie.
    pub async fn add_session(&self, hash: &[u8; 32], new: &NewSession<'_>) -> Result<(), StoreError> {
        let mut writer = self.database.writer().await?;
        sql("DELETE FROM sessions WHERE expires_at <= $1").bind(new.created_at).run(&mut writer).await?;
        sql("INSERT INTO sessions (hash, user_id, token_id, form_key, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6)")
        .bind(hash.as_slice())
        .bind(new.user_id)
        .bind(new.token_id)
        .bind(new.form_key)
        .bind(new.created_at)
        .bind(new.expires_at)
        .run(&mut writer)
        .await?;
        Ok(())
    }

    /// The session of a cookie, if it still holds, and the token that began it does.
    pub async fn session(&self, hash: &[u8; 32], now: Millis) -> Result<Option<Session>, StoreError> {
        let mut reader = self.database.reader().await?;
        let row = sql("SELECT users.*, sessions.form_key, sessions.expires_at FROM sessions \
             JOIN users ON users.id = sessions.user_id \
             WHERE sessions.hash = $1 AND sessions.expires_at > $2 AND users.disabled_at IS NULL \
             AND (sessions.token_id IS NULL OR EXISTS (SELECT 1 FROM tokens WHERE tokens.id = sessions.token_id \
             AND tokens.revoked_at IS NULL AND (tokens.expires_at IS NULL OR tokens.expires_at > $2)))")
        .bind(hash.as_slice())
        .bind(now)
        .maybe(&mut reader)
        .await?;
        row.map(|row| {
            Ok(Session {
                user: accounts::user_of(&row)?,
                form_key: row.get("form_key")?,
                expires_at: row.get("expires_at")?,
            })
        })
        .transpose()
    }

    /// Ends a session.
    pub async fn end_session(&self, hash: &[u8; 32]) -> Result<(), StoreError> {
        let mut writer = self.database.writer().await?;
        sql("DELETE FROM sessions WHERE hash = $1").bind(hash.as_slice()).run(&mut writer).await?;
        Ok(())
    }

    /// Adds an invitation under the hash of its code.
    pub async fn add_invitation(
        &self,
        hash: &[u8; 32],
        role: Role,
        note: Option<&str>,
        now: Millis,
        expires_at: Millis,
    ) -> Result<(), StoreError> {
        let mut writer = self.database.writer().await?;
        sql("INSERT INTO invitations (hash, role, note, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)")
            .bind(hash.as_slice())
            .bind(role.code())
            .bind(note)
            .bind(now)
            .bind(expires_at)
            .run(&mut writer)
            .await?;
        Ok(())
    }

    /// The role that a code still invites to.
    pub async fn invitation(&self, hash: &[u8; 32], now: Millis) -> Result<Option<Role>, StoreError> {
        let mut reader = self.database.reader().await?;
        let row = sql("SELECT role FROM invitations WHERE hash = $1 AND used_at IS NULL AND expires_at > $2")
            .bind(hash.as_slice())
            .bind(now)
            .maybe(&mut reader)
            .await?;
        row.as_ref().map(accounts::role_of).transpose()
    }

    /// Uses an invitation up and adds its user and first token. False if it no longer holds.
    pub async fn accept_invitation(
        &self,
        hash: &[u8; 32],
        user: &User,
        token: &NewToken,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.database.transaction().await?;
        // First, since the row refers to it.
        accounts::add_user(&mut transaction, user).await?;
        let used = sql("UPDATE invitations SET used_at = $1, user_id = $2 \
             WHERE hash = $3 AND used_at IS NULL AND expires_at > $1")
        .bind(now)
        .bind(&user.id)
        .bind(hash.as_slice())
        .run(&mut transaction)
        .await?;
        if used == 0 {
            return Ok(false);
        }
        accounts::add_token(&mut transaction, token, now).await?;
        transaction.commit().await?;
        Ok(true)
    }
}
