//! The API, `/api/v1`: one file for each resource.

mod accounts;
mod artefacts;
pub(crate) mod compare;
pub(crate) mod device;
mod invitations;
mod list;
pub(crate) mod moderation;
mod publish;
pub(crate) mod runs;
mod table;
mod whoami;

use axum::Router;
use axum::routing::{delete, get, post, put};

use crate::app::App;

pub(crate) use compare::of_runs as compare_runs;
pub(crate) use moderation::take_report;

/// Its addresses, below `/api/v1`.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(list::about))
        .route("/whoami", get(whoami::whoami))
        .route("/runs", get(list::list).post(publish::publish))
        .route("/runs:validate", post(publish::validate))
        .route("/facets", get(list::facets))
        .route("/runs/{id}", get(runs::run).patch(runs::revise).delete(moderation::withdraw))
        .route("/runs/{id}/restore", post(moderation::restore))
        .route("/runs/{id}/cells", get(runs::cells))
        .route("/runs/{id}/verification", get(runs::verification))
        .route("/runs/{id}/revisions", get(runs::revisions))
        .route("/runs/{id}/revisions/{revision}", get(runs::revision))
        .route("/runs/{id}/artefacts", get(runs::artefacts))
        .route("/runs/{id}/reports", post(moderation::report))
        .route("/compare", get(compare::compare))
        .route("/moderation", get(moderation::log))
        .route("/reports", get(moderation::reports))
        .route("/reports/{number}/close", post(moderation::close))
        .route("/artefacts:missing", post(artefacts::missing))
        .route("/artefacts/{sha256}", put(artefacts::put).get(artefacts::get))
        .route("/tokens", get(accounts::tokens))
        .route("/tokens/{id}", delete(accounts::revoke))
        .route("/users", get(accounts::users))
        .route("/users/{handle}/role", put(accounts::set_role))
        .route("/device/code", post(device::code))
        .route("/device/token", post(device::token))
        .route("/invitations", post(invitations::accept))
}
