//! A caller with a token.

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use http::header::AUTHORIZATION;
use http::request::Parts;

use crate::app::App;
use crate::clock;
use crate::domain::{Deed, Scope, Scopes, User};
use crate::problem::Problem;
use crate::secret;
use crate::web::client;
use crate::web::limits::{Doing, Whose};

/// Uses of a token are kept to the hour.
const TOUCHED_MS: i64 = 3_600_000;

/// Somebody who sent a token that holds.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) user: User,
    pub(crate) scopes: Scopes,
    pub(crate) token_id: String,
}

impl Caller {
    /// Refuses a token that is not good for this.
    pub(crate) fn needs(&self, scope: Scope) -> Result<(), Problem> {
        // A role that was lowered since narrows tokens from before.
        if self.scopes.has(scope) && Scopes::of_role(self.user.role).has(scope) {
            return Ok(());
        }
        Err(Problem::forbidden(
            format!("this token is not good for `{}`", scope.code()),
            "use a token with this scope, or ask the operator for one",
        ))
    }

    /// Refuses a token that is not good for this, or whose user may not do it.
    pub(crate) fn may(&self, deed: Deed) -> Result<(), Problem> {
        self.needs(deed.scope())
    }

    /// Whose uploads are counted.
    pub(crate) fn whose(&self) -> Whose {
        Whose::User(self.user.id.clone())
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Caller, Problem> {
        let address = client::address(&app.config, &parts.extensions, &parts.headers);
        let attempts = (Doing::Trying, Whose::Address(address), app.config.limits.attempts);
        app.limiter
            .look(attempts.0, attempts.1.clone(), attempts.2)
            .map_err(|wait| Problem::too_many("wrong tokens", wait))?;
        let text = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = text.and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        let Some(token) = token else { return Err(Problem::unknown_token()) };
        if let Some(caller) = holder(app, token).await? {
            return Ok(caller);
        }
        // Counted here alone, so that a client with a good token is never slowed by it.
        let _ = app.limiter.take(attempts.0, attempts.1, attempts.2);
        Err(Problem::unknown_token())
    }
}

/// Without a token there is no caller; a wrong one is still refused.
impl OptionalFromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Option<Caller>, Problem> {
        if !parts.headers.contains_key(AUTHORIZATION) {
            return Ok(None);
        }
        <Caller as FromRequestParts<App>>::from_request_parts(parts, app).await.map(Some)
    }
}

/// Whose token it is; none for one that never was, or no longer holds.
pub(super) async fn holder(app: &App, token: &str) -> Result<Option<Caller>, Problem> {
    let Some(id) = secret::token_id(token) else { return Ok(None) };
    let Some(row) = app.store.token(id).await? else { return Ok(None) };
    let now = clock::now();
    let holds = row.revoked_at.is_none()
        && row.expires_at.is_none_or(|end| end > now)
        && row.user.disabled_at.is_none();
    if !(secret::is_hash_of(&row.hash, token) && holds) {
        return Ok(None);
    }
    if row.last_used_at.is_none_or(|last| now - last > TOUCHED_MS) {
        // That it was used is worth no failure.
        let _ = app.store.touch_token(id, now).await;
    }
    Ok(Some(Caller { user: row.user, scopes: row.scopes, token_id: row.id }))
}
