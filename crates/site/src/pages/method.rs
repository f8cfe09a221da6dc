//! The method, by version: its text never changes under a version's address.

use std::fmt::Write;
use std::sync::LazyLock;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::frame::{About, Frame, Here};
use crate::account::Visitor;
use crate::app::App;
use crate::problem::Problem;

/// Every version with its text, oldest first. A new version is a new entry; those before it stay.
const METHODS: [(&str, &str); 1] = [("1.0", include_str!("../../../../docs/method.md"))];

/// A version as a page.
struct Text {
    title: String,
    body: String,
    /// Its sections: id, title.
    sections: Vec<(String, String)>,
}

static TEXTS: LazyLock<Vec<Text>> =
    LazyLock::new(|| METHODS.iter().map(|(_, text)| Text::of(text)).collect());

#[derive(Template)]
#[template(path = "method.html")]
struct MethodPage<'a> {
    text: &'a Text,
    version: &'a str,
    newest: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "methods.html")]
struct MethodsPage {
    versions: Vec<&'static str>,
}

pub(super) async fn methods(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    let page = MethodsPage { versions: METHODS.iter().rev().map(|(version, _)| *version).collect() };
    let about = About {
        description: "What tokometer measures and how, by version.".to_owned(),
        path: "/methods".to_owned(),
        ..About::default()
    };
    Frame::new(&app, &visitor, Here::About, &about)?.page(StatusCode::OK, "The method", &page)
}

pub(super) async fn method(
    State(app): State<App>,
    visitor: Visitor,
    Path(version): Path<String>,
) -> Result<Response, Problem> {
    let place = METHODS.iter().position(|(known, _)| *known == version);
    let place = place.ok_or_else(|| Problem::not_found("version of the method"))?;
    let newest = METHODS.last().map(|(newest, _)| *newest).filter(|newest| *newest != version);
    let text = &TEXTS[place];
    let about = About {
        description: format!("What tokometer measures and how: the method, version {version}."),
        path: format!("/methods/{version}"),
        title: text.title.clone(),
        ..About::default()
    };
    let page = MethodPage { text, version: &version, newest };
    Frame::new(&app, &visitor, Here::About, &about)?.page(StatusCode::OK, &text.title, &page)
}

impl Text {
    /// A text of our own as HTML. Its first heading is the page's title; the others get ids.
    fn of(text: &str) -> Text {
        let mut events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
        let mut found = Text { title: String::new(), body: String::new(), sections: Vec::new() };
        let mut place = 0;
        while place < events.len() {
            let Event::Start(Tag::Heading { level, .. }) = events[place] else {
                place += 1;
                continue;
            };
            let end =
                events[place..].iter().position(|event| matches!(event, Event::End(TagEnd::Heading(_))));
            let end = place + end.unwrap_or(0);
            let words: String = events[place..end].iter().filter_map(words_of).collect();
            if level == HeadingLevel::H1 && found.title.is_empty() {
                found.title = words;
                events.drain(place..=end);
                continue;
            }
            let name = id(&words);
            if let Event::Start(Tag::Heading { id, .. }) = &mut events[place] {
                *id = Some(name.clone().into());
            }
            if level == HeadingLevel::H2 {
                found.sections.push((name, words));
            }
            place = end + 1;
        }
        html::push_html(&mut found.body, events.into_iter());
        // Wide tables scroll by themselves.
        let mut parts = found.body.split("<table>");
        let mut body = parts.next().unwrap_or_default().to_owned();
        for (place, part) in parts.enumerate() {
            // Writing to a string can't fail.
            let _ = write!(
                body,
                "<div class=\"scroll\" role=\"region\" aria-label=\"Table {}\" tabindex=\"0\"><table class=\"plain wrap\">{}",
                place + 1,
                part.replace("</table>", "</table></div>")
            );
        }
        found.body = body;
        found
    }
}

fn words_of(event: &Event<'_>) -> Option<String> {
    match event {
        Event::Text(text) | Event::Code(text) => Some(text.to_string()),
        _ => None,
    }
}

fn id(words: &str) -> String {
    let letters: String = words
        .chars()
        .map(|letter| if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' })
        .collect();
    letters.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_the_one_that_records_name() {
        let newest = METHODS.last().unwrap();
        assert_eq!(newest.0, tokometer_record::Method::default().version);
        for ((version, _), text) in METHODS.iter().zip(&*TEXTS) {
            assert_eq!(text.title, format!("Method {version}"));
            assert!(text.sections.iter().any(|(id, _)| id == "quantities"), "{:?}", text.sections);
            assert!(
                text.body.contains("<h2 id=\"words\">") && text.body.contains("<table class="),
                "{}",
                text.body
            );
        }
    }
}
