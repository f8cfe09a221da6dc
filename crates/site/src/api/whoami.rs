//! Whose token it is: asked before anything is measured or sent.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::account::Caller;
use crate::app::App;
use crate::clock;
use crate::domain::Deed;
use crate::problem::Problem;

pub(crate) async fn whoami(State(app): State<App>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.may(Deed::KeepAccount)?;
    let limits = &app.config.limits;
    Ok(Json(json!({
        "handle": caller.user.handle,
        "role": caller.user.role,
        "scopes": caller.scopes,
        "token": caller.token_id,
        "time": clock::text(clock::now()),
        "site": {
            "url": app.config.url(),
            "version": env!("CARGO_PKG_VERSION"),
            "schema": tokometer_record::Run::SCHEMA,
        },
        "limits": {
            "run_bytes": limits.run_bytes,
            "document_bytes": limits.document_bytes,
            "artefact_bytes": limits.artefact_bytes,
        },
    })))
}
