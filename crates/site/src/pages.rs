//! The pages for readers.

use axum::Router;

use crate::app::App;

/// Their addresses.
pub(crate) fn routes() -> Router<App> {
    Router::new()
}
