//! The pages for readers: server-rendered, whole without scripts, their state in the address.
//!
//! A run's page and a comparison are those of `tokometer-report`, in the site's frame ([`frame`]); the others stand in
//! the same frame and have the same style. Foreign text reaches a page through askama's escaping alone. A refusal
//! becomes a page where a reader asked ([`fault::for_readers`]).

mod account;
mod api;
mod assets;
mod compare;
mod device;
mod embed;
mod entity;
mod facets;
pub(crate) mod fault;
mod feed;
mod frame;
mod index;
mod keeping;
mod kept;
mod links;
mod method;
mod moderation;
mod pack;
mod reading;
mod rows;
mod run;
mod run_files;
mod scatter;
mod series;
mod sitemap;
mod words;

use axum::Router;
use axum::middleware;
use axum::routing::{get, post};

use crate::app::App;

pub(crate) use kept::Kept;

/// Their addresses.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(index::index))
        .route("/runs/{id}", get(run::run))
        .route("/runs/{id}/revisions/{revision}", get(run::revision))
        .route("/runs/{id}/cells/{cell}", get(run::cell))
        .route("/runs/{id}/problem", post(moderation::report))
        .route("/runs/{id}/withdraw", post(moderation::withdraw))
        .route("/runs/{id}/restore", post(moderation::restore))
        .merge(run_files::routes())
        .route("/compare", get(compare::compare))
        .route("/models", get(entity::models))
        .route("/models/{*name}", get(entity::model))
        .route("/hardware", get(entity::all_hardware))
        .route("/hardware/{*name}", get(entity::hardware))
        .route("/engines", get(entity::engines))
        .route("/engines/{*name}", get(entity::engine))
        .route("/series/{hash}", get(series::series))
        .route("/methods", get(method::methods))
        .route("/methods/{version}", get(method::method))
        .route("/moderation", get(moderation::log))
        .route("/moderation/{number}/close", post(moderation::close))
        .route("/moderation/suspicions/{number}/dismiss", post(moderation::dismiss))
        .route("/about", get(reading::about))
        .route("/api", get(api::api))
        .route("/publish", get(reading::publish))
        .route("/sign-in", get(account::sign_in_page).post(account::sign_in))
        .route("/sign-in/start", get(account::start))
        .route("/sign-in/return", get(account::returned))
        .route("/sign-in/new", get(account::newcomer).post(account::settle))
        .route("/sign-out", post(account::sign_out))
        .route("/signed-out", get(account::signed_out))
        .route("/account", get(keeping::page))
        .route("/account/tokens", post(keeping::new_token))
        .route("/account/tokens/{id}/revoke", post(keeping::revoke))
        .route("/account/identities/remove", post(keeping::unlink))
        .route("/users", get(keeping::users))
        .route("/users/{handle}/role", post(keeping::set_role))
        .route("/device", get(device::page).post(device::answer))
        .route("/invitation/{code}", get(account::invitation).post(account::accept))
        .route("/assets/{hash}/{name}", get(assets::asset))
        .route("/robots.txt", get(sitemap::robots))
        .route("/sitemap.xml", get(sitemap::index))
        .route("/sitemap/{name}", get(sitemap::map))
        .route("/llms.txt", get(reading::llms))
        .route("/feed.atom", get(feed::feed))
        .route("/embed/r/{id}", get(embed::embed))
        .route("/oembed", get(embed::oembed))
        .layer(middleware::from_fn(pack::pack))
}
