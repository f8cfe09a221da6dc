//! The queue of runs that are worth a moderator's look. Nobody else sees it, and it hides nothing.

use axum::Json;
use axum::extract::{Request, State};
use axum::routing::{get, post};
use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::moderation::{Reason, already, reason};
use super::operation::{Operation, Parameter};
use crate::account::Caller;
use crate::app::App;
use crate::clock;
use crate::domain::{Deed, Suspicion};
use crate::problem::Problem;
use crate::web::path::InPath;

/// Most lines of one answer.
const LINES: u32 = 500;

/// What waits for a look.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Suspicions {
    /// Newest first.
    suspicions: Vec<Suspicion>,
}

/// A suspicion that was put aside.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Dismissed {
    /// Its number.
    number: i64,
    /// Why.
    resolution: String,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new(Method::GET, "/suspicions", get(list), "Runs that are worth a look")
            .text(
                "Near duplicates, outliers, and figures that the hardware can hardly reach, as the site finds them when \
                 a run is published. They hide nothing, and moderators alone see them.",
            )
            .needs(Deed::CloseReports)
            .gives::<Suspicions>(200, "Newest first, at most 500."),
        Operation::new(Method::POST, "/suspicions/{number}/dismiss", post(dismiss), "Put a suspicion aside")
            .needs(Deed::CloseReports)
            .with(Parameter::number("number", "Number of the suspicion."))
            .takes::<Reason>("Why; it is kept, and not public.", json!({"reason": "both are of the same rack"}))
            .gives::<Dismissed>(200, "It is put aside.")
            .refuses(409, "There is no open one of this number."),
    ]
}

async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Suspicions>, Problem> {
    caller.may(Deed::CloseReports)?;
    Ok(Json(Suspicions { suspicions: app.store.suspicions(LINES).await? }))
}

async fn dismiss(
    State(app): State<App>,
    caller: Caller,
    InPath(number): InPath<i64>,
    request: Request,
) -> Result<Json<Dismissed>, Problem> {
    caller.may(Deed::CloseReports)?;
    let reason = reason(&app, request).await?;
    if !app.store.dismiss(number, &caller.user.handle, &reason, clock::now()).await? {
        return Err(already("there is no open suspicion of this number"));
    }
    Ok(Json(Dismissed { number, resolution: reason }))
}
