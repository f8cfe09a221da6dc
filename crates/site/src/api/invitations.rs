//! Taking an invitation up.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::account;
use crate::app::App;
use crate::problem::Problem;
use crate::web::limits::{Doing, Whose};
use crate::web::{body, client};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Acceptance {
    code: String,
    handle: String,
}

/// Makes the user that an invitation is for; the token is told once.
pub(crate) async fn accept(
    State(app): State<App>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let (parts, body) = request.into_parts();
    let address = client::address(&app.config, &parts.extensions, &parts.headers);
    let limits = &app.config.limits;
    app.limiter
        .take(Doing::Trying, Whose::Address(address), limits.attempts)
        .map_err(|wait| Problem::too_many("invitations", wait))?;
    let bytes = body::unpack(&parts.headers, body, limits.form_bytes, limits.form_bytes, limits).await?;
    let Acceptance { code, handle } = body::json(&bytes)?;
    let (user, token) = account::accept(&app, &code, &handle).await?;
    Ok((
        StatusCode::CREATED,
        Json(json!({ "handle": user.handle, "role": user.role, "token": token.expose() })),
    ))
}
