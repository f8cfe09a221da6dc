//! What is around every answer: an id, the log, limits of time and number, headers that bind browsers.

pub(crate) mod body;
pub(crate) mod cached;
pub(crate) mod client;
pub(crate) mod headers;
pub(crate) mod limits;
pub(crate) mod metrics;
pub(crate) mod path;
pub(crate) mod track;

use axum::Router;
use axum::middleware;

use crate::account::guard;
use crate::app::App;
use crate::pages::fault;

/// Puts the layers around the routes; the last one is the outermost.
pub(crate) fn around(routes: Router<App>, app: App) -> Router<App> {
    routes
        .layer(middleware::from_fn_with_state(app.clone(), guard))
        .layer(middleware::from_fn_with_state(app.clone(), limits::reads))
        .layer(middleware::from_fn_with_state(app.clone(), limits::time))
        .layer(middleware::from_fn_with_state(app.clone(), fault::for_readers))
        .layer(middleware::from_fn_with_state(app.clone(), headers::secure))
        .layer(middleware::from_fn_with_state(app, track::track))
}
