//! Taking an invitation up.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::routing::post;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::operation::Operation;
use crate::account;
use crate::app::App;
use crate::domain::Role;
use crate::problem::Problem;
use crate::web::limits::{Doing, Whose};
use crate::web::{body, client};

/// Whoever takes an invitation up.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Acceptance {
    /// The code at the end of the invitation's address.
    code: String,
    /// The public name to have.
    #[schemars(regex(pattern = "^[a-z0-9][a-z0-9-]{1,31}$"))]
    handle: String,
}

/// A new user.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Accepted {
    /// The public name.
    handle: String,
    /// What the user may do.
    role: Role,
    /// The token. It is told here, and never again.
    token: String,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new(Method::POST, "/invitations", post(accept), "Take an invitation up")
            .text("Makes the user that an invitation is for.")
            .takes::<Acceptance>("The code and the name.", json!({"code": "…", "handle": "somebody"}))
            .gives::<Accepted>(201, "The user, with a token that is told once.")
            .refuses(410, "The invitation is not known, was used, or has run out.")
            .refuses(409, "The name is taken."),
    ]
}

/// Makes the user that an invitation is for; the token is told once.
pub(crate) async fn accept(
    State(app): State<App>,
    request: Request,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let (parts, body) = request.into_parts();
    let address = client::address(&app.config, &parts.extensions, &parts.headers);
    let limits = &app.config.limits;
    app.limiter
        .take(Doing::Trying, Whose::Address(address), limits.attempts)
        .map_err(|wait| Problem::too_many("invitations", wait))?;
    body::is_json(&parts.headers)?;
    let bytes = body::unpack(&parts.headers, body, limits.form_bytes, limits.form_bytes, limits).await?;
    let Acceptance { code, handle } = body::json(&bytes)?;
    let (user, token) = account::accept(&app, &code, &handle).await?;
    Ok((
        StatusCode::CREATED,
        Json(Accepted { handle: user.handle, role: user.role, token: token.expose().to_owned() }),
    ))
}
