//! Whose token it is: asked before anything is measured or sent.

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use http::Method;
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::Operation;
use crate::account::Caller;
use crate::app::App;
use crate::clock;
use crate::domain::{Deed, Role, Scopes};
use crate::problem::Problem;

/// Whose token it is, and what the site takes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Whoami {
    /// The public name.
    handle: String,
    /// What the user may do.
    role: Role,
    /// What the token is good for.
    scopes: Scopes,
    /// The token's public part.
    token: String,
    /// The site's time.
    #[schemars(extend("format" = "date-time"))]
    time: String,
    /// The site.
    site: SiteFacts,
    /// What it takes.
    limits: Sizes,
}

#[derive(Serialize, JsonSchema)]
struct SiteFacts {
    /// Address for readers.
    url: String,
    /// Version of tokometer.
    version: &'static str,
    /// Schema of the records that it takes.
    schema: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "units stand in names")]
struct Sizes {
    /// Longest body of a run as it is sent, bytes.
    run_bytes: usize,
    /// Longest document of a run, unpacked, bytes.
    document_bytes: usize,
    /// Longest file, bytes.
    artefact_bytes: usize,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new(Method::GET, "/whoami", get(whoami), "Whose token it is")
            .text("Asked before anything is measured or sent.")
            .needs(Deed::KeepAccount)
            .gives::<Whoami>(200, "The user, and what the site takes."),
    ]
}

async fn whoami(State(app): State<App>, caller: Caller) -> Result<Json<Whoami>, Problem> {
    caller.may(Deed::KeepAccount)?;
    let limits = &app.config.limits;
    Ok(Json(Whoami {
        handle: caller.user.handle,
        role: caller.user.role,
        scopes: caller.scopes,
        token: caller.token_id,
        time: clock::text(clock::now()),
        site: SiteFacts {
            url: app.config.url(),
            version: env!("CARGO_PKG_VERSION"),
            schema: tokometer_record::Run::SCHEMA,
        },
        limits: Sizes {
            run_bytes: limits.run_bytes,
            document_bytes: limits.document_bytes,
            artefact_bytes: limits.artefact_bytes,
        },
    }))
}
