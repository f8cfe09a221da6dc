//! Devices that ask for a token, and what their users answered.

use super::sql::{Row, sql};
use super::{Store, StoreError, accounts, damaged};
use crate::domain::{Millis, NewDevice, NewToken, Poll, Scopes, WaitingDevice};

/// Seconds more after it asked too often.
const MORE: i64 = 5;
/// How long a device is told that it came too late, milliseconds.
const AFTERWARDS: Millis = 3_600_000;

impl Store {
    /// Keeps that a device asks. False if its user code is in use.
    pub async fn add_device(&self, device: &NewDevice) -> Result<bool, StoreError> {
        let mut transaction = self.database.transaction().await?;
        sql("DELETE FROM devices WHERE expires_at <= $1")
            .bind(device.created_at - AFTERWARDS)
            .run(&mut transaction)
            .await?;
        let done = sql("INSERT INTO devices \
             (hash, user_code, program, host, address, scopes, pause, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING")
        .bind(device.hash.as_slice())
        .bind(device.user_code.as_slice())
        .bind(&device.program)
        .bind(&device.host)
        .bind(&device.address)
        .bind(device.scopes.to_string())
        .bind(NewDevice::PAUSE)
        .bind(device.created_at)
        .bind(device.expires_at)
        .run(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(done == 1)
    }

    /// The device that waits with this code of its user.
    pub async fn waiting_device(
        &self,
        user_code: &[u8; 32],
        now: Millis,
    ) -> Result<Option<WaitingDevice>, StoreError> {
        let mut reader = self.database.reader().await?;
        let row =
            sql("SELECT * FROM devices WHERE user_code = $1 AND decided_at IS NULL AND expires_at > $2")
                .bind(user_code.as_slice())
                .bind(now)
                .maybe(&mut reader)
                .await?;
        row.map(|row| {
            Ok(WaitingDevice {
                program: row.get("program")?,
                host: row.get("host")?,
                address: row.get("address")?,
                scopes: scopes_of(&row)?,
                created_at: row.get("created_at")?,
            })
        })
        .transpose()
    }

    /// Keeps a user's answer: for what the token is good, or no. False if no device waits with this code.
    pub async fn answer_device(
        &self,
        user_code: &[u8; 32],
        user_id: &str,
        granted: Option<&Scopes>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut writer = self.database.writer().await?;
        let done = sql("UPDATE devices SET decided_at = $1, granted = $2, user_id = $3, \
             scopes = COALESCE($4, scopes) WHERE user_code = $5 AND decided_at IS NULL AND expires_at > $1")
        .bind(now)
        .bind(granted.is_some())
        .bind(user_id)
        .bind(granted.map(ToString::to_string))
        .bind(user_code.as_slice())
        .run(&mut writer)
        .await?;
        Ok(done == 1)
    }

    /// What a device hears that asks for its user's answer. Where it was granted nothing is used up yet:
    /// [`Store::redeem_device`] does that.
    pub async fn poll_device(&self, hash: &[u8; 32], now: Millis) -> Result<Poll, StoreError> {
        let mut transaction = self.database.transaction().await?;
        let row = sql("SELECT * FROM devices WHERE hash = $1")
            .bind(hash.as_slice())
            .maybe(&mut transaction)
            .await?;
        let Some(row) = row else { return Ok(Poll::Unknown) };
        if row.get::<i64, _>("expires_at")? <= now {
            return Ok(Poll::Expired);
        }
        let asked: Option<i64> = row.get("asked_at")?;
        let pause: i64 = row.get("pause")?;
        let too_fast = asked.is_some_and(|asked| now - asked < pause * 1000);
        sql("UPDATE devices SET asked_at = $1, pause = $2 WHERE hash = $3")
            .bind(now)
            .bind(if too_fast { pause + MORE } else { pause })
            .bind(hash.as_slice())
            .run(&mut transaction)
            .await?;
        let answer = if too_fast {
            Poll::TooFast
        } else if row.get::<Option<i64>, _>("decided_at")?.is_none() {
            Poll::Pending
        } else if !row.flag("granted")? {
            Poll::Denied
        } else {
            let user_id: &str = row.get("user_id")?;
            let user = sql("SELECT * FROM users WHERE id = $1 AND disabled_at IS NULL")
                .bind(user_id)
                .maybe(&mut transaction)
                .await?;
            match user {
                None => Poll::Denied,
                Some(user) => Poll::Granted {
                    user: accounts::user_of(&user)?,
                    label: label(row.get("program")?, row.get("host")?),
                    scopes: scopes_of(&row)?,
                },
            }
        };
        transaction.commit().await?;
        Ok(answer)
    }

    /// Uses a granted code up and adds its token. False if somebody did so before.
    pub async fn redeem_device(
        &self,
        hash: &[u8; 32],
        token: &NewToken,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.database.transaction().await?;
        let used = sql("DELETE FROM devices WHERE hash = $1 AND granted = 1 AND expires_at > $2")
            .bind(hash.as_slice())
            .bind(now)
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

fn label(program: &str, host: &str) -> String {
    if host.is_empty() { program.to_owned() } else { format!("{program} on {host}") }
}

fn scopes_of(row: &Row) -> Result<Scopes, StoreError> {
    row.get::<&str, _>("scopes")?.parse().map_err(|why: String| damaged("a device's scopes", why))
}
