//! Maps of the site for search engines, and what robots are told.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use super::frame::render;
use super::links;
use crate::app::App;
use crate::clock;
use crate::domain::RunQuery;
use crate::problem::Problem;
use crate::web::path::InPath;

/// Addresses of one map; the format takes 50,000.
const MOST: u32 = 40_000;
/// Pages that are always there.
const PAGES: [&str; 9] =
    ["/", "/models", "/hardware", "/engines", "/methods", "/about", "/publish", "/api", "/moderation"];

#[derive(Template)]
#[template(path = "sitemap_index.xml")]
struct Index {
    url: String,
    maps: Vec<String>,
}

#[derive(Template)]
#[template(path = "sitemap.xml")]
struct Map {
    url: String,
    /// Path, and when it last changed where that is known.
    places: Vec<(String, Option<String>)>,
}

/// `/sitemap.xml`: which maps there are.
pub(super) async fn index(State(app): State<App>) -> Result<Response, Problem> {
    let parts = app.store.count_addresses().await?.div_ceil(u64::from(MOST));
    let runs = (0..parts).map(|part| format!("/sitemap/runs-{part}.xml"));
    let maps = std::iter::once("/sitemap/pages.xml".to_owned()).chain(runs).collect();
    answer(&Index { url: app.config.url(), maps })
}

/// `/sitemap/pages.xml`, `/sitemap/runs-0.xml`.
pub(super) async fn map(State(app): State<App>, InPath(name): InPath<String>) -> Result<Response, Problem> {
    let places = if name == "pages.xml" {
        pages(&app).await?
    } else {
        let part = name.strip_prefix("runs-").and_then(|rest| rest.strip_suffix(".xml"));
        let part: u32 =
            part.and_then(|part| part.parse().ok()).ok_or_else(|| Problem::not_found("map of the site"))?;
        let skip = u64::from(part) * u64::from(MOST);
        let found = app.store.addresses(skip, MOST).await?;
        if found.is_empty() {
            return Err(Problem::not_found("map of the site"));
        }
        found.into_iter().map(|(id, at)| (links::run(&id), Some(clock::text(at)))).collect()
    };
    answer(&Map { url: app.config.url(), places })
}

async fn pages(app: &App) -> Result<Vec<(String, Option<String>)>, Problem> {
    let facets = app.store.facets(&RunQuery::default()).await?;
    let of = |folder: &'static str, facet: &'static str, values: Vec<crate::domain::FacetCount>| {
        values.into_iter().map(move |one| links::entity(folder, facet, &one.value))
    };
    let entities = of("models", "model", facets.model)
        .chain(of("hardware", "hardware", facets.hardware))
        .chain(of("engines", "engine", facets.engine));
    let all = PAGES.into_iter().map(str::to_owned).chain(entities).take(MOST as usize);
    Ok(all.map(|path| (path, None)).collect())
}

fn answer(template: &impl Template) -> Result<Response, Problem> {
    let headers = [(CONTENT_TYPE, "application/xml; charset=utf-8"), (CACHE_CONTROL, "public, max-age=3600")];
    Ok((headers, render(template)?).into_response())
}

/// Robots may read everything but what has endless addresses, or stands elsewhere already.
pub(super) async fn robots(State(app): State<App>) -> String {
    format!(
        "User-agent: *\nDisallow: /compare\nDisallow: /embed/\nDisallow: /*?\n\nSitemap: {}/sitemap.xml\n",
        app.config.url()
    )
}
