//! One's own tokens; for admins everybody's roles.

use axum::Json;
use axum::extract::{Request, State};
use axum::routing::{delete, get, put};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::operation::{List, Operation, Parameter};
use crate::account::{self, Caller};
use crate::app::App;
use crate::clock;
use crate::domain::{Deed, Role, Scopes, User};
use crate::problem::Problem;
use crate::trust;
use crate::web::body;
use crate::web::path::InPath;

pub(super) fn operations() -> Vec<Operation> {
    let plain = |name, text, pattern: &str, example: &str| Parameter {
        name,
        place: "path",
        text,
        schema: json!({"type": "string", "pattern": pattern}),
        list: List::No,
        required: true,
        example: json!(example),
    };
    vec![
        Operation::new(Method::GET, "/tokens", get(tokens), "One's own tokens")
            .needs(Deed::KeepAccount)
            .gives::<Tokens>(200, "All of them, also those that no longer hold; never a secret part."),
        Operation::new(Method::DELETE, "/tokens/{id}", delete(revoke), "End one of one's own tokens")
            .text("Also the one that is sent.")
            .needs(Deed::KeepAccount)
            .with(plain("id", "The token's public part.", "^[A-Za-z0-9_-]+$", "a1b2c3d4e5f6"))
            .gives::<Ended>(200, "It no longer holds.")
            .refuses(404, "There is no such token that holds."),
        Operation::new(Method::GET, "/users", get(users), "Everybody who has an account")
            .needs(Deed::SeeUsers)
            .gives::<Users>(200, "By name."),
        Operation::new(Method::PUT, "/users/{handle}/role", put(set_role), "Give a user another role")
            .text("It is in the public log.")
            .needs(Deed::ChangeRoles)
            .with(plain("handle", "The user's public name.", "^[a-z0-9][a-z0-9-]{1,31}$", "somebody"))
            .takes::<NewRole>(
                "The role, and why.",
                json!({"role": "moderator", "reason": "asked for by the team"}),
            )
            .gives::<Person>(200, "The user as it is now.")
            .refuses(404, "There is no such user.")
            .refuses(409, "The user has this role, or is the last admin."),
    ]
}

/// One's own tokens.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Tokens {
    /// Newest first.
    tokens: Vec<Token>,
}

/// A token, without its secret part.
#[derive(Serialize, JsonSchema)]
struct Token {
    /// Its public part.
    id: String,
    /// What it is called.
    label: String,
    /// What it is good for.
    scopes: Scopes,
    /// When it was made.
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    /// Until when it holds; null: until it is ended.
    expires_at: Option<String>,
    /// When it was last used, to the hour.
    last_used_at: Option<String>,
    /// When it was ended.
    revoked_at: Option<String>,
}

/// A token that was ended.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Ended {
    /// Its public part.
    id: String,
}

/// Everybody.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Users {
    /// By name.
    users: Vec<Person>,
}

/// Somebody with an account.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Person {
    /// The public name.
    handle: String,
    /// What the user may do.
    role: Role,
    /// When the account was made.
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    /// When it was closed.
    disabled_at: Option<String>,
}

/// Another role.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewRole {
    /// The role to have.
    role: Role,
    /// Why; it is public.
    #[schemars(length(min = 1, max = 4000), regex(pattern = trust::SAID_SOMETHING))]
    reason: String,
}

/// The caller's tokens, never their secret part.
async fn tokens(State(app): State<App>, caller: Caller) -> Result<Json<Tokens>, Problem> {
    caller.may(Deed::KeepAccount)?;
    let token = |token: crate::domain::TokenRow| Token {
        id: token.id,
        label: token.label,
        scopes: token.scopes,
        created_at: clock::text(token.created_at),
        expires_at: token.expires_at.map(clock::text),
        last_used_at: token.last_used_at.map(clock::text),
        revoked_at: token.revoked_at.map(clock::text),
    };
    let tokens = app.store.tokens(&caller.user.id).await?.into_iter().map(token).collect();
    Ok(Json(Tokens { tokens }))
}

/// Ends one of the caller's tokens, also the one that is sent.
async fn revoke(
    State(app): State<App>,
    caller: Caller,
    InPath(id): InPath<String>,
) -> Result<Json<Ended>, Problem> {
    caller.may(Deed::KeepAccount)?;
    account::revoke(&app, &caller.user, &id).await?;
    Ok(Json(Ended { id }))
}

/// Everybody.
async fn users(State(app): State<App>, caller: Caller) -> Result<Json<Users>, Problem> {
    caller.may(Deed::SeeUsers)?;
    Ok(Json(Users { users: app.store.users().await?.iter().map(person).collect() }))
}

/// Gives a user another role; it is in the public log.
async fn set_role(
    State(app): State<App>,
    caller: Caller,
    InPath(handle): InPath<String>,
    request: Request,
) -> Result<Json<Person>, Problem> {
    caller.may(Deed::ChangeRoles)?;
    let (parts, body) = request.into_parts();
    let limits = &app.config.limits;
    body::is_json(&parts.headers)?;
    let bytes = body::unpack(&parts.headers, body, limits.form_bytes, limits.form_bytes, limits).await?;
    let NewRole { role, reason } = body::json(&bytes)?;
    let changed = account::set_role(&app, &caller.user, &handle, role, &reason).await?;
    Ok(Json(person(&changed)))
}

fn person(user: &User) -> Person {
    Person {
        handle: user.handle.clone(),
        role: user.role,
        created_at: clock::text(user.created_at),
        disabled_at: user.disabled_at.map(clock::text),
    }
}
