//! What the site is, and how to publish on it.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;

use super::frame::{About, Frame, Here, render};
use super::words;
use crate::account::Visitor;
use crate::app::App;
use crate::domain::{EvidenceLevel, Goal};
use crate::problem::Problem;

/// A rung of the ladder: its short name, its words, what it means.
type Rung = (&'static str, &'static str, &'static str);

#[derive(Template)]
#[template(path = "about.html")]
struct AboutPage {
    ladder: Vec<Rung>,
}

#[derive(Template)]
#[template(path = "publish.html")]
struct PublishPage<'a> {
    url: String,
    provider: Option<&'a str>,
}

pub(super) async fn about(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    let ladder =
        EvidenceLevel::ALL.map(|level| (level.code(), level.words(), words::meaning(level))).to_vec();
    let about = About {
        description: "What this site shows, what stands behind its numbers, and what it does not prove."
            .to_owned(),
        path: "/about".to_owned(),
        ..About::default()
    };
    Frame::new(&app, &visitor, Here::About, &about)?.page(StatusCode::OK, "About", &AboutPage { ladder })
}

#[derive(Template)]
#[template(path = "llms.txt")]
struct Llms {
    url: String,
    ladder: Vec<Rung>,
    goals: String,
}

/// `/llms.txt`: what the site is, for language models that are asked about it.
pub(super) async fn llms(State(app): State<App>) -> Result<Response, Problem> {
    let ladder =
        EvidenceLevel::ALL.map(|level| (level.code(), level.words(), words::meaning(level))).to_vec();
    let goals = Goal::ALL.map(|goal| format!("`{}`", goal.code())).join(", ");
    let text = render(&Llms { url: app.config.url(), ladder, goals })?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

pub(super) async fn publish(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    let about = About {
        description: "How to publish a run.".to_owned(),
        path: "/publish".to_owned(),
        ..About::default()
    };
    let provider = app.openid.as_ref().map(|openid| openid.settings().name.as_str());
    let page = PublishPage { url: app.config.url(), provider };
    Frame::new(&app, &visitor, Here::Publish, &about)?.page(StatusCode::OK, "How to publish", &page)
}
