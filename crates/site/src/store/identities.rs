//! Who users are to a provider, and who signed in there and has no account here yet.

use super::database::Connection;
use super::sql::{Row, sql};
use super::{Store, StoreError, accounts, damaged};
use crate::domain::{Identity, Millis, Role, Subject, User};

impl Store {
    /// The user of an identity, and the identity as it was last seen.
    pub async fn identity(
        &self,
        issuer: &str,
        subject: &str,
    ) -> Result<Option<(User, Identity)>, StoreError> {
        let mut reader = self.database.reader().await?;
        // Both tables say when something was made.
        let row =
            sql("SELECT identities.issuer, identities.subject, identities.name, identities.mapped_role, \
             identities.created_at AS linked_at, identities.used_at, users.* \
             FROM identities JOIN users ON users.id = identities.user_id \
             WHERE identities.issuer = $1 AND identities.subject = $2")
            .bind(issuer)
            .bind(subject)
            .maybe(&mut reader)
            .await?;
        row.map(|row| Ok((accounts::user_of(&row)?, identity_of(&row)?))).transpose()
    }

    /// The identities of a user, oldest first.
    pub async fn identities(&self, user_id: &str) -> Result<Vec<Identity>, StoreError> {
        let mut reader = self.database.reader().await?;
        sql("SELECT issuer, subject, name, mapped_role, created_at AS linked_at, used_at FROM identities \
             WHERE user_id = $1 ORDER BY created_at, issuer, subject")
        .bind(user_id)
        .all(&mut reader)
        .await?
        .iter()
        .map(identity_of)
        .collect()
    }

    /// Keeps that an identity was used, and what the provider said of it.
    pub async fn used_identity(&self, subject: &Subject, now: Millis) -> Result<(), StoreError> {
        let mut writer = self.database.writer().await?;
        sql("UPDATE identities SET used_at = $1, name = $2, mapped_role = $3 WHERE issuer = $4 AND subject = $5")
            .bind(now)
            .bind(&subject.name)
            .bind(subject.mapped.map(Role::code))
            .bind(&subject.issuer)
            .bind(&subject.subject)
            .run(&mut writer)
            .await?;
        Ok(())
    }

    /// Takes an identity from a user. False if the user does not have it.
    pub async fn remove_identity(
        &self,
        user_id: &str,
        issuer: &str,
        subject: &str,
    ) -> Result<bool, StoreError> {
        let mut writer = self.database.writer().await?;
        let done = sql("DELETE FROM identities WHERE user_id = $1 AND issuer = $2 AND subject = $3")
            .bind(user_id)
            .bind(issuer)
            .bind(subject)
            .run(&mut writer)
            .await?;
        Ok(done > 0)
    }

    /// Keeps who signed in without an account, under the hash of a cookie.
    pub async fn add_newcomer(
        &self,
        hash: &[u8; 32],
        subject: &Subject,
        now: Millis,
        expires_at: Millis,
    ) -> Result<(), StoreError> {
        let mut writer = self.database.writer().await?;
        sql("DELETE FROM newcomers WHERE expires_at <= $1").bind(now).run(&mut writer).await?;
        sql("INSERT INTO newcomers (hash, issuer, subject, name, mapped_role, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6)")
        .bind(hash.as_slice())
        .bind(&subject.issuer)
        .bind(&subject.subject)
        .bind(&subject.name)
        .bind(subject.mapped.map(Role::code))
        .bind(expires_at)
        .run(&mut writer)
        .await?;
        Ok(())
    }

    /// Who signed in, if it still holds.
    pub async fn newcomer(&self, hash: &[u8; 32], now: Millis) -> Result<Option<Subject>, StoreError> {
        let mut reader = self.database.reader().await?;
        let row = sql("SELECT * FROM newcomers WHERE hash = $1 AND expires_at > $2")
            .bind(hash.as_slice())
            .bind(now)
            .maybe(&mut reader)
            .await?;
        row.as_ref().map(subject_of).transpose()
    }

    /// Gives a newcomer's identity to a user, who is added where `is_new`. False if the newcomer no longer holds.
    pub async fn settle_newcomer(
        &self,
        hash: &[u8; 32],
        user: &User,
        is_new: bool,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.database.transaction().await?;
        let row = sql("SELECT * FROM newcomers WHERE hash = $1 AND expires_at > $2")
            .bind(hash.as_slice())
            .bind(now)
            .maybe(&mut transaction)
            .await?;
        let Some(subject) = row.as_ref().map(subject_of).transpose()? else { return Ok(false) };
        if is_new {
            accounts::add_user(&mut transaction, user).await?;
        }
        add_identity(&mut transaction, &subject, &user.id, now).await?;
        sql("DELETE FROM newcomers WHERE hash = $1").bind(hash.as_slice()).run(&mut transaction).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

async fn add_identity(
    connection: &mut Connection,
    subject: &Subject,
    user_id: &str,
    now: Millis,
) -> Result<(), StoreError> {
    sql("INSERT INTO identities (issuer, subject, user_id, name, mapped_role, created_at, used_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $6)")
    .bind(&subject.issuer)
    .bind(&subject.subject)
    .bind(user_id)
    .bind(&subject.name)
    .bind(subject.mapped.map(Role::code))
    .bind(now)
    .run(connection)
    .await
    .map_err(|error| match error {
        StoreError::Database(sqlx::Error::Database(inner)) if inner.is_unique_violation() => {
            StoreError::Taken { what: "this identity".to_owned() }
        }
        error => error,
    })?;
    Ok(())
}

fn identity_of(row: &Row) -> Result<Identity, StoreError> {
    Ok(Identity {
        subject: subject_of(row)?,
        created_at: row.get("linked_at")?,
        used_at: row.get("used_at")?,
    })
}

fn subject_of(row: &Row) -> Result<Subject, StoreError> {
    let mapped: Option<&str> = row.get("mapped_role")?;
    Ok(Subject {
        issuer: row.get("issuer")?,
        subject: row.get("subject")?,
        name: row.get("name")?,
        mapped: mapped
            .map(|text| text.parse().map_err(|why: String| damaged("an identity's role", why)))
            .transpose()?,
    })
}
