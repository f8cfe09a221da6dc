//! Style, scripts and the icon, under addresses that change with them.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use tokometer_record::store::sha256;
use tokometer_report::{COMMON_SCRIPT, EARLY, RUN_SCRIPT, STYLE};

use crate::problem::Problem;
use crate::web::headers::Shared;

/// What the site adds to the style of reports.
const OWN_STYLE: &str = include_str!("../../assets/site.css");
/// What it adds to their scripts.
const OWN_SCRIPT: &str = include_str!("../../assets/site.js");

/// Addresses.
pub(super) struct Assets {
    pub(super) style: String,
    pub(super) early: String,
    /// The script of a run's page.
    pub(super) run: String,
    /// The script of every other page.
    pub(super) common: String,
    pub(super) icon: String,
    files: [(&'static str, &'static str, String); 5],
}

/// The assets of this binary.
pub(super) static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    let script = "text/javascript; charset=utf-8";
    let files = [
        ("site.css", "text/css; charset=utf-8", [STYLE, OWN_STYLE].concat()),
        ("early.js", script, EARLY.to_owned()),
        ("run.js", script, [RUN_SCRIPT, OWN_SCRIPT].concat()),
        ("common.js", script, [COMMON_SCRIPT, OWN_SCRIPT].concat()),
        ("icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg").to_owned()),
    ];
    let address = |place: usize| {
        let (name, _, content): &(&str, &str, String) = &files[place];
        format!("/assets/{}/{name}", &sha256(content.as_bytes())[..12])
    };
    Assets {
        style: address(0),
        early: address(1),
        run: address(2),
        common: address(3),
        icon: address(4),
        files,
    }
});

pub(super) async fn asset(Path((hash, name)): Path<(String, String)>) -> Result<Response, Problem> {
    let nothing = || Problem::not_found("file");
    let (_, kind, content) = ASSETS.files.iter().find(|file| file.0 == name).ok_or_else(nothing)?;
    // A page of another version may ask for a file that is no longer there: it gets this one, and does not keep it.
    let is_this = sha256(content.as_bytes()).starts_with(&hash) && hash.len() == 12;
    let cache = if is_this { "public, max-age=31536000, immutable" } else { "no-cache" };
    let mut response = ([(CONTENT_TYPE, *kind), (CACHE_CONTROL, cache)], content.as_str()).into_response();
    // A frame in a page of others, which has no origin, takes its style from here.
    response.extensions_mut().insert(Shared);
    Ok(response)
}
