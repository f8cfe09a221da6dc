//! The API, `/api/v1`: one file for each resource.

mod list;
mod whoami;

use axum::Router;
use axum::routing::get;

use crate::app::App;

/// Its addresses, below `/api/v1`.
pub(crate) fn routes() -> Router<App> {
    Router::new().route("/whoami", get(whoami::whoami)).route("/runs", get(list::list))
}
