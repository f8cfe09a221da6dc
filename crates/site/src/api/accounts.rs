//! One's own tokens; for admins everybody's roles.

use axum::Json;
use axum::extract::{Path, Request, State};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::account::{self, Caller};
use crate::app::App;
use crate::clock;
use crate::domain::{Deed, Role, User};
use crate::problem::Problem;
use crate::web::body;

/// The caller's tokens, never their secret part.
pub(crate) async fn tokens(State(app): State<App>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.may(Deed::KeepAccount)?;
    let tokens: Vec<Value> = app
        .store
        .tokens(&caller.user.id)
        .await?
        .into_iter()
        .map(|token| {
            json!({
                "id": token.id,
                "label": token.label,
                "scopes": token.scopes,
                "created_at": clock::text(token.created_at),
                "expires_at": token.expires_at.map(clock::text),
                "last_used_at": token.last_used_at.map(clock::text),
                "revoked_at": token.revoked_at.map(clock::text),
            })
        })
        .collect();
    Ok(Json(json!({ "tokens": tokens })))
}

/// Ends one of the caller's tokens, also the one that is sent.
pub(crate) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    caller.may(Deed::KeepAccount)?;
    account::revoke(&app, &caller.user, &id).await?;
    Ok(Json(json!({ "id": id })))
}

/// Everybody.
pub(crate) async fn users(State(app): State<App>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.may(Deed::SeeUsers)?;
    let users: Vec<Value> = app.store.users().await?.iter().map(user).collect();
    Ok(Json(json!({ "users": users })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRole {
    role: Role,
    reason: String,
}

/// Gives a user another role; it is in the public log.
pub(crate) async fn set_role(
    State(app): State<App>,
    caller: Caller,
    Path(handle): Path<String>,
    request: Request,
) -> Result<Json<Value>, Problem> {
    caller.may(Deed::ChangeRoles)?;
    let (parts, body) = request.into_parts();
    let limits = &app.config.limits;
    let bytes = body::unpack(&parts.headers, body, limits.form_bytes, limits.form_bytes, limits).await?;
    let NewRole { role, reason } = body::json(&bytes)?;
    let changed = account::set_role(&app, &caller.user, &handle, role, &reason).await?;
    Ok(Json(user(&changed)))
}

fn user(user: &User) -> Value {
    json!({
        "handle": user.handle,
        "role": user.role,
        "created_at": clock::text(user.created_at),
        "disabled_at": user.disabled_at.map(clock::text),
    })
}
