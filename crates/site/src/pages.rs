//! The pages for readers.
//!
//! What they have at hand: [`App::store`](crate::app::Inner::store) with its lists (`list`, `facets`), runs (`run`,
//! `row`, `revisions`, `cells`), `moderation_log` and `problems`; [`RunQuery::parse`](crate::domain::RunQuery::parse)
//! and `address`, which put a question to the list into an address and back; [`Visitor`](crate::account::Visitor), who
//! reads, and [`Form`](crate::account::Form), a form that this site's own page sent. The policy that
//! [`headers`](crate::web) sets allows style and scripts of this site's own files alone; a page that needs otherwise
//! sets its own header.

use axum::Router;

use crate::app::App;

/// Their addresses.
pub(crate) fn routes() -> Router<App> {
    Router::new()
}
